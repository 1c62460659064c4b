"""What receivers read by other quantities than their own: strains beside a plane of refinement.

Below a plane of refinement velocities err by some percent from row to row, and their differences
across it by a third. Stresses do not: the scheme's own differences there belong to these velocities
(`seismo.features.refinement.operators`). So receivers beside the plane have, with a along it,

    e = C^-1 s,    d_z v_a = 2 e_az - d_a v_z

with the stiffness C of the rock at the receiver.

Records of stresses become rates as their change in a step; so the scheme has both. Rock that
attenuates has strains that stresses of one time do not tell: there each is read as it is. Stresses
under ground that slopes are read by strains (`seismo.features.topography.surface.stresses`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seismo.acquisition.shots import Shot
from seismo.acquisition.stations.receivers import ReceiverGroup
from seismo.equations.framework.terms import Term
from seismo.equations.rock import elastic_constants
from seismo.grid.interpolation import RADIUS
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import channel_points, receiver_points
from seismo.solver.surface.surface_slope import Points

FURTHER = "~"  # behind the name of a component: its second channels
_STRAINS = ("strain_rate", "divergence", "rotation")


@dataclass(frozen=True)
class IndirectReading:
    """How receivers of a grid are read; as everywhere, where no kind of it says more.

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

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> which receivers are read so; nothing where none is."""
        return {}

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> dict[str, Points]:
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
        group = next(one for one in self.discretization.groups if one.name == name)
        observables = self.discretization.physics.observables
        known = {c: terms for base in bases for c, terms in observables.get(base, {}).items()}
        return known.get(component, ()) if group.fibre is None else ()


class PlaneStrains(IndirectReading):
    """What reads strains by stresses on the coarser of two grids, beside their plane."""

    @property
    def last(self) -> float:
        """Z in m down to which strains are read so."""
        # Behind the closed rows, as far as receivers read.
        discretization = self.discretization
        return float(
            discretization.grid.coordinate("z", discretization.plane_rows.rows[1] + RADIUS)
        )

    def adds_further(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has channels of velocities, too."""
        strains, motion = self._split(group, component)
        return bool(strains and motion)

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> which receivers are read so: in solids."""
        return of_shots(self._reads, groups, shots)

    def _reads(self, positions: np.ndarray) -> np.ndarray:
        # A fluid has no shear strain that stresses tell.
        return np.asarray((positions[..., 2] < self.last) & (self._medium(positions)["vs"] > 0.0))

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> dict[str, Points]:
        """Return the points, by their field, that a channel reads at one receiver: see the base."""
        discretization = self.discretization
        component = base[1].removesuffix(FURTHER)
        strains, motion = self._split(group.name, component)
        is_beside = bool(strains) and position[2] < self.last and bool(self._reads(position))
        of_motion = component != base[1]
        if not is_beside and not of_motion:
            return super().points(group, number, position, base)
        # Stresses of the position's own rock, or what is left of velocities.
        terms = motion if of_motion else self._stresses(strains, position)
        return channel_points(
            discretization.interpolation,
            terms if is_beside else (),
            position,
            discretization.stencil,
        )

    def _split(self, name: str, component: str) -> tuple[dict[str, float], tuple[Term, ...]]:
        """Return the strains e_ab that a component is a sum of, and what is left of velocities.

        None of what is not read so.

        Args:
            name: of a set of receivers.
            component: base component.
        """
        strains = dict[str, float]()
        motion = dict[tuple[str, str], float]()
        for term in self._of_group(name, component, _STRAINS):
            # e_aa, and d_z v_a = 2 e_az - d_a v_z.
            of = term.field[1:]
            slope = (term.field, term.along, term.factor)
            if of == term.along:
                strains[of * 2] = strains.get(of * 2, 0.0) + term.factor
                continue
            if term.along == "z":
                strains[of + "z"] = strains.get(of + "z", 0.0) + 2.0 * term.factor
                slope = ("vz", of, -term.factor)
            motion[slope[:2]] = motion.get(slope[:2], 0.0) + slope[2]
        # SH waves have no vz.
        names = {field.name for field in self.discretization.physics.fields}
        kept = ((pair, factor) for pair, factor in motion.items() if factor and pair[0] in names)
        return strains, tuple(Term(name, factor, axis) for (name, axis), factor in kept)

    def _stresses(self, strains: dict[str, float], position: np.ndarray) -> tuple[Term, ...]:
        """Return the stresses that a sum of strains is a sum of."""
        # e = C^-1 s
        names, stiffness = self._stiffness(position)
        compliance = np.linalg.inv(stiffness)
        shares = np.zeros(len(names))
        for ab, factor in strains.items():
            # Of shear Voigt's strains are 2 e_ab.
            half = 1.0 if ab[0] == ab[1] else 0.5
            shares += half * factor * compliance[names.index(f"s{ab}")]
        return tuple(Term(name, share) for name, share in zip(names, shares.tolist(), strict=True))

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, of which some are strains, as rates."""
        if beside is None or not beside.any() or not self._split(group, component)[0]:
            return traces
        # Stresses of a step are those before it and dt C e of the velocities between.
        some = traces[beside]
        some[:, 1:] = np.diff(some, axis=1)
        some /= self.discretization.clock.dt
        traces[beside] = some if further is None else some + further[beside]
        return traces


def of_shots(
    reads: Callable[[np.ndarray], np.ndarray], groups: Sequence[ReceiverGroup],
    shots: Sequence[Shot],
) -> dict[tuple[int, str], np.ndarray]:  # fmt: skip
    """Return what a function of positions (receiver, 3) gives of each set, at each shot."""
    return {
        (number, group.name): reads(group.at(shot.name))
        for group in groups
        for number, shot in enumerate(shots)
    }
