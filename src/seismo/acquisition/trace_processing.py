"""Trace processing: quantity, time-dispersion removal, interpolation to integer steps, decimation.

Velocities, and rates of strain, are recorded at half steps. Displacement, strain and acceleration
follow from them by the scheme's own time differences (exact once the time dispersion is removed),
at integer steps like the stresses; rates themselves are interpolated to integer steps at the end.

Time dispersion, the error of leapfrog time stepping, is removed exactly by a transform of source
and traces. A second-order leapfrog (staggered or not) turns every time derivative into a centred
difference:

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

Literature: Stork (2013, 75th EAGE); Wang & Xu (2015, Geophysics 80(6), WD19-WD25);
Koene, Robertsson, Broggini & Andersson (2018, Geophys. J. Int. 213, 169-180).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

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
    return _apply(_adding(signal.shape[-1]), signal, offset)


def remove_dispersion(traces: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Remove the time dispersion from recorded traces.

    Args:
        traces: traces (..., time), sampled at t = (n + offset) dt.
        offset: time of the first sample in steps (0, or 0.5 for half steps).

    Returns:
        The traces (..., time) at the same times and of the same dtype.

    Literature: Koene et al. (2018), the inverse time-dispersion transform.
    """
    return _apply(_removing(traces.shape[-1]), traces, offset)


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


