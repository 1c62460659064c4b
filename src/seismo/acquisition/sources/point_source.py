"""A point source of a shot: position, strength and source time function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seismo.acquisition.sources.moment_tensor import scalar_moment, tensor_from_grid
from seismo.acquisition.wavelets import wavelet as wavelets
from seismo.features.faults.slip_rate import SlipRate


@dataclass(frozen=True)
class PointSource:
    """One source of one shot.

    Attributes:
        name: for the results.
        kind: type in the scenario: "force", "moment_tensor", ...
        position: x, y, z in m.
        strength: component -> number: {"z": N}, {"xx": N m, ...} or {"": amplitude}.
        wavelet: the scenario's wavelet, or the moment rate of a subfault.
        delay: s, added to the wavelet's own.
        derivative: which time derivative of the moment (or force) the wavelet describes: 1 for a
            moment rate, else 0.
        base: folder of wavelet files.
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    strength: dict[str, float]
    wavelet: wavelets.SourceWavelet
    delay: float
    derivative: int
    base: Path | None = None

    def signal(self, times: np.ndarray, derivative: int) -> np.ndarray:
        """Evaluate a time derivative (-1: the integral) of the moment or force at times in s."""
        order = derivative - self.derivative
        t = times - self.delay
        if isinstance(self.wavelet, SlipRate) and order in (-1, 0):
            return self.wavelet.integral(t) if order < 0 else self.wavelet.resampled(t)
        if order == 0:
            return wavelets.evaluate(self.wavelet, t, self.base)
        if order == 1:
            return wavelets.derivative(self.wavelet, t, self.base)
        if order < 0:
            return _integral(self, t)
        step = (times[1] - times[0]) / 8
        rates = [wavelets.derivative(self.wavelet, t + s * step, self.base) for s in (-2, -1, 1, 2)]
        return (rates[0] - 8 * rates[1] + 8 * rates[2] - rates[3]) / (12 * step)

    @property
    def radiated(self) -> tuple[wavelets.SourceWavelet, ...]:
        """The wavelets that it has for stations in different directions."""
        return (self.wavelet,)

    @property
    def scalar_moment(self) -> float | None:
        """Scalar moment in N m (in 2-D per metre) of a moment tensor or explosion, else None."""
        size = abs(float(self.wavelet.amplitude))
        if self.kind == "explosion":
            return size * abs(self.strength[""])
        if self.kind == "moment_tensor":
            return size * scalar_moment(tensor_from_grid(self.strength))
        return None

    @property
    def is_local(self) -> bool:
        """Whether it acts at its position, and so errs by what is near."""
        return True

    @property
    def is_extended(self) -> bool:
        """Whether it stands for many points, whose rates are not its wavelet alone."""
        return False

    @property
    def silent_after(self) -> float:
        """Time in s after which nothing of it enters the grid."""
        return self.end

    def travel_times(self, positions: np.ndarray, axes: list[int], speed: float) -> np.ndarray:
        """Return when a wave of a speed in m/s comes straight to positions (n, 3) m, (n) in s."""
        away = (positions - np.array(self.position))[:, axes]
        return np.linalg.norm(away, axis=1) / speed

    @property
    def start(self) -> float:
        """Time in s before which it is negligible."""
        return wavelets.start_time(self.wavelet, self.base) + self.delay

    @property
    def centre(self) -> float | None:
        """Time in s of the centre of a symmetric wavelet, None of others."""
        shape = wavelets.shape_of(self.wavelet, self.base)
        return (self.start + self.end) / 2 if shape.start == -shape.end else None

    @property
    def end(self) -> float:
        """Time in s after which it is negligible."""
        return wavelets.end_time(self.wavelet, self.base) + self.delay


def _integral(source: PointSource, t: np.ndarray) -> np.ndarray:
    """Integrate the wavelet from before the first time, by 4-point Gauss rule in every step."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    step = t[1] - t[0]
    steps = max(0, math.ceil((t[0] + source.delay - source.start) / step))
    earlier = t[0] + step * np.arange(-steps - 1, 0)
    edges = np.concatenate([earlier, t])
    centres = (edges[1:] + edges[:-1]) / 2
    abscissae = centres[:, None] + np.diff(edges)[:, None] / 2 * nodes
    integrals = wavelets.evaluate(source.wavelet, abscissae, source.base) @ weights
    return np.concatenate([[0.0], np.cumsum(integrals * np.diff(edges) / 2)])[-t.size :]
