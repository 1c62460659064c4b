"""Measures that say how far a seismogram is from a reference, in absolute amplitude.

relative_l2        ||x - r|| / ||r||; no scale and no shift is fitted; of all receivers together,
                   or of each (relative_l2_of_receivers)
amplitude_ratio    the factor g that minimises ||x - g r||
residual_shift     the delay of x after r in samples (tells half-step errors from physics)
envelope_misfit, phase_misfit   EM and PM of Kristekova et al. (2006, 2009), single valued, and the
                   goodness of fit EG = 10 exp(-EM), PG = 10 (1 - PM): 8 to 10 excellent, 6 to 8
                   good, 4 to 6 fair, below 4 poor
Arrays are (..., time); a reference always comes second.

The time-frequency plane is the continuous wavelet transform with a Morlet wavelet (w0 = 6),
computed with the wavelet's analytic spectrum; ObsPy's tf_misfit agrees to 1e-3 of the value.
Several components are normalised by the strongest, as in Kristekova et al. (2009) section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from seismo.errors import SeismoError

_W0 = 6.0  # radians of the Morlet wavelet
_REACHED = 1e-3  # of the largest norm: receivers that waves reach


def relative_l2(trace: np.ndarray, reference: np.ndarray) -> float:
    """Return ||trace - reference|| / ||reference|| over everything given (any equal shapes)."""
    trace, reference = _pair(trace, reference)
    return float(np.linalg.norm(trace - reference) / np.linalg.norm(reference))


def relative_l2_of_receivers(traces: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the relative L2 error (..., receiver) of traces (..., receiver, component, time).

    All components of a receiver count together. Receivers that waves do not reach, whose reference
    is less than a thousandth of the largest, have an error of 0.

    Raises:
        SeismoError: shapes differ or the reference is zero.
    """
    traces, reference = _pair(traces, reference)
    norms = np.linalg.norm(reference, axis=(-2, -1))
    differences = np.linalg.norm(traces - reference, axis=(-2, -1))
    reached = norms > _REACHED * norms.max()
    return np.where(reached, differences / np.where(reached, norms, 1.0), 0.0)


def resampled(traces: np.ndarray, times: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return traces (..., time) at other times (s), by cubic splines."""
    return np.asarray(CubicSpline(times, traces, axis=-1)(wanted))


def relative_maximum(trace: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest error over the largest reference value."""
    trace, reference = _pair(trace, reference)
    return float(np.abs(trace - reference).max() / np.abs(reference).max())


def amplitude_ratio(trace: np.ndarray, reference: np.ndarray) -> float:
    """Return the factor that brings the reference closest to the trace."""
    trace, reference = _pair(trace, reference)
    return float(np.sum(trace * reference) / np.sum(reference**2))


def residual_shift(trace: np.ndarray, reference: np.ndarray) -> float:
    """Return by how many samples (time) the trace is late, to about 1e-4 of a sample.

    The maximum of the cross-correlation, refined between samples with the band-limited spectrum.
    """
    trace, reference = _pair(trace, reference)
    padded = 2 * trace.shape[-1]
    cross = np.fft.rfft(trace, padded) * np.conj(np.fft.rfft(reference, padded))
    cross = cross.reshape(-1, cross.shape[-1]).sum(axis=0)
    omega = 2 * np.pi * np.arange(cross.size) / padded
    shift = float(np.argmax(np.fft.irfft(cross, padded)))
    shift -= padded if shift > padded / 2 else 0
    for _ in range(8):
        shifted = cross * np.exp(1j * omega * shift)
        curvature = np.sum(omega**2 * shifted.real)
        shift -= float(np.clip(np.sum(omega * shifted.imag) / curvature, -0.5, 0.5))
    return shift


@dataclass(frozen=True)
class Misfit:
    """Single-valued time-frequency misfits, a value per component (or scalars)."""

    envelope: np.ndarray  # EM, relative
    phase: np.ndarray  # PM, relative to pi


def time_frequency_misfit(
    trace: np.ndarray,
    reference: np.ndarray,
    dt: float,
    f_min: float,
    f_max: float,
    frequencies: int = 100,
) -> Misfit:
    """Return EM and PM of trace against reference, (component, time) or (time).

    dt in s; f_min, f_max in Hz, analysed at so many logarithmic frequencies. With components, the
    norm is that of the strongest ("global" norm). Kristekova et al. (2009) Table 2.
    Raises SeismoError when shapes differ or the reference is zero.
    """
    trace, reference = _pair(trace, reference)
    f = np.geomspace(f_min, f_max, frequencies)
    transform = wavelet_transform(trace, dt, f)
    reference_transform = wavelet_transform(reference, dt, f)
    weight = np.abs(reference_transform)
    plane = (-2, -1)
    envelope = np.sqrt(np.sum((np.abs(transform) - weight) ** 2, axis=plane))
    phase_difference = np.angle(transform * np.conj(reference_transform)) / np.pi
    phase = np.sqrt(np.sum((weight * phase_difference) ** 2, axis=plane))
    norm = np.sqrt(np.sum(weight**2, axis=plane)).max()
    return Misfit(envelope / norm, phase / norm)


def wavelet_transform(trace: np.ndarray, dt: float, frequencies: np.ndarray) -> np.ndarray:
    """Return the Morlet transform (..., frequency, time) of a trace (..., time).

    Kristekova et al. (2006) eq. 4, by the analytic spectrum of the wavelet.
    """
    trace = np.asarray(trace, float)
    count = trace.shape[-1]
    padded = 1 << int(np.ceil(np.log2(3 * count)))
    omega = 2 * np.pi * np.fft.fftfreq(padded, dt)
    scales = _W0 / (2 * np.pi * np.asarray(frequencies))
    exponent = -0.5 * (scales[:, None] * omega - _W0) ** 2
    wavelets = np.pi**-0.25 * np.sqrt(2 * np.pi * scales[:, None]) * np.exp(exponent)
    spectrum = np.fft.fft(trace, padded)[..., None, :]
    return np.fft.ifft(spectrum * wavelets)[..., :count]


def _pair(trace: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    trace = np.asarray(trace, float)
    reference = np.asarray(reference, float)
    if trace.shape != reference.shape or not reference.any():
        raise SeismoError(
            f"a trace {trace.shape} is compared with a non-zero reference of the same shape, "
            f"not {reference.shape}"
        )
    return trace, reference
