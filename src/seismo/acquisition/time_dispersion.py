"""Time dispersion, the error of leapfrog time stepping, removed exactly by a transform.

A second-order leapfrog (staggered or not) turns every time derivative into a centred difference:

    i omega  ->  i Omega(omega),   Omega = (2 / dt) sin(omega dt / 2).

The response of a linear, time-invariant scheme to a source of spectrum S_d(omega) is therefore

    U_d(omega) = G(Omega(omega)) S_d(omega),

where G is the response of the same scheme with exact time derivatives. If the source is modified to
S_d(omega) = S(Omega(omega)) (`add_dispersion`), then U_d(omega) = U(Omega(omega)): the exact
spectrum at shifted frequencies. Relabelling them, U(w) = U_d((2 / dt) arcsin(w dt / 2)), gives U
without any error of time stepping, for every path length (`remove_dispersion`). No factor enters: a
spectrum is relabelled, not a density in frequency.

Times are physical: a field at half steps has samples t = (n + 1/2) dt, and its offset is 0.5. Force
belongs to the times of stress (offset 0 where stress is at integer steps), moment rate to times of
velocity (0.5). Integrals and derivatives in time by the same centred differences *before*
`remove_dispersion` become exact as well.

An arrival at true time k dt with frequency w is at k dt cos(phi), sin(phi) = w dt / 2, in the
discrete record: a record contains all that `remove_dispersion` needs for its own length,
except that its truncation affects a few times n^(1/3) samples at the end; run `dispersion_margin`
more steps and drop them.
Frequencies above about 0.9 * (2 / dt), far above a resolved wavefield's, are tapered to
zero; this bounds the stretch and so the padding against wrap-around.

The spectrum at unevenly spaced frequencies is interpolated on an oversampled FFT with a
Kaiser-Bessel kernel (a non-uniform FFT; relative error about 1e-11), so the cost is O(n log n).

Both transforms are linear in the signals. Their transposes, for derivatives by signals or records,
are the same operations in reverse order, each transposed.

Literature: Stork (2013, 75th EAGE); Wang & Xu (2015, Geophysics 80(6), WD19-WD25);
Koene, Robertsson, Broggini & Andersson (2018, Geophys. J. Int. 213, 169-180).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WIDTH = 12  # points of the interpolation kernel
_BETA = 2.30 * _WIDTH  # its shape, for twofold oversampling (Beatty, Nishimura & Pauly 2005)
_TAPER = (0.85, 0.94)  # of 2 / dt: passed below, stopped above
_STRETCH = 3.0  # more than 1 / cos(arcsin(_TAPER[1])): the latest arrival of a passed frequency
_BLOCK = 1 << 17  # complex numbers of a work array: they stay in the caches


def add_dispersion(signal: np.ndarray, offset: float | np.ndarray = 0.0) -> np.ndarray:
    """Return a source signal with the time dispersion that `remove_dispersion` takes away.

    Args:
        signal: signal (..., time), sampled at t = (n + offset) dt; beyond its end it is extended by
            its last value, faded to zero.
        offset: time of the first sample in steps (0, or 0.5 for half steps), of all signals or
            (signal, 1) of each.

    Returns:
        The signal (..., time) to inject, at the same times and of the same dtype.

    Literature: Koene et al. (2018), the forward time-dispersion transform.
    """
    return _apply(_forward, _adding(signal.shape[-1]), signal, offset)


def add_dispersion_transposed(signal: np.ndarray, offset: float | np.ndarray = 0.0) -> np.ndarray:
    """Return signals (..., time) by the transpose of `add_dispersion`, of the same arguments."""
    return _apply(_transposed, _adding(signal.shape[-1]), signal, offset)


def remove_dispersion(traces: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Remove the time dispersion from recorded traces.

    Args:
        traces: traces (..., time), sampled at t = (n + offset) dt.
        offset: time of the first sample in steps (0, or 0.5 for half steps).

    Returns:
        The traces (..., time) at the same times and of the same dtype.

    Literature: Koene et al. (2018), the inverse time-dispersion transform.
    """
    return _apply(_forward, _removing(traces.shape[-1]), traces, offset)


