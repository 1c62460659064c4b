"""Steps of small planes taken by a kernel with the time loop inside (`cluster_kernel`).

A program of launches is recognised by what the backend bound: the sweeps of one formula of second
differences in a plane, or those of two stages of first differences, sources, receivers, and nothing
else. What it leaves in the arrays is what the launches leave, so that all that happens between
steps stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from seismo.backends.base import Step
from seismo.backends.gpu.arrays import GpuArrays, device_tables
from seismo.backends.gpu.launch_order import GpuLaunch
from seismo.backends.gpu.resident.clusters.block import Arrays
from seismo.backends.gpu.resident.clusters.cluster import COUNTER_BYTES
from seismo.backends.gpu.resident.clusters.form import StepForm, forms_of
from seismo.backends.gpu.resident.clusters.kernel import ClusterKernel, listed
from seismo.backends.gpu.resident.clusters.layout import (
    SHARED_BYTES,
    ClusterError,
    ClusterLayout,
    ClusterShape,
    ClusterSizes,
    PlaneNumbers,
    reciprocal,
)
from seismo.backends.gpu.resident.clusters.memory import (
    Keeps,
    SharedMemory,
    layout_of,
)
from seismo.backends.gpu.resident.clusters.plan import (
    Dealt,
    ReceiverRows,
    cut_rows,
    deal,
)
from seismo.backends.gpu.resident.plane_steps import (
    MANY,
    LoopInside,
    PlaneSteps,
    recognised,
)
from seismo.backends.gpu.resident.record import (
    ReceiverSamples,
    RecordTables,
    receiver_tables,
    record_tables,
    samples_of,
    source_tables,
)
from seismo.backends.gpu.resident.tiles.program import in_tiles
from seismo.backends.gpu.sweeps.constants import built_in, inner_nodes
from seismo.backends.gpu.sweeps.layouts import WARP

CAPABILITY = (9, 0)  # of cards that have clusters
# Clusters of so many blocks that run at the same time, on the 132 multiprocessors of an H200:
# where a card has others, shots take more turns, or fewer, than are expected.
CLUSTERS = {1: 132, 2: 66, 4: 30, 8: 15, 16: 7}

AS_FAST = 1.05  # about what predictions of a step differ by
LONGER = 1.25  # than predicted: 35.6 us for 28.6, of 64 shots of 340 x 340 points

Program = Callable[[int, int], None]  # as `Backend.program` returns it


@dataclass(frozen=True)
class ClusterPlan:
    """A layout, and who does what in it.

    Attributes:
        form: of the steps.
        layout: of a shot in shared memory.
        memory: what lies where in it.
        shape: what of it the kernel has built in.
        dealt: the rounds.
        record: the tables of receivers.
        together: clusters that run at the same time.
        turn: us of a step of these, as predicted.
    """

    form: StepForm
    layout: ClusterLayout
    memory: SharedMemory
    shape: ClusterShape
    dealt: Dealt
    record: RecordTables
    together: int
    turn: float

    def microseconds(self, shots: int) -> float:
        """Return what a step of so many shots takes, as predicted."""
        return -(-shots // self.together) * self.turn


def _shape_of(known: PlaneSteps, form: StepForm, kept: tuple[int, ...], width: int) -> ClusterShape:
    """Return what a kernel has built in but the margin, with lanes of `width` numbers."""
    regions = form.passes[-1].regions
    profile = known.first.tables.profiles[2].shape[0]
    return ClusterShape(
        form.costs.threads, 0, known.first.variant.order // 2, form.halo, form.kinds,
        tuple(map(form.costs.strip, form.kinds)),
        any((region.x[1] - region.x[0]) % width for region in regions),
        -(-profile // width) * width, form.shapes,
        len(known.fields), len(form.coefficients), len(form.memory), known.alternating, kept,
    )  # fmt: skip


def plan(
    known: PlaneSteps, form: StepForm, samples: ReceiverSamples, kept: tuple[int, ...],
    backend: GpuArrays,
) -> list[ClusterPlan]:  # fmt: skip
    """Return a plan for each size of clusters.

    There is none where a shot does not fit, or a receiver reads beyond what blocks know.

    Args:
        known: the steps.
        form: that these take.
        samples: what receivers sample.
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
    receivers = ReceiverRows(costs.channel * samples.in_rows(rows), samples.uncut(rows, form.reach))
    shape = _shape_of(known, form, kept, width)
    # Blocks keep rows of neighbours of those fields that are sent.
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
        blocks = cut_rows(form.passes, tables, count, form.halo, width, most, keeps, receivers)
        if blocks is None:
            continue
        memory.assign(blocks)
        layout = layout_of(memory, known.volume)
        if layout.bytes(size) > SHARED_BYTES:
            continue
        record = record_tables(known, samples, memory, shape, form.groups, form.reach)
        if record is None:
            continue
        warps = costs.threads // WARP
        dealt = deal(form.passes, form.kinds, memory, costs.heights, warps, width)
        turn = costs.barriers + costs.lane * dealt.cost
        # Coefficients that stay in the card's memory are read anew in each step.
        longer = 1.0 + costs.absent * (len(form.kept[0]) - len(kept))
        built = replace(shape, margin=memory.margin)
        plans.append(
            ClusterPlan(form, layout, memory, built, dealt, record, together, turn * longer)
        )
    return plans


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
        plans = [one for kept in form.kept for one in plan(known, form, samples, kept, backend)]
        if plans:
            return plans
    return []


