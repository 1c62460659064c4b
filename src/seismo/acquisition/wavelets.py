"""Source time functions: shapes and moment rates by formulas, samples of files and arrays, sweeps.

Two families. *Shapes* (ricker, gaussian, their first derivatives, ormsby, kuepper, sweep, klauder)
have a peak of 1 and no unit; as the wavelet of a force they are f(t), as that of a moment tensor
the moment rate in 1/s.
*Moment rates* (gaussian_rate, brune, triangle, smoothed_ramp) have unit area, so that the moment
grows from 0 to the scalar moment of the source. `evaluate` returns the function itself,
`derivative` its exact rate of change, which a solver that injects moment rate needs where the
wavelet describes the moment.

*Samples*, of text files (values at an interval, or times and values) or arrays: between them the
wavelet is a cubic spline with zero curvature at both ends (a natural spline, exact to fourth order
for smooth data), so that it can be evaluated and differentiated at any time step; outside them it
is zero.

*Vibrators*: a linear sweep

    sweep(tau) = w(tau) sin(2 pi (f1 tau + (f2 - f1) tau^2 / (2 T))),   0 <= tau <= T,

w rising and falling as sin^2 within the taper. The frequency passes from f1 to f2 at a constant
rate. A record of a sweep, correlated with it, is the record of the sweep's autocorrelation, since
waves are linear: the Klauder wavelet, zero-phase and with the sweep's energy at each frequency
(Klauder, Price, Darlington & Albersheim 1960, Bell Syst. Tech. J. 39, 745-808).

Symbols: t time (s), f frequency (Hz), tau = t - delay.

A specification is any object with the attributes of the scenario's wavelet: ``type``,
``amplitude``, ``delay`` and keys of the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.wavelet_shapes import (
    FLOOR,
    SHAPES,
    WaveletShape,
)
from seismo.errors import ModelError
from seismo.formats.reading import (
    look_alike,
    read_lines,
    shown_word,
    version_of,
)
from seismo.scenario.sections.wavelet import (
    ArrayWavelet,
    FileWavelet,
    KlauderWavelet,
    SweepWavelet,
    Wavelet,
)

_PER_PERIOD = 32  # samples: the spline of the Klauder wavelet errs by 1e-6
_SIDE_LOBE = 1e-4  # of the peak: side lobes that are no longer counted to the wavelet
_LATEST = 1e9  # s: largest absolute time of a sample
_CLOSEST = 1e-15  # s: least sampling interval, far below any time step
_LARGEST = 1e30  # largest absolute value; float32 ends at 3e38
_EXPECTED = "expected a column of values, or columns of time in s and value"


def evaluate(spec: SourceWavelet, t: np.ndarray, base: Path | None = None) -> np.ndarray:
    """Return the source time function (as t) at times t (s); paths of files start at `base`."""
    shape = shape_of(spec, base)
    tau = np.asarray(t, float) - _delay(spec, shape)
    return float(spec.amplitude) * shape.value(tau)


def derivative(spec: SourceWavelet, t: np.ndarray, base: Path | None = None) -> np.ndarray:
    """Return the rate of change (as t) in 1/s of the source time function at times t (s)."""
    shape = shape_of(spec, base)
    tau = np.asarray(t, float) - _delay(spec, shape)
    return float(spec.amplitude) * shape.rate(tau)


def delay(spec: SourceWavelet, base: Path | None = None) -> float:
    """Return the delay in s that `evaluate` applies.

    The default makes the wavelet begin at t = 0: exactly for wavelets with a beginning, below 1e-4
    of the peak for others.
    """
    return _delay(spec, shape_of(spec, base))


def start_time(spec: SourceWavelet, base: Path | None = None) -> float:
    """Return the time in s before which the wavelet is negligible."""
    shape = shape_of(spec, base)
    return _delay(spec, shape) + shape.start


def end_time(spec: SourceWavelet, base: Path | None = None) -> float:
    """Return the time in s after which the wavelet is negligible."""
    shape = shape_of(spec, base)
    return _delay(spec, shape) + shape.end


def dominant_frequency(spec: SourceWavelet, base: Path | None = None) -> float:
    """Return the dominant frequency in Hz, near the spectral peak."""
    return shape_of(spec, base).dominant


def maximum_frequency(spec: SourceWavelet, base: Path | None = None, rate: bool = False) -> float:
    """Return the highest frequency in Hz with 1 % (-40 dB) of the spectral peak.

    Args:
        spec: the wavelet.
        base: folder at which paths of files start.
        rate: whether to use the derivative's spectrum (where the wavelet describes a moment).
    """
    shape = shape_of(spec, base)
    if shape.highest is not None and not rate:
        return shape.highest
    return _highest_frequency(shape.rate if rate else shape.value, shape)


def energy_spectrum(
    spec: SourceWavelet, derivatives: float, base: Path | None = None, rate: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (n) in Hz and the energy (n) of a wavelet's derivative at each.

    Args:
        spec: the wavelet.
        derivatives: order of the derivative.
        base: folder at which paths of files start.
        rate: whether the wavelet is a moment, which stays at its last value: jumps at its ends do
            not act, only its rate of change between them.
    """
    shape = shape_of(spec, base)
    frequency, spectrum = spectrum_of(shape.rate if rate else shape.value, shape)
    return frequency[1:], (spectrum[1:] * frequency[1:] ** (derivatives - rate)) ** 2


