"""Indirect reading: channels of receivers that read a quantity by others, better known there.

Everywhere else a channel reads its own quantity (`seismo.solver.interpolation.channels`). A feature
gives its reading at the place `indirect_reading`: strains by stresses beside a plane of refinement,
stresses by strains on ground that slopes. Each marks the receivers that it reads so, has the points
of their channels, which may be two for one component, and converts the traces of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.equations.framework.table import Term
from seismo.equations.rock import elastic_constants
from seismo.features import acting
from seismo.grid.interpolation import PointsByField
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import receiver_points

FURTHER = "~"  # behind the name of a component: its second channels


@dataclass(frozen=True)
class IndirectReading:
    """The reading of receivers of a grid; that of their own quantities unless overridden.

    Attributes:
        discretization: the run on one of its grids.
    """

    discretization: Discretization

    def bases(self, group: ReceiverGroup) -> list[tuple[str, str]]:
        """Return the base quantities and components that channels of a set of receivers record."""
        # Once each, and second channels behind them.
        recorded = group.components(self.discretization.physics).values()
        bases = list(dict.fromkeys((base, component) for _, base, component in recorded))
        return bases + [(b, c + FURTHER) for b, c in bases if self.adds_further(group.name, c)]

    def adds_further(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has second channels."""
        return False

    def marks(self, positions: np.ndarray) -> np.ndarray | None:
        """Return (receiver) whether each is read so at positions (receiver, 3) in m; None of none.

        Or numbers (receiver, n), NaN where it is not.
        """
        return None

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> the marks of its receivers; nothing where none has."""
        every = {
            (number, group.name): self.marks(group.at(shot.name))
            for group in groups
            for number, shot in enumerate(shots)
        }
        return {key: marks for key, marks in every.items() if marks is not None}

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at one receiver of a set.

        Args:
            group: the set.
            number: of the receiver.
            position: (3) m where it is.
            base: quantity and component, of `bases`.
        """
        discretization = self.discretization
        return receiver_points(
            discretization.interpolation, group, number, position, base, discretization.stencil
        )

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, made of what was read for it.

        Args:
            group: name of the set of receivers.
            component: base component.
            traces: of all of them.
            further: what second channels read, or None.
            beside: (receiver) of `beside`, None where it has none.
        """
        return traces

    def _medium(
        self, positions: np.ndarray, moduli: tuple[float, float] = (1.0, 1.0)
    ) -> dict[str, np.ndarray]:
        """Return the medium at positions (..., 3) in m, of so many times unrelaxed moduli."""
        x, y, z = np.moveaxis(positions, -1, 0)
        # Rock without loss has its moduli whatever the share.
        earth = replace(self.discretization.earth, moduli=moduli)
        return earth.sample(z, y if self.discretization.grid.dimensions == 3 else None, x)

    def _stiffness(
        self, position: np.ndarray, moduli: tuple[float, float] = (1.0, 1.0)
    ) -> tuple[list[str], np.ndarray]:
        """Return the stresses, and the stiffness (stress, strain) of the rock at a position."""
        names = list(self.discretization.physics.observables["stress"])
        return names, elastic_constants.stiffness_of_stresses(self._medium(position, moduli), names)

    def _of_group(self, name: str, component: str, bases: Sequence[str]) -> tuple[Term, ...]:
        """Return the terms of a component of some base quantities; none along fibres."""
        group = next(group for group in self.discretization.groups if group.name == name)
        observables = self.discretization.physics.observables
        known = {c: terms for base in bases for c, terms in observables.get(base, {}).items()}
        return known.get(component, ()) if group.fibre is None else ()


def reading_of(discretization: Discretization) -> IndirectReading:
    """Return the reading of a run's grid: that of the first feature that has any."""
    features = acting("indirect_reading", discretization.scenario)
    readings = (reading(discretization) for reading in features)
    return next((r for r in readings if r is not None), IndirectReading(discretization))
