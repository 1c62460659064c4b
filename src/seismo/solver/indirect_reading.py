"""Strains that receivers read by stresses, and stresses by strains, where these are better known.

Below a plane of refinement velocities err by some percent from row to row, and their differences
across it by a third. Stresses do not: the scheme's own differences there belong to these velocities
(`seismo.grid.refinement`). So receivers beside the plane have, with a along it,

    e = C^-1 s,    d_z v_a = 2 e_az - d_a v_z

with the stiffness C of the rock at the receiver. Under ground that slopes it is the other way: the
closed rows err in what slopes add to their strains, up to some percent in the first row, while
velocities are read with the slopes that the traction prescribes (`seismo.solver.ground_slope`)::

    ds/dt = C de/dt

Records of stresses become rates as their change in a step, those of rates stresses as their sum; so
the scheme has both. Rock that attenuates has strains that stresses of one time do not tell: there
each is read as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Shot
from seismo.equations import elastic_constants
from seismo.equations.terms import Term
from seismo.grid.grid import AXES
from seismo.grid.interpolation import ON_GRID, RADIUS
from seismo.solver.channels import channel_points, receiver_points
from seismo.solver.discretization import Discretization
from seismo.solver.strain_reading import joined
from seismo.solver.surface_slope import MOST_ROWS, Points

OF_MOTION = "~"  # behind the name of a component: what is left of velocities
_STRAINS = ("strain_rate", "divergence", "rotation")
_STRESSES = ("stress", "pressure")
_MOST_POSITIONS = 1 << 14  # whose strains are kept for other components
_ABOUT_MOMENTS = 2.0 * RADIUS  # cells, to which moments and readings are spread
_ERRING = 1.5  # rows below ground that slopes, in which stresses err


def indirect_reading(setup: Discretization) -> IndirectReading:
    """Return what reads strains by stresses, or stresses by strains, on one of a run's grids."""
    if setup.earth.relaxation is not None:
        return IndirectReading(setup)
    if setup.meets is not None and setup.finer == 1:
        return PlaneStrains(setup)
    ground = setup.interpolation
    if ground.traction is not None and ground.tilted is not None:
        return GroundStresses(setup)
    return IndirectReading(setup)


