"""Derivative of a misfit by the coefficients of an equation, from images.

Each stage is traced (`seismo.inversion.adjoint.tracing`). The derivative by a coefficient of a
stress is the sum of products of its adjoint with the operation on velocities; that by a coefficient
of a velocity the sum of the velocity times the change of the adjoint velocity, since the operation
itself is the change of the velocity over the coefficient (summed by parts over time). On a free
surface the stage that takes the stress across it away is traced behind that of the stresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from seismo.equations.framework.table import Stage
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_of
from seismo.inversion.adjoint.imaging import FieldProduct, image_name
from seismo.inversion.adjoint.tape import TapedArray, value_of
from seismo.inversion.adjoint.tracing import Operation, Terms, traced
from seismo.solver.discretization import Discretization

Image = Callable[[str], np.ndarray]  # name -> sums (z, y, x)


def _is_operation(operation: Operation) -> bool:
    return operation.kind != "value"


class CoefficientDerivative:
    """The images that a run needs, and the derivative by its coefficients made of them."""

    def __init__(self, discretization: Discretization) -> None:
        self._discretization = discretization
        self._physics = discretization.physics
        self._norm = EnergyNorm(discretization)
        self._fields = tuple(field.name for field in self._physics.fields)
        ones = {
            name: TapedArray(np.ones((1, 1, 1)))
            for stage in self._physics.stages
            for even in (False, True)
            for name in stage.coefficients_in(even)
        }
        self._products = list(self._needed(self._traced(ones)))

    @property
    def products(self) -> list[FieldProduct]:
        """Products of adjoint stresses and operations on velocities."""
        return self._products

    @property
    def moving(self) -> list[str]:
        """Fields whose image is with the change of the adjoint field."""
        previous = self._physics.previous
        return list(previous) if previous else [f.name for f in self._physics.fields if f.late]

    def _traced(self, coefficients: Mapping[str, TapedArray]) -> dict[str, Terms]:
        """Return the terms of each field that stages change everywhere."""
        terms: dict[str, Terms] = {}
        for stage in self._physics.stages:
            if stage.where == "everywhere":
                update = _update_of(stage)
                terms |= traced(update, self._physics.axes, self._fields, coefficients)
        return terms

    def _on_surface(
        self, coefficients: Mapping[str, TapedArray], terms: Mapping[str, Terms]
    ) -> dict[str, Terms]:
        """Return the terms of fields that the stage of the surface changes, in its row."""
        if self._discretization.closure is None:
            return {}
        changed: dict[str, Terms] = {}
        for stage in self._physics.stages:
            if stage.where == "surface":
                puts = traced(stage.update, self._physics.axes, self._fields, coefficients, terms)
                changed |= {name: puts[name] for name in stage.writes}
        return changed

    def _needed(self, terms: Mapping[str, Terms]) -> Iterator[FieldProduct]:
        if self._physics.previous:
            return
        for field in terms:
            if not self._physics.named(field).late:
                group = self._norm.group(field)
                operations = {op for name in group for op in terms[name] if _is_operation(op)}
                yield from ((field, operation) for operation in sorted(operations))

    def by_coefficients(
        self, taped: Mapping[str, TapedArray], image: Image
    ) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients of terms, and the derivatives by them.

        Args:
            taped: coefficients of the equation, (z, y, x) on the nodes of the grid, by name.
            image: the sums of each image, by name.
        """
        mean = mean_of({name: value_of(array) for name, array in taped.items()})
        terms = self._traced(taped)
        if self._physics.previous:
            (field,) = self._physics.previous
            k = taped["k"]
            yield k, self._norm.share(field) * image(f"image_{field}") / k.value**2
            return
        for field in self.moving:
            share = self._norm.share(field)
            # All operations have the same coefficient.
            coefficient = next(c for op, c in terms[field].items() if _is_operation(op))
            c = coefficient.value
            yield coefficient, share * image(f"image_{field}") / (np.abs(c) * c)
        surface = self._on_surface(taped, terms)
        done: dict[tuple[str, ...], np.ndarray] = {}
        for field, of_field in terms.items():
            if self._physics.named(field).late:
                continue
            group = self._norm.group(field)
            if group not in done:
                done[group] = self._norm.matrix(field, mean)
            row = done[group][group.index(field)]
            weight = self._norm.sign * self._norm.share(field)
            for operation, coefficient in of_field.items():
                if not _is_operation(operation):
                    continue
                total = weight * sum(
                    factor * image(image_name((other, operation)))
                    for factor, other in zip(row, group, strict=True)
                )
                if field not in surface:
                    yield coefficient, total
                    continue
                top = np.zeros_like(total)
                top[:1] = total[:1]
                yield coefficient, total - top
                at_surface = surface[field].get(operation)
                if isinstance(at_surface, TapedArray):
                    yield at_surface, top


def _update_of(stage: Stage) -> Callable:
    """Return the formula of a stage, with a density of nodes where it may have that of components.

    The formula of all planes holds for even ones, too.
    """
    return stage.even.update if stage.even and stage.even.of_density else stage.update
