"""Source time functions.

Two families. *Shapes* (ricker, gaussian, their first derivatives, ormsby, kuepper, sweep, klauder)
have a peak of 1 and no unit; as the wavelet of a force they are f(t), as that of a moment tensor
the moment rate in 1/s.
*Moment rates* (gaussian_rate, brune, triangle, smoothed_ramp) have unit area, so that the moment
grows from 0 to the scalar moment of the source. `evaluate` returns the function itself,
`derivative` its exact rate of change, which a solver that injects moment rate needs where the
wavelet describes the moment.

Symbols: t time (s), f frequency (Hz), tau = t - delay.

A specification is any object with the attributes of the scenario's wavelet: ``type``,
``amplitude``, ``delay`` and those of the type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from seismo.acquisition.wavelets.sampled import (
    WaveletSamples,
    read_samples,
    samples_of,
)
from seismo.acquisition.wavelets.shapes import (
    FLOOR,
    SHAPES,
    WaveletShape,
)
from seismo.acquisition.wavelets.sweep import SWEEPS
from seismo.features.faults.slip_rate import SlipRate
from seismo.scenario.sections.wavelet import Wavelet

SourceWavelet = Wavelet | SlipRate
_SHAPES = SHAPES | SWEEPS


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


def energy_above(
    spec: SourceWavelet, frequency: float, derivatives: float, base: Path | None = None
) -> float:
    """Return the share of the energy of a wavelet's derivative above a frequency in Hz."""
    shape = shape_of(spec, base)
    frequencies, spectrum = spectrum_of(shape.value, shape)
    energy = (spectrum * frequencies**derivatives) ** 2
    return float(energy[frequencies > frequency].sum() / energy.sum())


def shape_of(spec: SourceWavelet, base: Path | None = None) -> WaveletShape:
    """Build the shape that a specification describes.

    Raises:
        ModelError: a wavelet file is missing or malformed.
    """
    if isinstance(spec, SlipRate):
        return spec.shape()
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
