"""The misfit of a model and its gradient, summed over batches of shots in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seismo.backends.communicator import SerialCommunicator
from seismo.inversion.full_waveform.unknowns import ModelValues
from seismo.inversion.survey.batches import ShotBatches
from seismo.inversion.survey.conditioning import energy_of
from seismo.inversion.survey.traces import BandComparison, Sections, ShotPropagator


class ShotSum(ShotBatches):
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
        super().__init__(propagator, ranks)
        self._make = compare
        self._corner: float | None = None
        self._compare: BandComparison | None = None

    def misfit(
        self, corner: float, models: ModelValues, shots: Sequence[int]
    ) -> tuple[float, ModelValues]:
        """Return the misfit of shots in a band and its derivatives (z, [y,] x) by parameter."""
        value = 0.0
        gradient = {name: np.zeros(self._propagator.shape) for name in self._propagator.parameters}
        task = ("misfit", corner, models)
        for of_batch, by_parameter in self.results(task, self.batches_of(list(shots))):
            value += of_batch
            for name, derivative in by_parameter.items():
                gradient[name] += derivative
        return value, gradient

    def energy(self, models: ModelValues) -> np.ndarray:
        """Return the energy (z, [y,] x) of the waves of all shots."""
        shots = list(range(len(self._propagator.discretization.shots)))
        total = np.zeros(self._propagator.shape)
        for of_batch in self.results(("energy", 0.0, models), self.batches_of(shots)):
            total += of_batch
        return total

    def of_batch(self, task: Any, shots: Sequence[int]) -> Any:
        """Return the energy, or the misfit and its derivatives, of selected shots."""
        kind, corner, models = task
        if kind == "energy":
            return energy_of(self._propagator, models)
        if self._compare is None or self._corner != corner:
            self._compare = self._make(corner)
            self._corner = corner
        predicted: Sections = self._propagator(keep=True, **models)
        value, derivative = self._compare(predicted, shots)
        return value, self._propagator.pullback(derivative)
