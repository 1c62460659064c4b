"""Strains of receivers beside a plane of refinement, which are read by stresses.

Below a plane of refinement velocities err alternately from row to row, and their differences across
it by a third. Stresses do not: the scheme's own differences there belong to these velocities
(`seismo.features.refinement.operators`). So receivers beside the plane have, with a along it,

    e = C^-1 s,    d_z v_a = 2 e_az - d_a v_z

with the stiffness C of the rock at the receiver. Records of stresses become rates as their change
in a step; so the scheme has both. In attenuating rock strains do not follow from stresses of a
single time: there each is read directly.
"""

from __future__ import annotations

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.equations.framework.table import Term
from seismo.grid.interpolation import RADIUS, PointsByField
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import FURTHER, IndirectReading, channel_points

_STRAINS = ("strain_rate", "divergence", "rotation")


def indirect_reading(discretization: Discretization) -> PlaneStrains | None:
    """Return the reading of the coarser of two grids; None of the finer, and where rock loses."""
    attenuates = discretization.earth.relaxation is not None
    if discretization.interface is None or discretization.subdivision > 1 or attenuates:
        return None
    return PlaneStrains(discretization)


class PlaneStrains(IndirectReading):
    """The reading of strains by stresses on the coarser of two grids, beside their plane."""

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

    def marks(self, positions: np.ndarray) -> np.ndarray:
        """Return (receiver) whether each is read so: in solids."""
        # A fluid has no shear strain that stresses tell.
        return np.asarray((positions[..., 2] < self.last) & (self._medium(positions)["vs"] > 0.0))

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at a receiver: see the base."""
        discretization = self.discretization
        component = base[1].removesuffix(FURTHER)
        strains, motion = self._split(group.name, component)
        is_beside = bool(strains) and position[2] < self.last and bool(self.marks(position))
        of_motion = component != base[1]
        if not is_beside and not of_motion:
            return super().points(group, number, position, base)
        # Stresses of the position's own rock, or velocities where there are none.
        terms = motion if of_motion else self._stresses(strains, position)
        return channel_points(
            discretization.interpolation,
            terms if is_beside else (),
            position,
        )

    def _split(self, name: str, component: str) -> tuple[dict[str, float], tuple[Term, ...]]:
        """Return the strains e_ab that a component is a sum of, and the velocities that are left.

        Nothing of a component that is not read so.

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
        """Return traces (receiver, step) of a component, strains among them, as rates."""
        if beside is None or not beside.any() or not self._split(group, component)[0]:
            return traces
        # Stresses of a step: the previous plus dt C e of the velocities between.
        rates = traces[beside]
        rates[:, 1:] = np.diff(rates, axis=1)
        rates /= self.discretization.clock.dt
        traces[beside] = rates if further is None else rates + further[beside]
        return traces
