"""Derivative of a misfit by the coefficients of an equation, from images.

Each stage is traced (`seismo.inversion.adjoint.tracing`). The derivative by a coefficient of a
stress is the sum of products of its adjoint with the operation on velocities; that by a coefficient
of a velocity the sum of the velocity times the change of the adjoint velocity, since the operation
itself is the change of the velocity over the coefficient (summed by parts over time). On a free
surface the stage that takes the stress across it away is traced behind that of the stresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from seismo.equations.framework.table import Stage
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_of
from seismo.inversion.adjoint.imaging import (
    FieldProduct,
    change_name,
    image_name,
    strain_image_name,
)
from seismo.inversion.adjoint.memory import StrainMemory
from seismo.inversion.adjoint.tape import TapedArray, value_of
from seismo.inversion.adjoint.tracing import Operation, Terms, traced
from seismo.solver.discretization import Discretization

Image = Callable[[str], np.ndarray]  # name -> sums (z, y, x)


def _is_operation(operation: Operation) -> bool:
    return operation.kind != "value"


class CoefficientDerivative:
    """The images that a run needs, and the derivative by its coefficients made of them."""

    def __init__(self, discretization: Discretization, components: bool = False) -> None:
        """Find the images.

        Args:
            discretization: the run.
            components: whether coefficients have a density for each component of velocity.
        """
        self._components = components
        self._discretization = discretization
        self._physics = discretization.physics
        self._norm = EnergyNorm(discretization)
        self._fields = tuple(field.name for field in self._physics.fields)
        self._coefficients = tuple(
            name
            for stage in self._physics.stages
            for even in (False, True)
            for name in stage.coefficients_in(even)
        )
        ones = {name: TapedArray(np.ones((1, 1, 1))) for name in self._coefficients}
        self._products = list(self._needed(ones))

    @property
    def products(self) -> list[FieldProduct]:
        """Products of adjoint stresses and operations on velocities."""
        return self._products

    @property
    def moving(self) -> list[tuple[str, str]]:
        """Fields whose change is in an image, of the adjoint run and of the forward run."""
        previous = self._physics.previous
        if previous and self.memory is not None:
            return []
        if not previous:
            return [(f.name, f.name) for f in self._physics.fields if f.late]
        return list(product(previous, previous))

    def _traced(self, coefficients: Mapping[str, TapedArray], late: bool) -> dict[str, Terms]:
        """Return the terms of each field that stages change everywhere: of velocities, or not."""
        terms: dict[str, Terms] = {}
        for stage in self._physics.stages:
            is_late = self._physics.named(stage.writes[0]).late
            if stage.where == "everywhere" and is_late == late:
                terms |= traced(
                    self._update_of(stage), self._physics.axes, self._fields, coefficients,
                    numbers=self._physics.numbers,
                )  # fmt: skip
        return terms

    def _update_of(self, stage: Stage) -> Callable:
        """Return the formula of a stage, with the density of nodes where components have none.

        The formula of all planes holds for even ones, too.
        """
        of_nodes = stage.even is not None and stage.even.of_density and not self._components
        return stage.even.update if stage.even and of_nodes else stage.update

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

    @property
    def memory(self) -> StrainMemory | None:
        """The strains of rock that attenuates, whose images these are made of."""
        return self._norm.memory

    def _needed(self, coefficients: Mapping[str, TapedArray]) -> Iterator[FieldProduct]:
        if self._physics.previous or self.memory is not None:
            return
        terms = self._traced(coefficients, late=False)
        for field in terms:
            group = self._norm.group(field)
            operations = {op for name in group for op in terms[name] if _is_operation(op)}
            yield from ((field, operation) for operation in sorted(operations))

    @property
    def operations(self) -> dict[str, list[Operation]]:
        """Operations on velocities that change each of the other fields."""
        ones = {name: TapedArray(np.ones((1, 1, 1))) for name in self._coefficients}
        operations: dict[str, list[Operation]] = {}
        for field, operation, *_ in self.coefficients_of_products(ones):
            operations.setdefault(field, []).append(operation)
        return operations

    def coefficients_of_changes(
        self, taped: Mapping[str, TapedArray]
    ) -> Iterator[tuple[tuple[str, str], TapedArray]]:
        """Yield the pairs of `moving`, and the coefficients of operations that change the fields.

        Args:
            taped: coefficients of the equation, (z, y, x) on the nodes of the grid, by name.
        """
        if self._physics.previous and self.memory is not None:
            return
        if self._physics.previous:
            yield from self._norm.response(self.moving[0][0], taped).items()
            return
        terms = self._traced(taped, late=True)
        for field, other in self.moving:
            coefficient = next(c for op, c in terms[field].items() if _is_operation(op))
            yield (field, other), coefficient

    def inverse_of_changes(self, taped: Mapping[str, TapedArray]) -> dict[tuple[str, str], Any]:
        """Return the inverse of the matrix of these coefficients, by pairs of fields.

        It turns changes of fields into what operations gave.
        """
        if not self._physics.previous:
            return {pair: 1.0 / c.value for pair, c in self.coefficients_of_changes(taped)}
        if not self.moving:
            return {}
        (field, _), *_ = self.moving
        return self._norm.entries(field, mean_of({n: value_of(a) for n, a in taped.items()}))

    def coefficients_of_products(
        self, taped: Mapping[str, TapedArray]
    ) -> Iterator[tuple[str, Operation, TapedArray, TapedArray]]:
        """Yield the other fields, operations on velocities, and the coefficient of each.

        The last one is the coefficient on a free surface, a taped zero where there is none.
        """
        if self._physics.previous or self.memory is not None:
            return
        terms = self._traced(taped, late=False)
        surface = self._on_surface(taped, terms)
        for field in list(terms):
            # Coefficients of fields that are done are freed, as memory is short.
            of_field = terms.pop(field)
            for operation, coefficient in of_field.items():
                if _is_operation(operation):
                    at_surface = coefficient
                    if field in surface:
                        at_surface = surface[field].get(operation)
                        if not isinstance(at_surface, TapedArray):
                            at_surface = TapedArray(np.zeros_like(coefficient.value))
                    yield field, operation, coefficient, at_surface

    def by_coefficients(
        self, taped: Mapping[str, TapedArray], image: Image
    ) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients of terms, and the derivatives by them.

        Args:
            taped: coefficients of the equation, (z, y, x) on the nodes of the grid, by name.
            image: the sums of each image, by name.
        """
        inverse = self.inverse_of_changes(taped)
        # Densities are positive, whatever the sign of operations.
        form = inverse if self._physics.previous else {p: np.abs(c) for p, c in inverse.items()}
        for (field, other), coefficient in self.coefficients_of_changes(taped):
            share = np.asarray(self._norm.share(field), like=coefficient.value)
            yield (
                coefficient,
                share
                * sum(
                    form[field, a] * inverse[b, other] * image(change_name((a, b)))
                    for a, b in self.moving
                    if (field, a) in form and (b, other) in inverse
                ),
            )
        yield from self._by_terms_of_memory(taped, image)
        mean = mean_of({name: value_of(array) for name, array in taped.items()})
        done: dict[tuple[str, ...], dict[tuple[str, str], Any]] = {}
        for field, operation, coefficient, at_surface in self.coefficients_of_products(taped):
            group = self._norm.group(field)
            if group not in done:
                done[group] = self._norm.entries(field, mean)
            share = np.asarray(self._norm.sign * self._norm.share(field), like=coefficient.value)
            total = share * sum(
                done[group][field, other] * image(image_name((other, operation))) for other in group
            )
            if at_surface is coefficient:
                yield coefficient, total
                continue
            top = np.zeros_like(total)
            top[:1] = total[:1]
            yield coefficient, total - top
            yield at_surface, top

    def _by_terms_of_memory(
        self, taped: Mapping[str, TapedArray], image: Image
    ) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients of strains and their memory, and the derivatives by them."""
        memory = self.memory
        for term in memory.terms(taped) if memory is not None else ():
            assert memory is not None  # which has the term
            share = np.asarray(self._norm.share(term.stress), like=term.at_once.value)
            if not self._physics.previous:
                share = -memory.sign(term.stress) * share
            by_strain = image(strain_image_name((term.stress, memory.last, term.strain)))
            yield term.at_once, share * by_strain
            for n, coefficient in zip(memory.mechanisms, term.remembered, strict=True):
                by_memory = image(strain_image_name((term.stress, n, term.strain)))
                yield coefficient, share * (by_strain - by_memory / memory.gain(n))
