"""The order of launches: which waits for which, from the arrays that they read and write.

Launches come in an ordered list of groups. Launches of a group touch disjoint points and never wait
for each other. A launch waits for the last launches that wrote an array that it reads or writes
(RAW, WAW), and for launches that have since read an array that it writes (WAR). Everything else may
run at the same time: the record of a stage beside the next stage, the layers beside the interior.

Where a launch works (`seismo.backends.base.Group`) tells which part of its arrays it touches, so
that a core waits neither for the edges and halos of its own stage nor they for it::

    where    changes    reads of arrays that it does not change
    edge     edge       edge, core, halo
    core     core       edge, core
    message  message    edge, message
    halo     halo       edge, message
    ""       all        all

So copies into halos of other ranks wait for edges alone, and start at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, NamedTuple, Protocol

import numpy as np

from seismo.backends.base import Group, KernelConstants, KernelFields, Step, Variant
from seismo.backends.communicator import rank_barrier
from seismo.backends.gpu.code_cache import CompileRequest, KernelCode
from seismo.equations.framework.formula import Formula

ArrayRegion = tuple[int, str]  # an array's number, and a part of it
_ALL = ("edge", "core", "halo")
_SENT = ("edge", "message")
READS = {"edge": _ALL, "core": ("edge", "core"), "message": _SENT, "halo": _SENT, "": _ALL}
CHANGES = {"": _ALL} | {where: (where,) for where in ("edge", "core", "message", "halo")}


class LaunchingCard(Protocol):
    """The card of a launch, as graphs and copies see it (`seismo.backends.gpu.card.Card`)."""

    device: Any  # to be used as a context
    main: Any  # the stream of plain launches

    def side(self, number: int, urgent: bool) -> Any:
        """Return one of the streams that record a graph; urgent launches run first."""

    def free_memory(self) -> int:
        """Return the bytes that can still be allocated."""

    def missing(self, postponed: bool) -> list[CompileRequest]:
        """Return the kernels that were bound since the last time and are not loaded."""

    def load_code(self, codes: dict[str, KernelCode]) -> None:
        """Load compiled kernels."""


@dataclass(frozen=True, eq=False)
class SweepCall:
    """A formula bound to boxes of `BOX_COLUMNS`: the arguments of `Backend.sweep`."""

    formula: Formula
    variant: Variant
    tables: KernelConstants
    boxes: np.ndarray
    operands: KernelFields


@dataclass(frozen=True, eq=False)
class BodyCall:
    """A body bound to its arguments; see `Backend.each`."""

    body: Callable
    count: int
    arguments: tuple
    shots: np.ndarray | None


@dataclass(frozen=True)
class GpuLaunch:
    """A launch with the arrays that it reads and writes.

    Attributes:
        run: does it.
        reads: numbers of the arrays it reads, except arrays that it changes in place.
        writes: numbers of the arrays it changes.
        card: the card that does it.
        call: the call of the backend that bound it, `SweepCall` or `BodyCall`.
        kernel: name of the file that its code is kept in, "" where it is none of ours.
    """

    run: Callable[[], None]
    reads: frozenset[int]
    writes: frozenset[int]
    card: LaunchingCard | None = None
    call: SweepCall | BodyCall | None = None
    kernel: str = ""

    def __call__(self) -> None:
        """Launch it."""
        self.run()


class CountedSteps(NamedTuple):
    """Steps of a card that count themselves.

    Attributes:
        card: whose launches they are.
        steps: in turn.
        clock: that they turn.
    """

    card: LaunchingCard
    steps: tuple[Step, ...]
    clock: Any


def merged(members: Sequence[Step]) -> Step:
    """Put steps of several ranks in one order: all up to a barrier, then all up to the next."""
    phases = [_between_barriers(step) for step in members]
    return [
        group for together in zip(*phases, strict=True) for phase in together for group in phase
    ]


def _between_barriers(step: Step) -> list[Step]:
    # Cut at every `rank_barrier`: no launch crosses a barrier of all ranks.
    phases: list[Step] = [[]]
    for group in step:
        if rank_barrier in group:
            phases.append([])
        else:
            phases[-1].append(group)
    return phases


def dependencies(groups: Step) -> list[list[int]]:
    """List each launch's predecessors (transitively reduced), numbered through the groups."""
    # Hazards by pieces of arrays: read after write, write after write, write after read.
    writers: dict[ArrayRegion, list[int]] = defaultdict(list)
    readers: dict[ArrayRegion, list[int]] = defaultdict(list)
    before: list[int] = []  # of each launch: the set of all that is done by then, as bits
    predecessors: list[list[int]] = []
    for group in _merged_halos(groups):
        first = len(predecessors)
        accesses = [_accesses(work, group.where) for work in group]
        # Launches of a group touch disjoint points: hazards are taken against earlier groups
        # only.
        for reads, writes in accesses:
            # Read or write after the last writers; write after the readers since.
            needed = {n for region_of_array in reads | writes for n in writers[region_of_array]}
            needed |= {n for region_of_array in writes for n in readers[region_of_array]}
            # Transitive reduction: a predecessor implied by another needs no edge of its own.
            implied = 0
            for n in needed:
                implied |= before[n]
            direct = sorted(n for n in needed if not implied >> n & 1)
            predecessors.append(direct)
            before.append(implied | sum(1 << n for n in direct))
        # A write ends the list of earlier writers and readers of that piece.
        for region_of_array in {
            region_of_array for _, writes in accesses for region_of_array in writes
        }:
            writers[region_of_array] = []
            readers[region_of_array] = []
        for n, (reads, writes) in enumerate(accesses, first):
            for region_of_array in writes:
                writers[region_of_array].append(n)
            for region_of_array in reads:
                readers[region_of_array].append(n)
    return predecessors


def _merged_halos(groups: Step) -> Iterator[Group]:
    """Merge consecutive groups of halos: ranks write to disjoint points."""
    for where, consecutive in groupby(groups, lambda group: group.where):
        if where == "halo":
            yield Group(chain.from_iterable(consecutive), where)
        else:
            yield from consecutive


def _accesses(work: Any, where: str) -> tuple[set[ArrayRegion], set[ArrayRegion]]:
    """Return the arrays that a launch reads, and that it changes."""
    # Reads of arrays that it writes itself are ordered by the write.
    writes = {(array, region) for array in work.writes for region in CHANGES[where]}
    return {(array, region) for array in work.reads for region in READS[where]} - writes, writes


def assign_streams(
    needed: list[list[int]], kinds: Sequence[Any], most: int
) -> list[tuple[Any, int]]:
    """Put launches on lines (kind, number), each in order, so that few wait without need.

    Each launch goes to a line of its kind, of which there are at most `most`.
    """
    ends: dict[Any, list[int]] = defaultdict(list)  # last launch on each line
    chosen: list[tuple[Any, int]] = []
    for n, (waits, kind) in enumerate(zip(needed, kinds, strict=True)):
        # Greedy list scheduling: continue a stream whose last launch is a predecessor, so that the
        # order of the stream takes the place of an event; else open one; else take the stream idle
        # for longest.
        stream_ends = ends[kind]
        free = [stream for stream, end in enumerate(stream_ends) if end in waits]
        if free:
            stream = free[0]
        elif len(stream_ends) < most:
            stream = len(stream_ends)
            stream_ends.append(n)
        else:
            stream = stream_ends.index(min(stream_ends))
        stream_ends[stream] = n
        chosen.append((kind, stream))
    return chosen