def energy_above(
    spec: SourceWavelet, frequency: float, derivatives: float, base: Path | None = None,
    rate: bool = False,
) -> float:  # fmt: skip
    """Return the share of the energy (see `energy_spectrum`) above a frequency in Hz."""
    frequencies, energy = energy_spectrum(spec, derivatives, base, rate)
    return float(energy[frequencies > frequency].sum() / energy.sum())


def shape_of(spec: SourceWavelet, base: Path | None = None) -> WaveletShape:
    """Build the shape that a specification describes.

    Raises:
        ModelError: a wavelet file is missing or malformed.
    """
    if isinstance(spec, SlipRate):
        return spec.shape()
    if isinstance(spec, SampledWavelet):
        return spec.shape
    if spec.type == "file":
        return _from_samples(read_samples(spec, base))
    if spec.type == "array":
        return _from_samples(samples_of(spec))
    return _SHAPES[spec.type](spec)


def _delay(spec: SourceWavelet, shape: WaveletShape) -> float:
    return float(spec.delay) if spec.delay is not None else max(0.0, -shape.start)


@lru_cache(maxsize=8)
def _from_samples(samples: WaveletSamples) -> WaveletShape:
    start = float(samples.time[0])
    end = float(samples.time[-1])
    points = max(4096, 2 * samples.time.size)
    shape = WaveletShape(
        samples.value, samples.rate, start, end, 1.0 / (end - start), points=points
    )
    frequency, spectrum = spectrum_of(samples.value, shape)
    peak = float(frequency[np.argmax(spectrum)])
    return replace(shape, dominant=max(peak, shape.dominant))


def spectrum_of(
    function: Callable[[np.ndarray], np.ndarray], shape: WaveletShape
) -> tuple[np.ndarray, np.ndarray]:
    """Return finely spaced frequencies (Hz) and amplitudes of a shape's function."""
    length = shape.end - shape.start
    tau = shape.start + length * (np.arange(shape.points) + 0.5) / shape.points
    size = max(1 << 18, 2 * shape.points)
    spectrum = np.abs(np.fft.rfft(function(tau), size))
    return np.fft.rfftfreq(size, length / shape.points), spectrum


def _highest_frequency(function: Callable[[np.ndarray], np.ndarray], shape: WaveletShape) -> float:
    frequency, spectrum = spectrum_of(function, shape)
    return float(frequency[np.flatnonzero(spectrum >= FLOOR * spectrum.max())[-1]])


