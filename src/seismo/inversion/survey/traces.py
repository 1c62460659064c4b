"""Comparison of traces in a frequency band: filters, windows and weights, and their transposes.

Predicted and observed traces go through the same linear operators: samples that either lacks
become 0, a low-pass filter, weights. Derivatives by the result go back through their transposes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

from seismo.acquisition.receivers import ReceiverGroup
from seismo.inversion.misfits import TraceMisfit
from seismo.inversion.survey.settings import MovingMute, TraceWindow
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization

Sections = dict[str, dict[str, np.ndarray]]  # (shot, receiver, sample) by set and component
_ORDER = 4  # of the Butterworth filter, which acts forwards and backwards


def low_passed(traces: np.ndarray, interval: float, corner: float) -> np.ndarray:
    """Return traces (..., sample) behind a Butterworth filter that acts forwards and backwards.

    The amplitude at the corner is halved, and no phase changes. The filter is its own transpose:
    traces count as 0 beyond their ends, and its response 1 / (1 + (f / corner)^8) is real.

    Args:
        traces: of any shape.
        interval: between samples in s.
        corner: frequency in Hz; math.inf for no filter.
    """
    if math.isinf(corner):
        return np.asarray(traces, float)
    count = traces.shape[-1]
    length = next_fast_len(2 * count, real=True)
    response = 1.0 / (1.0 + (rfftfreq(length, interval) / corner) ** (2 * _ORDER))
    return irfft(rfft(traces, length) * response, length)[..., :count]


def interval_of(discretization: Discretization, group: ReceiverGroup) -> float:
    """Return the sampling interval in s of the traces of a receiver set."""
    return discretization.clock.dt * discretization.clock.steps_between(group.interval)


def sample_times(discretization: Discretization, group: ReceiverGroup) -> np.ndarray:
    """Return the times (sample) s of the traces of a receiver set."""
    clock = discretization.clock
    steps = np.arange(0, clock.steps + 1, clock.steps_between(group.interval))
    return clock.times(steps, group.interval)


class ShotPropagator(Protocol):
    """The waves of chosen shots and their derivatives, such as `seismo.Propagator`."""

    scenario: Scenario
    parameters: tuple[str, ...]
    bounds: dict[str, tuple[float, float]]
    discretization: Discretization
    simulation: Any  # `seismo.solver.simulation.Simulation`

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (z, [y,] x) of a model."""

    @property
    def plan(self) -> Any:
        """How fields are kept for `pullback` (`seismo.inversion.adjoint.snapshots`)."""

    def select(self, shots: Sequence[int] | None = None) -> None:
        """Choose the shots of later calls."""

    def __call__(self, *, keep: bool = False, **models: Any) -> Sections:
        """Return the traces of a model; `keep` says that `pullback` follows."""

    def pullback(self, by_traces: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
        """Return derivatives by the model of the last call, from those by its traces."""

    def steps(
        self, every: int = 1, batch: int = 0, **models: Any
    ) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
        """Step the shots of a batch, and yield the steps taken and the fields."""


class BandComparison:
    """The misfit of predicted traces in a frequency band."""

    def __init__(
        self, discretization: Discretization, observed: Mapping[str, Mapping[str, np.ndarray]],
        window: TraceWindow, compare: TraceMisfit, corner: float,
    ) -> None:  # fmt: skip
        """Filter the observed traces.

        Args:
            discretization: the run.
            observed: (shot, receiver, sample) of all shots by set and component, NaN where
                nothing was observed.
            window: samples that count.
            compare: misfit of predicted and observed traces, and its derivative.
            corner: of the low-pass filter in Hz, math.inf for none.
        """
        self._discretization = discretization
        self._window = window
        self._corner = corner
        self._compare = compare
        self._groups = {g.name: g for g in discretization.groups if g.name in observed}
        shots = range(len(discretization.shots))
        self._recording = {
            name: np.stack([g.recording(shot.name) for shot in discretization.shots])
            for name, g in self._groups.items()
        }
        self._present = {
            (name, component): np.isfinite(section) & self._recording[name][..., None]
            for name, sections in observed.items()
            for component, section in sections.items()
        }
        self._observed = {
            name: {c: self._forward(name, c, section, shots) for c, section in sections.items()}
            for name, sections in observed.items()
        }

    def __call__(self, predicted: Sections, shots: Sequence[int]) -> tuple[float, Sections]:
        """Return the misfit of traces of shots, and its derivative by each predicted sample.

        Args:
            predicted: (shot, receiver, sample) of these shots by set and component.
            shots: their numbers.
        """
        numbers = list(shots)
        forward = self.windowed(predicted, numbers)
        observed = {
            name: {c: section[numbers] for c, section in sections.items()}
            for name, sections in self._observed.items()
        }
        value, derivative = self._compare(forward, observed)
        back = {
            name: {c: self._transposed(name, c, d, numbers) for c, d in sections.items()}
            for name, sections in derivative.items()
        }
        return value, back

    def windowed(self, predicted: Sections, shots: Sequence[int]) -> Sections:
        """Return traces of shots as they are compared: filtered, windowed, and 0 elsewhere."""
        return {
            name: {c: self._forward(name, c, predicted[name][c], shots) for c in sections}
            for name, sections in self._observed.items()
        }

    def _forward(
        self, name: str, component: str, section: np.ndarray, shots: Sequence[int]
    ) -> np.ndarray:
        filled = np.where(self._present[name, component][list(shots)], section, 0.0)
        return self._weights(name, shots) * self._filtered(name, filled)

    def _transposed(
        self, name: str, component: str, section: np.ndarray, shots: Sequence[int]
    ) -> np.ndarray:
        filtered = self._filtered(name, self._weights(name, shots) * section)
        return np.where(self._present[name, component][list(shots)], filtered, 0.0)

    def _filtered(self, name: str, section: np.ndarray) -> np.ndarray:
        interval = interval_of(self._discretization, self._groups[name])
        return low_passed(section, interval, self._corner)

    def _weights(self, name: str, shots: Sequence[int]) -> np.ndarray:
        """Return the weights of samples, which broadcast to (shot, receiver, sample)."""
        settings = self._window
        if settings.after is None and settings.before is None and settings.offsets is None:
            return np.ones((1, 1, 1))
        distances = self._distances(self._groups[name], shots)[..., None]
        times = sample_times(self._discretization, self._groups[name])
        weights = np.ones((*distances.shape[:2], times.size))
        if settings.after is not None:
            weights *= _ramp(times - _arrival(settings.after, distances), settings.taper)
        if settings.before is not None:
            weights *= _ramp(_arrival(settings.before, distances) - times, settings.taper)
        if settings.offsets is not None:
            least, greatest = settings.offsets
            weights *= (least <= distances) & (distances <= greatest)
        return weights

    def _distances(self, group: ReceiverGroup, shots: Sequence[int]) -> np.ndarray:
        """Return the distances (shot, receiver) in m from the first source of each shot."""
        return np.stack(
            [
                np.linalg.norm(group.at(shot.name) - np.array(shot.points[0].position), axis=1)
                for shot in (self._discretization.shots[number] for number in shots)
            ]
        )


def _arrival(mute: MovingMute, distances: np.ndarray) -> np.ndarray:
    return mute.delay + distances / (mute.velocity or math.inf)


def _ramp(times: np.ndarray, taper: float) -> np.ndarray:
    """Return 1 from time 0 on, and a cosine that grows to it over the taper before."""
    if not taper:
        return (times >= 0.0).astype(float)
    return 0.5 - 0.5 * np.cos(np.pi * np.clip(times / taper + 1.0, 0.0, 1.0))
