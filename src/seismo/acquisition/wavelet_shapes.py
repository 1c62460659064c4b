"""Shapes of wavelets: formulas of tau = t - delay, rates of change, ends of spectra.

Symbols: f frequency (Hz), tau (s), nu frequency of the spectrum (Hz).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.scenario.sections.wavelet import (
    GaussianDerivativeWavelet,
    GaussianWavelet,
    KuepperWavelet,
    OrmsbyWavelet,
    RickerDerivativeWavelet,
    RickerWavelet,
    SmoothedRampWavelet,
)

_QUIET = 1.5  # delay of the Gaussian family in periods: starts at 1e-8 of the peak (Ricker)
FLOOR = 0.01  # -40 dB of the spectral peak: defines the highest frequency of a wavelet


SourceTimeFunction = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class WaveletShape:
    """A source time function of tau = t - delay, its rate of change, and its support."""

    value: SourceTimeFunction
    rate: SourceTimeFunction
    start: float  # value is negligible (or zero) before this tau
    end: float  # and after this time (s)
    dominant: float  # frequency (Hz) near the spectral peak
    highest: float | None = None  # frequency (Hz) of -40 dB where a formula gives it
    points: int = 4096  # enough to sample it for a spectrum


def _ricker(spec: RickerWavelet) -> WaveletShape:
    """Ricker (1953, Geophysics 18, 10-40): (1 - 2 a) exp(-a), a = (pi f tau)^2."""
    k = math.pi * spec.frequency

    def value(tau: np.ndarray) -> np.ndarray:
        a = (k * tau) ** 2
        return (1.0 - 2.0 * a) * np.exp(-a)

    def rate(tau: np.ndarray) -> np.ndarray:
        a = (k * tau) ** 2
        return 2.0 * k**2 * tau * (2.0 * a - 3.0) * np.exp(-a)

    # The spectrum is x exp(1 - x) of its peak, x = (nu / f)^2.
    highest = spec.frequency * math.sqrt(_last_crossing(lambda x: math.log(x) + 1.0 - x))
    return _pulse(value, rate, spec.frequency, spec.frequency, highest)


def _gaussian(spec: GaussianWavelet) -> WaveletShape:
    return _gaussian_pulse(spec.frequency)


def _gaussian_pulse(frequency: float) -> WaveletShape:
    """A Gaussian exp(-(pi f tau)^2), whose negated second derivative is the Ricker wavelet of f."""
    k = math.pi * frequency

    def value(tau: np.ndarray) -> np.ndarray:
        return np.exp(-((k * tau) ** 2))

    def rate(tau: np.ndarray) -> np.ndarray:
        return -2.0 * k**2 * tau * np.exp(-((k * tau) ** 2))

    # The spectrum is exp(-x) of its peak at zero.
    highest = frequency * math.sqrt(-math.log(FLOOR))
    return _pulse(value, rate, frequency, 0.5 * frequency, highest)


def _gaussian_derivative(spec: GaussianDerivativeWavelet) -> WaveletShape:
    """The first derivative of that Gaussian, scaled to extrema of +1 (first) and -1."""
    k = math.pi * spec.frequency
    scale = math.sqrt(2.0 * math.e) * k  # the extremum of tau exp(-(k tau)^2) is 1 / scale

    def value(tau: np.ndarray) -> np.ndarray:
        return -scale * tau * np.exp(-((k * tau) ** 2))

    def rate(tau: np.ndarray) -> np.ndarray:
        a = (k * tau) ** 2
        return scale * (2.0 * a - 1.0) * np.exp(-a)

    # The spectrum is sqrt(2 x) exp(1/2 - x) of its peak, which lies at x = 1/2.
    factor = _last_crossing(lambda x: 0.5 * math.log(2.0 * x) + 0.5 - x)
    peak = spec.frequency / math.sqrt(2.0)
    return _pulse(value, rate, spec.frequency, peak, spec.frequency * math.sqrt(factor))


def _ricker_derivative(spec: RickerDerivativeWavelet) -> WaveletShape:
    """The first derivative of the Ricker wavelet, scaled to extrema of +1 (before 0) and -1.

    2 k^2 tau (2 a - 3) exp(-a), a = (k tau)^2, k = pi f; its extrema satisfy 4 a^2 - 12 a + 3 = 0,
    the larger at a = (3 - sqrt 6) / 2.
    """
    k = math.pi * spec.frequency
    at_peak = (3.0 - math.sqrt(6.0)) / 2.0
    scale = k / (math.sqrt(6.0 * at_peak) * math.exp(-at_peak))

    def value(tau: np.ndarray) -> np.ndarray:
        a = (k * tau) ** 2
        return scale * tau * (2.0 * a - 3.0) * np.exp(-a)

    def rate(tau: np.ndarray) -> np.ndarray:
        a = (k * tau) ** 2
        return -scale * (4.0 * a**2 - 12.0 * a + 3.0) * np.exp(-a)

    # The spectrum is (x / 1.5)^1.5 exp(1.5 - x) of its peak, x = (nu / f)^2.
    factor = _last_crossing(lambda x: 1.5 * math.log(x / 1.5) + 1.5 - x)
    peak = spec.frequency * math.sqrt(1.5)
    return _pulse(value, rate, spec.frequency, peak, spec.frequency * math.sqrt(factor))


def _pulse(
    value: SourceTimeFunction,
    rate: SourceTimeFunction,
    frequency: float,
    dominant: float,
    highest: float,
) -> WaveletShape:
    half = _QUIET / frequency
    return WaveletShape(value, rate, -half, half, dominant, highest)


def _ormsby(spec: OrmsbyWavelet) -> WaveletShape:
    """Zero-phase wavelet with a trapezoidal amplitude spectrum (Ormsby 1961; Ryan 1994).

    The trapezoid's corners make side lobes that fade only as 1/tau^2; a Hann window of half-length
    2 / (width of the narrower ramp) ends them, which rounds the corners within the ramps.
    """
    f1, f2, f3, f4 = spec.corners
    half = 2.0 / min(f2 - f1, f4 - f3)
    terms = (
        (f4, 1.0 / (f4 - f3)),
        (f3, -1.0 / (f4 - f3)),
        (f2, -1.0 / (f2 - f1)),
        (f1, 1.0 / (f2 - f1)),
    )
    peak = (f4 + f3) - (f2 + f1)

    def trapezoid(tau: np.ndarray) -> np.ndarray:
        return np.asarray(sum(w * (f * np.sinc(f * tau)) ** 2 for f, w in terms)) / peak

    def trapezoid_rate(tau: np.ndarray) -> np.ndarray:
        return sum(2.0 * w * f**3 * np.sinc(f * tau) * _sinc_rate(f * tau) for f, w in terms) / peak

    def window(tau: np.ndarray) -> np.ndarray:
        return np.where(np.abs(tau) < half, np.cos(0.5 * np.pi * tau / half) ** 2, 0.0)

    def window_rate(tau: np.ndarray) -> np.ndarray:
        slope = -0.5 * np.pi / half * np.sin(np.pi * tau / half)
        return np.where(np.abs(tau) < half, slope, 0.0)

    def rate(tau: np.ndarray) -> np.ndarray:
        return trapezoid_rate(tau) * window(tau) + trapezoid(tau) * window_rate(tau)

    return WaveletShape(
        lambda tau: trapezoid(tau) * window(tau), rate, -half, half, 0.5 * (f2 + f3)
    )


def _sinc_rate(x: np.ndarray) -> np.ndarray:
    """Return the derivative of sin(pi x) / (pi x)."""
    near_zero = np.abs(x) < 1e-4
    nonzero = np.where(near_zero, 1.0, x)
    return np.where(near_zero, -(np.pi**2) * x / 3.0, (np.cos(np.pi * x) - np.sinc(x)) / nonzero)


def _kuepper(spec: KuepperWavelet) -> WaveletShape:
    """Kuepper's wavelet of n extrema and a finite duration T, scaled to a peak of 1.

    sin(n pi tau / T) - n / (n + 2) sin((n + 2) pi tau / T), 0 <= tau <= T
    (Kuepper 1958; Fuchs & Mueller 1971, Geophys. J. R. astr. Soc. 23).
    """
    n = spec.n
    duration = spec.duration
    m = n + 2

    def raw(x: np.ndarray) -> np.ndarray:
        return np.sin(n * x) - n / m * np.sin(m * x)

    # The derivative is 2 n sin((n + 1) x) sin(x): the extrema lie at x = k pi / (n + 1).
    peak = float(np.max(np.abs(raw(np.arange(1, n + 1) * np.pi / (n + 1)))))

    def value(tau: np.ndarray) -> np.ndarray:
        return np.where(_within(tau, duration), raw(np.pi * tau / duration) / peak, 0.0)

    def rate(tau: np.ndarray) -> np.ndarray:
        x = np.pi * tau / duration
        slope = 2.0 * n * np.sin((n + 1) * x) * np.sin(x) * np.pi / duration / peak
        return np.where(_within(tau, duration), slope, 0.0)

    return WaveletShape(value, rate, 0.0, duration, (n + 1) / (2.0 * duration))


def _gaussian_rate(spec: Any) -> WaveletShape:
    """A Gaussian moment rate of unit area: exp(-tau^2 / (2 sigma^2)) / (sqrt(2 pi) sigma).

    In the place of a triangle it is exp(-(1.628 tau / half_duration)^2), up to its area (Komatitsch
    et al. 2002, Science 298; SPECFEM3D).
    """
    sigma = spec.sigma or sigma_of(spec.half_duration)
    pulse = _gaussian_pulse(1.0 / (math.sqrt(2.0) * math.pi * sigma))
    peak = 1.0 / (math.sqrt(2.0 * math.pi) * sigma)
    return replace(
        pulse, value=lambda tau: peak * pulse.value(tau), rate=lambda tau: peak * pulse.rate(tau)
    )


def sigma_of(half_duration: float) -> float:
    """Return the standard deviation of the Gaussian that replaces a triangle (`_gaussian_rate`)."""
    return half_duration / (1.628 * math.sqrt(2.0))


def half_duration_of(frequency: float) -> float:
    """Return the half duration in s of the Gaussian that leaves `FLOOR` at a frequency in Hz."""
    sigma = math.sqrt(-2.0 * math.log(FLOOR)) / (2.0 * math.pi * frequency)
    return sigma / sigma_of(1.0)


def _brune(spec: Any) -> WaveletShape:
    """Moment rate w^2 tau exp(-w tau), w = 2 pi corner frequency (Brune 1970, JGR 75, 4997-5009).

    Its spectrum is 1 / (1 + (f / corner)^2) of the moment.
    """
    time = spec.rise if spec.corner_frequency is None else 0.5 / (math.pi * spec.corner_frequency)
    w = 1.0 / time

    def value(tau: np.ndarray) -> np.ndarray:
        elapsed = np.maximum(tau, 0.0)
        return w**2 * elapsed * np.exp(-w * elapsed)

    def rate(tau: np.ndarray) -> np.ndarray:
        elapsed = np.maximum(tau, 0.0)
        return np.where(tau > 0.0, w**2 * (1.0 - w * elapsed) * np.exp(-w * elapsed), 0.0)

    corner = 0.5 * w / math.pi
    return WaveletShape(
        value, rate, 0.0, 14.0 * time, corner, corner * math.sqrt(1.0 / FLOOR - 1.0)
    )


def _triangle(spec: Any) -> WaveletShape:
    """Isosceles triangle of unit area that rises and falls within `half_duration` each."""
    half = spec.rise if spec.half_duration is None else spec.half_duration

    def value(tau: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - np.abs(tau - half) / half) / half

    def rate(tau: np.ndarray) -> np.ndarray:
        return -np.sign(tau - half) * ((tau > 0.0) & (tau < 2.0 * half)) / half**2

    return WaveletShape(value, rate, 0.0, 2.0 * half, 0.5 / half)


def _smoothed_ramp(spec: SmoothedRampWavelet) -> WaveletShape:
    """Moment rate (1 - cos(2 pi tau / rise)) / rise within the rise time, unit area."""
    rise = spec.rise
    w = 2.0 * math.pi / rise

    def value(tau: np.ndarray) -> np.ndarray:
        return np.where(_within(tau, rise), (1.0 - np.cos(w * tau)) / rise, 0.0)

    def rate(tau: np.ndarray) -> np.ndarray:
        return np.where(_within(tau, rise), w / rise * np.sin(w * tau), 0.0)

    return WaveletShape(value, rate, 0.0, rise, 0.5 / rise)


def _within(tau: np.ndarray, duration: float) -> np.ndarray:
    return (tau > 0.0) & (tau < duration)


def _last_crossing(log_spectrum: Callable[[float], float]) -> float:
    """Return x > 1 where a logarithmic spectrum, falling there, passes the floor."""
    low = 1.0
    high = 50.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_spectrum(middle) > math.log(FLOOR) else (low, middle)
    return low


SHAPES: dict[str, Callable[[Any], WaveletShape]] = {
    "ricker": _ricker,
    "gaussian": _gaussian,
    "gaussian_derivative": _gaussian_derivative,
    "ricker_derivative": _ricker_derivative,
    "ormsby": _ormsby,
    "kuepper": _kuepper,
    "gaussian_rate": _gaussian_rate,
    "brune": _brune,
    "triangle": _triangle,
    "smoothed_ramp": _smoothed_ramp,
}
