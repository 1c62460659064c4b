"""Ranks as threads of one process on CPUs, with launches in random admissible orders.

Launches declare the arrays they read and write as those of a GPU do, and run in random orders that
respect only the dependencies of a GPU's graph: a missing dependency changes bits.
"""

import random

import numpy as np

from seismo.backends.base import Group
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.gpu.launch_order import GpuLaunch, dependencies, merged

UNROLLED = 3  # steps in one order


def _arrays(held) -> list[np.ndarray]:
    if isinstance(held, tuple | list):
        return [a for one in held for a in _arrays(one)]
    return [held] if isinstance(held, np.ndarray) else []


def _numbers(held) -> frozenset[int]:
    return frozenset(a.ctypes.data for a in _arrays(held))


class ThreadBackend(CpuBackend):
    """A rank of a team; `peers` tells whether it may write to the memory of others."""

    peers = True

    def sweep(self, formula, variant, tables, boxes, operands, back=False, whole_boxes=None):
        launches = super().sweep(formula, variant, tables, boxes, operands, back, whole_boxes)
        memory = operands.memory
        changed, read = _numbers((memory, operands.writes)), (operands.reads, operands.coefficients)
        second = operands.writes and formula.kind == "second"
        beyond = memory if second else ()  # the flux is differentiated
        return [GpuLaunch(one, _numbers((read, beyond)), changed, self) for one in launches]

    def _work(self, launch, arguments, writes):
        changed = _numbers([arguments[n] for n in writes])
        return GpuLaunch(launch, _numbers(arguments) - changed, changed, self)

    def each(self, body, count, arguments, writes, shots=None):
        launch = super().each(body, count, arguments, writes, shots)
        return self._work(launch, arguments, writes)

    def each_row(self, body, count, length, arguments, writes, shots=None):
        launch = super().each_row(body, count, length, arguments, writes, shots)
        return self._work(launch, arguments, writes)

    def reaches(self, other) -> bool:
        return self.peers

    def copy(self, given, rows, to, there):
        launch = super().copy(given, rows.joined, to, there.joined)  # as a card does
        return GpuLaunch(launch, _numbers(given), _numbers(to), self)

    def staged_copy(self, source, other, target):
        host = np.empty_like(source)
        return (
            self._work(lambda: np.copyto(host, source), (source, host), (1,)),
            other._work(lambda: np.copyto(target, host), (host, target), (1,)),
        )

    def program(self, steps, others=()):
        members = [(self, steps), *others]
        chance = random.Random(5)

        def tick(clock) -> None:
            clock[0] += 1

        ticks = [
            Group([backend._work(lambda c=backend.clock: tick(c), (backend.clock,), (0,))])
            for backend, _ in members
        ]

        orders: dict[tuple[int, int], Order] = {}

        def advance(first: int, count: int) -> None:
            for backend, _ in members:
                backend.clock[0] = first
            for start in range(first, first + count, UNROLLED):
                numbers = range(start, min(start + UNROLLED, first + count))
                key = start % len(steps), len(numbers)
                if key not in orders:
                    orders[key] = Order(merged([
                        [group for n in numbers for group in [*some[n % len(some)], own_tick]]
                        for (_, some), own_tick in zip(members, ticks, strict=True)
                    ]))  # fmt: skip
                orders[key].run(chance)

        return advance


class Order:
    """Launches, and what each of them waits for."""

    def __init__(self, groups) -> None:
        self.works = [work for group in groups for work in group]
        needed = dependencies(groups)
        self.waits = [len(some) for some in needed]
        self.after: list[list[int]] = [[] for _ in self.works]
        for n, some in enumerate(needed):
            for before in some:
                self.after[before].append(n)

    def run(self, chance: random.Random) -> None:
        """Run them in some order that waits for what must be waited for."""
        waits = list(self.waits)
        ready = [n for n, count in enumerate(waits) if not count]
        while ready:
            # The first or the last of all, or any: a rank may be far ahead of another.
            some = chance.choice([ready.index(min(ready)), ready.index(max(ready)), -1])
            chosen = ready.pop(some)
            self.works[chosen]()
            for n in self.after[chosen]:
                waits[n] -= 1
                if not waits[n]:
                    ready.append(n)
