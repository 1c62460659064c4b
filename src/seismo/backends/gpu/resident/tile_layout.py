"""Tiles of a plane, one for each multiprocessor, and their layout in shared memory.

A tile keeps p(n) in shared memory, with the points of its neighbours that differences see, and
p(n-1) in registers. A thread has a column of `strip` rows, a lane wide::

    lane 0   lane 1  ...  lane L-1
    +------+------+-- -+------+
    | t=0  | t=1  |    | L-1  |  rows 0 ... strip-1
    +------+------+-- -+------+
    | t=L  | L+1  |    | 2L-1 |  rows strip ... 2 strip - 1
    +------+------+-- -+------+

In tiles at the edges of the plane, columns, rows or both belong to an absorbing layer.
Its memory, and its terms of second derivatives, are in shared memory, too. Tiles with layers of
rows are less high: their threads have other work.

How many tiles a plane is cut into, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.resident.block import SourceNumbers, numbers_of
from seismo.backends.gpu.resident.plane_steps import PlaneRegion
from seismo.backends.gpu.resident.record import ReceiverSamples

LAYER_COST = 1.6  # time of a lane in a layer, beside its update as a point, over that of a point
PROFILE = 6  # numbers of a profile: b, a and 1/kappa at nodes and half points
LANE_BYTES = 16
TILE_COLUMNS = (
    "first", "rows", "x_first", "numbers",  # first row and x of a tile, and how many
    "strip",  # rows of a thread
    "x_layer", "x_layer_end", "z_layer", "z_layer_end",  # columns and rows in layers
    "x_damped", "x_damped_end", "z_damped", "z_damped_end",  # columns with memory of their own
    # Index of (0, 0) and distance of rows in layer memory along x, where layers meet, too; along z.
    "x_memory", "x_memory_z", "corner_x_memory", "corner_x_memory_z",
    "z_memory", "z_memory_z", "corner_z_memory", "corner_z_memory_z",
    "channel_begin_0", "channel_end_0",  # of its channels
    # Where in shared memory begin, for layers along x and z: fluxes, memory of outer derivatives,
    # terms of second derivatives, and profiles.
    "x_flux", "x_outer", "x_sum", "x_profile", "z_flux", "z_outer", "z_sum", "z_profile",
    "acting", "acting_end",  # first and last step of the sources
)  # fmt: skip


class TileNumbers(NamedTuple):
    """Whole numbers of a plane in tiles, which a kernel takes as arguments.

    Attributes:
        shot: that is stepped.
        tiles_x: tiles along x.
        tiles: all of them.
        x_first: first number of the rows in the arrays.
        x_end: behind the last.
        z_first: first row.
        z_end: behind the last row.
        x_width: numbers of a row of the widest layer along x, whole lanes.
        x_damped_width: its columns with memory of their own.
        numbers: of shared memory.
        volume: numbers of a shot's field in the card's memory.
        stride: distance of rows there.
        x_length: numbers of a row of the profiles along x.
        channels: of the record.
        stride_reciprocal: `reciprocal` of the distance of rows.
    """

    shot: Any
    tiles_x: Any
    tiles: Any
    x_first: Any
    x_end: Any
    z_first: Any
    z_end: Any
    x_width: Any
    x_damped_width: Any
    numbers: Any
    volume: Any
    stride: Any
    x_length: Any
    channels: Any
    stride_reciprocal: Any


TILE_SHORT = (
    "tiles_x", "tiles", "x_first", "x_end", "z_first", "z_end", "x_width", "x_damped_width",
    "numbers",
)  # fmt: skip


def tile_numbers(flat: Sequence[Any]) -> tuple[TileNumbers, list[SourceNumbers]]:
    """Return a kernel's numbers, some of them in 32 bits, and the numbers of its sources."""
    return numbers_of(TileNumbers, TILE_SHORT, flat)


