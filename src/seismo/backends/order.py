"""What must wait for what: the order of launches, from what they read and write.

Launches come in groups, one after the other; those of one group touch other points each and never
wait for one another. A launch waits for the last ones that wrote what it reads or writes, and for
those that have read since what it writes. Everything else may run at the same time: the record of
one stage beside the next stage, the layers beside the interior.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """A launch that says what it touches.

    Attributes:
        run: does it.
        reads: numbers of the arrays it reads.
        writes: numbers of the arrays it changes.
    """

    run: Callable[[], None]
    reads: frozenset[int]
    writes: frozenset[int]

    def __call__(self) -> None:
        """Launch it."""
        self.run()


def dependencies(groups: list[list[Work]]) -> list[list[int]]:
    """List for each launch, counted through the groups, those it waits for, without the implied."""
    writers: dict[int, list[int]] = defaultdict(list)
    readers: dict[int, list[int]] = defaultdict(list)
    before: list[int] = []  # of each launch: the set of all that is done by then, as bits
    found: list[list[int]] = []
    for group in groups:
        first = len(found)
        for work in group:
            needed = {n for array in work.reads | work.writes for n in writers[array]}
            needed |= {n for array in work.writes for n in readers[array]}
            implied = 0
            for n in needed:
                implied |= before[n]
            direct = sorted(n for n in needed if not implied >> n & 1)
            found.append(direct)
            before.append(implied | sum(1 << n for n in direct))
        for array in {a for work in group for a in work.writes}:
            writers[array], readers[array] = [], []
        for n, work in enumerate(group, first):
            for array in work.writes:
                writers[array].append(n)
            for array in work.reads - work.writes:
                readers[array].append(n)
    return found


def lines(needed: list[list[int]], most: int) -> list[int]:
    """Put launches on at most `most` lines, each in order, so that few wait without need."""
    ends: list[int] = []  # last launch on each line
    chosen: list[int] = []
    for n, waits in enumerate(needed):
        free = [line for line, end in enumerate(ends) if end in waits]
        if free:
            line = free[0]
        elif len(ends) < most:
            line = len(ends)
            ends.append(n)
        else:
            line = ends.index(min(ends))
        ends[line] = n
        chosen.append(line)
    return chosen