@dataclass(frozen=True, eq=False)
class WaveletSamples:
    """A natural cubic spline through amplitudes (n) at times (n) s."""

    time: np.ndarray
    amplitudes: np.ndarray
    curvature: np.ndarray

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet (as t) at times t (s)."""
        return self._read(_cubic, t)

    def rate(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet's rate of change (as t) at times t (s)."""
        return self._read(_cubic_rate, t)

    def value_transposed(self, t: np.ndarray, by_values: np.ndarray) -> np.ndarray:
        """Return derivatives by the amplitudes (n) from those by `value` (as t), its transpose."""
        return self._spread(_cubic, t, by_values)

    def rate_transposed(self, t: np.ndarray, by_rates: np.ndarray) -> np.ndarray:
        """Return derivatives by the amplitudes (n) from those by `rate` (as t), its transpose."""
        return self._spread(_cubic_rate, t, by_rates)

    def _read(self, piece: Callable[..., np.ndarray], t: np.ndarray) -> np.ndarray:
        k, step, a, b, inside = self._interval_of(t)
        y = self.amplitudes
        c = self.curvature
        return np.where(inside, piece(step, a, b, y[k], y[k + 1], c[k], c[k + 1]), 0.0)

    def _spread(
        self, piece: Callable[..., np.ndarray], t: np.ndarray, by_read: np.ndarray
    ) -> np.ndarray:
        k, step, a, b, inside = self._interval_of(t)
        within = np.where(inside, by_read, 0.0)
        # The piece is linear in its amplitudes and curvatures: of units it gives their weights.
        weights = [piece(step, a, b, *unit) for unit in np.eye(4)]
        by_amplitude, by_curvature = (
            self._added(k, within * low) + self._added(k + 1, within * high)
            for low, high in (weights[:2], weights[2:])
        )
        # Curvatures are differences of slopes, behind a symmetric matrix.
        interval = np.diff(self.time)
        by_bend = 6.0 * _solved(interval, by_curvature[1:-1])
        by_slope = -np.diff(by_bend, prepend=0.0, append=0.0)
        return by_amplitude - np.diff(by_slope / interval, prepend=0.0, append=0.0)

    def _added(self, samples: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Return amounts added up by the samples (n) that they belong to."""
        return np.bincount(samples.ravel(), amounts.ravel(), self.time.size)

    def _interval_of(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        t = np.asarray(t, float)
        k = np.clip(np.searchsorted(self.time, t, "right") - 1, 0, self.time.size - 2)
        step = self.time[k + 1] - self.time[k]
        b = (t - self.time[k]) / step
        return k, step, 1.0 - b, b, (t >= self.time[0]) & (t <= self.time[-1])


@dataclass(frozen=True, eq=False)
class SampledWavelet:
    """A wavelet of samples that are no part of a scenario, zero beside them.

    Attributes:
        samples: the spline through them.
    """

    samples: WaveletSamples
    type: ClassVar[str] = "sampled"
    amplitude: ClassVar[float] = 1.0
    delay: ClassVar[float] = 0.0

    @property
    def shape(self) -> WaveletShape:
        """The wavelet as a function of time; its dominant frequency is not known."""
        start = float(self.samples.time[0])
        end = float(self.samples.time[-1])
        return WaveletShape(
            self.samples.value, self.samples.rate, start, end, 1.0 / (end - start),
            points=2 * self.samples.time.size,
        )  # fmt: skip


SourceWavelet = Wavelet | SlipRate | SampledWavelet


def _cubic(step, a, b, y0, y1, c0, c1):
    """Return a spline at shares a, b = 1 - a of an interval, of amplitudes y and curvatures c."""
    return a * y0 + b * y1 + ((a**3 - a) * c0 + (b**3 - b) * c1) * step**2 / 6.0


def _cubic_rate(step, a, b, y0, y1, c0, c1):
    """Return its rate of change."""
    return (y1 - y0) / step + ((3.0 * b**2 - 1.0) * c1 - (3.0 * a**2 - 1.0) * c0) * step / 6.0


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
    """Append the numbers of a line, or return the mistake in them."""
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
    """Return the second derivatives (n) of the natural spline."""
    curvature = np.zeros(x.size)
    step = np.diff(x)
    curvature[1:-1] = _solved(step, 6.0 * np.diff(np.diff(y) / step))
    return curvature


def _solved(step: np.ndarray, right_side: np.ndarray) -> np.ndarray:
    """Solve for the curvatures (n - 2) of a natural spline of intervals (n - 1), which are coupled.

    The matrix is symmetric (Thomas algorithm).
    """
    solution = np.append(right_side, 0.0)
    diagonal = 2.0 * (step[:-1] + step[1:])
    for k in range(1, right_side.size):
        factor = step[k] / diagonal[k - 1]
        diagonal[k] -= factor * step[k]
        solution[k] -= factor * solution[k - 1]
    for k in range(right_side.size - 1, -1, -1):
        solution[k] = (solution[k] - step[k + 1] * solution[k + 1]) / diagonal[k]
    return solution[:-1]


def sweep(spec: SweepWavelet | KlauderWavelet) -> WaveletShape:
    """Return the linear sweep of a specification."""
    first, last = spec.frequencies
    duration = spec.duration
    taper = spec.taper_length
    chirp = (last - first) / duration  # Hz/s

    def inside(tau: np.ndarray) -> np.ndarray:
        return (tau >= 0.0) & (tau <= duration)

    def window(tau: np.ndarray) -> np.ndarray:
        from_end = np.clip(np.minimum(tau, duration - tau) / taper, 0.0, 1.0)
        return np.sin(0.5 * np.pi * from_end) ** 2

    def window_rate(tau: np.ndarray) -> np.ndarray:
        from_end = np.clip(np.minimum(tau, duration - tau) / taper, 0.0, 1.0)
        return np.sign(0.5 * duration - tau) * 0.5 * np.pi / taper * np.sin(np.pi * from_end)

    def phase(tau: np.ndarray) -> np.ndarray:
        return 2.0 * np.pi * (first + 0.5 * chirp * tau) * tau

    def value(tau: np.ndarray) -> np.ndarray:
        return np.where(inside(tau), window(tau) * np.sin(phase(tau)), 0.0)

    def rate(tau: np.ndarray) -> np.ndarray:
        turning = 2.0 * np.pi * (first + chirp * tau)  # rad/s
        swept = window_rate(tau) * np.sin(phase(tau))
        return np.where(inside(tau), swept + window(tau) * turning * np.cos(phase(tau)), 0.0)

    points = max(4096, math.ceil(_PER_PERIOD * max(first, last) * duration))
    return WaveletShape(value, rate, 0.0, duration, 0.5 * (first + last), points=points)


def _klauder(spec: KlauderWavelet) -> WaveletShape:
    samples = _autocorrelation(spec)
    end = float(samples.time[-1])
    return WaveletShape(
        samples.value, samples.rate, -end, end, 0.5 * sum(spec.frequencies),
        points=max(4096, samples.time.size),
    )  # fmt: skip


@lru_cache(maxsize=8)
def _autocorrelation(spec: KlauderWavelet) -> WaveletSamples:
    """Return the sweep's autocorrelation over its value at 0, up to the last lobe that counts."""
    swept = sweep(spec)
    step = spec.duration / swept.points
    signal = swept.value(step * np.arange(swept.points + 1))
    spectrum = np.fft.rfft(signal, 2 * signal.size)
    lags = np.fft.irfft(np.abs(spectrum) ** 2)[: signal.size]
    lags /= lags[0]
    # a period more, so that the wavelet ends within its quiet part
    period = math.ceil(1.0 / (min(spec.frequencies) * step))
    count = min(lags.size, int(np.flatnonzero(np.abs(lags) >= _SIDE_LOBE)[-1]) + period)
    both = np.concatenate([lags[count - 1 : 0 : -1], lags[:count]])
    return natural_spline(step * np.arange(1 - count, count), both)


SWEEPS: dict[str, Callable[[Any], WaveletShape]] = {"sweep": sweep, "klauder": _klauder}


_SHAPES = SHAPES | SWEEPS