def _are_faster(plans: Sequence[ClusterPlan]) -> bool:
    """Whether clusters are as fast as launches, of one shot and of many.

    It does not depend on the number of shots: a shot has the same bits in every batch.
    """
    layout = plans[0].layout
    costs = plans[0].form.costs
    points = layout.row * (layout.z[1] - layout.z[0])
    return all(
        min(one.microseconds(shots) for one in plans)
        < AS_FAST * (costs.launches + costs.launched * points * shots / 1e6)
        for shots in (1, MANY)
    )


def cluster_program(
    backend: GpuArrays, steps: Sequence[Step], launches: Callable[[], Program]
) -> Program | None:
    """Return what takes steps by a kernel with the loop inside, where that is faster.

    Planes may be stepped in tiles, too, which all multiprocessors share. Which is faster does not
    depend on the number of shots, so that these have the same bits in every batch.

    Args:
        backend: the GPU backend.
        steps: as `Backend.program` takes them.
        launches: makes the program of their launches, for a card that refuses clusters.
    """
    able = backend.in_clusters is not False and backend.card.capability >= CAPABILITY
    known = recognised(steps) if able else None
    if known is None:
        return None
    candidates = (_in_clusters(backend, known), in_tiles(backend, known))
    ways = [way for way in candidates if way is not None]
    if not ways:
        return None
    chosen = ways[0] if backend.in_clusters else min(ways, key=lambda way: way.microseconds)
    inside = chosen.bind()
    # What the kernel takes the place of is compiled only where a step is taken launch by launch.
    replaced = (launch for step in steps for group in step for launch in group)
    backend.card.postpone(cast(GpuLaunch, launch) for launch in replaced)
    return _unless_refused(inside, launches)


def _in_clusters(backend: GpuArrays, known: PlaneSteps) -> LoopInside | None:
    """Return what takes steps in clusters, where that is faster than launches."""
    plans = _planned(backend, known)
    if not plans or (backend.in_clusters is None and not _are_faster(plans)):
        return None
    chosen = min(plans, key=lambda one: one.microseconds(known.shots))
    many = min(one.microseconds(MANY) for one in plans)
    return LoopInside(LONGER * many, partial(_bound, backend, known, chosen))


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
            rows.z[0], rows.own_rows, rows.halo, rows.kept_rows, memory.field_size(rows),
            memory.model_size(rows), model, x_memory, z_memory, first, last - first,
            before.own_rows * pitch, memory.field_size(before),
            -rows.own_rows * pitch, memory.field_size(behind),
        ))  # fmt: skip
    return np.array(table)


def _plane_numbers(known: PlaneSteps, chosen: ClusterPlan, width: int) -> PlaneNumbers:
    """Return the numbers that a kernel takes, of planes whose lanes have `width`."""
    layout = chosen.layout
    tables = known.first.tables
    inner_x, inner_x_last = inner_nodes(tables, "x", width)
    inner_z, inner_z_last = inner_nodes(tables, "z", width)
    # The kernel divides by the lanes of rows: their reciprocals make products of that.
    model_first, model_end = layout.model
    return PlaneNumbers(
        blocks=layout.blocks, x_first=layout.x[0], row=layout.row,
        z_first=layout.z[0], z_end=layout.z[1], pitch=layout.pitch,
        model_first=model_first, model_row=model_end - model_first,
        x_pitch=layout.x_pitch, z_pitch=layout.z_pitch,
        numbers=layout.numbers, volume=layout.volume, stride=known.stride,
        inner_x=inner_x, inner_x_last=inner_x_last, inner_z=inner_z, inner_z_last=inner_z_last,
        x_length=tables.profiles[0].shape[1],
        channels=chosen.record.width,
        group_blocks=known.shots * layout.blocks,
        lane_reciprocal=reciprocal(layout.row // width),
        model_reciprocal=reciprocal(max((model_end - model_first) // width, 1)),
        stride_reciprocal=reciprocal(known.stride),
    )  # fmt: skip


def _bound(backend: GpuArrays, known: PlaneSteps, chosen: ClusterPlan) -> Program:
    """Bind the kernel to its arrays."""
    form = chosen.form
    shape = chosen.shape
    record = chosen.record
    dealt = chosen.dealt
    tables = known.first.tables
    x_table, _, z_table, *_ = device_tables(backend, tables)
    put = backend.card.array
    sources = [source_tables(backend, known, field) for field in shape.injected]
    receivers = receiver_tables(backend, record)
    arrays = Arrays(
        known.fields, form.coefficients, form.memory, x_table, z_table,
        put(_rank_table(chosen).ravel()), tuple(map(put, dealt.firsts)), put(dealt.rows.ravel()),
        put(dealt.points.ravel().astype(np.int32)), tuple(one for one, _ in sources), receivers,
    )  # fmt: skip
    rows, coefficients = listed(built_in(tables))
    # Rows that end within a lane or not: both are compiled at once, and no plane waits again.
    kernel, other = (
        ClusterKernel(form.formulas, backend.precision, one, rows)
        for one in (shape, replace(shape, masked=not shape.masked))
    )
    number = np.dtype(backend.precision).type
    plane = (*_plane_numbers(known, chosen, backend.lane_width), *(n for _, n in sources))
    arguments = (
        arrays.flat(),
        tuple(int(n) for one in plane for n in (one if isinstance(one, tuple) else (one,))),
        tuple(map(number, coefficients)),
    )
    shared = chosen.layout.bytes(number().itemsize)
    sizes = ClusterSizes(known.shots, chosen.layout.blocks, shape.threads, shared)
    advance = backend.card.clustered(kernel, sizes, arguments, beside=(other,))

    def steps(start: int, count: int) -> None:
        advance(start, count)
        backend.clock[:] = start + count

    return steps
