"""Plans of planes in clusters: forms that steps take, rows of each block, rounds of each warp.

A form (`StepForm`) is cut into rows of blocks so that these take alike (`cut_rows`), and the points
of a block are dealt out to its warps in rounds (`deal`), all by measured costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from itertools import pairwise, product
from typing import Any

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.launch_order import SweepCall
from seismo.backends.gpu.resident.block import BoundFormula
from seismo.backends.gpu.resident.cluster_layout import (
    X_BITS,
    BlockRows,
    Keeps,
    PassShape,
    SharedMemory,
)
from seismo.backends.gpu.resident.plane_steps import PlaneRegion, PlaneSteps, PointKind, regions_of
from seismo.backends.gpu.sweeps.layouts import WARP, inner_nodes

READ = 4  # rows beside a receiver's own that it is read from


@dataclass(frozen=True)
class StepCosts:
    """Times of a form, as measured on an H100 or H200.

    Attributes:
        barriers: us of a step that barriers and samples take.
        lane: us of a lane of the interior and warp.
        layers: by the axes that are stretched, time of a lane over that of a lane of the interior.
        strips: rows of a column at most: interior, layers.
        launches: us of a step launch by launch, at least.
        launched: us of a step of a million points launch by launch.
        threads: of a block.
        exact: whether all columns have so many rows, the last rows in vain.
        channel: time of a receiver's channel, in lanes of the interior.
        absent: how much longer a step is for each coefficient that is not in shared memory.
    """

    barriers: float
    lane: float
    layers: dict[str, float]
    strips: tuple[int, int]
    launches: float
    launched: float
    threads: int = 512
    exact: bool = False
    channel: float = 0.0
    absent: float = 0.0

    @property
    def heights(self) -> list[tuple[int, int]]:
        """Return the rows that columns may have: interior, layers."""
        shortest = self.strips if self.exact else (1, 1)
        inside, in_layers = (
            range(most, least - 1, -1) for most, least in zip(self.strips, shortest, strict=True)
        )
        return list(product(inside, in_layers))

    def of_stages(self, fields: int, coefficients: int, half: int) -> StepCosts:
        """Return the costs of two stages, from the costs of P-SV waves of order 4.

        Launches move three numbers of a field and a coefficient (measured of SH waves: 0.58
        of P-SV). The work of blocks goes with the fields and their derivatives (0.36); that it goes
        with the order is an estimate.

        Args:
            fields: of both stages.
            coefficients: that most points read.
            half: half the order of the differences.
        """
        # Bytes: each field is read twice and written once.
        moved = (3 * fields + coefficients) / (3 * 5 + 3)
        lane = self.lane * (fields / 5) ** 2 * (1.0 + 0.15 * max(half - 2, 0))
        return replace(self, lane=lane, launched=self.launched * moved)


SECOND = StepCosts(
    barriers=1.0, lane=0.21, layers={"": 1.0, "x": 2.0, "z": 1.5, "xz": 3.0}, strips=(6, 3),
    launches=6.5, launched=6.0,
)  # fmt: skip
STAGGERED = StepCosts(
    barriers=1.5, lane=0.37, layers={"": 1.0, "x": 1.5, "z": 1.5, "xz": 2.0}, strips=(2, 2),
    launches=9.5, launched=20.0, threads=384, exact=True, channel=0.7, absent=0.15,
)  # fmt: skip


@dataclass(frozen=True)
class PassPlan:
    """Points that are updated in a pass of a step, and their costs.

    Attributes:
        regions: of points.
        costs: by the axes that are stretched, time of a lane over that of a lane of the interior
            of second differences.
    """

    regions: list[PlaneRegion]
    costs: dict[str, float]


@dataclass(frozen=True)
class StepForm:
    """How a kernel takes the steps of a plane.

    Attributes:
        formulas: with the numbers of their arrays.
        coefficients: arrays of the model.
        memory: arrays of layer memory.
        passes: of a step.
        shapes: built in, of the passes.
        kinds: of points.
        halo: rows of its neighbours that a block keeps.
        groups: of each field, the group of the channels that sample it.
        reach: of each field, rows of its neighbours that a block knows.
        costs: measured.
        kept: coefficients that blocks may keep in shared memory, as many as fit first.
    """

    formulas: tuple[BoundFormula, ...]
    coefficients: tuple[Any, ...]
    memory: tuple[Any, ...]
    passes: list[PassPlan]
    shapes: tuple[PassShape, ...]
    kinds: tuple[PointKind, ...]
    halo: int
    groups: tuple[int, ...]
    reach: tuple[int, ...]
    costs: StepCosts
    kept: tuple[tuple[int, ...], ...]


def forms_of(known: PlaneSteps) -> list[StepForm]:
    """Return the forms that steps may take, the cheapest first.

    Raises:
        ValueError: shots differ by more than where their fields are.
    """
    return [_second_form(known)] if known.alternating else _staggered_forms(known)


def _second_form(known: PlaneSteps) -> StepForm:
    """Return the form of second differences: fluxes of layers, then all points."""
    sweeps = known.stages[0]
    operands = known.first.operands
    regions = regions_of(sweeps, [0] * len(sweeps), known.shots)
    kinds = tuple(sorted({region.kind for region in regions}))
    half = known.first.variant.order // 2
    halo = max(half, READ)
    # Fluxes exist in layers alone.
    layers = [region for region in regions if region.stretched]
    stretched = tuple(n for n, kind in enumerate(kinds) if kind.stretched)
    fluxes = {axes: 0.5 * cost for axes, cost in SECOND.layers.items()}
    return StepForm(
        (BoundFormula(known.first.formula, (0, 1), (0,), 0),), operands.coefficients,
        operands.memory, [PassPlan(layers, fluxes), PassPlan(regions, SECOND.layers)],
        (PassShape(stretched, recorded=0, late=True),
         PassShape(tuple(range(len(kinds))), injected=(0,), sent=(0,))),
        kinds, halo, (0, 0), (halo, 0), SECOND, ((0,),),
    )  # fmt: skip


def _staggered_forms(known: PlaneSteps) -> list[StepForm]:
    """Return the forms of two stages: with few rows of neighbours, or as many as receivers read."""
    numbers = {id(array): n for n, array in enumerate(known.fields)}
    sweeps = [sweep for stage in known.stages for sweep in stage]
    coefficients = _distinct(array for sweep in sweeps for array in sweep.operands.coefficients)
    memory = _distinct(array for sweep in sweeps for array in sweep.operands.memory)

    coefficient_ids, memory_ids = (list(map(id, arrays)) for arrays in (coefficients, memory))

    def bound(sweep: SweepCall) -> BoundFormula:
        operands = sweep.operands
        fields = tuple(numbers[id(array)] for array in (*operands.writes, *operands.reads))
        of_model = tuple(coefficient_ids.index(id(array)) for array in operands.coefficients)
        of_layers = memory_ids.index(id(operands.memory[0]))
        return BoundFormula(sweep.formula, fields, of_model, of_layers, sweep.variant.damped)

    # Each formula once, whatever the number of its sweeps.
    formulas = tuple(dict.fromkeys(map(bound, sweeps)))
    stages = [
        regions_of(stage, [formulas.index(bound(sweep)) for sweep in stage], known.shots)
        for stage in known.stages
    ]
    kinds = tuple(sorted({region.kind for regions in stages for region in regions}))
    changed = [
        tuple(numbers[id(array)] for array in stage[0].operands.writes) for stage in known.stages
    ]
    # Fields of which the other stage takes derivatives along z.
    # Exactly these need rows of neighbours.
    across = {formula.fields[n] for formula in formulas for n in formula.formula.along("z")}
    kept = _most_read(formulas, [region for regions in stages for region in regions])
    half = known.first.variant.order // 2
    costs = STAGGERED.of_stages(len(known.fields), len(kept[0]), half)
    groups = tuple(n for n, fields in enumerate(changed) for _ in fields)

    def form(halo: int, sent: set[int]) -> StepForm:
        # Velocities are recorded as stresses are updated, and stresses as the next velocities are.
        shapes = tuple(
            PassShape(
                tuple(k for k, kind in enumerate(kinds) if kind in {r.kind for r in regions}),
                recorded=1 - n, late=n == 0, injected=fields,
                sent=tuple(field for field in fields if field in sent),
            )
            for n, (regions, fields) in enumerate(zip(stages, changed, strict=True))
        )  # fmt: skip
        # Receivers see as far as blocks know.
        reach = tuple(halo if n in sent else 0 for n in range(len(known.fields)))
        passes = [PassPlan(regions, costs.layers) for regions in stages]
        return StepForm(
            formulas, coefficients, memory, passes, shapes, kinds, halo, groups, reach, costs, kept,
        )  # fmt: skip

    # Receivers may need more rows, and of all fields: that is the second form.
    return [form(half, across), form(max(half, READ), set(range(len(known.fields))))]


def _most_read(
    formulas: Sequence[BoundFormula], regions: Sequence[PlaneRegion]
) -> tuple[tuple[int, ...], ...]:
    """Return the coefficients to keep: all that most points read, then fewer and fewer, to none.

    Args:
        formulas: with the numbers of their arrays.
        regions: of all stages.
    """
    # Reads of each coefficient by all points.
    reads = Counter[int]()
    points = sum((r.x[1] - r.x[0]) * (r.z[1] - r.z[0]) for r in regions)
    for region in regions:
        bound = formulas[region.kind.formula]
        count = (region.x[1] - region.x[0]) * (region.z[1] - region.z[0])
        for name, number in zip(bound.formula.coefficients, bound.coefficients, strict=True):
            # Coefficients of a few rows only have rows of their own.
            if name not in bound.formula.packed:
                reads[number] += count * bound.formula.reads_of(name)
    # Coefficients of a few rows, at contacts, are not worth a kernel of its own.
    chosen = [number for number, count in reads.most_common() if count > 0.1 * points]
    return tuple(tuple(chosen[:n]) for n in range(len(chosen), -1, -1))


def _distinct(arrays: Iterable[Any]) -> tuple[Any, ...]:
    """Return arrays, each once."""
    return tuple({id(array): array for array in arrays}.values())


COLUMN_COST = 1.5  # time of a column beside its lanes, in lanes, measured on an H100


def _row_costs(passes: Sequence[PassPlan], z: tuple[int, int], width: int) -> np.ndarray:
    """Return the time that each row takes, in lanes of the interior."""
    costs = np.zeros(z[1] - z[0])
    for pass_ in passes:
        for region in pass_.regions:
            lanes = -(-(region.x[1] - region.x[0]) // width)
            rows = slice(region.z[0] - z[0], region.z[1] - z[0])
            costs[rows] += lanes * pass_.costs[region.stretched]
    return costs


def cut_rows(
    form: StepForm, tables: KernelConstants, blocks: int, width: int, most: int, keeps: Keeps,
    receivers: np.ndarray, uncut: np.ndarray,
) -> list[BlockRows] | None:  # fmt: skip
    """Deal rows out so that blocks take alike; None where rows do not suffice.

    Where blocks keep layer memory, rows in a layer across z belong to a single block.

    Args:
        form: of the steps; the last of its passes updates all points.
        tables: of the sweeps.
        blocks: of the cluster.
        width: numbers of a lane.
        most: rows of a block between others that fit its memory.
        keeps: data that blocks keep.
        receivers: costs of the receivers in each row, in lanes of the interior.
        uncut: whether each row must not be the first of a block.
    """
    halo = form.halo
    regions = form.passes[-1].regions
    z0 = min(region.z[0] for region in regions)
    z1 = max(region.z[1] for region in regions)
    layers = [] if not keeps.layers else [region.z for region in regions if "z" in region.stretched]
    top = max([z0 + halo, *(end for first, end in layers if first == z0)])
    bottom = min([z1 - halo, *(first for first, end in layers if end == z1)])
    costs = _row_costs(form.passes, (z0, z1), width) + receivers[z0:z1]
    done = np.concatenate([[0.0], np.cumsum(costs)])
    cuts = _cuts(z0, z1, top, bottom, blocks, (halo, most), done)
    if cuts is None:
        return None
    _spare(cuts, uncut, halo, most)
    return [
        BlockRows((first, last), halo,
             _model_rows(regions, tables, first, last, width, keeps),
             tuple(sorted({z for z in layers if first <= z[0] < last})))
        for first, last in pairwise(cuts)
    ]  # fmt: skip


def _cuts(
    z0: int, z1: int, top: int, bottom: int, blocks: int, limits: tuple[int, int], done: np.ndarray
) -> list[int] | None:
    """Return the first rows of blocks, and behind the last; None where rows do not suffice.

    Args:
        z0: first row.
        z1: behind the last row.
        top: behind the least rows of the first block.
        bottom: first of the least rows of the last block.
        blocks: to cut.
        limits: rows of a block between others, at least and at most.
        done: costs of all rows before each row.
    """

    def cost(first: int, last: int) -> float:
        return float(done[last - z0] - done[first - z0])

    least, most = limits
    inner = blocks - 2
    if inner < 0:
        return [z0, z1]
    if bottom - top < inner * least:
        return None
    # The outer blocks take rows from the others while these have more to do.
    while bottom - top > max(inner * least, 1):
        share = cost(top, bottom) / max(inner, 1)
        above = cost(z0, top)
        below = cost(bottom, z1)
        if inner and share <= min(above, below) and bottom - top <= inner * most:
            break
        if above <= below:
            top += 1
        else:
            bottom -= 1
    if not inner:
        return [z0, top, z1]
    # The rest in equal shares, of enough rows.
    cuts = [z0, top]
    for n in range(1, inner):
        start = cuts[-1]
        share = done[start - z0] + cost(start, bottom) / (inner - n + 1)
        cut = z0 + int(np.searchsorted(done, share))
        low = max(start + least, bottom - most * (inner - n))
        high = min(start + most, bottom - least * (inner - n))
        cuts.append(min(max(cut, low), high))
    return [*cuts, bottom, z1]


def _spare(cuts: list[int], uncut: np.ndarray, least: int, most: int) -> None:
    """Move cuts to the nearest rows where they spare receivers, as far as blocks allow.

    Args:
        cuts: first rows of blocks, and behind the last; all between change.
        uncut: whether each row must not be the first of a block.
        least: rows of a block.
        most: rows of a block between others.
    """
    for n in range(1, len(cuts) - 1):
        # Limits of rows on both sides; the outer blocks have no most.
        before, cut, behind = cuts[n - 1 : n + 2]
        low = max(before + least, behind - most if n < len(cuts) - 2 else before + least)
        high = min(behind - least, before + most if n > 1 else behind - least)
        allowed = [row for row in range(low, high + 1) if not uncut[row]]
        if uncut[cut] and allowed:
            cuts[n] = min(allowed, key=lambda row: abs(row - cut))


def _model_rows(
    regions: Sequence[PlaneRegion], tables: KernelConstants, first: int, last: int, width: int,
    keeps: Keeps,
) -> tuple[int, int]:  # fmt: skip
    """Return the rows of the model that rows of a field read."""
    if not keeps.models:
        return 0, 0
    read = []
    for region in regions:
        rows = np.arange(max(first, region.z[0]), min(last, region.z[1]))
        if rows.size:
            inner = inner_nodes(tables, "z", width)
            read.append(rows.clip(*inner) if "z" in region.stretched else rows)
    rows = np.concatenate(read)
    return int(rows.min()), int(rows.max()) + 1 + keeps.next_nodes


def _regions_in(pass_: PassPlan, rows: BlockRows) -> list[tuple[PlaneRegion, int, int]]:
    """Return regions of a pass in a block's rows, each with its first row and behind its last."""
    ends = ((r, max(r.z[0], rows.z[0]), min(r.z[1], rows.z[1])) for r in pass_.regions)
    return [(region, z0, z1) for region, z0, z1 in ends if z0 < z1]


