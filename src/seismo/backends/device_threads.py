"""Ranks of one process: a thread for each of its devices, which share all memory.

They do what ranks joined by MPI do, each with its part of the grid, with three differences.
Objects are handed over without copies. A message is written straight into the
receiver's buffer, where devices access each other's memory. And all steps are queued together, by
the first rank, once all have asked for them: devices wait for devices, no thread does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.communicator import (
    Link,
    SerialCommunicator,
    rank_barrier,
)

T = TypeVar("T")


_THROUGH_HOST = "these GPUs cannot all access each other's memory: halos go through the host's"

GRACE = 1.0  # s in which the others may end once the first has failed: they may be far from it


class _EndedError(Exception):
    """Another rank has failed."""


class DeviceThreads:
    """The ranks of this process."""

    def __init__(self, count: int) -> None:
        """Return how many there are."""
        self.count = count
        self.gathered: list[Any] = [None] * count
        self.changed = threading.Condition()
        self.requested = [0] * count  # steps that each rank wants taken, since they were bound
        self.queued = 0
        self._arrived = 0  # at the barrier, all ranks together
        self._ended = False
        self._failed: list[BaseException | None] = [None] * count

    def run(self, work: Callable[[SerialCommunicator], T]) -> T:
        """Run a function on all ranks, the first in this thread; return the first rank's result.

        Where a rank fails all end, and its error is raised: at once in the first rank.
        """
        root_results: list[T] = []

        def run_rank(number: int) -> None:
            try:
                result = work(ThreadCommunicator(self, number))
                if number == 0:
                    root_results.append(result)
            # The first failure wakes all threads that wait; they end with `_EndedError`.
            except BaseException as error:
                self._failed[number] = error
                with self.changed:
                    self._ended = True
                    self.changed.notify_all()

        # Rank 0 runs in the calling thread, the others in daemon threads.
        threads = [
            threading.Thread(target=run_rank, args=(n,), daemon=True) for n in range(1, self.count)
        ]
        for thread in threads:
            thread.start()
        run_rank(0)
        for thread in threads:
            thread.join(None if root_results else GRACE)
        # The cause is the error of a rank that failed by itself.
        causes = [e for e in self._failed if e and not isinstance(e, _EndedError)]
        if causes:
            raise causes[0]
        return root_results[0]

    def synchronize(self) -> None:
        """Return when all ranks are here."""
        # A reusable barrier: the n-th arrival waits for the next multiple of the number of threads.
        with self.changed:
            self._arrived += 1
            due = -(-self._arrived // self.count) * self.count
            self.changed.notify_all()
            self.wait_until(lambda: self._arrived >= due)

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait, holding `changed`, for the other ranks; failing after that ends nobody."""
        self.changed.wait_for(lambda: ready() or self._ended)
        if not ready():
            raise _EndedError


class ThreadCommunicator(SerialCommunicator):
    """One of them."""

    def __init__(self, threads: DeviceThreads, number: int) -> None:
        """Take its number."""
        self._threads = threads
        self.count = threads.count
        self.node_ranks = threads.count
        self.number = self.node_rank = number
        self.is_throttled = self.first

    def allgather(self, value: Any) -> list[Any]:
        """See `SerialCommunicator.allgather`."""
        # Two barriers: after all have written, and after all have read.
        self._threads.gathered[self.number] = value
        self._threads.synchronize()
        gathered = list(self._threads.gathered)
        self._threads.synchronize()
        return gathered

    def gather(self, value: Any) -> list[Any] | None:
        """See `SerialCommunicator.gather`."""
        gathered = self.allgather(value)
        return gathered if self.first else None

    def gather_arrays(self, array: np.ndarray) -> list[np.ndarray] | None:
        """See `SerialCommunicator.gather_arrays`."""
        return self.gather(np.array(array))

    def alltoall(self, values_by_rank: list[Any]) -> list[Any]:
        """See `SerialCommunicator.alltoall`."""
        return [sent[self.number] for sent in self.allgather(values_by_rank)]

    def same(self, make: Callable[[], T]) -> T:
        """Let the first make it for all; see `SerialCommunicator.same`."""
        return self.allgather(make() if self.first else None)[0]

    def peers(self, backend: Backend, value: T) -> dict[int, T]:
        """See `SerialCommunicator.peers`."""
        # One process: every value is visible to all by reference.
        others = self.allgather((backend, value))
        return {
            n: peer_value for n, (other, peer_value) in enumerate(others)
            if n == self.number or (backend.reaches(other) and other.reaches(backend))
        }  # fmt: skip

    def detour(self, backend: Backend) -> str:
        """See `SerialCommunicator.detour`."""
        return "" if self.share_memory(backend) else _THROUGH_HOST

    def wait_for_peers(self, backend: Backend) -> None:
        """See `SerialCommunicator.wait_for_peers`."""
        for hold in self.allgather(backend.mark()):
            hold()

    def wait(self) -> None:
        """See `SerialCommunicator.wait`."""
        self._threads.synchronize()

    def link(self, backend: Backend, out: Mapping[int, int], into: Mapping[int, int]) -> Link:
        """Write to the others' buffers where that can be; see `SerialCommunicator.link`."""
        # Peer memory: the sender packs straight into the receiver's buffer. Else by the host.
        inboxes = {r: backend.zeros(size)[:size] for r, size in into.items()}
        others = self.allgather((backend, inboxes))
        outboxes = dict[int, Any]()
        staged = list[Callable[[], None]]()
        for r, size in out.items():
            other, boxes = others[r]
            outboxes[r] = boxes[self.number]
            if not backend.reaches(other):
                outboxes[r] = backend.zeros(size)[:size]
                staged += backend.staged_copy(outboxes[r], other, boxes[self.number])
        return Link(outboxes, inboxes, (rank_barrier,), (*staged, rank_barrier))

    def program(self, backend: Backend, steps: tuple) -> Callable[[int, int], None]:
        """Let the first rank's backend take the steps of all; see `SerialCommunicator.program`."""
        # One program for all devices, made and queued by rank 0.
        (leader, leader_steps), *others = self.allgather((backend, steps))
        take = leader.program(leader_steps, others) if self.first else None
        if self.first:
            self._threads.requested = [0] * self.count
            self._threads.queued = 0
        self.wait()
        return lambda first, count: self._advance(take, first, count)

    def _advance(self, take: Callable[[int, int], None] | None, first: int, count: int) -> None:
        """Queue steps as far as all have asked for them, or wait until the first rank has."""
        # Each rank asks for `count` more steps; rank 0 queues the steps requested by all.
        threads = self._threads
        with threads.changed:
            threads.requested[self.number] += count
            end = threads.requested[self.number]
            threads.changed.notify_all()
            if take is None:
                threads.wait_until(lambda: threads.queued >= end)
                return
            while threads.queued < end:
                threads.wait_until(lambda: min(threads.requested) > threads.queued)
                # Steps that all ranks have asked for and that were not queued yet.
                count_ready = min(*threads.requested, end) - threads.queued
                take(first + count - (end - threads.queued), count_ready)
                threads.queued += count_ready
                threads.changed.notify_all()
