"""Programs of the CPU: the calls of each thread, in order, for many steps without Python.

All work is tasks: C functions (`c_functions`) called for a range of items, such as tiles of a
sweep, grid points of sources, receivers. A *task list* holds the calls of a thread in order. The
task lists of a *phase* run side by side, with a barrier between phases. There are two schedules::

    tile-parallel   a phase for each group of launches, its items divided among the threads, which
                    meet at a barrier of the program's own where they run side by side (`barrier`);
                    a thread that is done takes over *units* of the lists of others
    shot-parallel   a task list for each shot with all of its calls: a thread steps a shot through
                    all steps before the next, and waits for no other thread

Where a step has host calls (halos that travel to other ranks), it is cut into pieces between them,
and Python goes from piece to piece.

A sweep that writes nothing but layer memory (the flux of second derivatives) prepares the sweep
that follows. The same thread does both in turn, tile by tile, while the tile is in its cache; a
linked next tile is prepared first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from seismo.backends.base import Launch, Step
from seismo.backends.cpu.barrier import Barrier, has_barrier
from seismo.backends.cpu.threads import CallTable, replay

SMALL = 1 << 14  # points of a phase below which it takes less than threads take to meet
ONE_UNIT = np.array([0, 1])
ONE_LIST = np.array([[[0, 1]]])  # a table of starts: of a single step, phase and task list
UNITS = 48  # of a thread's share of a phase, that others may take over
LEAST_UNIT = 1 << 12  # points of a unit, which take longer by far than claiming it
LONGEST = 1 << 29  # points to update between interrupts, a second's work: it cannot be interrupted


@dataclass(frozen=True, eq=False)
class Task:
    """A launch on the CPU: a C function, for items numbered from 0.

    Attributes:
        address: of the function.
        parameters: its arguments, by address.
        keep_alive: objects that `parameters` points to.
        costs: of each item, in points of a sweep.
        shots: the shot of each item; None if they serve several shots.
        clock: holds the step, for calls outside a program.
        tiles: items of a sweep; equal sweeps share them.
        producer_links: None unless it writes nothing but layer memory, that the same tile of the
            next sweep reads; of each tile then, whether the tile after it depends on it too.
    """

    address: int
    parameters: np.ndarray
    keep_alive: tuple
    costs: np.ndarray
    shots: np.ndarray | None
    clock: np.ndarray
    tiles: bytes = b""
    producer_links: np.ndarray | None = None

    def __call__(self) -> None:
        """Do all of it."""
        calls = np.array([self.row(0, len(self.costs))], np.uint64)
        replay(CallTable(calls, ONE_UNIT, ONE_LIST), int(self.clock[0]), 1, False)

    def row(self, first: int, last: int) -> tuple[int, ...]:
        """Return the numbers of a call."""
        return self.address, first, last, self.parameters.ctypes.data


FusedTasks = tuple[Task, ...]  # launches on the same items, to be done item by item
TaskRows = list[tuple[int, ...]]
Units = list[TaskRows]  # of a task list


def program(steps: tuple[Step, ...], threads: int) -> Callable[[int, int], None]:
    """Lay steps out for threads; see `seismo.backends.base.Backend.program`."""
    # Functions of the host split the step: threads stop there, and Python calls them.
    if not any(_is_host_call(group) for step in steps for group in step):
        return _scheduled(steps, threads)
    pieces = [list(_pieces(step, threads)) for step in steps]

    def advance(first: int, count: int) -> None:
        for step in range(first, first + count):
            for piece in pieces[step % len(pieces)]:
                piece(step)

    return advance


def _is_host_call(group: list[Launch]) -> bool:
    return not all(isinstance(launch, Task) for launch in group)


def _pieces(step: Step, threads: int) -> Iterator[Callable[[int], None]]:
    """Return functions (step) for pieces between host calls, and for the host calls."""
    # Lay each run of compiled launches out on its own.
    for by_host, groups in groupby(step, _is_host_call):
        if by_host:
            yield from (_call_of(launch) for group in groups for launch in group)
        else:
            yield _one_step_of(_scheduled((list(groups),), threads))


def _call_of(launch: Launch) -> Callable[[int], None]:
    return lambda step: launch()


def _one_step_of(advance: Callable[[int, int], None]) -> Callable[[int], None]:
    return lambda step: advance(step, 1)


def _scheduled(steps: tuple[Step, ...], threads: int) -> Callable[[int, int], None]:
    # Shot-parallel if all work belongs to shots and their number divides well among the threads.
    every = [_fused(step) for step in steps]
    shots = _shots(every)
    shot_parallel = len(shots) > 1 and (len(shots) % threads == 0 or len(shots) >= 4 * threads)
    if shot_parallel:
        phases = [[_shot_parallel(groups, shots)] for groups in every]
    else:
        # Tile-parallel: a barrier after every group of launches.
        phases = [[_tile_parallel(group, threads) for group in groups] for groups in every]
    laid_out = _table(phases)
    # Bound the work between two returns to Python, which can then handle an interrupt.
    most = max(1, int(LONGEST / max(_cost(groups) for groups in every)))
    barrier = Barrier(threads) if has_barrier() and not shot_parallel else None
    words = barrier.words if barrier else None

    def advance(first: int, count: int, keep_alive=steps) -> None:
        for start in range(first, first + count, most):
            steps_now = min(most, first + count - start)
            replay(laid_out, start, steps_now, shot_parallel, words)
            if barrier:
                barrier.adapt()

    return advance


def _fused(step: Any) -> list[list[FusedTasks]]:
    """Join launches that only prepare with the sweeps that follow on the same tiles."""
    # Flux sweeps whose tiles all recur in the next group are fused with it, tile by tile.
    groups: list[list[FusedTasks]] = []
    producers: dict[bytes, FusedTasks] = {}
    for group in step:
        chains: list[FusedTasks] = [(calls,) for calls in group]
        if producers and producers.keys() <= {calls.tiles for calls in group}:
            groups.pop()
            chains = [(*producers.get(calls.tiles, ()), calls) for calls in group]
        groups.append(chains)
        # Only a group that consists of nothing but preparing launches may be fused with the next.
        alone = all(len(chain) == 1 and chain[0].producer_links is not None for chain in chains)
        producers = {chain[0].tiles: chain for chain in chains} if alone else {}
    return groups


def _shots(steps: list[list[list[FusedTasks]]]) -> list[int]:
    """List the shots if every item of work serves a single shot."""
    shots: set[int] = set()
    for calls in (c for groups in steps for group in groups for chain in group for c in chain):
        if calls.shots is None:
            return []
        shots.update(calls.shots.tolist())
    return sorted(shots)


def _cost(groups: list[list[FusedTasks]]) -> float:
    return 1.0 + sum(c.costs.sum() for group in groups for chain in group for c in chain)


def _rows(chain: FusedTasks, first: int, last: int) -> TaskRows:
    if len(chain) == 1:
        return [chain[0].row(first, last)]
    # Producer before consumer: the flux of tile n + 1 precedes the update of tile n where linked.
    (producers, consumer) = chain
    rows = TaskRows()
    prepared = first
    for n in range(first, last):
        needed = n + 1 + int(_links(chain)[n])
        if needed > prepared:
            rows.append(producers.row(prepared, needed))
        prepared = needed
        rows.append(consumer.row(n, n + 1))
    return rows


def _links(chain: FusedTasks) -> np.ndarray:
    """Whether, for each item, the same thread has to take the next."""
    links = chain[0].producer_links
    return np.zeros(len(chain[0].costs), bool) if links is None else links


def _free(chain: FusedTasks) -> np.ndarray:
    """Return the items that are not linked to their predecessor, and the number of items."""
    return np.flatnonzero(~np.append(False, _links(chain)))


def _shot_parallel(groups: list[list[FusedTasks]], shots: list[int]) -> list[Units]:
    """Return a unit for each shot with all calls of its items, in the order of the groups."""
    task_lists: dict[int, TaskRows] = {shot: [] for shot in shots}
    for chain in (chain for group in groups for chain in group):
        # Contiguous runs of items of a shot become a call each.
        owners: Any = chain[0].shots
        cuts = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
        for first, last in pairwise(cuts):
            if first < last:
                task_lists[int(owners[first])] += _rows(chain, first, last)
    return [[rows] for rows in task_lists.values()]


def _tile_parallel(group: list[FusedTasks], threads: int) -> list[Units]:
    """Deal the items of every launch to threads, in runs, so that all have about equal costs.

    Launches whose items are few and large, as where two layers meet, are dealt first: the others
    even out the rest.
    """
    costs = [np.sum([calls.costs for calls in chain], axis=0) for chain in group]
    total = sum(cost.sum() for cost in costs)
    task_lists: list[Units] = [[] for _ in range(threads)]
    # Small phases stay on a single thread, which spares the barrier.
    if threads == 1 or total < SMALL:
        task_lists[0] += [
            _rows(chain, 0, len(cost)) for chain, cost in zip(group, costs, strict=True)
        ]
        return task_lists
    # Large items first: only small items are left towards the end of a phase.
    most = max(LEAST_UNIT, total / threads / UNITS)
    dealt = np.zeros(threads)
    for n in sorted(range(len(group)), key=lambda n: -_largest_run(group[n], costs[n])):
        cuts = _cuts(group[n], costs[n], dealt)
        reached = np.cumsum([0.0, *costs[n]])
        dealt += np.diff(reached[cuts])
        for task_list, ends in zip(task_lists, pairwise(cuts), strict=True):
            pieces = _pieces_of(group[n], reached, *ends, most)
            task_list += [_rows(group[n], *piece) for piece in pieces]
    return task_lists


def _pieces_of(
    chain: FusedTasks, reached: np.ndarray, first: int, last: int, most: float
) -> Iterator[tuple[int, int]]:
    """Cut items into runs of cost `most`; `reached` is the cost of all items before each."""
    # At the first item behind each wanted cost that is not linked to its predecessor.
    free = _free(chain)
    free = free[(first <= free) & (free < last)]
    count = max(1, round((reached[last] - reached[first]) / most))
    wanted = np.linspace(reached[first], reached[last], count, endpoint=False)
    at = np.unique(np.searchsorted(reached[free], wanted))
    return pairwise([*free[at[at < free.size]].tolist(), last])


def _largest_run(chain: FusedTasks, cost: np.ndarray) -> float:
    """Return the largest cost of items that a thread has to take together."""
    ends = np.flatnonzero(~_links(chain))
    return float(np.diff(np.cumsum(cost)[ends], prepend=0.0).max(initial=0.0))


def _cuts(chain: FusedTasks, cost: np.ndarray, dealt: np.ndarray) -> list[int]:
    """Return the cuts of a launch's items, for threads with the costs dealt before."""
    # Level: threads below it are filled up to it by what there is (water filling). It is the lowest
    # level that the n threads of least cost would reach, n = 1, 2, ...
    reached = np.cumsum([0.0, *cost])
    levels = (reached[-1] + np.cumsum(np.sort(dealt))) / np.arange(1.0, dealt.size + 1.0)
    shares = np.cumsum(np.maximum(levels.min() - dealt, 0.0))
    shares *= reached[-1] / shares[-1] if shares[-1] else 0.0
    free = _free(chain)
    nearest = np.abs(reached[free, None] - shares[:-1]).argmin(axis=0)
    return [0, *free[nearest].tolist(), len(cost)]


def _table(phases: list[list[list[Units]]]) -> CallTable:
    """Write all calls in a table; return where units and task lists of phases and steps begin."""
    # CSR layout: units starts[step, phase, k] .. starts[step, phase, k + 1] are those of list k.
    most = max(len(step) for step in phases)
    task_lists = len(phases[0][0])
    starts = np.zeros((len(phases), most, task_lists + 1), np.int64)
    calls: TaskRows = []
    units = [0]
    for step, its_phases in zip(starts, phases, strict=True):
        # Phases that a step does not have are empty.
        step[:] = len(units) - 1
        for n, phase in enumerate(its_phases):
            step[n:] = len(units) - 1
            for k, task_list in enumerate(phase):
                for rows in task_list:
                    calls += rows
                    units.append(len(calls))
                step[n, k + 1 :] = len(units) - 1
        step[len(its_phases) :] = len(units) - 1
    return CallTable(np.array(calls, np.uint64).reshape(-1, 4), np.array(units), starts)
