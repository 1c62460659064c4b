"""The grid cut into subdomains: owned boxes, their padded arrays and edges.

x is never cut. Each subdomain holds the points it owns plus a halo (`Setup.halo`)::

           halo |<------------ owned x ------------>| halo, and to the pitch
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .
    z owned  .  .  o  o  o  o  o  o  o  o  o  o  .  .
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .

Numbers before all rows put the middle of a row, between the layers at its ends, on the boundary of
a cache line: loads of a warp that straddle lines take twice their time. Where memory counts more,
rows are whole halves of a line long (`Subdomain.unit`), and planes z whole lines, so that whether a
row's middle is on a line depends on y alone; where it is not, `seismo.backends.gpu.kernels.Turn`
sees to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.errors import ScenarioError
from seismo.grid.global_index import GlobalBlock
from seismo.grid.grid import AXES, Box, Grid, triple

LINE = 32  # numbers in a cache line of a GPU, two of a CPU's
SECTOR = LINE // 2  # what a GPU's memory gives at a time


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
        first: the first of these shots, of all that advance together.
        unit: numbers that the length of a row is a multiple of, `LINE` or `SECTOR`.
    """

    grid: Grid
    owned: Box
    halo: int
    cut: dict[str, tuple[bool, bool]]
    batch: int = 1
    middle: int = 0
    first: int = 0
    unit: int = LINE

    @property
    def shots(self) -> range:
        """The shots it holds, of all that advance together."""
        return range(self.first, self.first + self.batch)

    @property
    def offset(self) -> tuple[int, int, int]:
        """Add this to a grid index to get the index in the padded arrays, along x, y, z.

        That along x counts from where an array begins, `before` numbers ahead of the first row.
        """
        y_halo = self.halo if "y" in self.grid.axes else 0
        return self.before + self.halo, y_halo - self.owned.lo[1], self.halo - self.owned.lo[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (z, y, x) of the padded arrays of one shot.

        Where rows end with half a line a plane has an even number of them: one may be spare.
        """
        nx, ny, nz = self.owned.shape
        rows = ny + 2 * self.halo if "y" in self.grid.axes else ny
        pitch = -(-(nx + 2 * self.halo) // self.unit) * self.unit
        rows += rows % 2 if pitch % LINE else 0
        return nz + 2 * self.halo, rows, pitch

    @property
    def volume(self) -> int:
        """Numbers in a padded array of one shot."""
        nz, ny, nx = self.shape
        return nz * ny * nx

    @property
    def before(self) -> int:
        """Numbers in an array before the first row, which begins with its halo."""
        return -(self.middle + self.halo) % LINE

    @property
    def strides(self) -> tuple[int, int]:
        """Distance of neighbours along y and z."""
        _, ny, nx = self.shape
        return nx, nx * ny

    @property
    def padded(self) -> Box:
        """The points it holds: those it owns and its halo."""
        grown = [0 if a == "x" or a not in self.grid.axes else self.halo for a in AXES]
        lo, hi = np.array(self.owned.lo) - grown, np.array(self.owned.hi) + grown
        return Box(triple(lo), triple(hi))

    def flat(self, x, y, z) -> np.ndarray:
        """Return flat indices in the first shot's padded array of grid indices."""
        ox, oy, oz = self.offset
        y_stride, z_stride = self.strides
        return (
            (np.asarray(z) + oz) * z_stride + (np.asarray(y) + oy) * y_stride + np.asarray(x) + ox
        )

    def point(self, index: int) -> tuple[int, int, int]:
        """Return x, y, z of the owned point next to a flat index of any shot, in the grid."""
        y_stride, z_stride = self.strides
        z, rest = divmod(max(index - self.before, 0) % self.volume, z_stride)
        padded = (rest % y_stride + self.before, rest // y_stride, z)
        ends = zip(padded, self.offset, self.owned.lo, self.owned.hi, strict=True)
        return triple([min(max(n - offset, lo), hi - 1) for n, offset, lo, hi in ends])

    def view(self, array) -> np.ndarray:
        """Shape a flat array as (shot, z, y, x), halo first; a coefficient has one shot."""
        count, first = array.size // self.volume, self.before
        return array[first : first + count * self.volume].reshape(count, *self.shape)

    def place(self, whole: str) -> GlobalBlock:
        """Describe what a flat array holds of a field, halo and images beyond faces too."""
        (_, y0, z0), (nx, y1, z1) = self.padded.lo, self.padded.hi
        shots = (self.shots.start, self.shots.stop)
        runs = (shots, (z0, z1), (y0, y1), (-self.halo, nx + self.halo))
        y_stride, z_stride = self.strides
        strides = (self.volume, z_stride, y_stride, 1)
        return GlobalBlock(whole, self.before, strides, tuple((run,) for run in runs))

    def inside(self, array) -> np.ndarray:
        """Return the owned points of a flat array, (shot, z, y, x)."""
        (_, oy, oz), (_, y0, z0), (nx, ny, nz) = self.offset, self.owned.lo, self.owned.shape
        y, z, x = oy + y0, oz + z0, self.halo
        return self.view(array)[:, z : z + nz, y : y + ny, x : x + nx]

    def owns(self, y, z) -> np.ndarray:
        """Return which points it updates."""
        (_, ly, lz), (_, hy, hz) = self.owned.lo, self.owned.hi
        y, z = np.asarray(y), np.asarray(z)
        return (y >= ly) & (y < hy) & (z >= lz) & (z < hz)

    def in_core(self, y, z) -> np.ndarray:
        """Return which owned points no neighbour waits for."""
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


def cost(grid: Grid, box: Box, pml_cost: float) -> float:
    """Return the time of a box in that of interior points."""
    return pml_cost * box.size - (pml_cost - 1.0) * (box & grid.extent).size


def _costs(grid: Grid, axis: int, pml_cost: float) -> np.ndarray:
    """Return what each plane across an axis costs, in points."""
    inner = [n - low - high for n, low, high in zip(grid.points, grid.low, grid.high, strict=True)]
    across = [a for a in range(3) if a != axis]
    whole = np.prod([grid.points[a] for a in across])
    plane = pml_cost * whole - (pml_cost - 1.0) * np.prod([inner[a] for a in across])
    costs = np.full(grid.points[axis], pml_cost * whole)
    costs[grid.low[axis] : grid.points[axis] - grid.high[axis]] = plane
    return costs


def _cuts(
    grid: Grid, axis: str, parts: int, halo: int, pml_cost: float, uncut: frozenset[int]
) -> list[int]:
    """Cut an axis in parts of about equal cost, each wide enough, layers and contacts whole."""
    a, least = AXES.index(axis), 2 * halo
    points, low, high = grid.points[a], grid.low[a], grid.high[a]
    first, last = max(least, low + halo), points - max(least, high + halo)
    most = max(1, 2 + (last - first) // least)
    if parts > points == 1:
        raise ScenarioError(
            f"decomposition: {parts} parts along {axis}, which a 2-D run lacks: use 1"
        )
    if parts > most:
        raise ScenarioError(
            f"decomposition: {parts} parts of {points} points along {axis}; a part needs at least "
            f"{least} for the stencil, and must not cut an absorbing layer ({low} and {high} "
            f"points): use fewer parts, at most {most}"
        )
    reached = np.cumsum(_costs(grid, a, pml_cost))
    cuts = [0]
    for k in range(1, parts):
        cut = int(np.abs(reached - reached[-1] * k / parts).argmin()) + 1
        earliest = max(first, cuts[-1] + least if k > 1 else 0)
        latest = last - (parts - 1 - k) * least
        allowed = [n for n in range(earliest, latest + 1) if n not in uncut]
        if not allowed:
            raise ScenarioError(
                f"decomposition: {parts} parts of {points} points along {axis} cut the rows next "
                "to a free surface or a contact of fluid and solid: use fewer parts, or cut along y"
            )
        cuts.append(min(allowed, key=lambda n: abs(n - cut)))
    return [*cuts, points]


def best_parts(grid: Grid, halo: int, count: int, whole: str = "") -> tuple[int, int]:
    """Choose parts along z and y: as many as asked for, with the fewest points beside the cuts.

    Args:
        grid: the grid.
        halo: points held of each neighbour.
        count: of the parts.
        whole: axes that must not be cut.

    Raises:
        ScenarioError: there is no way to cut it in so many.
    """
    nx, ny, nz = grid.points
    ways = sorted(
        ((z, count // z) for z in range(1, count + 1) if count % z == 0),
        key=lambda parts: ((parts[0] - 1) * nx * ny + (parts[1] - 1) * nx * nz, parts[1]),
    )
    refused: list[ScenarioError] = []
    for parts in ways:
        if any(n > 1 and axis in whole for n, axis in zip(parts, "zy", strict=True)):
            continue
        try:
            decompose(grid, halo, parts)
        except ScenarioError as error:
            refused.append(error)
        else:
            return parts
    raise (
        refused[0]
        if refused
        else ScenarioError(
            f"decomposition: the grid cannot be cut in {count} parts, as it is periodic; use fewer"
        )
    )


def decompose(
    grid: Grid, halo: int, parts: tuple[int, int] = (1, 1), batch: int = 1, middle: int = 0,
    first: int = 0, unit: int = LINE, pml_cost: float = 1.0, uncut: frozenset[int] = frozenset(),
) -> list[list[Subdomain]]:  # fmt: skip
    """Cut the grid into boxes of about equal cost.

    Args:
        grid: the grid.
        halo: points held of each neighbour.
        parts: subdomains along z and y.
        batch: shots held side by side.
        middle: first x behind the layer at the beginning of the rows.
        first: the first of these shots, of all that advance together.
        unit: numbers that the length of a row is a multiple of.
        pml_cost: time of a point in an absorbing layer over that of an interior one.
        uncut: rows z before which it cannot be cut.

    Returns:
        Subdomains as rows along z of columns along y.

    Raises:
        ScenarioError: a subdomain would be narrower than the stencil or cut a layer.
    """
    rows = _cuts(grid, "z", parts[0], halo, pml_cost, uncut)
    columns = _cuts(grid, "y", parts[1], halo, pml_cost, frozenset())
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
                first,
                unit,
            )
            for j in range(ny)
        ]
        for k in range(nz)
    ]
