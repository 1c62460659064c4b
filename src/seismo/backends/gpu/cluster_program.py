"""Steps of small planes taken by a kernel with the time loop inside (`cluster_kernel`).

A program of launches is recognised by what the backend bound: the sweeps of one formula of second
differences in a plane, sources, receivers, and nothing else. What it leaves in the arrays is what
the launches leave, so that all that happens between steps stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seismo.backends.base import Step
from seismo.backends.gpu.cluster import COUNTER_BYTES
from seismo.backends.gpu.cluster_kernel import ClusterKernel, listed
from seismo.backends.gpu.cluster_layout import (
    WARP,
    ClusterError,
    ClusterLayout,
    ClusterShape,
    PlaneNumbers,
    reciprocal,
)
from seismo.backends.gpu.cluster_memory import PlaneRegion, SharedMemory, layout_of
from seismo.backends.gpu.cluster_plan import STRIPS, Dealt, cut_rows, deal, regions_of
from seismo.backends.gpu.device_tables import device_tables
from seismo.backends.gpu.launch_order import GpuLaunch
from seismo.backends.gpu.plane_steps import PlaneSteps, recognised
from seismo.backends.gpu.sweep_constants import built_in, inner_nodes

if TYPE_CHECKING:
    from seismo.backends.gpu.backend import GpuBackend

CAPABILITY = (9, 0)  # of cards that have clusters
THREADS = 512
READ = 4  # rows beside a receiver's own that it is read from
SHARED_BYTES = 227 * 1024  # of a block, says CUDA of compute capability 9.0
# Clusters of so many blocks that run at the same time on 132 multiprocessors.
CLUSTERS = {1: 132, 2: 66, 4: 32, 8: 15, 16: 7}
# Measured on an H100: microseconds of a step that barriers and samples take, of a lane of the
# interior and warp; and of a step by launches: at least, and of a million points.
BARRIERS = 1.0
LANE = 0.21
LAUNCHES = 6.5
LAUNCHED = 6.0

Program = Callable[[int, int], None]  # as `Backend.program` returns it


@dataclass(frozen=True)
class ClusterPlan:
    """A layout, and who does what in it.

    Attributes:
        layout: of a shot in shared memory.
        memory: what lies where in it.
        shape: what of it the kernel has built in.
        dealt: the rounds.
        microseconds: of a step of all shots, as predicted.
    """

    layout: ClusterLayout
    memory: SharedMemory
    shape: ClusterShape
    dealt: Dealt
    microseconds: float


def plan(
    known: PlaneSteps, regions: list[PlaneRegion], width: int, size: int
) -> ClusterPlan | None:
    """Return the plan whose steps take least time; None where a shot does not fit.

    Args:
        known: the steps.
        regions: that these update.
        width: numbers of a lane.
        size: bytes of a number.
    """
    first = known.even[0]
    half = first.variant.order // 2
    halo = max(half, READ)
    kinds = tuple(sorted({region.stretched for region in regions}))
    masked = any((region.x[1] - region.x[0]) % width for region in regions)
    profile = -(-first.tables.profiles[2].shape[0] // width) * width
    strips = tuple(STRIPS[bool(kind)] for kind in kinds)
    # Clusters of all sizes: waves of clusters times a step.
    plans = []
    for count, together in CLUSTERS.items():
        memory = SharedMemory(regions, first.tables, half, width)
        most = memory.most_rows((SHARED_BYTES - COUNTER_BYTES) // size, halo)
        blocks = cut_rows(regions, first.tables, count, halo, width, most)
        if blocks is None:
            continue
        memory.assign(blocks)
        turns = -(-known.shots // together)
        layout = layout_of(memory, known.volume)
        if layout.bytes(size) > SHARED_BYTES:
            continue
        shape = ClusterShape(THREADS, memory.margin, half, halo, kinds, strips, masked, profile)
        dealt = deal(regions, kinds, memory, strips, THREADS // WARP, width)
        time = turns * (BARRIERS + LANE * dealt.cost)
        plans.append(ClusterPlan(layout, memory, shape, dealt, time))
    return min(plans, key=lambda one: one.microseconds, default=None)


def cluster_program(
    backend: GpuBackend, steps: Sequence[Step], launches: Callable[[], Program]
) -> Program | None:
    """Return what takes steps by a kernel with the loop inside, where that is faster.

    Args:
        backend: the GPU backend.
        steps: as `Backend.program` takes them.
        launches: makes the program of their launches, for a card that refuses clusters.
    """
    able = backend.in_clusters is not False and backend.card.capability >= CAPABILITY
    known = recognised(steps) if able else None
    if known is None:
        return None
    try:
        regions = regions_of(known.even, known.shots)
    except ValueError:
        return None
    size = np.dtype(backend.precision).itemsize
    chosen = plan(known, regions, backend.lane_width, size)
    if chosen is None:
        return None
    layout = chosen.layout
    updated = layout.row * (layout.z[1] - layout.z[0]) * known.shots
    if backend.in_clusters is None and chosen.microseconds > LAUNCHES + LAUNCHED * updated / 1e6:
        return None
    record = _record_tables(backend, known, chosen)
    if record is None:
        return None
    # What the kernel takes the place of is compiled only where a step is taken launch by launch.
    replaced = (launch for step in steps for group in step for launch in group)
    backend.card.postpone(cast(GpuLaunch, launch) for launch in replaced)
    return _unless_refused(_bound(backend, known, chosen, record), launches)


def _unless_refused(inside: Program, launches: Callable[[], Program]) -> Program:
    """Take steps in clusters, or by launches from where the card refuses these."""
    programs = [inside]

    def steps(start: int, count: int) -> None:
        try:
            programs[-1](start, count)
        except ClusterError:
            programs.append(launches())
            programs[-1](start, count)

    return steps


def _record_tables(
    backend: GpuBackend, known: PlaneSteps, chosen: ClusterPlan
) -> tuple[list[np.ndarray], Any, int] | None:
    """Return the tables of receivers, their samples and channels; None where a block misses points.

    Tables: first channel of each block of each shot; columns; first pieces; first entries; indices
    of the entries in shared memory.
    """
    layout = chosen.layout
    blocks = layout.blocks
    unused = np.zeros(1, np.int64)
    if known.record is None:
        return [np.zeros(known.shots * blocks + 1, np.int64), *[unused] * 4], unused, 0
    _, *tables, traces, _ = known.record.arguments
    indices, starts, weights, columns = map(backend.fetch, tables)
    pieces_of = np.arange(len(columns) + 1)
    pieces = starts
    gains = weights
    if known.sums is not None:
        # Long rows: entries make pieces, and pieces rows.
        _, *tables, _ = known.sums.arguments
        indices, pieces, gains = map(backend.fetch, tables)
        pieces_of = starts
    if np.unique(columns).size < columns.size or known.record.shots is None:
        return None
    shot = np.asarray(known.record.shots)
    # z and x of each entry, and the row that it belongs to.
    entries_of = pieces[pieces_of]
    owner = np.repeat(np.arange(len(columns)), np.diff(entries_of))
    x0 = layout.x[0]
    z, x = np.divmod(indices - shot[owner] * layout.volume - x0, known.stride)
    if (np.diff(entries_of) == 0).any():
        return None  # a row of no entries
    lows = np.minimum.reduceat(z, entries_of[:-1])
    highs = np.maximum.reduceat(z, entries_of[:-1])
    rank = np.full(len(columns), -1)
    for n, rows in enumerate(chosen.memory.blocks):
        z0 = rows.z[0] - rows.halo
        inside = (lows >= z0) & (highs < z0 + rows.kept_rows) & (rank < 0)
        # The block that has the middle of the points has all of them.
        middle = (lows + highs + 1) // 2
        rank[inside & (middle >= rows.z[0]) & (middle < rows.z[1])] = n
    if (rank < 0).any():
        return None
    first = np.array([rows.z[0] - rows.halo for rows in chosen.memory.blocks])
    row = z - first[rank[owner]]
    entry_indices = row * layout.pitch + x + layout.margin
    # Channels in the order of shots and blocks, each with its pieces and entries.
    block = shot * blocks + rank
    order = np.argsort(block, kind="stable")
    counts = np.bincount(block, minlength=known.shots * blocks)
    channels_of = np.concatenate([[0], np.cumsum(counts)])
    piece_order, new_pieces_of = _gathered(order, pieces_of)
    entry_order, new_pieces = _gathered(piece_order, pieces)
    result = [channels_of, columns[order], new_pieces_of, new_pieces, entry_indices[entry_order]]
    return result, gains[entry_order], traces.shape[1]


def _gathered(order: np.ndarray, firsts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the members of groups taken in another order, and the first of each group then."""
    counts = np.diff(firsts)[order]
    ends = np.concatenate([[0], np.cumsum(counts)])
    members = np.arange(ends[-1]) - np.repeat(ends[:-1] - firsts[:-1][order], counts)
    return members, ends


