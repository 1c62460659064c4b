"""Strains and their memory in rock that attenuates: what derivatives of stresses are made of.

A stress is a convolution of strain rates, s = C (E - sum of what relaxes), with the same symmetric
matrices forwards and backwards, so that steps are their own transposes as those without loss are;
only the norm of a stress is no function of the stress alone. Instead the adjoint of a stress is its
strain E (the sum of strain rates), which the adjoint run keeps as a memory variable that does not
decay::

    xi_l(n+1) = a_l xi_l(n) + b_l e,     relaxation l, with Y_l
    E(n+1)    = E(n) + e,                in the adjoint run      (a = b = 1, Y = 0)
    e(n+1)    = e,                       in the forward run      (a = 0, b = 1, Y = 0)

With e of the forward run, which has what sources and a free surface add to it, no term of the
surface is needed. A stress changes in a step by

    s_i += sum over strains j of  c_ij e_j + sum over l of  m_ij^l xi_l,j

and sums over steps, xi_l the adjoint's, give the derivatives::

    by c_ij:    -sum E_i e_j,        by m_ij^l:    -sum (E_i - xi_l,i / b_l) e_j

since the transpose of the filter from e to xi_l is the same filter in the time of the adjoint run.

Of second order in time, the adjoint of a pressure is the sum of E. Both runs then add up rates, and
sums by parts have the E of the forward run in the place of e, and no sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from seismo.equations.framework.registry import physics_for
from seismo.equations.framework.table import Field, Physics
from seismo.inversion.adjoint.tape import TapedArray
from seismo.inversion.adjoint.tracing import Operation, Terms, traced
from seismo.solver.discretization import Discretization


class StressTerm(NamedTuple):
    """What a strain adds to a stress in a step.

    Attributes:
        stress: name of the field.
        strain: name of the stress that does work on the strain.
        at_once: coefficient of the strain rate.
        remembered: coefficients of its memory variables before the step, by mechanism.
    """

    stress: str
    strain: str
    at_once: TapedArray
    remembered: list[TapedArray]


def remembers(physics: Physics) -> bool:
    """Whether rock attenuates, and stresses have derivatives by it."""
    has_memory = any(field.remembers for field in physics.fields)
    return has_memory and not physics.interpolates and not any(f.slope for f in physics.fields)


def recording(discretization: Discretization) -> Discretization:
    """Return a run that records the strain rates of each step, in a further mechanism."""
    relaxation = discretization.earth.relaxation
    assert relaxation is not None  # of rock that attenuates
    equation = discretization.scenario.equation.name
    recorded = relaxation.recording(discretization.clock.dt)
    physics = physics_for(equation, discretization.grid.dimensions, recorded)
    run = replace(discretization, physics=physics)
    return adding(run) if physics.previous else run


def adding(discretization: Discretization) -> Discretization:
    """Return the adjoint of such a run, which adds up strain rates."""
    physics = discretization.physics
    if not remembers(physics):
        return discretization
    last = StrainMemory(physics).last
    numbers = dict(physics.numbers) | {f"decay_{last}": 1.0, f"gain_{last}": 1.0}
    return replace(discretization, physics=replace(physics, numbers=numbers))


@dataclass(frozen=True)
class StrainMemory:
    """The strains of a run, and their memory variables.

    Attributes:
        physics: the table of the run.
    """

    physics: Physics

    @property
    def last(self) -> int:
        """Number of the mechanism that records, or adds up, strain rates."""
        return sum(name.startswith("decay_") for name in self.physics.numbers)

    @property
    def strain_rates(self) -> tuple[str, ...]:
        """Memory variables of the last mechanism, which the forward run keeps for images."""
        return tuple(self.recorded)

    @property
    def mechanisms(self) -> range:
        """Numbers of the mechanisms of the rock."""
        return range(1, self.last)

    @property
    def stresses(self) -> dict[str, str]:
        """Stress -> the strain that it does work on."""
        strains = dict.fromkeys(f.name.split("_")[1] for f in self.physics.fields if f.remembers)
        if self.physics.previous:
            return dict(zip(self.physics.previous, strains, strict=True))
        return {"p" if strain == "volume" else f"s{strain}": strain for strain in strains}

    def named(self, stress: str, mechanism: int) -> str:
        """Return the name of a memory variable of the strain that a stress does work on."""
        return f"memory_{self.stresses[stress]}_{mechanism}"

    @property
    def recorded(self) -> dict[str, str]:
        """Memory variable of the last mechanism -> stress."""
        return {self.named(stress, self.last): stress for stress in self.stresses}

    def sign(self, stress: str) -> float:
        """Return the sign of a stress over that of its strain: of pressure and volume -1."""
        return -1.0 if self.stresses[stress] == "volume" else 1.0

    def gain(self, mechanism: int) -> float:
        """Return b_l."""
        return self.physics.numbers[f"gain_{mechanism}"]

    def decay(self, mechanism: int) -> float:
        """Return a_l."""
        return self.physics.numbers[f"decay_{mechanism}"]

    @property
    def products(self) -> list[tuple[str, int, str]]:
        """Stresses, mechanisms of their strains, and stresses of other strains at their place.

        Images are of the memory variable of the first in the adjoint run, times the strain rate of
        the last in the forward run.
        """
        half = {stress: self.physics.named(stress).half for stress in self.stresses}
        return [
            (stress, mechanism, other)
            for stress in half
            for other in half
            if half[stress] == half[other]
            for mechanism in (*self.mechanisms, self.last)
        ]

    def terms(self, coefficients: Mapping[str, TapedArray]) -> Iterator[StressTerm]:
        """Yield what strains add to stresses.

        Args:
            coefficients: of the equation, (z, y, x) on the nodes, by name.
        """
        traces: dict[str, Terms] = {}
        written = {stress: self.physics.previous.get(stress, stress) for stress in self.stresses}
        for stage in self.physics.stages:
            if stage.where == "everywhere" and set(stage.writes) & set(written.values()):
                traces |= traced(
                    stage.update, self.physics.axes, [f.name for f in self.physics.fields],
                    coefficients, numbers=self.physics.numbers,
                )  # fmt: skip
        operations = {
            stress: next(op for op in traces[self.named(stress, 1)] if op.kind != "value")
            for stress in self.stresses
        }
        for stress in self.stresses:
            for other, operation in operations.items():
                of_stress = traces[written[stress]]
                if operation in of_stress:
                    remembered = [
                        of_stress[Operation("value", (("", self.named(other, n)),))]
                        for n in self.mechanisms
                    ]
                    yield StressTerm(stress, other, of_stress[operation], remembered)

    def responses(
        self, coefficients: Mapping[str, Any]
    ) -> dict[str, dict[str, np.ndarray | float]]:
        """Return what a strain within a step adds to fields, by the stress that does work on it.

        Args:
            coefficients: (z, y, x) on the nodes, by name.
        """
        taped = {name: TapedArray(array) for name, array in coefficients.items()}
        added: dict[str, dict[str, np.ndarray | float]] = {
            stress: {self.named(stress, n): self.gain(n) for n in (*self.mechanisms, self.last)}
            for stress in self.stresses
        }
        for term in self.terms(taped):
            added[term.strain][term.stress] = term.at_once.value
        return added

    def is_driven(self, kind: str) -> bool:
        """Whether sources of a type act as strain rates, on memory variables, too."""
        return any(term.field.startswith("memory_") for term in self.physics.drives.get(kind, ()))

    def stress_of(self, field: Field) -> str:
        """Return the stress that does work on the strain of a memory variable."""
        strain = field.name.split("_")[1]
        return next(stress for stress, known in self.stresses.items() if known == strain)
