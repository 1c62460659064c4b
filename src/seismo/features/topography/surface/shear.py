"""The shear stresses across level planes on ground that slopes, by its zero traction.

With N = (-f_x, -f_y, 1) across the ground, s_ab N_b = 0 is there::

    s_az = f_x s_ax + f_y s_ay,    a = x, y

of stresses that stand on the first row. Of the strains that they do work on, in rock whose shear
stresses across z take one strain each,

    2 e_az = (f_x C_ax,kl + f_y C_ay,kl) e_kl / C_az,az

(Auld 1990, section 9.D). Moments act by the transpose of what is read. The scheme's own strains err
from row to row next to the ground, most in the first ones. Where no contact lies near, moments take
those of the polynomials, one of each strain, that fit eight rows in the sense of least squares,
with weights by how much rows err there, among those without traction on the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.features.topography.rows import Topography
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points, PointsByField, point_weights
from seismo.model.earth import Earth

FITTED_ROWS = 4.0  # rows below the ground, in which strains are fitted
_NO_SHARE = 1e-12  # what rounding leaves
_DEGREE = 5  # of polynomials that are fitted
# What strains of rows err by, over those of the rows below, on nodes from the first row below the
# ground on, and on half rows from the ground on.
_ERRORS = {False: (4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
           True: (6.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)}  # fmt: skip


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

    def stress(self, name: str, position) -> PointsByField:
        """Return by its name what to read for a stress on the ground above a position."""
        return self._read(self._along_ground(position), name, position)

    def strain(self, name: str, position) -> PointsByField:
        """Return the same for the strain that it does work on, by stresses that do so on theirs."""
        # Strains by stresses on the ground, these by level ones, and these by strains: S P C.
        stiffness = self._stiffness(position)
        known = self._along_ground(position)
        return self._read(np.linalg.solve(stiffness, known @ stiffness), name, position)

    def fitted_strain(self, name: str, position) -> PointsByField:
        """Return the same for that strain at a position in the first rows: see above."""
        # No traction: s_az = f_b s_ab and so on, of C e on the ground.
        stiffness = self._stiffness(position)
        across = ["z" in other for other in self.names]
        conditions = ((np.eye(len(across)) - self._along_ground(position)) @ stiffness)[across]
        conditions /= np.abs(conditions).max()
        halves = tuple("z" in self.physics.named(other).half for other in self.names)
        z_index = float(self.topography.grid.index("z", position[2]))
        weights = _fit(halves, tuple(map(tuple, conditions.tolist())), z_index)
        points_by_field = PointsByField()
        # Rows of each field, interpolated along them.
        for other, half, shares in zip(
            self.names, halves, weights[self.names.index(name)], strict=True
        ):
            x, y, _, weights = self._columns(other, position)
            rows = np.arange(shares.size) + (not half)
            points_by_field[other] = Points(
                np.repeat(x, rows.size), np.repeat(y, rows.size), np.tile(rows, x.size),
                np.outer(weights, shares).ravel(),
            )  # fmt: skip
        return points_by_field

    @property
    def names(self) -> list[str]:
        """The stresses."""
        return list(self.physics.observables["stress"])

    def _read(self, shares: np.ndarray, name: str, position) -> PointsByField:
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
        return self._columns(name, position).times(share)

    def _columns(self, name: str, position) -> Points:
        """Return the points of a field's first row about the ground above a position."""
        grid = self.topography.grid
        x, y = (
            float(grid.index(a, position[AXES.index(a)])) if a in grid.axes else 0.0 for a in "xy"
        )
        across = self.physics.named(name).half.replace("z", "")
        return point_weights((x, y, 0.0), across)

    def _stiffness(self, position) -> np.ndarray:
        """Return the stiffness (stress, stress) of the ground above a position."""
        x, y, _ = (np.asarray(p) for p in position)
        # The first row stands on the ground.
        across = y if "y" in self.topography.grid.axes else None
        medium = self.earth.sample(np.array(self.topography.level), across, x)
        return elastic_constants.stiffness_of_stresses(medium, self.names)


@lru_cache(maxsize=64)  # components of a source share them
def _fit(
    halves: tuple[bool, ...], conditions: tuple[tuple[float, ...], ...], z_index: float
) -> np.ndarray:
    """Return weights (strain, strain, row) that read strains of rows at a depth in rows.

    Args:
        halves: whether each strain stands on half rows.
        conditions: numbers (condition, strain) whose sums of strains vanish on the ground.
        z_index: the depth.
    """
    # Polynomials in rows over eight of them, strain by strain.
    powers = np.arange(_DEGREE + 1)
    count = len(halves)
    rows = len(_ERRORS[True])
    matrix = np.zeros((count, rows, count, powers.size))
    certainty = np.array([1.0 / np.array(_ERRORS[half]) for half in halves])
    for n, half in enumerate(halves):
        depths = np.arange(rows) + (0.5 if half else 1.0)
        matrix[n, :, n] = certainty[n, :, None] * (depths[:, None] / rows) ** powers
    # Their values on the ground keep the conditions: a basis of all that do.
    _, sizes, turned = np.linalg.svd(np.kron(np.array(conditions), 1.0 * (powers == 0)))
    kept = turned[int((sizes > _NO_SHARE).sum()) :].T
    flat = matrix.reshape(count * rows, -1)
    solved = kept @ np.linalg.pinv(flat @ kept) * certainty.ravel()
    at_depth = (z_index / rows) ** powers
    return np.einsum("apbr,p->abr", solved.reshape(count, powers.size, count, rows), at_depth)