@dataclass(frozen=True)
class IndirectReading:
    """How receivers of a grid are read; as everywhere, where no kind of it says more.

    Attributes:
        setup: the run on one of its grids.
    """

    setup: Discretization

    def bases(self, group: ReceiverGroup) -> list[tuple[str, str]]:
        """Return the base quantities and components that channels of a set of receivers record."""
        # Once each, and what velocities add to strains behind them.
        recorded = group.components(self.setup.physics).values()
        bases = list(dict.fromkeys((base, component) for _, base, component in recorded))
        return bases + [(b, c + OF_MOTION) for b, c in bases if self.adds_motion(group.name, c)]

    def adds_motion(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has channels of velocities, too."""
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
        setup = self.setup
        return receiver_points(setup.interpolation, group, number, position, base, setup.stencil)

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        motion: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, made of what was read for it.

        Args:
            group: name of the set of receivers.
            component: base component.
            traces: of all of them.
            motion: what is left of velocities, or None.
            beside: (receiver) of `beside`, None where it has none.
        """
        return traces

    def _medium(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return the medium at positions (..., 3) in m."""
        x, y, z = np.moveaxis(positions, -1, 0)
        return self.setup.earth.sample(z, y if self.setup.grid.dimensions == 3 else None, x)

    def _stiffness(self, position: np.ndarray) -> tuple[list[str], np.ndarray]:
        """Return the stresses, and the stiffness (stress, strain) of the rock at a position."""
        names = list(self.setup.physics.observables["stress"])
        return names, elastic_constants.stiffness_of_stresses(self._medium(position), names)

    def _of_group(self, name: str, component: str, bases: Sequence[str]) -> tuple[Term, ...]:
        """Return the terms of a component of some base quantities; none along fibres."""
        group = next(one for one in self.setup.groups if one.name == name)
        observables = self.setup.physics.observables
        known = {c: terms for base in bases for c, terms in observables.get(base, {}).items()}
        return known.get(component, ()) if group.fibre is None else ()


class PlaneStrains(IndirectReading):
    """What reads strains by stresses on the coarser of two grids, beside their plane."""

    @property
    def last(self) -> float:
        """Z in m down to which strains are read so."""
        # Behind the closed rows, as far as receivers read.
        setup = self.setup
        return float(setup.grid.coordinate("z", setup.plane_rows.rows[1] + RADIUS))

    def adds_motion(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has channels of velocities, too."""
        strains, motion = self._split(group, component)
        return bool(strains and motion)

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> which receivers are read so: in solids."""
        return _of_shots(self._reads, groups, shots)

    def _reads(self, positions: np.ndarray) -> np.ndarray:
        # A fluid has no shear strain that stresses tell.
        return np.asarray((positions[..., 2] < self.last) & (self._medium(positions)["vs"] > 0.0))

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> dict[str, Points]:
        """Return the points, by their field, that a channel reads at one receiver: see the base."""
        setup = self.setup
        component = base[1].removesuffix(OF_MOTION)
        strains, motion = self._split(group.name, component)
        is_beside = bool(strains) and position[2] < self.last and bool(self._reads(position))
        of_motion = component != base[1]
        if not is_beside and not of_motion:
            return super().points(group, number, position, base)
        # Stresses of the position's own rock, or what is left of velocities.
        terms = motion if of_motion else self._stresses(strains, position)
        return channel_points(
            setup.interpolation, terms if is_beside else (), position, setup.stencil
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
        names = {field.name for field in self.setup.physics.fields}
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
        motion: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, of which some are strains, as rates."""
        if beside is None or not beside.any() or not self._split(group, component)[0]:
            return traces
        # Stresses of a step are those before it and dt C e of the velocities between.
        some = traces[beside]
        some[:, 1:] = np.diff(some, axis=1)
        some /= self.setup.clock.dt
        traces[beside] = some if motion is None else some + motion[beside]
        return traces


@dataclass(frozen=True)
class GroundStresses(IndirectReading):
    """What reads stresses by strains on ground that slopes and below it."""

    _strains: dict[tuple[float, ...], dict[str, dict[str, Points]]] = field(default_factory=dict)

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> which receivers are read so."""
        return _of_shots(self._reads, groups, shots)

    def _reads(self, positions: np.ndarray) -> np.ndarray:
        # On the ground, and in the rows that err where no contact lies near.
        known = self.setup.interpolation.tilted
        last = _ERRING if known and known.rows >= MOST_ROWS else ON_GRID
        is_high = np.asarray(self.setup.grid.index("z", positions[..., 2]) < last)
        return is_high & ~self._has_moments(positions)

    @cached_property
    def _moments(self) -> Any:
        """The tree of the sources that act on stresses, in all shots of the survey, in cells.

        Receivers are read alike, however its shots are shared out.
        """
        from scipy.spatial import cKDTree

        sources = [source for shot in self.setup.survey_shots for source in shot.sources]
        positions = [source.position for source in sources if source.kind != "force"]
        return cKDTree(self._in_cells(np.reshape(positions, (-1, 3))))

    def _has_moments(self, positions: np.ndarray) -> np.ndarray:
        """Return where moments act, whose strain C takes for stress."""
        cells = self._in_cells(positions)
        distance, _ = self._moments.query(cells, p=np.inf, distance_upper_bound=_ABOUT_MOMENTS)
        return np.isfinite(distance)

    def _in_cells(self, positions: np.ndarray) -> np.ndarray:
        grid = self.setup.grid
        return np.stack([grid.index(a, positions[..., AXES.index(a)]) for a in grid.axes], axis=-1)

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> dict[str, Points]:
        """Return the points, by their field, that a channel reads at one receiver: see the base."""
        stresses = self._of_group(group.name, base[1], _STRESSES)
        if not stresses or not self._reads(position):
            return super().points(group, number, position, base)
        # ds/dt = C de/dt
        names, stiffness = self._stiffness(position)
        shares = sum(one.factor * stiffness[names.index(one.field)] for one in stresses)
        points_by_field = dict[str, list[Points]]()
        for name, share in zip(names, np.asarray(shares).tolist(), strict=True):
            read = self._strain_points(name, position) if share else {}
            for of, some in read.items():
                points_by_field.setdefault(of, []).append(
                    some._replace(weights=share * some.weights)
                )
        return {of: joined(*several) for of, several in points_by_field.items()}

    def _strain_points(self, stress: str, position: np.ndarray) -> dict[str, Points]:
        """Return the points, by their field, of the rate of strain that a stress does work on."""
        # Components of one receiver share them.
        coordinates = tuple(position.tolist())
        if coordinates not in self._strains and len(self._strains) >= _MOST_POSITIONS:
            self._strains.clear()
        known = self._strains.setdefault(coordinates, {})
        if stress not in known:
            setup = self.setup
            factor = 1.0 if stress[1] == stress[2] else 2.0
            rates = setup.physics.observables["strain_rate"][f"e{stress[1:]}_rate"]
            terms = [replace(term, factor=factor * term.factor) for term in rates]
            known[stress] = channel_points(setup.interpolation, terms, position, setup.stencil)
        return known[stress]

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        motion: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, of which some are rates, as stresses."""
        if beside is not None and beside.any() and self._of_group(group, component, _STRESSES):
            # Stresses are at rest before the first step.
            sums = np.cumsum(traces[beside], axis=1, dtype=np.float64)
            traces[beside] = self.setup.clock.dt * sums
        return traces


def _of_shots(
    reads: Callable[[np.ndarray], np.ndarray], groups: Sequence[ReceiverGroup],
    shots: Sequence[Shot],
) -> dict[tuple[int, str], np.ndarray]:  # fmt: skip
    """Return what a function of positions (receiver, 3) gives of each set, at each shot."""
    return {
        (number, group.name): reads(group.at(shot.name))
        for group in groups
        for number, shot in enumerate(shots)
    }
