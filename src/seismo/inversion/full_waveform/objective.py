"""The misfit of a model and its gradient, summed over batches of shots in their order.

Each batch is a run of its own, forwards and backwards, so that fields of a single one are kept. On
several ranks each takes every n-th batch; the first adds all of them in their order: the sum is the
same to the last bit for any number of ranks. The others `serve` it until it says that no further
model comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.inversion.full_waveform.conditioning import energy_of
from seismo.inversion.full_waveform.traces import BandComparison, Sections, ShotPropagator
from seismo.inversion.full_waveform.unknowns import ModelValues

_ENERGY_SAMPLES = 200  # of the fields of a run


class ShotSum:
    """Sums over batches of shots, on all ranks."""

    def __init__(
        self, propagator: ShotPropagator, compare: Callable[[float], BandComparison],
        ranks: SerialCommunicator,
    ) -> None:  # fmt: skip
        """Take the waves and the comparison of traces.

        Args:
            propagator: of this rank.
            compare: function of the corner of a band in Hz to its comparison.
            ranks: that share the batches.
        """
        self._propagator = propagator
        self._make = compare
        self._ranks = ranks
        self._corner: float | None = None
        self._compare: BandComparison | None = None
        self._together = propagator.discretization.batch

    def misfit(
        self, corner: float, models: ModelValues, shots: Sequence[int]
    ) -> tuple[float, ModelValues]:
        """Return the misfit of shots in a band and its derivatives (z, [y,] x) by parameter."""
        of_batches = self._shared(("misfit", corner, models, list(shots)))
        value = 0.0
        gradient = {name: np.zeros(self._propagator.shape) for name in self._propagator.parameters}
        for of_batch, by_parameter in of_batches:
            value += of_batch
            for name, derivative in by_parameter.items():
                gradient[name] += derivative
        return value, gradient

    def energy(self, models: ModelValues) -> np.ndarray:
        """Return the energy (z, [y,] x) of the waves of all shots."""
        shots = list(range(len(self._propagator.discretization.shots)))
        total = np.zeros(self._propagator.shape)
        for of_batch in self._shared(("energy", 0.0, models, shots)):
            total += of_batch
        return total

    def serve(self) -> None:
        """Compute the batches of this rank until the first rank has no further model."""
        while (order := self._ranks.allgather(None)[0]) is not None:
            self._ranks.gather(self._of_rank(order))

    def end(self) -> None:
        """Send the other ranks the end: no further model comes."""
        self._ranks.allgather(None)

    def _shared(self, order: tuple[Any, ...]) -> list[Any]:
        """Return the results of all batches, in their order."""
        self._ranks.allgather(order)
        of_ranks = self._ranks.gather(self._of_rank(order))
        assert of_ranks is not None  # this is the first rank
        by_batch = {number: result for results in of_ranks for number, result in results}
        return [by_batch[number] for number in sorted(by_batch)]

    def _of_rank(self, order: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """Return the numbers and results of the batches of this rank."""
        kind, corner, models, shots = order
        batches = [shots[n : n + self._together] for n in range(0, len(shots), self._together)]
        results: list[tuple[int, Any]] = []
        for number in range(self._ranks.number, len(batches), self._ranks.count):
            self._propagator.select(batches[number])
            if kind == "energy":
                steps = self._propagator.discretization.total_steps
                every = max(1, steps // _ENERGY_SAMPLES)
                results.append((number, energy_of(self._propagator, 0, every, models)))
            else:
                results.append((number, self._of_batch(corner, models, batches[number])))
        return results

    def _of_batch(
        self, corner: float, models: ModelValues, shots: Sequence[int]
    ) -> tuple[float, ModelValues]:
        if self._compare is None or self._corner != corner:
            self._compare = self._make(corner)
            self._corner = corner
        predicted: Sections = self._propagator(keep=True, **models)
        value, derivative = self._compare(predicted, shots)
        return value, self._propagator.pullback(derivative)
