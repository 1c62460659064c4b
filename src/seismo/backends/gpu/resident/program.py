"""Steps of small planes taken by a kernel with the time loop inside, in a cluster or in tiles.

A program of launches is recognised by the calls that the backend bound: the sweeps of a formula of
second differences in a plane, or of two stages of first differences, sources, receivers, and
nothing else. The kernel leaves the arrays as the launches do, so that work between steps stays the
same. Tiles take second differences alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np

from seismo.backends.base import Step
from seismo.backends.gpu.arrays import GpuArrays, device_tables
from seismo.backends.gpu.launch_order import GpuLaunch
from seismo.backends.gpu.resident.block import Arrays, BoundFormula, reciprocal
from seismo.backends.gpu.resident.cluster_layout import (
    ClusterShape,
    Keeps,
    PlaneNumbers,
    SharedMemory,
)
from seismo.backends.gpu.resident.cluster_plan import (
    READ,
    Dealt,
    StepForm,
    cut_rows,
    deal,
    forms_of,
)
from seismo.backends.gpu.resident.kernel import ClusterKernel, ResidentKernel, TileKernel, listed
from seismo.backends.gpu.resident.plane_steps import PlaneRegion, PlaneSteps, recognised, regions_of
from seismo.backends.gpu.resident.record import (
    ReceiverSamples,
    RecordTables,
    receiver_tables,
    record_tables,
    samples_of,
    source_tables,
)
from seismo.backends.gpu.resident.threads import (
    COUNTER_BYTES,
    LINE_BYTES,
    SHARED_BYTES,
    ClusterError,
    ClusterSizes,
    TileSizes,
)
from seismo.backends.gpu.resident.tile_layout import (
    TileNumbers,
    Tiles,
    TileShape,
    microseconds,
    tilings,
    turns_of,
)
from seismo.backends.gpu.sweeps.layouts import built_in, inner_nodes

MANY = 64  # shots that fill a card
CAPABILITY = (9, 0)  # of cards that have clusters
# Clusters of so many blocks that run at the same time, on the 132 multiprocessors of an H200:
# where a card has others, shots take more turns, or fewer, than are expected.
CLUSTERS = {1: 132, 2: 66, 4: 30, 8: 15, 16: 7}

AS_FAST = 1.05  # the error of predictions of a step in clusters
LONGER = 1.25  # than predicted: 35.6 us for 28.6, of 64 shots of 340 x 340 points
THREADS = 384  # of a tile
# Lanes of a row of a tile at most: kernels have them built in, and planes share these few.
LANES = (8, 12, 16, 22, 32, 43, 64)
# us of a step of second differences launch by launch, at least; of a million points of many shots.
LAUNCHES = 6.5
LAUNCHED = 4.7
HALF = 4  # half the order up to which a thread's registers suffice for a tile
FASTER = 0.95  # of the time of launches, tiles at most

Program = Callable[[int, int], None]  # as `Backend.program` returns it


@dataclass(frozen=True)
class LoopInside:
    """Steps that a kernel with the time loop inside may take.

    Attributes:
        microseconds: of a step of `MANY` shots, as predicted.
        bind: gives the program.
    """

    microseconds: float
    bind: Callable[[], Program]


def resident_program(
    backend: GpuArrays, steps: Sequence[Step], launches: Callable[[], Program]
) -> Program | None:
    """Return the program of a kernel with the loop inside, None where launches are faster.

    Whether and how a plane is stepped so does not depend on the number of shots: these have the
    same bits in every batch.

    Args:
        backend: the GPU backend.
        steps: as `Backend.program` takes them.
        launches: makes the program of their launches, for a card that refuses clusters.
    """
    able = backend.in_clusters is not False and backend.card.capability >= CAPABILITY
    known = recognised(steps) if able else None
    if known is None:
        return None
    candidates = (_in_clusters(backend, known), _in_tiles(backend, known))
    ways = [way for way in candidates if way is not None]
    if not ways:
        return None
    chosen = ways[0] if backend.in_clusters else min(ways, key=lambda way: way.microseconds)
    inside = chosen.bind()
    # What the kernel takes the place of is compiled only where a step is taken launch by launch.
    replaced = (launch for step in steps for group in step for launch in group)
    backend.card.postpone(cast(GpuLaunch, launch) for launch in replaced)
    return _unless_refused(inside, launches)


def _unless_refused(inside: Program, launches: Callable[[], Program]) -> Program:
    """Take steps by a kernel, or by launches from where the card refuses that."""
    programs = [inside]

    def steps(start: int, count: int) -> None:
        try:
            programs[-1](start, count)
        except ClusterError:
            programs.append(launches())
            programs[-1](start, count)

    return steps


def _binding(
    backend: GpuArrays, known: PlaneSteps, kernel: ResidentKernel, record: RecordTables,
    model: tuple[Any, ...], memory: tuple[Any, ...], blocks: np.ndarray, work: tuple[Any, ...],
) -> Callable[[ClusterSizes | TileSizes, tuple[int, ...]], Program]:  # fmt: skip
    """Return a function(sizes of a launch, numbers of the plane) that binds a kernel to its arrays.

    Args:
        backend: the GPU backend.
        known: the steps.
        kernel: without the rows of its coefficients.
        record: tables of the receivers.
        model: arrays of the coefficients.
        memory: arrays of layer memory.
        blocks: numbers of each block.
        work: tables of the transport, on the card.
    """
    tables = known.first.tables
    x_table, _, z_table, *_ = device_tables(backend, tables)
    sources = [source_tables(backend.array, known, field) for field in kernel.shape.injected]
    arrays = Arrays(
        known.fields, model, memory, x_table, z_table, backend.card.array(blocks.ravel()), work,
        tuple(of_field for of_field, _ in sources), receiver_tables(backend.array, record),
    )  # fmt: skip
    rows, coefficients = listed(built_in(tables))
    # Rows that end within a lane or not: both are compiled at once, and no plane waits again.
    kernel, other = (
        replace(kernel, rows=rows, shape=replace(kernel.shape, masked=masked))
        for masked in (kernel.shape.masked, not kernel.shape.masked)
    )
    number = np.dtype(backend.precision).type

    def bind(sizes: ClusterSizes | TileSizes, plane: tuple[int, ...]) -> Program:
        numbers = chain(plane, *(of_field for _, of_field in sources))
        arguments = (arrays.flat(), tuple(map(int, numbers)), tuple(map(number, coefficients)))
        return backend.card.clustered(kernel, sizes, arguments, beside=(other,))

    return bind


# ---- clusters


@dataclass(frozen=True)
class ClusterPlan:
    """A layout of a shot in a cluster, and the work of each of its warps.

    Attributes:
        form: of the steps.
        memory: layout of a shot in shared memory.
        shape: its compile-time constants.
        dealt: the rounds.
        record: the tables of receivers.
        together: clusters that run at the same time.
        turn: us of a step of these, as predicted.
    """

    form: StepForm
    memory: SharedMemory
    shape: ClusterShape
    dealt: Dealt
    record: RecordTables
    together: int
    turn: float

    def microseconds(self, shots: int) -> float:
        """Return the time of a step of so many shots, as predicted."""
        return -(-shots // self.together) * self.turn


def _in_clusters(backend: GpuArrays, known: PlaneSteps) -> LoopInside | None:
    """Return steps in clusters, None where launches are faster."""
    plans = _planned(backend, known)
    if not plans or (backend.in_clusters is None and not _clusters_are_faster(plans)):
        return None
    chosen = min(plans, key=lambda plan: plan.microseconds(known.shots))
    many = min(plan.microseconds(MANY) for plan in plans)
    return LoopInside(LONGER * many, partial(_bind_cluster, backend, known, chosen))


def _clusters_are_faster(plans: Sequence[ClusterPlan]) -> bool:
    """Whether clusters are as fast as launches, of a single shot and of many."""
    memory = plans[0].memory
    costs = plans[0].form.costs
    points = memory.row * (memory.z[1] - memory.z[0])
    return all(
        min(plan.microseconds(shots) for plan in plans)
        < AS_FAST * (costs.launches + costs.launched * points * shots / 1e6)
        for shots in (1, MANY)
    )


def _planned(backend: GpuArrays, known: PlaneSteps) -> list[ClusterPlan]:
    """Return the plans of the first form that fits."""
    try:
        forms = forms_of(known)
    except ValueError:
        return []
    x_first = min(region.x[0] for region in forms[0].passes[-1].regions)
    samples = samples_of(known, x_first, backend.fetch)
    if samples is None:
        return []
    for form in forms:
        # More of the model in shared memory, or fewer blocks: either may be faster.
        plans = [plan for kept in form.kept for plan in _plans(known, form, samples, kept, backend)]
        if plans:
            return plans
    return []


def _shape_of(known: PlaneSteps, form: StepForm, kept: tuple[int, ...], width: int) -> ClusterShape:
    """Return a kernel's compile-time constants, margin apart, with lanes of `width` numbers."""
    strips = tuple(form.costs.strips[bool(kind.stretched)] for kind in form.kinds)
    masked = _is_masked(form.passes[-1].regions, width)
    return ClusterShape(
        form.costs.threads, 0, known.first.variant.order // 2, form.halo, form.kinds, strips,
        masked, known.profile(width), form.shapes, len(known.fields), len(form.coefficients),
        len(form.memory), known.alternating, kept,
    )  # fmt: skip