def _round_costs(
    pass_: PassPlan, rows: BlockRows, heights: tuple[int, int], width: int
) -> list[float]:
    """Return the cost of each of the rounds of `_rounds`."""
    costs = []
    for region, z0, z1 in _regions_in(pass_, rows):
        height = heights[bool(region.stretched)]
        # Threads of a region, a column each, in warps.
        threads = -(-(z1 - z0) // height) * len(range(*region.x, width))
        cost = pass_.costs[region.stretched] * (height + COLUMN_COST)
        costs += [cost] * -(-threads // WARP)
    return costs


def _rounds(
    pass_: PassPlan, form: StepForm, memory: SharedMemory, rows: BlockRows,
    heights: tuple[int, int], width: int,
) -> list[tuple[tuple[int, ...], np.ndarray]]:  # fmt: skip
    """Return the rounds of a block in a pass: `ROUND_COLUMNS`, and the points of a warp's threads.

    Columns have so many rows: in the interior, in layers.
    """
    rounds: list[tuple[tuple[int, ...], np.ndarray]] = []
    for region, z0, z1 in _regions_in(pass_, rows):
        # Threads take lanes of a row, or of the first row of columns, in order.
        height = heights[bool(region.stretched)]
        z, x = np.meshgrid(np.arange(z0, z1, height), np.arange(*region.x, width), indexing="ij")
        points = (x + X_BITS * z).ravel()
        points = np.pad(points, (0, -points.size % WARP), constant_values=-1)
        columns = (*memory.memory_of(region, rows), *region.memory, region.packed, height)
        row = (form.kinds.index(region.kind), region.x[1], z1, *columns)
        rounds += [(row, of_warp) for of_warp in points.reshape(-1, WARP)]
    return rounds


def _assigned(costs: Sequence[float], warps: int) -> tuple[list[int], float]:
    """Return the warp of each round, and when the last warp is done."""
    # Longest processing time first: each round to the warp that is free first.
    free = [(0.0, warp) for warp in range(warps)]
    # A heap of (time, warp), the earliest first.
    warp_of = [0] * len(costs)
    for n in sorted(range(len(costs)), key=lambda n: -costs[n]):
        busy, warp_of[n] = free[0]
        heapreplace(free, (busy + costs[n], warp_of[n]))
    return warp_of, max(free)[0]


@dataclass(frozen=True)
class Dealt:
    """The rounds of all warps of a cluster.

    Attributes:
        firsts: of each pass, (block, warp) number of the first round, and behind the last of all,
            flat.
        rows: (round, column).
        points: (round, thread of the warp).
        cost: of the warp that takes longest.
    """

    firsts: tuple[np.ndarray, ...]
    rows: np.ndarray
    points: np.ndarray
    cost: float


def deal(form: StepForm, memory: SharedMemory, width: int) -> Dealt:
    """Deal the rounds of each block out to its warps, the longest first to the least busy.

    Columns are as high as lets the last warp end soonest: long columns read less, short columns
    leave fewer warps without work.

    Args:
        form: of the steps.
        memory: layout of the blocks.
        width: numbers of a lane.
    """
    warps = form.costs.threads // WARP
    dealt: list[tuple[tuple[int, ...], np.ndarray]] = []
    firsts: list[np.ndarray] = []
    costs = np.zeros(len(memory.blocks))
    for pass_ in form.passes:
        first = [len(dealt)]
        for n, rows in enumerate(memory.blocks):
            trials = (
                (heights, *_assigned(_round_costs(pass_, rows, heights, width), warps))
                for heights in form.costs.heights
            )
            # The heights of columns whose last warp ends first.
            heights, warp_of, busy = min(trials, key=lambda trial: trial[2])
            costs[n] += busy
            rounds = _rounds(pass_, form, memory, rows, heights, width)
            for warp in range(warps):
                dealt += [r for r, other in zip(rounds, warp_of, strict=True) if other == warp]
                first.append(len(dealt))
        firsts.append(np.array(first))
    rows_of, points = map(np.array, zip(*dealt, strict=True))
    return Dealt(tuple(firsts), rows_of, points, float(costs.max()))