def remove_dispersion_transposed(traces: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Return traces (..., time) by the transpose of `remove_dispersion`, of the same arguments."""
    return _apply(_transposed, _removing(traces.shape[-1]), traces, offset)


def dispersion_margin(steps: int) -> int:
    """Return the additional steps that make the first `steps` exact after `remove_dispersion`.

    The end of a record leaks backwards as the Airy function Ai(2 d / n^(1/3)) of the distance d in
    steps (stationary phase at zero frequency); d = 4 n^(1/3) leaves less than 1e-6.
    """
    return math.ceil(4.0 * steps ** (1.0 / 3.0)) + 8


@dataclass(frozen=True)
class _Plan:
    """One transform: spectrum read at `source`, written at `target` (radians per sample)."""

    samples: int
    fade: int
    size: int  # of the output FFT
    source: np.ndarray
    target: np.ndarray
    gain: np.ndarray

    @cached_property
    def reader(self) -> _SpectrumReader:
        """The reader of the spectrum of the faded samples."""
        return _SpectrumReader(self.samples + self.fade, self.source)


@lru_cache(maxsize=2)
def _adding(n: int) -> _Plan:
    """Return the transform of `add_dispersion` for n samples."""
    fade = _fade_length(n)
    size = _fast_length(n + 2 * fade + 64)
    theta = 2.0 * np.pi * np.arange(size // 2 + 1) / size  # discrete frequency times dt
    source = 2.0 * np.sin(0.5 * theta)
    return _Plan(n, fade, size, source, theta, _low_pass(source))


@lru_cache(maxsize=2)
def _removing(n: int) -> _Plan:
    """Return the transform of `remove_dispersion` for n samples."""
    fade = _fade_length(n)
    size = _fast_length(int(_STRETCH * (n + fade)) + 64)
    target = 2.0 * np.pi * np.arange(size // 2 + 1) / size  # true frequency times dt
    sine = 0.5 * target
    target = target[sine <= _TAPER[1]]
    sine = sine[: target.size]
    source = 2.0 * np.arcsin(sine)
    return _Plan(n, fade, size, source, target, _low_pass(2.0 * sine))


def _apply(
    transform: Callable[[_Plan, np.ndarray, np.ndarray], np.ndarray],
    plan: _Plan,
    signals: np.ndarray,
    offset: float | np.ndarray,
) -> np.ndarray:
    """Transform signals (..., time) in blocks that bound the memory."""
    signals = np.asarray(signals)
    dtype = signals.dtype if signals.dtype.kind == "f" else np.dtype(float)
    if signals.size == 0:
        return np.empty(signals.shape, dtype)
    signal_rows = signals.reshape(-1, plan.samples)
    result = np.empty(signal_rows.shape, dtype)
    offsets = np.asarray(offset, float).reshape(-1, 1)
    alike = bool(np.all(offsets == offsets[0]))
    shift = plan.target - plan.source
    phase = np.exp(1j * offsets[0] * shift) * plan.gain
    block = max(1, _BLOCK // plan.size)
    for first in range(0, len(signal_rows), block):
        if not alike:
            phase = np.exp(1j * offsets[first : first + block] * shift) * plan.gain
        rows = np.asarray(signal_rows[first : first + block], float)
        result[first : first + block] = transform(plan, rows, phase)
    return result.reshape(signals.shape)


def _forward(plan: _Plan, signal_rows: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Transform rows (rows, time), with a phase (frequency) or (rows, frequency)."""
    extended = _held_and_faded(signal_rows, plan.fade)
    spectrum = np.zeros((len(extended), plan.size // 2 + 1), complex)
    spectrum[:, : plan.source.size] = plan.reader(extended) * phase
    return np.fft.irfft(spectrum, plan.size)[:, : plan.samples]


def _transposed(plan: _Plan, signal_rows: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Transform rows (rows, time) by the transpose of `_forward`."""
    spectrum = np.fft.rfft(signal_rows, plan.size) * _mode_weights(plan.size)
    extended = plan.reader.transposed(spectrum[:, : plan.source.size] * np.conj(phase))
    result = extended[:, : plan.samples].copy()
    result[:, -1] += (extended[:, plan.samples :] * _fade_out(plan.fade)).sum(axis=1)
    return result


def _mode_weights(size: int) -> np.ndarray:
    """Return the weights of an even number of samples' modes: irfft's transpose is they times rfft.

    All but the first and the last mode stand for two, of conjugate amplitudes.
    """
    weights = np.full(size // 2 + 1, 2.0 / size)
    weights[[0, -1]] = 1.0 / size
    return weights


def _low_pass(frequency: np.ndarray) -> np.ndarray:
    """Return the gain at true frequencies given as w dt."""
    low, high = _TAPER
    fraction = np.clip((0.5 * frequency - low) / (high - low), 0.0, 1.0)
    return 0.5 * (1.0 + np.cos(np.pi * fraction))


def _fade_length(samples: int) -> int:
    return max(64, samples // 4)


def _held_and_faded(signal_rows: np.ndarray, fade: int) -> np.ndarray:
    """Extend signals by their last value, faded to zero: a jump would spread over the result."""
    return np.concatenate([signal_rows, signal_rows[:, -1:] * _fade_out(fade)], axis=1)


def _fade_out(fade: int) -> np.ndarray:
    return 0.5 * (1.0 + np.cos(np.pi * (np.arange(fade) + 1.0) / (fade + 1.0)))


class _SpectrumReader:
    """The Fourier transform of real signals at any frequencies (a type-2 non-uniform FFT)."""

    def __init__(self, samples: int, frequency: np.ndarray) -> None:
        """Plan for a number of samples and frequencies (n) in 0 .. pi radians per sample."""
        self.samples = samples
        self.centre = samples // 2
        self.size = _fast_length(max(2 * samples, 4 * _WIDTH))
        grid_position = frequency * self.size / (2.0 * np.pi)
        self.first = np.floor(grid_position).astype(np.intp) - _WIDTH // 2 + 1
        distance = grid_position - self.first
        self.kernels = [_kernel(distance - point) for point in range(_WIDTH)]
        self.shift = np.exp(-1j * frequency * self.centre)
        position = (np.arange(samples) - self.centre) / self.size
        self.correction = 1.0 / _kernel_transform(position)

    def __call__(self, signal_rows: np.ndarray) -> np.ndarray:
        """Return the spectra (rows, frequency) of rows (rows, time)."""
        centred = np.zeros((len(signal_rows), self.size))
        weighted = signal_rows * self.correction
        centred[:, : self.samples - self.centre] = weighted[:, self.centre :]
        centred[:, self.size - self.centre :] = weighted[:, : self.centre]
        grid = np.fft.rfft(centred)
        # A real signal's spectrum is mirrored about zero and about the Nyquist frequency.
        low = np.conj(grid[:, _WIDTH:0:-1])
        high = np.conj(grid[:, -2 : -2 - _WIDTH : -1])
        grid = np.concatenate([low, grid, high], axis=1)
        result = np.zeros((len(signal_rows), self.first.size), complex)
        for point, kernel in enumerate(self.kernels):
            result += grid[:, self.first + (point + _WIDTH)] * kernel
        return result * self.shift

    def transposed(self, spectra: np.ndarray) -> np.ndarray:
        """Return rows (rows, time) by the transpose (a type-1 non-uniform FFT) of spectra."""
        extended = (self._spreading @ (spectra * np.conj(self.shift)).T).T
        grid = extended[:, _WIDTH:-_WIDTH].copy()
        grid[:, _WIDTH:0:-1] += np.conj(extended[:, :_WIDTH])
        grid[:, -2 : -2 - _WIDTH : -1] += np.conj(extended[:, -_WIDTH:])
        centred = np.fft.irfft(grid / _mode_weights(self.size), self.size)
        weighted = np.roll(centred, self.centre, axis=1)[:, : self.samples]
        return weighted * self.correction

    @cached_property
    def _spreading(self) -> csr_array:
        """The matrix of kernels, from frequencies to the FFT's modes and those beside them."""
        from scipy.sparse import csr_array

        frequencies = np.arange(self.first.size)
        modes = [self.first + (point + _WIDTH) for point in range(_WIDTH)]
        entries = (np.concatenate(modes), np.tile(frequencies, _WIDTH))
        shape = (self.size // 2 + 1 + 2 * _WIDTH, frequencies.size)
        return csr_array((np.concatenate(self.kernels), entries), shape)


def _kernel(distance: np.ndarray) -> np.ndarray:
    """Return the Kaiser-Bessel window at distances in points."""
    inside = np.maximum(1.0 - (2.0 * distance / _WIDTH) ** 2, 0.0)
    return np.i0(_BETA * np.sqrt(inside)) / np.i0(_BETA)


def _kernel_transform(frequency: np.ndarray) -> np.ndarray:
    """Return the window's Fourier transform at frequencies in cycles per point, below 1/2."""
    root = np.sqrt(_BETA**2 - (np.pi * _WIDTH * frequency) ** 2)
    return _WIDTH * np.sinh(root) / root / np.i0(_BETA)


def _fast_length(minimum: int) -> int:
    """Return the smallest even length >= minimum with prime factors 2, 3 and 5 only."""
    best = 1 << max(1, (minimum - 1).bit_length())
    power_of_5 = 1
    while power_of_5 < best:
        power_of_3 = power_of_5
        while power_of_3 < best:
            power_of_2 = 2
            while power_of_2 * power_of_3 < minimum:
                power_of_2 *= 2
            best = min(best, power_of_2 * power_of_3)
            power_of_3 *= 3
        power_of_5 *= 5
    return best
