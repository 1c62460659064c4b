"""Steps of planes taken by a kernel on all multiprocessors (`tile_kernel`).

What is recognised is what clusters recognise of second differences. As many shots of a batch as
have room are stepped at the same time, and the others after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from seismo.backends.gpu.arrays import GpuArrays, device_tables
from seismo.backends.gpu.resident.clusters.kernel import listed
from seismo.backends.gpu.resident.clusters.layout import (
    SHARED_BYTES,
    TileSizes,
    reciprocal,
)
from seismo.backends.gpu.resident.clusters.memory import PlaneRegion
from seismo.backends.gpu.resident.clusters.plan import regions_of
from seismo.backends.gpu.resident.plane_steps import (
    MANY,
    LoopInside,
    PlaneSteps,
)
from seismo.backends.gpu.resident.record import (
    ReceiverSamples,
    RecordTables,
    ordered_tables,
    receiver_tables,
    samples_of,
    source_tables,
)
from seismo.backends.gpu.resident.tiles.block import TileArrays
from seismo.backends.gpu.resident.tiles.kernel import LINE_BYTES, TileKernel
from seismo.backends.gpu.resident.tiles.layout import (
    TileNumbers,
    Tiles,
    TileShape,
)
from seismo.backends.gpu.resident.tiles.plan import (
    microseconds,
    tilings,
    turns_of,
)
from seismo.backends.gpu.sweeps.constants import built_in

THREADS = 384
# Lanes of a row of a tile at most: kernels have them built in, and planes share these few.
LANES = (8, 12, 16, 22, 32, 43, 64)
READ = 4  # rows and columns beside a receiver's own that it is read from
# us of a step launch by launch, at least; of a million points of many shots.
LAUNCHES = 6.5
LAUNCHED = 4.7
HALF = 4  # half the order up to which a thread's registers hold what it needs
FASTER = 0.95  # of the time of launches, at most


def record_of(known: PlaneSteps, samples: ReceiverSamples, tiles: Tiles) -> RecordTables | None:
    """Return the tables of receivers; None where a channel reads beyond what a tile knows."""
    boxes = list(tiles.boxes())
    count = known.shots * len(boxes)
    if not len(samples.columns):
        no = np.zeros(1, np.int64)
        return RecordTables(np.zeros(count + 1, np.int64), no, no, no, np.zeros(1), None, 0)
    if (np.diff(samples.entries_of) == 0).any():
        return None
    # The tile that has the middle of a channel's entries.
    firsts = samples.entries_of[:-1]
    x = samples.x + tiles.x[0]
    middle_z, middle_x = (
        (np.minimum.reduceat(n, firsts) + np.maximum.reduceat(n, firsts) + 1) // 2
        for n in (samples.z, x)
    )
    row, column = (
        (np.searchsorted(cuts, middle, side="right") - 1).clip(0, len(cuts) - 2)
        for cuts, middle in ((tiles.z, middle_z), (tiles.x, middle_x))
    )
    rank = row * tiles.columns + column
    # All entries are in it, or among what it has of its neighbours.
    of_entry = np.array(boxes)[rank[samples.owners]]
    z_first, rows, x_first, numbers = of_entry.T
    halo = tiles.shape.halo
    z_in_tile = samples.z - z_first
    x_in_tile = x - x_first
    # Rows of neighbours are known, too.
    in_rows = (z_in_tile >= -halo) & (z_in_tile < rows + halo)
    if not (in_rows & (x_in_tile >= -halo) & (x_in_tile < numbers + halo)).all():
        return None
    # Where p begins in shared memory (`TileBlock.index`).
    shape = tiles.shape
    before = shape.zero + shape.width + shape.margin
    indices = before + (z_in_tile + halo) * shape.pitch + x_in_tile
    block = samples.shots * len(boxes) + rank
    return ordered_tables(known, samples, block, count, indices)


def _numbers(known: PlaneSteps, tiles: Tiles, channels: int, shot: int) -> TileNumbers:
    """Return the numbers that a kernel takes."""
    profiles = known.first.tables.profiles
    return TileNumbers(
        shot=shot, tiles_x=tiles.columns, tiles=tiles.count,
        x_first=tiles.x[0], x_end=tiles.x[-1], z_first=tiles.z[0], z_end=tiles.z[-1],
        x_width=tiles.x_width, x_damped_width=tiles.x_damped_width, numbers=tiles.numbers,
        volume=known.volume, stride=known.stride,
        x_length=profiles[0].shape[1], channels=channels,
        stride_reciprocal=reciprocal(known.stride),
    )  # fmt: skip


def _ways(backend: GpuArrays, known: PlaneSteps, regions: list[PlaneRegion]) -> list[Tiles]:
    """Return the ways to cut the plane of some steps into tiles."""
    # What all ways to cut the plane share.
    width = backend.lane_width
    half = known.first.variant.order // 2
    profile = -(-known.first.tables.profiles[2].shape[0] // width) * width
    masked = any((region.x[1] - region.x[0]) % width for region in regions)
    shape = TileShape(THREADS, 0, 0, 0, 0, half, max(half, READ), masked, profile, width)
    numbers = SHARED_BYTES // np.dtype(backend.precision).itemsize
    most = backend.card.multiprocessors
    return tilings(regions, known.first.tables, shape, LANES, most, numbers)


def _are_faster(ways: list[Tiles], points: int, multiprocessors: int) -> bool:
    """Whether tiles are expected to beat launches, of one shot and of many.

    It does not depend on the number of shots: a shot has the same bits in every batch.

    Args:
        ways: to cut the plane.
        points: of the plane.
        multiprocessors: of the card.
    """
    return all(
        min(microseconds(tiles, shots, multiprocessors) for tiles in ways)
        <= FASTER * (LAUNCHES + LAUNCHED * points * shots / 1e6)
        for shots in (1, MANY)
    )


def in_tiles(backend: GpuArrays, known: PlaneSteps) -> LoopInside | None:
    """Return what takes steps of a plane in tiles, where that is faster than launches.

    Args:
        backend: the GPU backend.
        known: the steps.
    """
    is_forced = backend.in_clusters is not None
    if not known.alternating or not (is_forced or known.first.variant.order // 2 <= HALF):
        return None
    # Shots whose boxes differ otherwise are launched.
    try:
        regions = regions_of(known.stages[0], [0] * len(known.stages[0]), known.shots)
    except ValueError:
        return None
    ways = _ways(backend, known, regions)
    multiprocessors = backend.card.multiprocessors
    points = sum((one.x[1] - one.x[0]) * (one.z[1] - one.z[0]) for one in regions)
    samples = samples_of(known, min(region.x[0] for region in regions), backend.fetch)
    if not ways or samples is None:
        return None
    if not (is_forced or _are_faster(ways, points, multiprocessors)):
        return None
    # The fastest that has all entries of each channel in one tile.
    for tiles in sorted(ways, key=lambda one: microseconds(one, known.shots, multiprocessors)):
        record = record_of(known, samples, tiles)
        if record is not None:
            many = min(microseconds(way, MANY, multiprocessors) for way in ways)
            return LoopInside(many, partial(_bound, backend, known, regions, tiles, record))
    return None


def _bound(
    backend: GpuArrays, known: PlaneSteps, regions: list[PlaneRegion], tiles: Tiles,
    record: RecordTables,
) -> Callable[[int, int], None]:  # fmt: skip
    """Bind the kernel to its arrays, once for each shot."""
    put = backend.card.array
    tables = known.first.tables
    x_table, _, z_table, *_ = device_tables(backend, tables)
    sources, source_numbers = source_tables(backend, known, 0)
    done = put(np.zeros(known.shots * tiles.count * LINE_BYTES // 4, np.int32))
    operands = known.first.operands
    outer, even_flux, odd_flux = operands.memory
    # Rows that end within a lane or not: both are compiled at once.
    rows, coefficients = listed(built_in(tables))
    kernel, other = (
        TileKernel(known.first.formula, backend.precision, shape, rows)
        for shape in (tiles.shape, replace(tiles.shape, masked=not tiles.shape.masked))
    )
    number = np.dtype(backend.precision).type
    receivers = receiver_tables(backend, record)
    # Shots share all but the rows of this table, which say where their memory is.
    table = np.concatenate(
        [tiles.table(regions, shot, record.channels_of) for shot in range(known.shots)]
    )
    arrays = TileArrays(
        (known.fields[0], known.fields[1]), operands.coefficients[0], outer, even_flux, odd_flux,
        x_table, z_table, put(table.ravel()), done, sources, receivers,
    )  # fmt: skip
    # Turns of as many shots each, as far as can be.
    turns = turns_of(tiles, known.shots, backend.card.multiprocessors)
    bounds = [known.shots * n // turns for n in range(turns + 1)]
    turns_taken = []
    for first, last in pairwise(bounds):
        blocks = (last - first) * tiles.count
        sizes = TileSizes(blocks, tiles.shape.threads, tiles.numbers * number().itemsize)
        plane = (*_numbers(known, tiles, record.width, first), *source_numbers)
        arguments = (arrays.flat(), tuple(map(int, plane)), tuple(map(number, coefficients)))
        turns_taken.append(backend.card.clustered(kernel, sizes, arguments, beside=(other,)))

    def steps(start: int, count: int) -> None:
        # Counts of steps begin anew with each call.
        done[:] = 0
        for advance in turns_taken:
            advance(start, count)
        backend.clock[:] = start + count

    return steps
