"""Which rows of a plane each block of a cluster has, and what each of its warps updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import pairwise

import numpy as np

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.resident.cluster_layout import X_BITS, BlockRows, Keeps, SharedMemory
from seismo.backends.gpu.resident.plane_steps import PlaneRegion, PointKind
from seismo.backends.gpu.sweeps.layouts import WARP, inner_nodes


@dataclass(frozen=True)
class PassPlan:
    """What is updated in a pass of a step, and what it takes.

    Attributes:
        regions: of points.
        costs: by the axes that are stretched, time of a lane over that of one of the interior of
            second differences.
    """

    regions: list[PlaneRegion]
    costs: dict[str, float]


@dataclass(frozen=True)
class ReceiverRows:
    """What receivers are in the rows of the arrays.

    Attributes:
        costs: of each row, what they take, in lanes of the interior.
        uncut: whether each row must not be the first of a block.
    """

    costs: np.ndarray
    uncut: np.ndarray


# What a column takes beside its lanes, in lanes, measured on an H100.
COLUMN_COST = 1.5


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
    passes: Sequence[PassPlan],
    tables: KernelConstants,
    blocks: int,
    halo: int,
    width: int,
    most: int,
    keeps: Keeps,
    receivers: ReceiverRows,
) -> list[BlockRows] | None:
    """Deal rows out so that blocks take alike; None where rows do not suffice.

    Where blocks keep layer memory, rows in a layer across z are of one block.

    Args:
        passes: of a step, the last of which updates all points.
        tables: of the sweeps.
        blocks: of the cluster.
        halo: rows of its neighbours that a block keeps.
        width: numbers of a lane.
        most: rows of a block between others that fit its memory.
        keeps: what they keep.
        receivers: rows that they are in.
    """
    regions = passes[-1].regions
    z0 = min(region.z[0] for region in regions)
    z1 = max(region.z[1] for region in regions)
    layers = [] if not keeps.layers else [region.z for region in regions if "z" in region.stretched]
    top = max([z0 + halo, *(end for first, end in layers if first == z0)])
    bottom = min([z1 - halo, *(first for first, end in layers if end == z1)])
    costs = _row_costs(passes, (z0, z1), width) + receivers.costs[z0:z1]
    done = np.concatenate([[0.0], np.cumsum(costs)])
    cuts = _cuts(z0, z1, top, bottom, blocks, (halo, most), done)
    if cuts is None:
        return None
    _spare(cuts, receivers.uncut, halo, most)
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
        bottom: first of the least rows of the last one.
        blocks: to cut.
        limits: rows of a block between others, at least and at most.
        done: what the rows before each one take.
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
        cuts: first rows of blocks, and behind the last; those between change.
        uncut: whether each row must not be one.
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
    """Return the rows of the model that some rows of the field read."""
    if not keeps.models:
        return 0, 0
    read = []
    for region in regions:
        some = np.arange(max(first, region.z[0]), min(last, region.z[1]))
        if some.size:
            inner = inner_nodes(tables, "z", width)
            read.append(some.clip(*inner) if "z" in region.stretched else some)
    rows = np.concatenate(read)
    return int(rows.min()), int(rows.max()) + 1 + keeps.next_nodes


@dataclass(frozen=True)
class Round:
    """What the threads of a warp update together.

    Attributes:
        row: of `ROUND_COLUMNS`.
        points: (WARP) of the threads.
    """

    row: tuple[int, ...]
    points: np.ndarray


def _regions_in(one: PassPlan, rows: BlockRows) -> list[tuple[PlaneRegion, int, int]]:
    """Return regions of a pass in a block's rows, each with its first row and behind its last."""
    ends = ((r, max(r.z[0], rows.z[0]), min(r.z[1], rows.z[1])) for r in one.regions)
    return [(region, z0, z1) for region, z0, z1 in ends if z0 < z1]


def _round_costs(
    one: PassPlan, rows: BlockRows, heights: tuple[int, int], width: int
) -> list[float]:
    """Return what each of the rounds of `_rounds` takes."""
    costs = []
    for region, z0, z1 in _regions_in(one, rows):
        height = heights[bool(region.stretched)]
        # Threads of a region, a column each, in warps.
        threads = -(-(z1 - z0) // height) * len(range(*region.x, width))
        cost = one.costs[region.stretched] * (height + COLUMN_COST)
        costs += [cost] * -(-threads // WARP)
    return costs


def _rounds(
    one: PassPlan, kinds: Sequence[PointKind], memory: SharedMemory, rows: BlockRows,
    heights: tuple[int, int], width: int,
) -> list[Round]:  # fmt: skip
    """Return the rounds of a block in a pass, whose columns have some rows: interior, layers."""
    rounds = []
    for region, z0, z1 in _regions_in(one, rows):
        # Threads take lanes of a row, or of the first of some rows, one after the other.
        height = heights[bool(region.stretched)]
        z, x = np.meshgrid(np.arange(z0, z1, height), np.arange(*region.x, width), indexing="ij")
        points = (x + X_BITS * z).ravel()
        points = np.pad(points, (0, -points.size % WARP), constant_values=-1)
        columns = (*memory.memory_of(region, rows), *region.memory, region.packed, height)
        row = (kinds.index(region.kind), region.x[1], z1, *columns)
        rounds += [Round(row, some) for some in points.reshape(-1, WARP)]
    return rounds


def _assigned(costs: Sequence[float], warps: int) -> tuple[list[int], float]:
    """Return the warp that does each of some rounds, and when the last warp is done."""
    # Longest processing time first: each round to the warp that is free first.
    free = [(0.0, warp) for warp in range(warps)]
    # A heap of (time, warp): the first is the one that is free first.
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


def deal(
    passes: Sequence[PassPlan], kinds: Sequence[PointKind], memory: SharedMemory,
    heights: Sequence[tuple[int, int]], warps: int, width: int,
) -> Dealt:  # fmt: skip
    """Deal the rounds of each block out to its warps, the longest first to the least busy.

    Columns are as high as lets the last warp end soonest: long ones read less, short ones leave
    fewer warps without work.

    Args:
        passes: of a step.
        kinds: of points.
        memory: what lies where.
        heights: rows that columns may have: interior, layers.
        warps: of a block.
        width: numbers of a lane.
    """
    dealt: list[Round] = []
    firsts: list[np.ndarray] = []
    costs = np.zeros(len(memory.blocks))
    for one in passes:
        first = [len(dealt)]
        for n, rows in enumerate(memory.blocks):
            trials = (
                (height, *_assigned(_round_costs(one, rows, height, width), warps))
                for height in heights
            )
            # Of all heights of columns those whose last warp ends first.
            some, warp_of, busy = min(trials, key=lambda trial: trial[2])
            costs[n] += busy
            rounds = _rounds(one, kinds, memory, rows, some, width)
            for warp in range(warps):
                dealt += [r for r, other in zip(rounds, warp_of, strict=True) if other == warp]
                first.append(len(dealt))
        firsts.append(np.array(first))
    return Dealt(
        tuple(firsts), np.array([one.row for one in dealt]),
        np.array([one.points for one in dealt]), float(costs.max()),
    )  # fmt: skip
