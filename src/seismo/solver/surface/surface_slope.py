"""The slopes of velocities at the free surface of a solid or fluid, which its traction prescribes.

    szz = 0 on z = 0:    d_z vz = -r (d_x vx + d_y vy),    r = lambda / (lambda + 2 mu)
    sxz = syz = 0:       d_z v_a = -d_a vz,                a = x, y

With the first a few rows of vz, which stand half a cell below the nodes, tell vz on the surface as
well as many rows do without; the near field of a shallow source, or a contact, stays out of the
reading. r is 1 in a fluid, which no shear stress holds: nothing turns it, and d_z v_a = d_a vz.
Divergence and rotation beside the surface are read with both. `seismo.grid.interpolation` has the
weights of the rows and of the slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.equations.rock import elastic_constants
from seismo.grid.coefficients import staggered
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import Points, PointsByField, Surface, axis_weights, slope_share
from seismo.grid.surface_interpolation import SurfaceWeights
from seismo.model.earth import Earth

MOST_REACH = 4  # half points on either side of a node that tell its d_x vx
MOST_ROWS = 8  # half points below the surface that a reading may use
_SLAB = 1 << 20  # columns that are sampled at once
CONTACT = 0.1  # relative change of a modulus within half a cell that counts as a contact


@dataclass(frozen=True)
class SurfaceSlope:
    """What prescribes d_z vz on the free surface of a run.

    Attributes:
        grid: the grid; its first row along z is the surface.
        earth: the medium.
        rows: half points below the surface that lie above the shallowest contact.
        halo: points beyond each face of the grid that a field has.
        fitted: weights that read fields among the rows of the closure, or None.
    """

    grid: Grid
    earth: Earth
    rows: int
    halo: int
    fitted: SurfaceWeights | None = None

    def ratio(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return c13 / c33 at the surface (broadcast shape of indices y, x)."""
        # lambda / (lambda + 2 mu) of the rock at the surface.
        ratio = elastic_constants.thin_stretch(self.medium(y, x))
        return np.broadcast_to(ratio, np.broadcast_shapes(np.shape(y), np.shape(x)))

    def medium(self, y: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
        """Sample the medium of the surface at indices y, x."""
        across = self.grid.coordinate("y", y) if self.grid.dimensions == 3 else None
        top = np.array(self.grid.coordinate("z", 0))
        return self.earth.sample(top, across, self.grid.coordinate("x", x))

    @property
    def across(self) -> list[str]:
        """The axes along the surface."""
        return [a for a in "xy" if a in self.grid.axes]

    def derivative(self, axis: str, most: int = MOST_REACH) -> tuple[np.ndarray, np.ndarray]:
        """Return the half points around a node, and their weights 1/m, for the derivative there."""
        reach = min(most, self.halo)
        # Staggered Taylor difference of half points, at the node.
        c = staggered(2 * reach) / self.grid.spacing[AXES.index(axis)]
        return np.arange(-reach, reach), np.concatenate([-c[::-1], c])

    def points(self, columns: Points) -> PointsByField:
        """Return by its name what to read of vx (and vy) for the slope under some nodes.

        Near a face of the grid, where fewer half points are left, fewer are taken.

        Args:
            columns: nodes of the surface, and how much (m) of the slope there is wanted.
        """
        # d_z vz = -r (d_x vx + d_y vy)
        share = -self.ratio(columns.y, columns.x) * columns.weights
        return {f"v{axis}": self._derivative(axis, columns, share) for axis in self.across}

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return by its name what to read of the velocities for the slope of that along an axis.

        Args:
            axis: "x" or "y".
            columns: half points along it on the surface, by the nodes before them, and how much (m)
                of the slope there is wanted.
        """
        # sxz = 0: d_z v_a = -d_a vz; no rotation in a fluid: d_z v_a = +d_a vz.
        medium = self.medium(columns.y, columns.x)
        sign = np.where(medium.get("vs", medium.get("c55", 0.0)) > 0.0, -1.0, 1.0)
        of_vz = self._derivative(axis, columns, sign * columns.weights, half=1).added_up()
        surface = Surface(0, vanishes=False, sloped=self.rows)
        # vz on the surface: from its rows below, and from the prescribed slope.
        rows, some = axis_weights(0.0, True, 0, surface)
        x, y = (np.repeat(n, rows.size) for n in of_vz[:2])
        below = np.tile(rows, of_vz.weights.size), np.outer(of_vz.weights, some).ravel()
        share = slope_share(0.0, True, surface) * self.grid.spacing[2]
        slope = self.points(of_vz.times(share))
        return {name: points.added_up() for name, points in slope.items()} | {
            "vz": Points(x, y, *below)
        }

    def _derivative(self, axis: str, columns: Points, share: np.ndarray, half: int = 0) -> Points:
        """Return the points of `share` times the derivative along an axis at nodes.

        With `half` 1, at the half points behind them, of a field on the nodes.
        """
        a = AXES.index(axis)
        last = self.grid.points[a] - 1 + self.halo
        centre = np.clip(columns[a] + half, 1 - self.halo, last)
        # Fewer points where the grid ends.
        reach = np.clip(np.minimum(centre + self.halo, last + 1 - centre), 1, MOST_REACH)
        pieces = []
        for number in np.unique(reach):
            some = reach == number
            steps, weights = self.derivative(axis, int(number))
            index = [np.repeat(columns[n][some], steps.size) for n in range(3)]
            index[a] = (centre[some][:, None] + steps).ravel()
            pieces.append((*index, np.outer(share[some], weights).ravel()))
        return Points(*(np.concatenate(piece) for piece in zip(*pieces, strict=True)))


def even_depths(
    earth: Earth, grid: Grid, most: int, changes: Sequence[float] = (CONTACT,)
) -> list[float]:
    """Return the depths in cells down to which no column of the earth has a contact.

    A contact is a modulus or density that changes by more than so much within half a cell.

    Args:
        earth: the medium.
        grid: the grid.
        most: depth in cells that is looked at; beyond it the answer is infinite.
        changes: relative; one depth for each.
    """
    z = grid.coordinate("z", np.arange(2 * most + 1) / 2)
    y, x = (grid.coordinate(a, np.arange(grid.points[AXES.index(a)])) for a in "yx")
    if earth.layered:
        y = y[:1]
        x = x[:1]
    rows = max(1, _SLAB // (x.size * z.size))
    depths = [np.inf] * len(changes)
    for first in range(0, y.size, rows):
        across = y[None, first : first + rows, None] if grid.dimensions == 3 else None
        down = z[:, None, None] if grid.dimensions == 3 else z[:, None]
        medium = earth.sample(down, across, x)
        moduli = [
            medium["rho"],
            *(medium["rho"] * medium[v] ** 2 for v in ("vp", "vs") if v in medium),
        ]
        for modulus in moduli:
            flat = modulus.reshape(z.size, -1)
            jumps = np.abs(np.diff(flat, axis=0))
            least = np.minimum(flat[1:], flat[:-1])
            for n, change in enumerate(changes):
                # First half cell in which any column jumps.
                cut = np.flatnonzero((jumps > change * least).any(1))
                depths[n] = min(depths[n], cut[0] / 2 if cut.size else np.inf)
    return depths
