"""Strains and rotation beside a plane of refinement, by the stresses there.

In the closed rows below such a plane velocities err by some percent from row to row, and their
differences across the plane by a third. Stresses do not: the scheme's own differences there belong
to these velocities (`seismo.grid.refinement`). So receivers beside the plane have, with a along it,

    e = C^-1 s,    d_z v_a = 2 e_az - d_a v_z

with the stiffness C of the rock at the receiver. Records of stresses become rates as their change
in a step; what is left of velocities is recorded beside them. Rock that attenuates has strains that
stresses of one time do not tell: there all are differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Shot
from seismo.equations import elastic_constants
from seismo.equations.terms import Term
from seismo.grid.interpolation import RADIUS
from seismo.solver.channels import channel_points, receiver_points
from seismo.solver.discretization import Discretization
from seismo.solver.surface_slope import Points

OF_MOTION = "~"  # behind the name of a component: what is left of velocities
_BASES = ("strain_rate", "divergence", "rotation")


@dataclass(frozen=True)
class PlaneStrains:
    """What reads strains by stresses on the coarser of two grids.

    Attributes:
        setup: the run on one of its grids.
    """

    setup: Discretization

    @property
    def last(self) -> float:
        """Z in m down to which strains are read so; minus infinity where they are not."""
        setup = self.setup
        if setup.meets is None or setup.finer > 1 or setup.earth.relaxation is not None:
            return -np.inf
        # Behind the closed rows, as far as receivers read.
        return float(setup.grid.coordinate("z", setup.plane_rows.rows[1] + RADIUS))

    def bases(self, group: ReceiverGroup) -> list[tuple[str, str]]:
        """Return the base quantities and components that channels of a set of receivers record."""
        # Once each, and what velocities add to strains behind them.
        recorded = group.components(self.setup.physics).values()
        bases = list(dict.fromkeys((base, component) for _, base, component in recorded))
        return bases + [(b, c + OF_MOTION) for b, c in bases if self.adds_motion(group.name, c)]

    def adds_motion(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has channels of velocities, too."""
        strains, motion = self._split(group, component)
        return bool(strains and motion)

    def beside(
        self, groups: Sequence[ReceiverGroup], shots: Sequence[Shot]
    ) -> dict[tuple[int, str], np.ndarray]:
        """Return (number of a shot, set) -> which receivers read strains so; of no other grids."""
        if self.last == -np.inf:
            return {}
        return {
            (number, group.name): self._reads(group.at(shot.name))
            for group in groups
            for number, shot in enumerate(shots)
        }

    def _reads(self, positions: np.ndarray) -> np.ndarray:
        """Return whether strains are read so at positions (..., 3) in m: in solids."""
        # A fluid has no shear strain that stresses tell.
        x, y, z = np.moveaxis(positions, -1, 0)
        medium = self.setup.earth.sample(z, y if self.setup.grid.dimensions == 3 else None, x)
        return np.asarray((z < self.last) & (medium["vs"] > 0.0))

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
        component = base[1].removesuffix(OF_MOTION)
        strains, motion = self._split(group.name, component)
        is_beside = bool(strains) and bool(self._reads(position))
        of_motion = component != base[1]
        if not is_beside and not of_motion:
            return receiver_points(
                setup.interpolation, group, number, position, base, setup.stencil
            )
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
        group = next(one for one in self.setup.groups if one.name == name)
        if self.last == -np.inf or group.fibre is not None:
            return strains, ()
        observables = self.setup.physics.observables
        known = {c: terms for base in _BASES for c, terms in observables.get(base, {}).items()}
        motion = dict[tuple[str, str], float]()
        for term in known.get(component, ()):
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
        setup = self.setup
        names = list(setup.physics.observables["stress"])
        x, y, z = (np.asarray(p) for p in position)
        medium = setup.earth.sample(z, y if setup.grid.dimensions == 3 else None, x)
        # e = C^-1 s
        compliance = np.linalg.inv(elastic_constants.stiffness_of_stresses(medium, names))
        shares = np.zeros(len(names))
        for ab, factor in strains.items():
            # Of shear Voigt's strains are 2 e_ab.
            half = 1.0 if ab[0] == ab[1] else 0.5
            shares += half * factor * compliance[names.index(f"s{ab}")]
        return tuple(Term(name, share) for name, share in zip(names, shares.tolist(), strict=True))

    def as_rates(
        self, group: str, component: str, traces: np.ndarray,
        motion: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, of which some are strains, as rates.

        Args:
            group: name of the set of receivers.
            component: base component.
            traces: of all of them.
            motion: what is left of velocities, or None.
            beside: (receiver) of `beside`, None on other grids.
        """
        if beside is None or not beside.any() or not self._split(group, component)[0]:
            return traces
        # Stresses of a step are those before it and dt C e of the velocities between.
        some = traces[beside]
        some[:, 1:] = np.diff(some, axis=1)
        some /= self.setup.clock.dt
        traces[beside] = some if motion is None else some + motion[beside]
        return traces
