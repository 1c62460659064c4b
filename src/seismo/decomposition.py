"""The grid cut into subdomains: owned boxes, their padded arrays, edges and neighbours.

x is never cut. Each subdomain holds the points it owns plus a halo as wide as half the order along
y and z; along x a margin that puts the middle of the rows, between the layers at their ends, on the
boundary of a cache line. Loads of a warp that straddle lines take twice their time::

            pad |<------------ owned x ------------>| pad to the pitch
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .
    z owned  .  .  o  o  o  o  o  o  o  o  o  o  .  .
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seismo.errors import ScenarioError
from seismo.grid import Box, Grid, triple

LINE = 32  # numbers in a cache line of a GPU, two of a CPU's


@dataclass(frozen=True)
class Subdomain:
    """One part of the grid and the shape of the arrays that hold it.

    Attributes:
        grid: the whole grid.
        owned: the points it updates, in the grid's indices.
        halo: points copied from each neighbour, along y and z.
        cut: for y and z, whether there is a neighbour on the low and the high side.
        batch: shots held side by side.
        middle: first x behind the layer at the beginning of the rows.
    """

    grid: Grid
    owned: Box
    halo: int
    cut: dict[str, tuple[bool, bool]]
    batch: int = 1
    middle: int = 0

    @property
    def offset(self) -> tuple[int, int, int]:
        """Add this to a grid index to get the index in the padded arrays, along x, y, z."""
        y_halo = self.halo if "y" in self.grid.axes else 0
        return LINE + -self.middle % LINE, y_halo - self.owned.lo[1], self.halo - self.owned.lo[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (z, y, x) of the padded arrays of one shot."""
        nx, ny, nz = self.owned.shape
        y_halo = self.halo if "y" in self.grid.axes else 0
        pitch = -(-(self.offset[0] + nx + self.halo) // LINE) * LINE
        return nz + 2 * self.halo, ny + 2 * y_halo, pitch

    @property
    def volume(self) -> int:
        """Numbers in a padded array of one shot."""
        nz, ny, nx = self.shape
        return nz * ny * nx

    @property
    def strides(self) -> tuple[int, int]:
        """Distance of neighbours along y and z."""
        _, ny, nx = self.shape
        return nx, nx * ny

    def flat(self, x, y, z) -> np.ndarray:
        """Give flat indices in the first shot's padded array of grid indices."""
        ox, oy, oz = self.offset
        y_stride, z_stride = self.strides
        return (
            (np.asarray(z) + oz) * z_stride + (np.asarray(y) + oy) * y_stride + np.asarray(x) + ox
        )

    def place(self, index: int) -> tuple[int, int, int]:
        """Give x, y, z of the owned point next to a flat index of any shot, in the grid."""
        y_stride, z_stride = self.strides
        z, rest = divmod(index % self.volume, z_stride)
        padded = (rest % y_stride, rest // y_stride, z)
        ends = zip(padded, self.offset, self.owned.lo, self.owned.hi, strict=True)
        return triple([min(max(n - offset, lo), hi - 1) for n, offset, lo, hi in ends])

    def view(self, array) -> np.ndarray:
        """Shape a flat array as (shot, z, y, x); a coefficient has one shot."""
        count = array.size // self.volume
        return array[: count * self.volume].reshape(count, *self.shape)

    def inside(self, array) -> np.ndarray:
        """Give the owned points of a flat array, (shot, z, y, x)."""
        ox, oy, oz = (o + lo for o, lo in zip(self.offset, self.owned.lo, strict=True))
        nx, ny, nz = self.owned.shape
        return self.view(array)[:, oz : oz + nz, oy : oy + ny, ox : ox + nx]

    def owns(self, y, z) -> np.ndarray:
        """Tell which points it updates."""
        (_, ly, lz), (_, hy, hz) = self.owned.lo, self.owned.hi
        y, z = np.asarray(y), np.asarray(z)
        return (y >= ly) & (y < hy) & (z >= lz) & (z < hz)

    def in_core(self, y, z) -> np.ndarray:
        """Tell which owned points no neighbour waits for."""
        _, core = self.edges_and_core()
        (_, ly, lz), (_, hy, hz) = core.lo, core.hi
        y, z = np.asarray(y), np.asarray(z)
        return (y >= ly) & (y < hy) & (z >= lz) & (z < hz)

    def edges_and_core(self) -> tuple[list[Box], Box]:
        """Split the owned points in what the neighbours wait for, and the rest."""
        lo, hi = list(self.owned.lo), list(self.owned.hi)
        edges = []
        for axis, a in (("z", 2), ("y", 1)):
            low, high = self.cut[axis]
            for side in (low and "low", high and "high"):
                if not side:
                    continue
                edge_lo, edge_hi = list(lo), list(hi)
                if side == "low":
                    edge_hi[a] = lo[a] = min(lo[a] + self.halo, hi[a])
                else:
                    edge_lo[a] = hi[a] = max(hi[a] - self.halo, lo[a])
                edges.append(Box(triple(edge_lo), triple(edge_hi)))
        return [e for e in edges if e.size], Box(triple(lo), triple(hi))


def _cuts(points: int, parts: int) -> list[int]:
    return [points * k // parts for k in range(parts + 1)]


def decompose(
    grid: Grid, halo: int, parts: tuple[int, int] = (1, 1), batch: int = 1, middle: int = 0
) -> list[list[Subdomain]]:
    """Cut the grid into near-equal boxes.

    Args:
        grid: the grid.
        halo: half the order of the differences.
        parts: subdomains along z and y.
        batch: shots held side by side.
        middle: first x behind the layer at the beginning of the rows.

    Returns:
        Subdomains as rows along z of columns along y.

    Raises:
        ScenarioError: a subdomain would be narrower than the stencil or cut a layer.
    """
    rows, columns = _cuts(grid.points[2], parts[0]), _cuts(grid.points[1], parts[1])
    for axis, a, cuts in (("z", 2, rows), ("y", 1, columns)):
        narrowest = min(b - a for a, b in pairwise(cuts))
        inner = cuts[1:-1]
        if inner and narrowest < 2 * halo:
            raise ScenarioError(
                f"decomposition: {len(inner) + 1} parts of {narrowest} points along {axis}; "
                f"the stencil needs at least {2 * halo}: use fewer parts"
            )
        if any(c < grid.low[a] + halo or c > grid.points[a] - grid.high[a] - halo for c in inner):
            raise ScenarioError(
                f"decomposition: {len(inner) + 1} parts along {axis} cut an absorbing layer "
                f"({grid.low[a]} and {grid.high[a]} of {grid.points[a]} points): use fewer parts"
            )
    nz, ny = parts
    return [
        [
            Subdomain(
                grid,
                Box((0, columns[j], rows[k]), (grid.points[0], columns[j + 1], rows[k + 1])),
                halo,
                {"z": (k > 0, k < nz - 1), "y": (j > 0, j < ny - 1)},
                batch,
                middle,
            )
            for j in range(ny)
        ]
        for k in range(nz)
    ]
