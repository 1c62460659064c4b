"""Vibrators: a linear sweep, and the Klauder wavelet, which its correlation makes of an impulse.

    sweep(tau) = w(tau) sin(2 pi (f1 tau + (f2 - f1) tau^2 / (2 T))),   0 <= tau <= T,

w rising and falling as sin^2 within the taper. The frequency passes from f1 to f2 at a constant
rate. A record of a sweep, correlated with it, is the record of the sweep's autocorrelation, since
waves are linear: the Klauder wavelet, zero-phase and with the sweep's energy at each frequency.

Literature: Klauder, Price, Darlington & Albersheim (1960, Bell Syst. Tech. J. 39, 745-808).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from seismo.acquisition.wavelets.sampled import WaveletSamples, natural_spline
from seismo.acquisition.wavelets.shapes import WaveletShape
from seismo.scenario.sections.wavelet import KlauderWavelet, SweepWavelet

_PER_PERIOD = 32  # samples: the spline of the Klauder wavelet errs by 1e-6
_QUIET = 1e-4  # of the peak: side lobes that are no longer counted to the wavelet


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
    # one period more, so that the wavelet ends within its quiet part
    period = math.ceil(1.0 / (min(spec.frequencies) * step))
    count = min(lags.size, int(np.flatnonzero(np.abs(lags) >= _QUIET)[-1]) + period)
    both = np.concatenate([lags[count - 1 : 0 : -1], lags[:count]])
    return natural_spline(step * np.arange(1 - count, count), both)


SWEEPS: dict[str, Callable[[Any], WaveletShape]] = {"sweep": sweep, "klauder": _klauder}