def _is_masked(regions: Sequence[PlaneRegion], width: int) -> bool:
    """Whether rows may end within a lane."""
    return any((region.x[1] - region.x[0]) % width for region in regions)


def _plans(
    known: PlaneSteps, form: StepForm, samples: ReceiverSamples, kept: tuple[int, ...],
    backend: GpuArrays,
) -> list[ClusterPlan]:  # fmt: skip
    """Return a plan for each size of clusters.

    There is none where a shot does not fit, or a receiver reads beyond the rows that blocks know.

    Args:
        known: the steps.
        form: that these take.
        samples: of the receivers.
        kept: coefficients in shared memory.
        backend: the GPU backend.
    """
    width = backend.lane_width
    size = np.dtype(backend.precision).itemsize
    tables = known.first.tables
    regions = form.passes[-1].regions
    costs = form.costs
    staggered = not known.alternating
    rows = tables.profiles[2].shape[1]
    rows_updated = max(r.z[1] for r in regions) - min(r.z[0] for r in regions)
    # Blocks with receivers get fewer rows, and no cut goes through them if that can be.
    receivers = costs.channel * samples.in_rows(rows)
    uncut = samples.uncut(rows, form.reach)
    shape = _shape_of(known, form, kept, width)
    # Blocks keep rows of neighbours for the fields that are sent.
    sent = shape.sent if staggered else range(shape.fields)
    keeps = Keeps(
        shape.fields, shape.fields - len(sent), len(kept), int(staggered), known.alternating,
        max(shape.strips) - 1 if costs.exact else 0,
    )  # fmt: skip
    plans = []
    for count, together in CLUSTERS.items():
        memory = SharedMemory(regions, tables, shape.half, width, keeps)
        most = memory.most_rows((SHARED_BYTES - COUNTER_BYTES) // size, form.halo)
        # Too many rows for all blocks together, however they are cut.
        if most < form.halo or count * (most + 2 * form.halo) < rows_updated:
            continue
        blocks = cut_rows(form, tables, count, width, most, keeps, receivers, uncut)
        if blocks is None:
            continue
        memory.assign(blocks)
        if memory.bytes(size) > SHARED_BYTES:
            continue
        locate = partial(memory.locate, shape=shape, reach=form.reach)
        record = record_tables(known, samples, form.groups, count, locate)
        if record is None:
            continue
        dealt = deal(form, memory, width)
        turn = costs.barriers + costs.lane * dealt.cost
        # Coefficients that stay in the card's memory are read anew in each step.
        longer = 1.0 + costs.absent * (len(form.kept[0]) - len(kept))
        built = replace(shape, margin=memory.margin)
        plans.append(ClusterPlan(form, memory, built, dealt, record, together, turn * longer))
    return plans


def _plane_numbers(known: PlaneSteps, chosen: ClusterPlan, width: int) -> PlaneNumbers:
    """Return the numbers that a kernel takes, of planes whose lanes have `width`."""
    memory = chosen.memory
    tables = known.first.tables
    inner_x, inner_x_last = inner_nodes(tables, "x", width)
    inner_z, inner_z_last = inner_nodes(tables, "z", width)
    model_first, model_end = memory.model
    # The kernel divides by the lanes of rows: their reciprocals make products of that.
    return PlaneNumbers(
        blocks=len(memory.blocks), x_first=memory.x[0], row=memory.row,
        z_first=memory.z[0], z_end=memory.z[1], pitch=memory.pitch,
        model_first=model_first, model_row=model_end - model_first,
        x_pitch=memory.x_pitch, z_pitch=memory.z_pitch,
        numbers=memory.numbers, volume=known.volume, stride=known.stride,
        inner_x=inner_x, inner_x_last=inner_x_last, inner_z=inner_z, inner_z_last=inner_z_last,
        x_length=tables.profiles[0].shape[1],
        channels=chosen.record.width,
        group_blocks=known.shots * len(memory.blocks),
        lane_reciprocal=reciprocal(memory.row // width),
        model_reciprocal=reciprocal(max((model_end - model_first) // width, 1)),
        stride_reciprocal=reciprocal(known.stride),
    )  # fmt: skip


def _bind_cluster(backend: GpuArrays, known: PlaneSteps, chosen: ClusterPlan) -> Program:
    """Bind the kernel of clusters to its arrays, and return its program."""
    form = chosen.form
    memory = chosen.memory
    dealt = chosen.dealt
    put = backend.card.array
    work = (
        *map(put, dealt.firsts), put(dealt.rows.ravel()),
        put(dealt.points.ravel().astype(np.int32)),
    )  # fmt: skip
    kernel = ClusterKernel(form.formulas, backend.precision, chosen.shape)
    bind = _binding(
        backend, known, kernel, chosen.record, form.coefficients, form.memory, memory.table(), work
    )
    shared = memory.bytes(np.dtype(backend.precision).itemsize)
    sizes = ClusterSizes(known.shots, len(memory.blocks), chosen.shape.threads, shared)
    advance = bind(sizes, _plane_numbers(known, chosen, backend.lane_width))

    def steps(start: int, count: int) -> None:
        advance(start, count)
        backend.clock[:] = start + count

    return steps


# ---- tiles


def _in_tiles(backend: GpuArrays, known: PlaneSteps) -> LoopInside | None:
    """Return steps in tiles, None where launches are faster.

    As many shots of a batch as have room are stepped at the same time, and the others after them.
    """
    is_forced = backend.in_clusters is not None
    if not known.alternating or not (is_forced or known.first.variant.order // 2 <= HALF):
        return None
    # Shots whose boxes differ otherwise are launched.
    try:
        regions = regions_of(known.stages[0], [0] * len(known.stages[0]), known.shots)
    except ValueError:
        return None
    ways = _tilings(backend, known, regions)
    most = backend.card.multiprocessors
    points = sum((region.x[1] - region.x[0]) * (region.z[1] - region.z[0]) for region in regions)
    samples = samples_of(known, min(region.x[0] for region in regions), backend.fetch)
    if not ways or samples is None:
        return None
    if not (is_forced or _tiles_are_faster(ways, points, most)):
        return None
    # The fastest with all entries of each channel in a single tile.
    for tiles in sorted(ways, key=lambda tiles: microseconds(tiles, known.shots, most)):
        record = record_tables(known, samples, (0,) * len(known.fields), tiles.count, tiles.locate)
        if record is not None:
            many = min(microseconds(way, MANY, most) for way in ways)
            return LoopInside(many, partial(_bind_tiles, backend, known, regions, tiles, record))
    return None


def _tilings(backend: GpuArrays, known: PlaneSteps, regions: list[PlaneRegion]) -> list[Tiles]:
    """Return the ways to cut the plane of steps into tiles."""
    # What all ways to cut the plane share.
    width = backend.lane_width
    half = known.first.variant.order // 2
    masked = _is_masked(regions, width)
    shape = TileShape(
        THREADS, 0, 0, 0, 0, half, max(half, READ), masked, known.profile(width), width
    )
    numbers = SHARED_BYTES // np.dtype(backend.precision).itemsize
    return tilings(regions, known.first.tables, shape, LANES, backend.card.multiprocessors, numbers)


def _tiles_are_faster(ways: list[Tiles], points: int, multiprocessors: int) -> bool:
    """Whether tiles are expected to beat launches, of a single shot and of many.

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


def _tile_numbers(known: PlaneSteps, tiles: Tiles, channels: int, shot: int) -> TileNumbers:
    """Return the numbers that a kernel takes."""
    return TileNumbers(
        shot=shot, tiles_x=tiles.columns, tiles=tiles.count,
        x_first=tiles.x[0], x_end=tiles.x[-1], z_first=tiles.z[0], z_end=tiles.z[-1],
        x_width=tiles.x_width, x_damped_width=tiles.x_damped_width, numbers=tiles.numbers,
        volume=known.volume, stride=known.stride,
        x_length=known.first.tables.profiles[0].shape[1], channels=channels,
        stride_reciprocal=reciprocal(known.stride),
    )  # fmt: skip


def _bind_tiles(
    backend: GpuArrays, known: PlaneSteps, regions: list[PlaneRegion], tiles: Tiles,
    record: RecordTables,
) -> Program:  # fmt: skip
    """Bind the kernel of tiles to its arrays, for each turn of shots, and return its program."""
    operands = known.first.operands
    done = backend.card.array(np.zeros(known.shots * tiles.count * LINE_BYTES // 4, np.int32))
    formula = BoundFormula(known.first.formula, (0, 1), (0,), 0)
    kernel = TileKernel((formula,), backend.precision, tiles.shape)
    # Shots share all but the rows of this table, which say where their memory is.
    table = np.concatenate(
        [tiles.table(regions, shot, record.channels_of) for shot in range(known.shots)]
    )
    bind = _binding(
        backend, known, kernel, record, operands.coefficients, operands.memory, table, (done,)
    )
    # Turns of as many shots each, as far as can be.
    turns = turns_of(tiles, known.shots, backend.card.multiprocessors)
    bounds = [known.shots * n // turns for n in range(turns + 1)]
    shared = tiles.numbers * np.dtype(backend.precision).itemsize
    turns_taken = [
        bind(
            TileSizes((last - first) * tiles.count, tiles.shape.threads, shared),
            _tile_numbers(known, tiles, record.width, first),
        )
        for first, last in pairwise(bounds)
    ]

    def steps(start: int, count: int) -> None:
        # Counts of steps begin anew with each call.
        done[:] = 0
        for advance in turns_taken:
            advance(start, count)
        backend.clock[:] = start + count

    return steps
