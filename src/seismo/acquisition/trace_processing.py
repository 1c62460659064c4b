"""Trace processing: quantity, time-dispersion removal, interpolation to integer steps, decimation.

Velocities, and rates of strain, are recorded at half steps. Displacement, strain and acceleration
follow from them by the scheme's own time differences (exact once the time dispersion is removed),
at integer steps like the stresses; rates themselves are interpolated to integer steps at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seismo.acquisition.time_dispersion import (
    dispersion_margin,
    remove_dispersion,
    remove_dispersion_transposed,
)

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


def _half_step_weights() -> np.ndarray:
    """Return the weights of the polynomial through 8 samples at half steps in their middle."""
    points = np.arange(HALF_STEP_POINTS) - HALF_STEP_POINTS // 2 + 0.5
    return np.linalg.solve(points[None, :] ** np.arange(8)[:, None], np.eye(8)[0])


def _to_whole_steps(velocity: np.ndarray) -> np.ndarray:
    """Interpolate samples at (n + 1/2) dt to n dt by the polynomial through 8 of them."""
    half = HALF_STEP_POINTS // 2
    padded = np.pad(velocity.astype(float), ((0, 0), (half, 0)))
    count = velocity.shape[1] - half
    return sum(w * padded[:, k : k + count + 1] for k, w in enumerate(_half_step_weights()))


def _to_whole_steps_transposed(traces: np.ndarray) -> np.ndarray:
    half = HALF_STEP_POINTS // 2
    count = traces.shape[1]
    padded = np.zeros((len(traces), count + HALF_STEP_POINTS - 1))
    for k, weight in enumerate(_half_step_weights()):
        padded[:, k : k + count] += weight * traces
    return padded[:, half:]


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


def finish_transposed(
    traces: np.ndarray,
    quantity: str,
    half_step: bool,
    dt: float,
    steps: int,
    recorded: int,
    every: int,
    removal: bool,
) -> np.ndarray:
    """Turn a derivative by finished traces into that by their record, by the transpose of `finish`.

    Args:
        traces: (receiver, sample), as many samples as `finish` returns.
        quantity: of the traces.
        half_step: whether the recorded field is at half steps.
        dt: time step in s.
        steps: steps of the requested duration.
        recorded: steps of the record.
        every: steps between samples.
        removal: whether to remove the time dispersion.

    Returns:
        (receiver, step) of the dtype of the traces.
    """
    differenced = quantity == "acceleration"
    integrated = quantity in INTEGRALS
    late = half_step and not differenced and not integrated
    padding = 0 if late or differenced else 1
    complete = recorded - HALF_STEP_POINTS // 2 + 1 if late else recorded + padding
    count = min(steps + 1, complete)
    result = np.zeros((len(traces), complete))
    result[:, :count] = _decimate_transposed(traces.astype(float), every, count)
    if late:
        result = _to_whole_steps_transposed(result)
    if removal:
        result = remove_dispersion_transposed(result, 0.5 if late else 0.0)
    result = result[:, padding:]
    if differenced:
        result = -np.diff(result, axis=1, append=0.0) / dt
    elif integrated:
        result = np.cumsum(result[:, ::-1], axis=1)[:, ::-1] * dt
    return result.astype(traces.dtype)


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
    for sample, window in _shorter_windows(traces.shape[1], every, half_length):
        shorter = _windowed_sinc(passed, (window.stop - window.start) // 2)
        # Row by row, so that no bit depends on how many traces there are.
        kept[:, sample] = (padded[:, window] * shorter).sum(axis=1)
    return kept


def _shorter_windows(count: int, every: int, half_length: int) -> Iterator[tuple[int, slice]]:
    """Yield the kept samples of the shorter filters and their windows of padded samples."""
    kept = -(-count // every)
    for sample in range(max(0, kept - 1 - half_length // every), kept):
        behind = count - 1 - sample * every
        if behind < half_length:
            middle = half_length + sample * every
            yield sample, slice(middle - behind, middle + behind + 1)


def _decimate_transposed(traces: np.ndarray, every: int, count: int) -> np.ndarray:
    """Return so many samples by the transpose of `decimate`."""
    if every == 1:
        return traces
    passed = 0.8 / every
    half_length = 25 * every
    spread = np.zeros((len(traces), count))
    spread[:, ::every] = traces
    shorter_windows = list(_shorter_windows(count, every, half_length))
    for sample, _ in shorter_windows:
        spread[:, sample * every] = 0.0
    # The filter is symmetric: its transpose is itself.
    padded = _convolved(spread, _windowed_sinc(passed, half_length))[:, : count + 2 * half_length]
    for sample, window in shorter_windows:
        shorter = _windowed_sinc(passed, (window.stop - window.start) // 2)
        padded[:, window] += traces[:, sample, None] * shorter
    # Only the first sample is repeated: filters of the last samples are shorter.
    result = padded[:, half_length : half_length + count]
    result[:, 0] += padded[:, :half_length].sum(axis=1)
    return result


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
