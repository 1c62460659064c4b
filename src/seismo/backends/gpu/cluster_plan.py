"""Which rows of a plane each block of a cluster has, and what each of its warps updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seismo.backends.base import FIRST_SPAN, SPAN_COLUMNS, KernelConstants
from seismo.backends.gpu.cluster_layout import WARP, X_BITS
from seismo.backends.gpu.cluster_memory import BlockRows, PlaneRegion, SharedMemory
from seismo.backends.gpu.launch_order import SweepCall
from seismo.backends.gpu.sweep_constants import inner_nodes

# Measured on an H100: time of a lane of each kind of points over that of one of the interior, and
# what a column of them takes beside its lanes.
COSTS = {"": 1.0, "x": 2.0, "z": 1.5, "xz": 3.0}
COLUMN_COST = 1.5
_PASSES = {False: 1.0, True: 1.5}  # layers have fluxes, too
STRIPS = (6, 3)  # rows of a column: interior, layers


def regions_of(sweeps: Iterable[SweepCall], shots: int) -> list[PlaneRegion]:
    """Return the regions that sweeps in a plane update, alike in all shots.

    Raises:
        ValueError: boxes of the shots differ by more than the offset of their fields and memory.
    """
    regions = []
    for sweep in sweeps:
        # Boxes of each shot in turn.
        boxes = sweep.boxes.reshape(-1, shots, sweep.boxes.shape[1])
        for box in boxes:
            z0, z1 = box[0, :2].tolist()
            for span in range(3):
                start = FIRST_SPAN + span * SPAN_COLUMNS
                columns = box[:, start : start + SPAN_COLUMNS]
                x0, x1, memory, _, memory_z, slot = columns[0].tolist()
                if x1 <= x0:
                    continue
                step = int(columns[1, 2] - memory) if shots > 1 else 0
                expected = memory + step * np.arange(shots)
                others = np.delete(columns, 2, axis=1)
                if (columns[:, 2] != expected).any() or (others != others[0]).any():
                    raise ValueError("shots differ")
                stretched = sweep.variant.middle if span == 1 else sweep.variant.ends
                regions.append(
                    PlaneRegion(stretched, (x0, x1), (z0, z1), (memory, memory_z, slot, step))
                )
    return regions


def _row_costs(regions: Sequence[PlaneRegion], z: tuple[int, int], width: int) -> np.ndarray:
    """Return the time that each row takes, in lanes of the interior."""
    costs = np.zeros(z[1] - z[0])
    for region in regions:
        lanes = -(-(region.x[1] - region.x[0]) // width)
        cost = COSTS[region.stretched] * _PASSES[bool(region.stretched)]
        costs[region.z[0] - z[0] : region.z[1] - z[0]] += lanes * cost
    return costs


def cut_rows(
    regions: Sequence[PlaneRegion],
    tables: KernelConstants,
    blocks: int,
    halo: int,
    width: int,
    most: int,
) -> list[BlockRows] | None:
    """Deal rows out so that blocks take alike; None where rows do not suffice.

    Rows in a layer across z are of one block.

    Args:
        regions: that make up the plane.
        tables: of the sweeps.
        blocks: of the cluster.
        halo: rows of its neighbours that a block keeps.
        width: numbers of a lane.
        most: rows of a block between others that fit its memory.
    """
    z0 = min(region.z[0] for region in regions)
    z1 = max(region.z[1] for region in regions)
    layers = [region.z for region in regions if "z" in region.stretched]
    top = max([z0 + halo, *(end for first, end in layers if first == z0)])
    bottom = min([z1 - halo, *(first for first, end in layers if end == z1)])
    done = np.concatenate([[0.0], np.cumsum(_row_costs(regions, (z0, z1), width))])
    cuts = _cuts(z0, z1, top, bottom, blocks, (halo, most), done)
    if cuts is None:
        return None
    return [
        BlockRows((first, last), halo, _model_rows(regions, tables, first, last, width),
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


def _model_rows(
    regions: Sequence[PlaneRegion], tables: KernelConstants, first: int, last: int, width: int
) -> tuple[int, int]:
    """Return the rows of the model that some rows of the field read."""
    read = []
    for region in regions:
        some = np.arange(max(first, region.z[0]), min(last, region.z[1]))
        if some.size:
            inner = inner_nodes(tables, "z", width)
            read.append(some.clip(*inner) if "z" in region.stretched else some)
    rows = np.concatenate(read)
    return int(rows.min()), int(rows.max()) + 1


@dataclass(frozen=True)
class Round:
    """What the threads of a warp update together.

    Attributes:
        row: of `ROUND_COLUMNS`.
        points: (WARP) of the threads.
        cost: in lanes of the interior.
    """

    row: tuple[int, ...]
    points: np.ndarray
    cost: float


def _rounds(
    regions: Sequence[PlaneRegion], kinds: Sequence[str], memory: SharedMemory, rows: BlockRows,
    strips: Sequence[int], width: int,
) -> Iterator[Round]:  # fmt: skip
    """Yield the rounds of a block."""
    for region in regions:
        z0 = max(region.z[0], rows.z[0])
        z1 = min(region.z[1], rows.z[1])
        if z1 <= z0:
            continue
        # Threads take lanes of a row, or of the first of some rows, one after the other.
        kind = kinds.index(region.stretched)
        height = strips[kind]
        z, x = np.meshgrid(np.arange(z0, z1, height), np.arange(*region.x, width), indexing="ij")
        points = (x + X_BITS * z).ravel()
        points = np.pad(points, (0, -points.size % WARP), constant_values=-1)
        row = (kind, region.x[1], z1, *memory.memory_of(region, rows), *region.memory)
        cost = COSTS[region.stretched] * (height + COLUMN_COST)
        for some in points.reshape(-1, WARP):
            yield Round(row, some, cost)


@dataclass(frozen=True)
class Dealt:
    """The rounds of all warps of a cluster.

    Attributes:
        fluxes: (block, warp) number of the first round of fluxes, and behind the last of all, flat.
        updates: the same of updates.
        rows: (round, column).
        points: (round, thread of the warp).
        cost: of the warp that takes longest.
    """

    fluxes: np.ndarray
    updates: np.ndarray
    rows: np.ndarray
    points: np.ndarray
    cost: float


def deal(
    regions: Sequence[PlaneRegion], kinds: Sequence[str], memory: SharedMemory,
    strips: Sequence[int], warps: int, width: int,
) -> Dealt:  # fmt: skip
    """Deal the rounds of each block out to its warps, the longest first to the least busy."""
    # Longest processing time first: each round to the warp that is free first.
    dealt: list[Round] = []
    firsts: list[list[int]] = []
    costs = np.zeros(len(memory.blocks))
    for layers_only in (True, False):
        first = [len(dealt)]
        for n, rows in enumerate(memory.blocks):
            mine: list[list[Round]] = [[] for _ in range(warps)]
            busy = np.zeros(warps)
            rounds = _rounds(regions, kinds, memory, rows, strips, width)
            some = [one for one in rounds if kinds[one.row[0]] or not layers_only]
            for one in sorted(some, key=lambda r: -r.cost):
                warp = int(busy.argmin())
                mine[warp].append(one)
                busy[warp] += one.cost
            costs[n] += busy.max() * (0.5 if layers_only else 1.0)
            for some in mine:
                dealt += some
                first.append(len(dealt))
        firsts.append(first)
    return Dealt(
        np.array(firsts[0]), np.array(firsts[1]), np.array([one.row for one in dealt]),
        np.array([one.points for one in dealt]), float(costs.max()),
    )  # fmt: skip
