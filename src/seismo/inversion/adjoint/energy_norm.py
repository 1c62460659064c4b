"""Norm of the stored energy: it turns fields of an adjoint run into adjoint variables.

In this norm a step of an equation is its own transpose, with the sign of the stresses turned::

    adjoint of v = H rho / dt * v,    adjoint of s = -H (dt C)^-1 s,    adjoint of p = H / k * p

H is the share of a cell that a point stands for, C the stiffness, k of an equation of second order
in time. `StoredEnergy` has the forms; densities are those that accelerate the velocities. In rock
that attenuates strains take the place of (dt C)^-1 s (`seismo.inversion.adjoint.memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.equations.framework.declaration import StoredEnergy
from seismo.inversion.adjoint.memory import StrainMemory, remembers
from seismo.inversion.adjoint.tape import at_points, shifted
from seismo.solver.discretization import Discretization

# function(name, half, of_component=False) -> its mean where a field stands, or the value that the
# component of a velocity has there, if it has any
Coefficient = Callable[..., Any]


def mean_of(coefficients: Mapping[str, np.ndarray]) -> Coefficient:
    """Return the function that averages coefficients (z, y, x) to half points, as sources do."""

    def mean(name: str, half: str, of_component: bool = False) -> np.ndarray:
        if of_component and f"{name}_{half}" in coefficients:
            return coefficients[f"{name}_{half}"]
        array = coefficients[name]
        for axis in half:
            array = 0.5 * (array + shifted(array, axis))
        return array

    return mean


def mean_at(coefficients: Mapping[str, Any], x, y, z) -> Coefficient:
    """Return the same at points (n) of a field, by their grid indices; of taped arrays such."""

    def mean(name: str, half: str, of_component: bool = False) -> Any:
        if of_component and f"{name}_{half}" in coefficients:
            return at_points(coefficients[f"{name}_{half}"], (z, y, x))
        array = coefficients[name]
        nodes = [np.array([z, y, x])]
        for axis in half:
            step = np.zeros((3, 1), int)
            step["zyx".index(axis)] = 1
            nodes += [node + step for node in nodes]
        last = np.array(array.shape)[:, None] - 1
        return sum(at_points(array, tuple(node.clip(max=last))) for node in nodes) / len(nodes)

    return mean


@dataclass(frozen=True)
class EnergyNorm:
    """The norm of an equation's fields.

    Attributes:
        discretization: the run.
    """

    discretization: Discretization

    @cached_property
    def memory(self) -> StrainMemory | None:
        """The strains of rock that attenuates: the adjoint of a stress is one of them."""
        physics = self.discretization.physics
        return StrainMemory(physics) if remembers(physics) else None

    @property
    def sign(self) -> float:
        """The sign of fields that are no velocities."""
        return 1.0 if self.discretization.physics.previous else -1.0

    def group(self, field: str) -> tuple[str, ...]:
        """Return the fields that a field shares a form with: the stresses at its place."""
        physics = self.discretization.physics
        if physics.named(field).late:
            return (field,)
        if self.memory is not None:
            return (self.memory.named(field, self.memory.last),)
        half = physics.named(field).half
        hidden = set(physics.previous.values()) | physics.late
        return tuple(
            f.name
            for f in physics.fields
            if f.name not in hidden and f.half == half and not f.slope
        )

    def entries(self, field: str, mean: Coefficient) -> dict[tuple[str, str], Any]:
        """Return the form of the group of a field, without H and a sign.

        Args:
            field: any of the group.
            mean: function(name, half) -> a coefficient (...) where the group stands.

        Returns:
            Factors (...) of the products of two fields, by their names.
        """
        half = self.discretization.physics.named(field).half
        if self.discretization.physics.named(field).late:
            return {(field, field): mean("rho", half, of_component=True)}
        if self.memory is not None:
            (strain,) = self.group(field)
            return {(field, strain): self.memory.sign(field)}
        return self._stored(half).entries(lambda name: mean(name, half))

    def inverse(self, field: str, mean: Coefficient) -> np.ndarray:
        """Return the inverse (n, ...) of that form at points (n), its axes ordered as the group."""
        group = self.group(field)
        half = self.discretization.physics.named(field).half
        of_field = self.discretization.physics.named(field)
        response = None if of_field.late else self._stored(half).response
        entries = response(lambda name: mean(name, half)) if response else self.entries(field, mean)
        form = np.stack([np.stack([entries[a, b] for b in group], -1) for a in group], -1)
        return form if response else np.linalg.inv(form)

    def response(
        self, field: str, coefficients: Mapping[str, Any]
    ) -> dict[tuple[str, str], Any]:  # fmt: skip
        """Return the inverse form of a group on the nodes, of taped coefficients such.

        Args:
            field: any of the group, of an equation of second order in time.
            coefficients: (z, y, x) on the nodes, by name.
        """
        if self.group(field) == (field,):
            return {(field, field): coefficients["k"]}
        response = self._stored("").response
        assert response is not None  # of groups of second order
        return response(coefficients.__getitem__)

    def _stored(self, half: str) -> StoredEnergy:
        energy = self.discretization.scenario.equation.energy
        assert energy is not None
        return next(s for s in energy(self.discretization.grid.axes) if s.half == half)

    def share(self, field: str) -> np.ndarray:
        """Return the shares (z, 1, 1) of a cell that the points of a field stand for."""
        discretization = self.discretization
        z = np.arange(discretization.grid.points[2])
        none = np.zeros_like(z)
        of_field = discretization.physics.named(field)
        return discretization.interpolation.norm(of_field, none, none, z)[:, None, None]