@dataclass(frozen=True)
class TileShape:
    """What a kernel has built in of tiles.

    Attributes:
        threads: of a block.
        lanes: of a row of a tile at most, a thread each.
        strip: rows of a thread at most.
        short: rows of a thread in tiles with a layer along z.
        layer: threads for the lanes of a layer along x.
        half: half the order of the differences.
        halo: rows and columns of its neighbours that a tile keeps.
        masked: whether rows may end within a lane.
        profile: numbers of a row of the profile along z, whole lanes.
        width: numbers of a lane.
    """

    threads: int
    lanes: int
    strip: int
    short: int
    layer: int
    half: int
    halo: int
    masked: bool
    profile: int
    width: int
    # A field by turns, its coefficient, memory of outer derivatives and fluxes; counts of steps.
    fields = 2
    coefficients = 1
    memories = 3
    tables = 1
    injected = (0,)
    alternating = True
    unchanging = ("model",)

    @property
    def groups(self) -> int:
        """Groups of threads along z."""
        return self.threads // self.lanes

    @property
    def margin(self) -> int:
        """Numbers before the first and behind the last of a row, whole lanes."""
        return self.up(self.halo)

    @property
    def row(self) -> int:
        """Numbers of a row of a tile at most."""
        return self.lanes * self.width

    @property
    def pitch(self) -> int:
        """Numbers of a row of p in shared memory."""
        return self.row + 2 * self.margin

    @property
    def zero(self) -> int:
        """Where a lane of zeros is in shared memory, behind `TILE_COLUMNS`; p follows."""
        return self.up(len(TILE_COLUMNS) * 8 * self.width // LANE_BYTES)

    def up(self, number: int) -> int:
        """Return the numbers of whole lanes that hold so many."""
        return -(-number // self.width) * self.width


@dataclass(frozen=True)
class Tiles:
    """A plane in tiles.

    Attributes:
        x: first number of each column of tiles in the arrays, and behind the last.
        z: first row of each row of them, and behind the last.
        x_layers: first column of each layer along x, and behind the last.
        z_layers: first row of each layer along z, and behind the last.
        x_damped: columns of each layer along x with memory other than 0, in whole lanes.
        z_damped: such rows of each layer along z.
        shape: built in.
    """

    x: tuple[int, ...]
    z: tuple[int, ...]
    x_layers: tuple[tuple[int, int], ...]
    z_layers: tuple[tuple[int, int], ...]
    x_damped: tuple[tuple[int, int], ...]
    z_damped: tuple[tuple[int, int], ...]
    shape: TileShape

    @property
    def columns(self) -> int:
        """Tiles along x."""
        return len(self.x) - 1

    @property
    def count(self) -> int:
        """Number of tiles."""
        return self.columns * (len(self.z) - 1)

    @property
    def x_width(self) -> int:
        """Numbers of a row of the widest layer along x, whole lanes."""
        return self.shape.up(widest(self.x_layers))

    @property
    def x_damped_width(self) -> int:
        """Number of its columns whose memory is not 0."""
        return widest(self.x_damped)

    def strip(self, z: int, rows: int) -> int:
        """Return the rows of a thread in tiles of `rows` rows."""
        in_layer = _within(self.z_layers, z, rows) != (0, 0)
        return self.shape.short if in_layer else self.shape.strip

    def boxes(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield first row, rows, first x and numbers of each tile, row by row."""
        for z, z_end in pairwise(self.z):
            for x, x_end in pairwise(self.x):
                yield z, z_end - z, x, x_end - x

    def offsets(self, rows: int, in_x: bool, in_z: bool) -> list[int]:
        """Return where layer memory of a tile begins, as `TILE_COLUMNS` name it, and its end.

        Args:
            rows: of the tile.
            in_x: whether it has a layer along x.
            in_z: whether it has a layer along z.
        """
        shape = self.shape
        x_rows = rows * in_x
        z_rows = widest(self.z_layers) * in_z
        # p with the rows of neighbours.
        field = shape.zero + shape.width + (rows + 2 * shape.halo) * shape.pitch
        # Fluxes have zeros around: before each row and behind the last; before and behind all rows.
        x_flux = shape.up(shape.half) + x_rows * (self.x_width + shape.up(shape.half))
        z_flux = (z_rows + 2 * shape.half) * shape.row
        # In the order of `TILE_COLUMNS`, behind p: flux, outer, sum, profile of x, then of z.
        sizes = (
            field, x_flux * in_x, x_rows * self.x_damped_width, x_rows * self.x_width,
            PROFILE * self.x_width * in_x, z_flux * in_z,
            widest(self.z_damped) * in_z * shape.row, z_rows * shape.row,
            z_rows * shape.up(PROFILE),
        )  # fmt: skip
        return [int(n) for n in np.cumsum(sizes)]

    @property
    def numbers(self) -> int:
        """Numbers of shared memory of the largest tile."""
        shape = self.shape
        # Threads read around all rows of their columns, used or not.
        read = (shape.groups * shape.strip + 2 * shape.halo) * shape.pitch
        # Where the memory of layers ends, of each kind of tile.
        kinds = {(end - z, _within(self.z_layers, z, end - z) != (0, 0))
                 for z, end in pairwise(self.z)}  # fmt: skip
        ends = {
            self.offsets(rows, in_x, in_z)[-1] for rows, in_z in kinds
            for in_x in {_within(self.x_layers, x, end - x) != (0, 0)
                         for x, end in pairwise(self.x)}
        }  # fmt: skip
        return max(shape.zero + shape.width + read, *ends)

    @cached_property
    def cost(self) -> float:
        """Lanes of the interior that a step of the busiest tile is worth."""
        shape = self.shape
        lanes = -(-max(x_end - x for x, x_end in pairwise(self.x)) // shape.width)
        # The slowest tile decides: all others wait for it, neighbour by neighbour.
        costs = []
        for z, z_end in pairwise(self.z):
            # All threads update as many points; then layers.
            first, last = _within(self.z_layers, z, z_end - z)
            in_layers = lanes * (last - first) + self.x_width // shape.width * (z_end - z)
            costs.append(shape.threads * self.strip(z, z_end - z) + LAYER_COST * in_layers)
        return max(costs)

    def locate(self, samples: ReceiverSamples) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the tile of each channel and the indices of its entries there (`Locate`)."""
        # The tile that has the middle of a channel's entries.
        middle_z, middle_x = samples.middles
        row, column = (
            (np.searchsorted(cuts, middle, side="right") - 1).clip(0, len(cuts) - 2)
            for cuts, middle in ((self.z, middle_z), (self.x, middle_x + self.x[0]))
        )
        rank = row * self.columns + column
        # All entries are in it, or in its copies of neighbours' edges.
        of_entry = np.array(list(self.boxes()))[rank[samples.owners]]
        z_first, rows, x_first, numbers = of_entry.T
        shape = self.shape
        z = samples.z - z_first
        x = samples.x + self.x[0] - x_first
        in_rows = (z >= -shape.halo) & (z < rows + shape.halo)
        if not (in_rows & (x >= -shape.halo) & (x < numbers + shape.halo)).all():
            return None
        # Where p begins in shared memory (`TileBlock.index`).
        before = shape.zero + shape.width + shape.margin
        return rank, before + (z + shape.halo) * shape.pitch + x

    def table(
        self, regions: Sequence[PlaneRegion], shot: int, channels_of: np.ndarray
    ) -> np.ndarray:
        """Return `TILE_COLUMNS` of all tiles.

        Args:
            regions: that make up the plane.
            shot: number of the shot.
            channels_of: first channel of each tile of each shot, and behind the last.
        """
        table = []
        for tile, (z, rows, x, numbers) in enumerate(self.boxes(), shot * self.count):
            # Layers of the plane that the tile has part of.
            x_layer = _within(self.x_layers, x, numbers)
            z_layer = _within(self.z_layers, z, rows)
            x_damped = _within(self.x_damped, x, numbers)
            z_damped = _within(self.z_damped, z, rows)
            # Where layers meet both variables, elsewhere a single one.
            memories = {"x": (0, 0), "corner_x": (0, 0), "z": (0, 0), "corner_z": (0, 0)}
            for region in regions:
                # Regions that share points with the tile.
                in_x = region.x[0] < x + numbers and region.x[1] > x
                in_z = region.z[0] < z + rows and region.z[1] > z
                memory, memory_z, slot, step = region.memory
                for n, axis in enumerate(region.stretched if in_x and in_z else ""):
                    name = axis if len(region.stretched) == 1 else f"corner_{axis}"
                    memories[name] = (memory + shot * step + n * slot, memory_z)
            *offsets, _ = self.offsets(rows, x_layer != (0, 0), z_layer != (0, 0))
            of_layers = [number for pair in memories.values() for number in pair]
            # First channel of the tile, and of the next tile.
            channels = channels_of[tile : tile + 2]
            # The kernel fills in the steps of the sources, which change from shot to shot.
            of_tile = [z, rows, x, numbers, self.strip(z, rows), *x_layer, *z_layer]
            of_tile += [*x_damped, *z_damped]
            table.append([*of_tile, *of_layers, *channels, *offsets, 0, 0])
        return np.array(table)


def widest(layers: Sequence[tuple[int, int]]) -> int:
    """Return the points across the widest layer."""
    return max((last - first for first, last in layers), default=0)


def _within(layers: Sequence[tuple[int, int]], first: int, count: int) -> tuple[int, int]:
    """Return the layer that a tile has, (0, 0) for none."""
    return next(
        (layer for layer in layers if layer[0] < first + count and layer[1] > first), (0, 0)
    )


# Rows of a thread's column at most, and in tiles with layers of rows: each takes four registers.
STRIPS = (*((n, n) for n in range(2, 18, 2)), (22, 17), (22, 22))
# us of a step: of a lane of a block; fixed (H200).
LANE = 0.9e-3
FIXED = 3.4


def _cuts(first: int, last: int, count: int, less: int, most: tuple[int, int]) -> list[int]:
    """Return the first rows of tiles, and behind the last.

    Args:
        first: row of the plane.
        last: behind its last row.
        count: of rows of tiles, at least 2.
        less: rows by which tiles at both ends are shorter.
        most: rows of a tile between others, and at the ends.
    """
    # Tiles at the ends are `less` shorter: R m - 2 less = all rows, with m rows in the others.
    between = -(-(last - first + 2 * less) // count)
    if count > 2:
        # Add the rows that do not fit in the end tiles.
        between = max(between, -(-(last - first - 2 * most[1]) // (count - 2)))
    between = min(between, most[0])
    top = -(-(last - first - (count - 2) * between) // 2)
    return [first, *(first + top + n * between for n in range(count - 1)), last]


def turns_of(tiles: Tiles, shots: int, most: int) -> int:
    """Return how often as many shots as run at the same time are stepped, until all are."""
    return -(-shots // (most // tiles.count))


def microseconds(tiles: Tiles, shots: int, most: int) -> float:
    """Return the predicted time of a step of all shots."""
    return turns_of(tiles, shots, most) * (FIXED + LANE * tiles.cost)


def tilings(
    regions: Sequence[PlaneRegion], tables: KernelConstants, shape: TileShape,
    lanes: Sequence[int], most: int, numbers: int,
) -> list[Tiles]:  # fmt: skip
    """Return the ways to cut a plane into tiles.

    Args:
        regions: that make up the plane.
        tables: of the sweeps.
        shape: built in, but for the lanes, the strip and the layer.
        lanes: of a row of a tile at most, as kernels have them built in.
        most: tiles that run at the same time.
        numbers: that fit the shared memory of a block.
    """
    # The plane, layers included, in array indices.
    x_first = min(region.x[0] for region in regions)
    x_last = max(region.x[1] for region in regions)
    z_first = min(region.z[0] for region in regions)
    z_last = max(region.z[1] for region in regions)
    # Layers at the ends of each axis; where two meet they are of both.
    x_layers, z_layers = (
        tuple(sorted({getattr(region, axis) for region in regions if axis in region.stretched}))
        for axis in "xz"
    )
    x_damped, z_damped = (
        tuple(_damped(profile, layer, n) for layer in layers)
        for profile, layers, n in (
            (tables.profiles[0], x_layers, shape.width), (tables.profiles[2], z_layers, 1)
        )
    )  # fmt: skip
    # Threads for the lanes of a layer along x.
    layer = max(shape.up(widest(x_layers)) // shape.width, 1)
    all_lanes = -(-(x_last - x_first) // shape.width)
    ways = []
    for columns in range(2, most // 2 + 1):
        # Tiles of whole lanes, all as wide but the last; none of them empty.
        in_row = -(-all_lanes // columns)
        row = in_row * shape.width
        x = (*range(x_first, x_last, row), x_last)
        enough = [n for n in lanes if n >= in_row]
        if len(x) != columns + 1 or not enough:
            continue
        narrowed = replace(shape, lanes=min(enough))
        for rows in range(2, most // columns + 1):
            # The fewest rows of a thread that do.
            for strip, short in STRIPS:
                heights = (strip * narrowed.groups, short * narrowed.groups)
                if rows * heights[0] < z_last - z_first:
                    continue
                less = round(LAYER_COST * widest(z_layers))
                z = tuple(_cuts(z_first, z_last, rows, less, heights))
                built = replace(narrowed, strip=strip, short=short, layer=layer)
                tiles = Tiles(x, z, x_layers, z_layers, x_damped, z_damped, built)
                if _is_possible(tiles, numbers):
                    ways.append(tiles)
                    break
    return ways


def _damped(profile: np.ndarray, layer: tuple[int, int], width: int) -> tuple[int, int]:
    """Return the columns or rows of a layer whose memory variables are not all 0.

    A layer's flux reaches half the order of the differences further than the layer itself.

    Args:
        profile: b, a and 1/kappa at nodes and half points.
        layer: first of the columns or rows, and behind the last.
        width: numbers of a lane, of which there are whole ones.
    """
    # psi <- b psi + a d with b = a = 0 stays 0.
    first, last = layer
    is_damped = profile[[0, 1, 3, 4], first:last].any(axis=0)
    damped = np.flatnonzero(is_damped)
    low, high = (int(damped[0]), int(damped[-1]) + 1) if damped.size else (0, 0)
    return first + low // width * width, first + -(-high // width) * width


def _is_possible(tiles: Tiles, numbers: int) -> bool:
    """Whether tiles fit, each layer lies in a single tile, and halos in the next tile."""
    shape = tiles.shape
    # Threads hold all rows, and the stored edges are as wide as the halo that neighbours read.
    smallest = min(b - a for cuts in (tiles.z, tiles.x) for a, b in pairwise(cuts))
    fits = all(b - a <= tiles.strip(a, b - a) * shape.groups for a, b in pairwise(tiles.z))
    if not fits or smallest < shape.margin or shape.layer > shape.threads:
        return False
    for layers, cuts in ((tiles.x_layers, tiles.x), (tiles.z_layers, tiles.z)):
        # A layer reads a single tile: it does not wait for others.
        for first, last in layers:
            low = max(first - shape.half, cuts[0])
            high = min(last + shape.half, cuts[-1])
            if not any(a <= low and high <= b for a, b in pairwise(cuts)):
                return False
    return tiles.numbers <= numbers
