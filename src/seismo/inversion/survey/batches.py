"""Batches of shots, shared by ranks: the same results, to the last bit, for any number of them.

Each batch is a run of its own, forwards and backwards, so that fields of a single one are kept. On
several ranks each takes every n-th batch. The first rank asks, and has the results of all batches
in their order; the others `serve` it until it says that nothing further comes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from seismo.backends.communicator import SerialCommunicator
from seismo.inversion.survey.traces import ShotPropagator

NumberedBatch = tuple[int, Sequence[int]]  # number of a batch, and the numbers of its shots


class ShotBatches(ABC):
    """Batches of shots on all ranks."""

    def __init__(self, propagator: ShotPropagator, ranks: SerialCommunicator) -> None:
        """Take the waves of this rank, and the ranks that share the batches."""
        self._propagator = propagator
        self._ranks = ranks

    @property
    def at_once(self) -> int:
        """How many batches are computed at the same time."""
        return self._ranks.count

    def batches_of(self, shots: Sequence[int]) -> list[NumberedBatch]:
        """Return the batches that shots make."""
        together = self._propagator.discretization.batch
        starts = range(0, len(shots), together)
        return [(n, shots[first : first + together]) for n, first in enumerate(starts)]

    def serve(self) -> None:
        """Compute the batches of this rank until the first rank has nothing further."""
        while (order := self._ranks.allgather(None)[0]) is not None:
            self._ranks.gather(self._of_rank(*order))

    def end(self) -> None:
        """Send the other ranks the end."""
        self._ranks.allgather(None)

    def results(self, task: Any, batches: Sequence[NumberedBatch]) -> list[Any]:
        """Return the results of batches, in their order.

        Args:
            task: what `of_batch` takes; it can be sent to other processes.
            batches: of these shots.
        """
        self._ranks.allgather((task, batches))
        of_ranks = self._ranks.gather(self._of_rank(task, batches))
        assert of_ranks is not None  # this is the first rank
        by_batch = {number: result for results in of_ranks for number, result in results}
        return [by_batch[number] for number, _ in batches]

    @abstractmethod
    def of_batch(self, task: Any, shots: Sequence[int]) -> Any:
        """Return the result of a batch, whose shots are selected."""

    def _of_rank(self, task: Any, batches: Sequence[NumberedBatch]) -> list[tuple[int, Any]]:
        """Return the numbers and results of the batches of this rank."""
        results = []
        for number, shots in batches[self._ranks.number :: self._ranks.count]:
            self._propagator.select(shots)
            results.append((number, self.of_batch(task, shots)))
        return results