def _rank_table(chosen: ClusterPlan) -> np.ndarray:
    """Return `RANK_COLUMNS` of all blocks."""
    memory = chosen.memory
    blocks = memory.blocks
    pitch = memory.pitch
    table = []
    for n, (rows, starts) in enumerate(zip(blocks, memory.starts, strict=True)):
        # From a row here to its copy in the blocks before and behind.
        before = blocks[max(n - 1, 0)]
        behind = blocks[min(n + 1, len(blocks) - 1)]
        model, x_memory, z_memory, _ = starts
        first, last = rows.model
        table.append((
            rows.z[0], rows.own_rows, rows.halo, rows.kept_rows, memory.field_size(rows), model,
            x_memory, z_memory, first, last - first, before.own_rows * pitch,
            memory.field_size(before), -rows.own_rows * pitch, memory.field_size(behind),
        ))  # fmt: skip
    return np.array(table)


def _plane_numbers(
    known: PlaneSteps, chosen: ClusterPlan, width: int, channels: int
) -> PlaneNumbers:
    """Return the numbers that a kernel takes, of planes whose lanes have `width`."""
    layout = chosen.layout
    tables = known.even[0].tables
    inner_x, inner_x_last = inner_nodes(tables, "x", width)
    inner_z, inner_z_last = inner_nodes(tables, "z", width)
    # The kernel divides by the lanes of rows: their reciprocals make products of that.
    model_first, model_end = layout.model
    sources = known.sources
    return PlaneNumbers(
        blocks=layout.blocks, x_first=layout.x[0], row=layout.row,
        z_first=layout.z[0], z_end=layout.z[1], pitch=layout.pitch,
        model_first=model_first, model_row=model_end - model_first,
        x_pitch=layout.x_pitch, z_pitch=layout.z_pitch,
        numbers=layout.numbers, volume=layout.volume, stride=known.stride,
        inner_x=inner_x, inner_x_last=inner_x_last, inner_z=inner_z, inner_z_last=inner_z_last,
        x_length=tables.profiles[0].shape[1],
        cells=sources.count // known.shots if sources else 0,
        samples=int(sources.arguments[5].shape[1]) if sources else 0,
        channels=channels,
        lane_reciprocal=reciprocal(layout.row // width),
        model_reciprocal=reciprocal((model_end - model_first) // width),
        stride_reciprocal=reciprocal(known.stride),
    )  # fmt: skip


def _bound(
    backend: GpuBackend, known: PlaneSteps, chosen: ClusterPlan,
    record: tuple[list[np.ndarray], Any, int],
) -> Program:  # fmt: skip
    """Bind the kernel to its arrays."""
    first = known.even[0]
    operands = first.operands
    tables, gains, channels = record
    dealt = chosen.dealt
    x_table, _, z_table, *_ = device_tables(backend, first.tables)
    put = backend.card.array
    unused = put(np.zeros(1, np.int64))
    # No source acts from step 1 to step 0.
    sources: tuple[Any, ...] = (*[unused] * 6, put(np.array([1, 0])))
    if known.sources is not None:
        sources = known.sources.arguments[:7]
    traces = known.record.arguments[5] if known.record is not None else unused
    arrays = (
        operands.writes[0], operands.reads[0], operands.coefficients[0], *operands.memory,
        x_table, z_table,
        put(_rank_table(chosen).ravel()),
        *(put(table.ravel()) for table in (dealt.fluxes, dealt.updates, dealt.rows)),
        put(dealt.points.ravel().astype(np.int32)),
        *sources, *(put(np.asarray(one, np.int64)) for one in tables), put(gains), traces,
    )  # fmt: skip
    rows, coefficients = listed(built_in(first.tables))
    # Rows that end within a lane or not: both are compiled at once, and no plane waits again.
    shape = chosen.shape
    kernel, other = (
        ClusterKernel(first.formula, backend.precision, one, rows)
        for one in (shape, replace(shape, masked=not shape.masked))
    )
    number = np.dtype(backend.precision).type
    arguments = (
        arrays,
        tuple(map(int, _plane_numbers(known, chosen, backend.lane_width, channels))),
        tuple(map(number, coefficients)),
    )
    sizes = (known.shots, chosen.layout.blocks, THREADS, chosen.layout.bytes(number().itemsize))
    advance = backend.card.clustered(kernel, sizes, arguments, beside=(other,))

    def steps(start: int, count: int) -> None:
        advance(start, count)
        backend.clock[:] = start + count

    return steps
