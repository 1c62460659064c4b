"""Ranks of one process: a thread for each of its devices, which share all memory.

They do what ranks joined by MPI do, each with its part of the grid, and differ in three things.
What one has to say to another it hands over as it is. A message is written straight into the buffer
of the one that it is for, where devices see one another's memory. And all steps are queued
together, by the first rank, once all have asked for them: devices wait for devices, no thread does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from seismo.backends.communicator import Link, SerialCommunicator, meet

T = TypeVar("T")
D = TypeVar("D")


GRACE = 1.0  # s in which the others may end once the first has failed: they may be far from it


class _EndedError(Exception):
    """Another rank has failed."""


class DeviceThreads:
    """The ranks of this process."""

    def __init__(self, count: int) -> None:
        """Return how many there are."""
        self.count = count
        self.said: list[Any] = [None] * count
        self.changed = threading.Condition()
        self.asked = [0] * count  # steps that each rank wants taken, since they were bound
        self.taken = 0
        self._come = 0  # to meetings, all ranks together
        self._ended = False
        self._failed: list[BaseException | None] = [None] * count

    def run(self, work: Callable[[SerialCommunicator], T]) -> T:
        """Let all ranks do it, the first in this thread; give what that one gives.

        Where one fails all end, and its error is raised; where the first is, at once.
        """
        found: list[T] = []

        def one(number: int) -> None:
            try:
                result = work(ThreadCommunicator(self, number))
                if number == 0:
                    found.append(result)
            # The first failure wakes all threads that wait; they end with `_EndedError`.
            except BaseException as error:
                self._failed[number] = error
                with self.changed:
                    self._ended = True
                    self.changed.notify_all()

        # Rank 0 runs in the calling thread, the others in daemon threads.
        threads = [
            threading.Thread(target=one, args=(n,), daemon=True) for n in range(1, self.count)
        ]
        for thread in threads:
            thread.start()
        one(0)
        for thread in threads:
            thread.join(None if found else GRACE)
        # The cause is the error of a rank that failed by itself.
        causes = [e for e in self._failed if e and not isinstance(e, _EndedError)]
        if causes:
            raise causes[0]
        return found[0]

    def meet(self) -> None:
        """Return when all ranks are here."""
        # A reusable barrier: the n-th arrival waits for the next multiple of the number of threads.
        with self.changed:
            self._come += 1
            due = -(-self._come // self.count) * self.count
            self.changed.notify_all()
            self.wait_until(lambda: self._come >= due)

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait, holding `changed`, for what others do; who fails once it is done ends nobody."""
        self.changed.wait_for(lambda: ready() or self._ended)
        if not ready():
            raise _EndedError


class ThreadCommunicator(SerialCommunicator):
    """One of them."""

    def __init__(self, team: DeviceThreads, number: int) -> None:
        """Take its number."""
        self._team = team
        self.count = team.count
        self.beside = team.count
        self.number = self.place = number
        self.paced = self.first

    def share(self, value: Any) -> list[Any]:
        """See `SerialCommunicator.share`."""
        # Two barriers: after all have written, and after all have read.
        self._team.said[self.number] = value
        self._team.meet()
        found = list(self._team.said)
        self._team.meet()
        return found

    def gather(self, value: Any) -> list[Any] | None:
        """See `SerialCommunicator.gather`."""
        found = self.share(value)
        return found if self.first else None

    def collect(self, array: np.ndarray) -> list[np.ndarray] | None:
        """See `SerialCommunicator.collect`."""
        return self.gather(np.array(array))

    def swap(self, values: list[Any]) -> list[Any]:
        """See `SerialCommunicator.swap`."""
        return [given[self.number] for given in self.share(values)]

    def same(self, make: Callable[[], T]) -> T:
        """Let the first make it for all; see `SerialCommunicator.same`."""
        return self.share(make() if self.first else None)[0]

    def near(self, backend: Any, value: T) -> dict[int, T]:
        """See `SerialCommunicator.near`."""
        # One process: every value is visible to all by reference.
        others = self.share((backend, value))
        return {
            n: given for n, (other, given) in enumerate(others)
            if n == self.number or (backend.reaches(other) and other.reaches(backend))
        }  # fmt: skip

    def follow(self, backend: Any) -> None:
        """See `SerialCommunicator.follow`."""
        for hold in self.share(backend.mark()):
            hold()

    def wait(self) -> None:
        """See `SerialCommunicator.wait`."""
        self._team.meet()

    def link(self, backend: Any, out: Mapping[int, int], into: Mapping[int, int]) -> Link:
        """Write to the others' buffers where that can be; see `SerialCommunicator.link`."""
        # Peer memory: the sender packs straight into the receiver's buffer. Else by the host.
        inboxes = {r: backend.zeros(size)[:size] for r, size in into.items()}
        others = self.share((backend, inboxes))
        outboxes = dict[int, Any]()
        carried = list[Callable[[], None]]()
        for r, size in out.items():
            other, boxes = others[r]
            outboxes[r] = boxes[self.number]
            if not backend.reaches(other):
                outboxes[r] = backend.zeros(size)[:size]
                carried += backend.carry(outboxes[r], other, boxes[self.number])
        return Link(outboxes, inboxes, (meet,), (*carried, meet))

    def program(self, backend: Any, steps: tuple) -> Callable[[int, int], None]:
        """Let the first rank's backend take the steps of all; see `SerialCommunicator.program`."""
        # One program for all devices, made and queued by rank 0.
        (leader, own), *others = self.share((backend, steps))
        take = leader.program(own, others) if self.first else None
        if self.first:
            self._team.asked = [0] * self.count
            self._team.taken = 0
        self.wait()
        return lambda first, count: self._advance(take, first, count)

    def _advance(self, take: Callable[[int, int], None] | None, first: int, count: int) -> None:
        """Queue steps as far as all have asked for them, or wait until the first rank has."""
        # Each rank asks for `count` more steps; rank 0 queues what all have asked for.
        team = self._team
        with team.changed:
            team.asked[self.number] += count
            end = team.asked[self.number]
            team.changed.notify_all()
            if take is None:
                team.wait_until(lambda: team.taken >= end)
                return
            while team.taken < end:
                team.wait_until(lambda: min(team.asked) > team.taken)
                # Steps that all ranks have asked for and that were not queued yet.
                some = min(*team.asked, end) - team.taken
                take(first + count - (end - team.taken), some)
                team.taken += some
                team.changed.notify_all()


def spread(
    ranks: SerialCommunicator, devices: Sequence[D], work: Callable[[SerialCommunicator, D], T]
) -> T:
    """Do work on a rank as it is, with its device, or on a rank for each of several devices."""
    if len(devices) == 1:
        return work(ranks, devices[0])
    return DeviceThreads(len(devices)).run(lambda member: work(member, devices[member.number]))
