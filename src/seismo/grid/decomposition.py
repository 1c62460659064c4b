"""Domain decomposition: owned boxes, their padded arrays, and global indices of these.

x is never cut. Each subdomain has the points it owns plus a halo (`Discretization.halo`)::

           halo |<------------ owned x ------------>| halo, and to the pitch
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .
    z owned  .  .  o  o  o  o  o  o  o  o  o  o  .  .
    z halo   .  .  .  .  .  .  .  .  .  .  .  .  .  .

Padding before the first row aligns the interior of each row, between the absorbing layers at its
ends, to a cache line: loads of a warp that straddle lines take twice as long. Where memory is
scarce, rows are a multiple of half a line long (`Subdomain.unit`) and planes z of a whole line, so
that the alignment of a row depends on y alone, which
`seismo.backends.gpu.sweeps.blocks.RowRotation` corrects.
Points cost more in absorbing layers and in curved rows; subdomains share costs (`PointCosts`).

A checkpoint can be read on another decomposition: a `GlobalBlock` views a rank's flat array as a
block with several axes, and lists the global indices of each axis in an array that all ranks know
by its name. Where two blocks of one global array overlap, their numbers are the same; that holds in
halos too, which are copies::

    global array   0 1 2 3 4 5 6 7 8 9
    rank 0         0 1 2 3 4 5              index ((0, 6),), halo 4 5
    rank 1                 4 5 6 7 8 9      index ((4, 10),), halo 4 5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seismo.errors import ScenarioError
from seismo.grid.grid import AXES, Box, Grid, triple

IndexRanges = tuple[tuple[int, int], ...]  # ranges of indices, first and behind the last


@dataclass(frozen=True)
class GlobalBlock:
    """A block of a flat array, and its indices in a global array.

    Attributes:
        array_name: name of the global array.
        first: index of the block's first number in the flat array.
        strides: distance of neighbours along each axis of the block.
        index: global indices along each axis.
    """

    array_name: str
    first: int
    strides: tuple[int, ...]
    index: tuple[IndexRanges, ...]

    @staticmethod
    def read(entry: Mapping[str, Any]) -> GlobalBlock:
        """Return the block of a checkpoint's JSON entry."""
        ranges = tuple(tuple((a, b) for a, b in axis) for axis in entry["index"])
        return GlobalBlock(entry["array_name"], entry["first"], tuple(entry["strides"]), ranges)

    def block(self, flat: np.ndarray) -> np.ndarray:
        """Return a view of the block in a flat array.

        Raises:
            ValueError: the block exceeds the array.
        """
        # Bounds of the strided view: the last element addressed lies at first + sum (n - 1) stride.
        shape = [sum(b - a for a, b in ranges) for ranges in self.index]
        last = self.first + sum((n - 1) * k for n, k in zip(shape, self.strides, strict=True))
        if min(self.first, *shape, *self.strides) < 0 or (all(shape) and last >= flat.size):
            raise ValueError(
                f"a block of {self.array_name} ends at {last}, its array at {flat.size}"
            )
        # as_strided takes strides in bytes.
        steps = [n * flat.itemsize for n in self.strides]
        return np.lib.stride_tricks.as_strided(flat[self.first :], shape, steps)

    def common(self, other: GlobalBlock) -> tuple[tuple, tuple] | None:
        """Return the positions of common numbers in the block of each, or None."""
        if self.array_name != other.array_name:
            return None
        # Blocks overlap where their indices do along every axis: the product of the axes' overlaps.
        pairs = [_common(*ranges) for ranges in zip(self.index, other.index, strict=True)]
        if not all(own_index.size for own_index, _ in pairs):
            return None
        own_index, other_index = zip(*pairs, strict=True)
        return np.ix_(*own_index), np.ix_(*other_index)