def _apply(plan: _Plan, signals: np.ndarray, offset: float | np.ndarray) -> np.ndarray:
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
        extended = _held_and_faded(np.asarray(signal_rows[first : first + block], float), plan.fade)
        if not alike:
            phase = np.exp(1j * offsets[first : first + block] * shift) * plan.gain
        spectrum = np.zeros((len(extended), plan.size // 2 + 1), complex)
        spectrum[:, : plan.source.size] = plan.reader(extended) * phase
        result[first : first + block] = np.fft.irfft(spectrum, plan.size)[:, : plan.samples]
    return result.reshape(signals.shape)


def _low_pass(frequency: np.ndarray) -> np.ndarray:
    """Return the gain at true frequencies given as w dt."""
    low, high = _TAPER
    fraction = np.clip((0.5 * frequency - low) / (high - low), 0.0, 1.0)
    return 0.5 * (1.0 + np.cos(np.pi * fraction))


def _fade_length(samples: int) -> int:
    return max(64, samples // 4)


def _held_and_faded(signal_rows: np.ndarray, fade: int) -> np.ndarray:
    """Extend signals by their last value, faded to zero: a jump would spread over the result."""
    ramp = 0.5 * (1.0 + np.cos(np.pi * (np.arange(fade) + 1.0) / (fade + 1.0)))
    return np.concatenate([signal_rows, signal_rows[:, -1:] * ramp], axis=1)


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


HALF_STEP_POINTS = 8
INTEGRALS = ("displacement", "strain")  # of recorded quantities, in time


def extra_steps(steps: int, removal: bool) -> int:
    """Return the padding steps after the duration that complete the last trace samples."""
    return HALF_STEP_POINTS // 2 + (dispersion_margin(steps) if removal else 0)


def complete_steps(recorded: int, removal: bool) -> int:
    """Return the number of complete trace samples of a record of so many steps, at least 0."""
    steps = max(0, recorded - extra_steps(0, False))
    while steps and steps + extra_steps(steps, removal) > recorded:
        steps -= 1
    return steps


def _to_whole_steps(velocity: np.ndarray) -> np.ndarray:
    """Interpolate samples at (n + 1/2) dt to n dt by the polynomial through 8 of them."""
    half = HALF_STEP_POINTS // 2
    points = np.arange(HALF_STEP_POINTS) - half + 0.5
    weights = np.linalg.solve(points[None, :] ** np.arange(8)[:, None], np.eye(8)[0])
    padded = np.pad(velocity.astype(float), ((0, 0), (half, 0)))
    count = velocity.shape[1] - half
    return sum(w * padded[:, k : k + count + 1] for k, w in enumerate(weights))


def finish(
    record: np.ndarray,
    quantity: str,
    half_step: bool,
    dt: float,
    steps: int,
    every: int,
    removal: bool,
) -> np.ndarray:
    """Turn a record into traces at t = 0, dt * every, ...

    Args:
        record: (receiver, step) recorded after each step.
        quantity: of the traces.
        half_step: whether the recorded field is at half steps.
        dt: time step in s.
        steps: steps of the requested duration.
        every: steps between samples.
        removal: whether to remove the time dispersion.

    Returns:
        (receiver, sample) of the dtype of the record.
    """
    traces = record.astype(float)
    if quantity == "acceleration":
        traces = np.diff(traces, axis=1, prepend=0.0) / dt
        half_step = False
    elif quantity in INTEGRALS:
        traces = np.pad(np.cumsum(traces, axis=1) * dt, ((0, 0), (1, 0)))
        half_step = False
    elif not half_step:
        traces = np.pad(traces, ((0, 0), (1, 0)))
    if removal:
        traces = remove_dispersion(traces, 0.5 if half_step else 0.0)
    if half_step:
        traces = _to_whole_steps(traces)
    return decimate(traces[:, : steps + 1], every).astype(record.dtype)


def decimate(traces: np.ndarray, every: int) -> np.ndarray:
    """Keep every n-th sample after a zero-phase low-pass filter (Kaiser-windowed sinc).

    The filter passes 80 % of the new Nyquist frequency and stops (-80 dB) above it. Beside the last
    sample, where fewer samples are left than it is long, it is shorter: it passes as much, and
    stops at higher frequencies.
    """
    if every == 1:
        return traces
    # in units of the old Nyquist frequency
    passed = 0.8 / every
    half_length = 25 * every
    taps = _windowed_sinc(passed, half_length)
    padded = np.pad(traces, ((0, 0), (half_length, half_length)), mode="edge")
    last = 2 * half_length + traces.shape[1]
    kept = _convolved(padded, taps)[:, 2 * half_length : last : every]
    for sample in range(max(0, kept.shape[1] - 1 - half_length // every), kept.shape[1]):
        behind = traces.shape[1] - 1 - sample * every
        if behind < half_length:
            middle = half_length + sample * every
            window = padded[:, middle - behind : middle + behind + 1]
            # Row by row, so that no bit depends on how many traces there are.
            kept[:, sample] = (window * _windowed_sinc(passed, behind)).sum(axis=1)
    return kept


def refine(traces: np.ndarray, factor: int) -> np.ndarray:
    """Return traces (..., time) that begin at rest, with so many samples for each interval.

    A Kaiser-windowed sinc (`decimate`) passes 90 % of their Nyquist frequency, and stops the images
    of frequencies from 110 % on. Beyond the last sample its value is taken to stay; before the
    first, when no source has acted yet, all is zero: a trace that is not rings as after a jump.
    """
    if factor == 1:
        return traces
    half_length = 25 * factor
    taps = factor * _windowed_sinc(1.0 / factor - 2.5 / half_length, half_length)
    taps[np.arange(-half_length, half_length + 1) % factor == 0] = 0.0
    taps[half_length] = 1.0  # samples stay unchanged
    edges = [(0, 0)] * (traces.ndim - 1)
    extended = np.pad(traces.astype(float), [*edges, (0, 25)], mode="edge")
    spread = np.zeros((*extended.shape[:-1], extended.shape[-1] * factor))
    spread[..., ::factor] = extended
    count = (traces.shape[-1] - 1) * factor + 1
    return _convolved(spread, taps)[..., half_length : half_length + count]


def _convolved(traces: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Return the convolution of traces (..., time) with taps, with zeros behind it."""
    size = 1 << (traces.shape[-1] + taps.size).bit_length()
    return np.fft.irfft(np.fft.rfft(traces, size) * np.fft.rfft(taps, size), size)


def _windowed_sinc(passed: float, half_length: int) -> np.ndarray:
    """Return the taps (2 half_length + 1) of a filter that passes a share of the band unchanged.

    The transition of the Kaiser window of shape 8 (ripple 1e-4) is 5 / half_length wide, in units
    of the Nyquist frequency (Kaiser 1974); where that leaves nothing to stop, a sample is kept.
    """
    n = np.arange(-half_length, half_length + 1)
    cutoff = passed + 2.5 / max(half_length, 1)
    if cutoff >= 1.0:
        return np.where(n == 0, 1.0, 0.0)
    taps = cutoff * np.sinc(cutoff * n) * np.kaiser(n.size, 8.0)
    return taps / taps.sum()
