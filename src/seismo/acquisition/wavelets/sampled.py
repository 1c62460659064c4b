"""Sampled wavelets: of text files (values at an interval, or times and values), of arrays.

Between its samples the wavelet is a cubic spline with zero curvature at both ends (a natural
spline, exact to fourth order for smooth data), so that it can be evaluated and differentiated at
any time step; outside its samples it is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.text import (
    look_alike,
    read_lines,
    shown_word,
    version_of,
)
from seismo.scenario.sections.wavelet import ArrayWavelet, FileWavelet

_LATEST = 1e9  # s: largest absolute time of a sample
_CLOSEST = 1e-15  # s: least sampling interval, far below any time step
_LARGEST = 1e30  # largest absolute value; float32 ends at 3e38
_EXPECTED = "expected a column of values, or columns of time in s and value"


@dataclass(frozen=True, eq=False)
class WaveletSamples:
    """A natural cubic spline through amplitudes (n) at times (n) s."""

    time: np.ndarray
    amplitudes: np.ndarray
    curvature: np.ndarray

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet (as t) at times t (s)."""
        k, step, a, b, inside = self._interval_of(t)
        y = self.amplitudes
        c = self.curvature
        cubic = ((a**3 - a) * c[k] + (b**3 - b) * c[k + 1]) * step**2 / 6.0
        return np.where(inside, a * y[k] + b * y[k + 1] + cubic, 0.0)

    def rate(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet's rate of change (as t) at times t (s)."""
        k, step, a, b, inside = self._interval_of(t)
        y = self.amplitudes
        c = self.curvature
        cubic = ((3.0 * b**2 - 1.0) * c[k + 1] - (3.0 * a**2 - 1.0) * c[k]) * step / 6.0
        return np.where(inside, (y[k + 1] - y[k]) / step + cubic, 0.0)

    def _interval_of(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        t = np.asarray(t, float)
        k = np.clip(np.searchsorted(self.time, t, "right") - 1, 0, self.time.size - 2)
        step = self.time[k + 1] - self.time[k]
        b = (t - self.time[k]) / step
        return k, step, 1.0 - b, b, (t >= self.time[0]) & (t <= self.time[-1])


def natural_spline(time: np.ndarray, amplitudes: np.ndarray) -> WaveletSamples:
    """Return the natural spline through amplitudes (n) at increasing times (n) s, n >= 2."""
    return WaveletSamples(time, amplitudes, _natural_curvature(time, amplitudes))


def read_samples(spec: FileWavelet, base: Path | None) -> WaveletSamples:
    """Read the file of a wavelet (`spec.path`, `spec.interval`), relative to `base`.

    A file that has not changed since is not read again.

    Raises:
        ModelError: the file is missing, not a table of numbers, or its times do not increase.
    """
    path = Path(base or ".") / spec.path
    return _read(path, spec.interval, version_of(path))


@lru_cache(maxsize=8)
def _read(path: Path, interval: float | None, changed: object) -> WaveletSamples:
    table = _read_table(path)
    has_times = table.shape[1] == 2
    if not has_times and interval is None:
        raise ModelError(
            f"missing: {path} has one column, of values; give their sampling interval", "interval"
        )
    if has_times and interval is not None:
        raise ModelError(f"{path} has times in its first column: leave `interval` out", "interval")
    with np.errstate(over="ignore"):
        time = table[:, 0] if has_times else np.arange(len(table)) * float(interval or 0.0)
    amplitudes = np.ascontiguousarray(table[:, -1])
    return _checked(time, amplitudes, f"{path}: ", "path", "path" if has_times else "interval")


@lru_cache(maxsize=8)
def samples_of(spec: ArrayWavelet) -> WaveletSamples:
    """Return the samples of a wavelet from Python.

    Raises:
        ModelError: they are not here any more, not finite, or beyond the limits.
    """
    array = spec.samples
    first = 0.0
    step = spec.interval
    if array.origin and array.spacing:
        first = array.origin[0]
        step = array.spacing[0]
    amplitudes = array.samples.astype(float)
    if not np.isfinite(amplitudes).all():
        at = int(np.argmin(np.isfinite(amplitudes)))
        raise ModelError(f"{amplitudes[at]} at index {at} is not finite", "samples")
    with np.errstate(over="ignore"):
        time = first + np.arange(amplitudes.size) * float(step or 0.0)
    return _checked(time, amplitudes, "", "samples", "samples" if array.spacing else "interval")


def _checked(
    time: np.ndarray, amplitudes: np.ndarray, where: str, key: str, time_key: str
) -> WaveletSamples:
    """Return the spline through amplitudes (n) at times (n) s, if they are a wavelet's."""
    if not amplitudes.any():
        raise ModelError(f"{where}all values are 0; give a wavelet that is not zero", key)
    if problem := _beyond_reason(time, amplitudes):
        raise ModelError(f"{where}{problem}", time_key)
    return natural_spline(time, amplitudes)


def _beyond_reason(time: np.ndarray, amplitudes: np.ndarray) -> str:
    """Describe times (n) in s or amplitudes (n) beyond the limits, "" without any."""
    if (latest := float(np.abs(time[[0, -1]]).max())) > _LATEST:
        return f"its times reach {latest:g} s; give seconds, up to {_LATEST:g}"
    if (closest := float(np.diff(time).min())) < _CLOSEST:
        return (
            f"its times come as close as {closest:g} s; give seconds, {_CLOSEST:g} apart at least"
        )
    if (largest := float(np.abs(amplitudes).max())) > _LARGEST:
        return (
            f"its values reach {largest:g}, {_LARGEST:g} is the limit; scale them, and the source"
        )
    return ""


def _read_table(path: Path) -> np.ndarray:
    """Return the numbers (rows, columns) of a text file; blanks or commas separate them."""
    samples: list[list[float]] = []
    for number, line in read_lines(path, _EXPECTED):
        problem = _append(samples, line.replace(",", " ").split())
        if problem:
            raise ModelError(f"{path}:{number}: {problem}", "path")
    if len(samples) < 2:
        raise ModelError(f"{path} has {len(samples)} samples, 2 at least; {_EXPECTED}", "path")
    return np.array(samples)


def _append(samples: list[list[float]], words: list[str]) -> str:
    """Append the numbers of a line, or return what is wrong with them."""
    sample = []
    for word in words:
        try:
            sample.append(float(word))
        except ValueError:
            problem = look_alike(word) or f"start comments with #; {_EXPECTED}"
            return f"{shown_word(word, bool(samples))} is not a number: {problem}"
    if not np.isfinite(sample).all():
        return f"{words[int(np.argmin(np.isfinite(sample)))]} is not finite; give a number"
    if len(sample) > 2 or (samples and len(sample) != len(samples[0])):
        return f"{len(sample)} columns; {_EXPECTED}"
    if samples and len(sample) == 2 and sample[0] <= samples[-1][0]:
        return f"time {sample[0]:g} s is not after {samples[-1][0]:g} s of the row before"
    samples.append(sample)
    return ""


def _natural_curvature(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the second derivatives (n) of the natural spline (Thomas algorithm)."""
    curvature = np.zeros(x.size)
    step = np.diff(x)
    slope = np.diff(y) / step
    right_side = 6.0 * np.diff(slope)
    diagonal = 2.0 * (step[:-1] + step[1:])
    for k in range(1, right_side.size):
        factor = step[k] / diagonal[k - 1]
        diagonal[k] -= factor * step[k]
        right_side[k] -= factor * right_side[k - 1]
    for k in range(right_side.size - 1, -1, -1):
        curvature[k + 1] = (right_side[k] - step[k + 1] * curvature[k + 2]) / diagonal[k]
    return curvature