class CheckpointArray(NamedTuple):
    """An array that the next step needs, and the blocks of global arrays in it.

    Attributes:
        array: the numbers.
        blocks: its part that other decompositions share; without halos, of which steps exchange
            only the numbers that they read.
        halos: the same blocks with their halos, which are filled too; None where there are none.
    """

    array: Any
    blocks: list[GlobalBlock]
    halos: list[GlobalBlock] | None = None

    @property
    def filled(self) -> list[GlobalBlock]:
        """The blocks that are filled from a checkpoint."""
        return self.blocks if self.halos is None else self.halos

    def renamed(self, prefix: str) -> CheckpointArray:
        """Return the same with a prefix to the names of the global arrays."""
        blocks, halos = (
            blocks and [replace(block, array_name=prefix + block.array_name) for block in blocks]
            for blocks in (self.blocks, self.halos)
        )
        return CheckpointArray(self.array, blocks or [], halos)


def index_range(first: int, last: int) -> IndexRanges:
    """Return the indices first <= n < last."""
    return ((first, last),)


def intersection(range_a: range, range_b: range) -> range:
    """Return the numbers common to two ranges."""
    first = max(range_a.start, range_b.start)
    return range(first, max(first, min(range_a.stop, range_b.stop)))


def index_ranges(numbers: Iterable[int]) -> IndexRanges:
    """Return ascending indices as ranges of consecutive ones."""
    indices = np.fromiter(numbers, np.int64)
    if not indices.size:
        return ((0, 0),)
    # Consecutive indices differ by 1; each other difference begins a new range.
    cuts = [0, *(np.flatnonzero(np.diff(indices) != 1) + 1).tolist(), indices.size]
    return tuple((int(indices[a]), int(indices[b - 1]) + 1) for a, b in pairwise(cuts))


def _common(own_ranges: IndexRanges, other_ranges: IndexRanges) -> tuple[np.ndarray, np.ndarray]:
    # Expand the ranges to indices, and find the position of each common index in both lists.
    own_index = np.concatenate([np.arange(a, b) for a, b in own_ranges])
    other_index = np.concatenate([np.arange(a, b) for a, b in other_ranges])
    _, own_position, other_position = np.intersect1d(
        own_index, other_index, assume_unique=True, return_indices=True
    )
    return own_position, other_position


LINE = 32  # numbers in a cache line of a GPU, two of a CPU's
SECTOR = LINE // 2  # numbers in two 32-byte sectors of GPU memory


