"""The shear stresses across level planes on ground that slopes, by its zero traction.

With N = (-f_x, -f_y, 1) across the ground, s_ab N_b = 0 is there::

    s_az = f_x s_ax + f_y s_ay,    a = x, y

of stresses that stand on the first row. Of the strains that they do work on, in rock whose shear
stresses across z take one strain each,

    2 e_az = (f_x C_ax,kl + f_y C_ay,kl) e_kl / C_az,az

so that moments act by the transpose of what is read (Auld 1990, section 9.D).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.equations import elastic_constants
from seismo.equations.table import Physics
from seismo.grid.grid import AXES
from seismo.grid.interpolation import point_weights
from seismo.grid.topography import Topography
from seismo.model import Earth
from seismo.solver.surface_slope import Points

_NO_SHARE = 1e-12  # what rounding leaves


@dataclass(frozen=True)
class GroundTraction:
    """What the ground prescribes of shear stresses across z, and of the strains of these.

    Attributes:
        physics: the wave equation.
        earth: the medium, which takes x, y, s.
        topography: the ground.
    """

    physics: Physics
    earth: Earth
    topography: Topography

    def stress(self, name: str, position) -> dict[str, Points]:
        """Return by its name what to read for a stress on the ground above a position."""
        return self._read(self._along_ground(position), name, position)

    def strain(self, name: str, position) -> dict[str, Points]:
        """Return the same for the strain that it does work on, by stresses that do so on theirs."""
        # Strains by stresses on the ground, these by level ones, and these by strains: S P C.
        stiffness = self._stiffness(position)
        known = self._along_ground(position)
        return self._read(np.linalg.solve(stiffness, known @ stiffness), name, position)

    @property
    def names(self) -> list[str]:
        """The stresses."""
        return list(self.physics.observables["stress"])

    def _read(self, shares: np.ndarray, name: str, position) -> dict[str, Points]:
        """Return the points of a row of shares that stresses have, those of some part."""
        # Each of the other stresses is interpolated along the first row.
        row = shares[self.names.index(name)]
        least = _NO_SHARE * np.abs(row).max()
        return {
            other: self._points(other, position, share)
            for other, share in zip(self.names, row.tolist(), strict=True)
            if abs(share) > least
        }

    def _along_ground(self, position) -> np.ndarray:
        """Return all stresses on the ground by those across no level plane, (stress, stress)."""
        x, y, _ = (np.asarray(p) for p in position)
        slope = {
            axis: float(self.topography.surface(y, x, along=axis))
            for axis in self.topography.grid.axes
            if axis != "z"
        }
        names = self.names
        shares = np.eye(len(names))
        # s_az by s_ax and s_ay, then szz by both: the rows of P.
        for name in sorted(names, key=lambda name: name.count("z")):
            if "z" in name:
                of = (("s" + "".join(sorted(name[1] + axis)), slope[axis]) for axis in slope)
                shares[names.index(name)] = sum(f * shares[names.index(other)] for other, f in of)
        return shares

    def _points(self, name: str, position, share: float) -> Points:
        """Return the points of a field on the ground above a position, weighted with a share."""
        grid = self.topography.grid
        x, y = (
            float(grid.index(a, position[AXES.index(a)])) if a in grid.axes else 0.0 for a in "xy"
        )
        points = Points(*point_weights((x, y, 0.0), self.physics.named(name).half))
        return points._replace(weights=points.weights * share)

    def _stiffness(self, position) -> np.ndarray:
        """Return the stiffness (stress, stress) of the ground above a position."""
        x, y, _ = (np.asarray(p) for p in position)
        # The first row stands on the ground.
        across = y if "y" in self.topography.grid.axes else None
        medium = self.earth.sample(np.array(self.topography.level), across, x)
        return elastic_constants.stiffness_of_stresses(medium, self.names)