@dataclass(frozen=True)
class Subdomain:
    """A subdomain of the grid and the shape of its arrays.

    Attributes:
        grid: the global grid.
        owned: the points it updates, in grid indices.
        halo: points copied from each neighbour, along y and z.
        cut: for y and z, whether there is a neighbour on the low and the high side.
        batch: shots side by side in its arrays.
        middle: first x behind the absorbing layer at the beginning of the rows.
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
        """Its shots, of all that advance together."""
        return range(self.first, self.first + self.batch)

    @property
    def offset(self) -> tuple[int, int, int]:
        """Index in the padded arrays minus grid index, along x, y, z.

        That along x counts from the beginning of the array, `before` numbers before the first row.
        """
        y_halo = self.halo if "y" in self.grid.axes else 0
        return self.before + self.halo, y_halo - self.owned.lo[1], self.halo - self.owned.lo[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (z, y, x) of the padded arrays of a shot.

        Where rows end in the middle of a cache line their number is even, with a padding row.
        """
        nx, ny, nz = self.owned.shape
        rows = ny + 2 * self.halo if "y" in self.grid.axes else ny
        # Round the rows up to whole units (halo, owned x, halo, padding).
        pitch = -(-(nx + 2 * self.halo) // self.unit) * self.unit
        # An even number of half-line rows makes a plane a whole number of lines.
        rows += rows % 2 if pitch % LINE else 0
        return nz + 2 * self.halo, rows, pitch

    @property
    def volume(self) -> int:
        """Numbers in a padded array of a shot."""
        nz, ny, nx = self.shape
        return nz * ny * nx

    @property
    def before(self) -> int:
        """Numbers in an array before the first row, which begins with its halo."""
        # Alignment: x = `middle`, the first interior point, is the first number of a cache line.
        return -(self.middle + self.halo) % LINE

    @property
    def strides(self) -> tuple[int, int]:
        """Distance of neighbours along y and z."""
        _, ny, nx = self.shape
        return nx, nx * ny

    @property
    def padded(self) -> Box:
        """Owned points and halo."""
        # x has its halo within the rows, beyond the points that are counted here.
        margin = [0 if a == "x" or a not in self.grid.axes else self.halo for a in AXES]
        lo = np.array(self.owned.lo) - margin
        hi = np.array(self.owned.hi) + margin
        return Box(triple(lo), triple(hi))

    def flat(self, x, y, z) -> np.ndarray:
        """Return flat indices in the first shot's padded array of grid indices."""
        # Array order is (shot, z, y, x), x fastest.
        ox, oy, oz = self.offset
        y_stride, z_stride = self.strides
        return (
            (np.asarray(z) + oz) * z_stride + (np.asarray(y) + oy) * y_stride + np.asarray(x) + ox
        )

    def point(self, index: int) -> tuple[int, int, int]:
        """Return x, y, z (grid indices) of the owned point closest to a flat index of any shot."""
        # Flat index -> shot, z, y, x of the padded array, then clipped to the owned box.
        y_stride, z_stride = self.strides
        z, plane_index = divmod(max(index - self.before, 0) % self.volume, z_stride)
        padded = (plane_index % y_stride + self.before, plane_index // y_stride, z)
        ranges = zip(padded, self.offset, self.owned.lo, self.owned.hi, strict=True)
        return triple([min(max(n - offset, lo), hi - 1) for n, offset, lo, hi in ranges])

    def view(self, array) -> np.ndarray:
        """Return a flat array as (shot, z, y, x), halo first; a coefficient has a single shot."""
        shots = array.size // self.volume
        return array[self.before : self.before + shots * self.volume].reshape(shots, *self.shape)

    @property
    def with_images(self) -> Box:
        """Owned points and the images beyond faces: no point of a neighbour."""
        halo = {a: [self.halo * n for n in self.cut.get(a, (False, False))] for a in AXES}
        lo = [n + halo[a][0] for a, n in zip(AXES, self.padded.lo, strict=True)]
        hi = [n - halo[a][1] for a, n in zip(AXES, self.padded.hi, strict=True)]
        return Box(triple(lo), triple(hi))

    def global_block(self, array_name: str, box: Box) -> GlobalBlock:
        """Return the global indices of a field's flat array in a box, `padded` or `with_images`."""
        (_, y0, z0) = box.lo
        (nx, y1, z1) = box.hi
        shots = (self.shots.start, self.shots.stop)
        # One range of global indices for each axis of the block: shot, z, y, x.
        ranges = (shots, (z0, z1), (y0, y1), (-self.halo, nx + self.halo))
        y_stride, z_stride = self.strides
        strides = (self.volume, z_stride, y_stride, 1)
        first = int(self.flat(-self.halo, y0, z0))
        return GlobalBlock(array_name, first, strides, tuple((pair,) for pair in ranges))

    def inside(self, array) -> np.ndarray:
        """Return the owned points of a flat array, (shot, z, y, x)."""
        # Owned points begin behind the halo: y and z by the offset, x by the halo of each row.
        _, y_offset, z_offset = self.offset
        _, y_first, z_first = self.owned.lo
        nx, ny, nz = self.owned.shape
        y = y_offset + y_first
        z = z_offset + z_first
        return self.view(array)[:, z : z + nz, y : y + ny, self.halo : self.halo + nx]

    def owns(self, y, z) -> np.ndarray:
        """Whether it updates each of the points (n) at grid indices y, z."""
        return _contains(self.owned, y, z)

    def in_core(self, y, z) -> np.ndarray:
        """Whether each point (n) at grid indices y, z is owned and in no neighbour's halo."""
        return _contains(self.edges_and_core()[1], y, z)

    def edges_and_core(self) -> tuple[list[Box], Box]:
        """Split the owned points into the boxes in neighbours' halos, and the rest."""
        lo = list(self.owned.lo)
        hi = list(self.owned.hi)
        edges = []
        # z first: edges across z have the full extent along y, edges across y the rows that remain.
        for axis, a in (("z", 2), ("y", 1)):
            low, high = self.cut[axis]
            # Shrink the core by a halo's width on each side that has a neighbour.
            for side in (low and "low", high and "high"):
                if not side:
                    continue
                edge_lo = list(lo)
                edge_hi = list(hi)
                if side == "low":
                    edge_hi[a] = lo[a] = min(lo[a] + self.halo, hi[a])
                else:
                    edge_lo[a] = hi[a] = max(hi[a] - self.halo, lo[a])
                edges.append(Box(triple(edge_lo), triple(edge_hi)))
        return [e for e in edges if e.size], Box(triple(lo), triple(hi))


def _contains(box: Box, y, z) -> np.ndarray:
    _, y0, z0 = box.lo
    _, y1, z1 = box.hi
    y = np.asarray(y)
    z = np.asarray(z)
    return (y >= y0) & (y < y1) & (z >= z0) & (z < z1)


def _cuts(
    grid: Grid, axis: str, count: int, halo: int, costs: PointCosts, uncut: frozenset[int]
) -> list[int]:
    """Return the indices that cut an axis into subdomains of about equal cost.

    Each is at least two halos wide, and no cut lies in an absorbing layer or at a row of `uncut`.
    """
    a = AXES.index(axis)
    points = grid.points[a]
    low = grid.low[a]
    high = grid.high[a]
    # Both edges of a subdomain, each a halo wide, are points of its own.
    min_width = 2 * halo
    # First and last cut: the outer subdomains hold the layers, and a halo of interior points.
    first = max(min_width, low + halo)
    last = points - max(min_width, high + halo)
    max_count = max(1, 2 + (last - first) // min_width)
    if count > points == 1:
        raise ScenarioError(f"decomposition: {count} subdomains along {axis} in a 2-D run: use 1")
    if count > max_count:
        raise ScenarioError(
            f"decomposition: {count} subdomains for {points} points along {axis}; each needs at "
            f"least {min_width} points for the stencil, and no cut may lie in an absorbing layer "
            f"({low} and {high} points): use at most {max_count}"
        )
    if count == 1:
        return [0, points]
    # Cut k goes where the cumulative cost reaches k / count, or to the closest allowed row.
    cumulative = np.cumsum(plane_costs(grid, a, costs))
    cuts = [0]
    for k in range(1, count):
        cut = int(np.abs(cumulative - cumulative[-1] * k / count).argmin()) + 1
        # Leave enough rows for the cuts that follow.
        lowest = max(first, cuts[-1] + min_width if k > 1 else 0)
        highest = last - (count - 1 - k) * min_width
        candidates = [n for n in range(lowest, highest + 1) if n not in uncut]
        if not candidates:
            raise ScenarioError(
                f"decomposition: {count} subdomains for {points} points along {axis} would cut the "
                "rows next to a free surface or a fluid-solid contact: use fewer, or cut along y"
            )
        cuts.append(min(candidates, key=lambda n: abs(n - cut)))
    return [*cuts, points]


class PointCosts(NamedTuple):
    """Time of a point over that of an interior point.

    Attributes:
        layer: of a point in an absorbing layer.
        curved: of a point in a row that follows the ground; times that of a layer in such a row.
        rows: from the top down that do.
    """

    layer: float = 1.0
    curved: float = 1.0
    rows: int = 0


EVEN = PointCosts()


def cost(grid: Grid, box: Box, costs: PointCosts) -> float:
    """Return the cost of a box in interior points."""

    def flat(inside: Box) -> float:
        # Weighted volume: all points as layer points, less the surplus of points in the extent.
        extent = inside & grid.extent
        return costs.layer * inside.size - (costs.layer - 1.0) * extent.size

    curved = box & Box((0, 0, 0), (*grid.points[:2], costs.rows))
    return flat(box) + (costs.curved - 1.0) * flat(curved)


def plane_costs(grid: Grid, axis: int, costs: PointCosts) -> np.ndarray:
    """Return the cost (n) of each plane across an axis, in interior points."""
    planes = []
    for n in range(grid.points[axis]):
        lo = [0, 0, 0]
        hi = list(grid.points)
        lo[axis] = n
        hi[axis] = n + 1
        planes.append(cost(grid, Box(triple(lo), triple(hi)), costs))
    return np.array(planes)


def best_parts(
    grid: Grid, halo: int, count: int, uncut_axes: Mapping[str, str],
    uncut: frozenset[int] = frozenset(),
) -> tuple[int, int]:  # fmt: skip
    """Return the subdomains along z and y, of `count` in all, with the fewest points in halos.

    Args:
        grid: the grid.
        halo: points copied from each neighbour.
        count: subdomains in all.
        uncut_axes: axes that must not be cut, and why.
        uncut: rows z before which the grid cannot be cut.

    Raises:
        ScenarioError: the grid cannot be cut into so many subdomains.
    """
    nx, ny, nz = grid.points
    # All factorizations z * y = count, sorted by the area of the cuts.
    # Points copied across all cuts: (z - 1) planes of nx ny and (y - 1) planes of nx nz.
    factorizations = sorted(
        ((z, count // z) for z in range(1, count + 1) if count % z == 0),
        key=lambda counts: ((counts[0] - 1) * nx * ny + (counts[1] - 1) * nx * nz, counts[1]),
    )
    errors: list[ScenarioError] = []
    for counts in factorizations:
        cut_axes = {axis for n, axis in zip(counts, "zy", strict=True) if n > 1}
        if cut_axes & uncut_axes.keys() or not cut_axes <= set(grid.axes):
            continue
        try:
            decompose(grid, halo, counts, uncut=uncut)
        except ScenarioError as error:
            errors.append(error)
        else:
            return counts
    if errors:
        raise errors[0]
    reasons = " or ".join(f"along {axis}, {why}" for axis, why in uncut_axes.items())
    raise ScenarioError(
        f"decomposition: {count} subdomains, and it cannot be cut {reasons}; use fewer"
    )


def decompose(
    grid: Grid, halo: int, counts: tuple[int, int] = (1, 1), batch: int = 1, middle: int = 0,
    first: int = 0, unit: int = LINE, costs: PointCosts = EVEN,
    uncut: frozenset[int] = frozenset(), columns: list[int] | None = None,
) -> list[list[Subdomain]]:  # fmt: skip
    """Cut the grid into subdomains of about equal cost.

    Args:
        grid: the grid.
        halo: points copied from each neighbour.
        counts: subdomains along z and y.
        batch: shots side by side.
        middle: first x behind the absorbing layer at the beginning of the rows.
        first: the first of these shots, of all that advance together.
        unit: numbers that the length of a row is a multiple of.
        costs: of points.
        uncut: rows z before which the grid cannot be cut.
        columns: where it is cut along y, both faces included, in place of a count.

    Returns:
        Subdomains as rows along z of columns along y.

    Raises:
        ScenarioError: a subdomain would be narrower than the stencil or cut a layer.
    """
    rows = _cuts(grid, "z", counts[0], halo, costs, uncut)
    if columns is None:
        columns = _cuts(grid, "y", counts[1], halo, costs, frozenset())
    nz = len(rows) - 1
    ny = len(columns) - 1
    # Subdomain (k, j) has neighbours on all sides but at the faces of the grid.
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
