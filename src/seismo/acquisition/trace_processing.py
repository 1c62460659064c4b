"""How a record becomes traces: whole steps, the quantity asked for, fewer samples, no dispersion.

Velocities are recorded at half steps. Displacement and acceleration follow from them by the
scheme's own time differences (exact once the time dispersion is removed), and stand at whole steps
like the stresses; velocity itself is interpolated to whole steps at the end.
"""

from __future__ import annotations

import numpy as np

from seismo.acquisition import time_dispersion

HALF_STEP_POINTS = 8


def extra_steps(steps: int, removal: bool) -> int:
    """Return how many steps more to run so that the last trace samples are complete."""
    return HALF_STEP_POINTS // 2 + (time_dispersion.margin(steps) if removal else 0)


def complete_steps(recorded: int, removal: bool) -> int:
    """Return the duration in steps that so many recorded ones complete, 0 where there is none."""
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
    raw: np.ndarray, quantity: str, late: bool, dt: float, steps: int, every: int, removal: bool
) -> np.ndarray:
    """Turn a record into traces at t = 0, dt * every, ...

    Args:
        raw: (receiver, step) recorded after each step.
        quantity: what the trace shall be.
        late: whether the recorded field stands at half steps.
        dt: time step in s.
        steps: steps of the wanted duration.
        every: steps between samples.
        removal: whether to remove the time dispersion.

    Returns:
        (receiver, sample) of the dtype of raw.
    """
    series = raw.astype(float)
    if quantity == "acceleration":
        series, late = np.diff(series, axis=1, prepend=0.0) / dt, False
    elif quantity == "displacement":
        series, late = np.pad(np.cumsum(series, axis=1) * dt, ((0, 0), (1, 0))), False
    elif not late:
        series = np.pad(series, ((0, 0), (1, 0)))
    if removal:
        series = time_dispersion.remove(series, dt, 0.5 if late else 0.0)
    if late:
        series = _to_whole_steps(series)
    return decimate(series[:, : steps + 1], every).astype(raw.dtype)


def decimate(series: np.ndarray, every: int) -> np.ndarray:
    """Keep every n-th sample after a zero-phase low-pass filter (Kaiser-windowed sinc).

    The filter passes 80 % of the new Nyquist frequency and stops (-80 dB) above it.
    """
    if every == 1:
        return series
    cutoff, width = 0.9 / every, 0.2 / every  # in units of the old Nyquist frequency
    half = int(np.ceil(5.0 / width))
    n = np.arange(-half, half + 1)
    taps = cutoff * np.sinc(cutoff * n) * np.kaiser(2 * half + 1, 8.0)
    taps /= taps.sum()
    padded = np.pad(series, ((0, 0), (half, half)), mode="edge")
    size = 1 << (padded.shape[1] + taps.size).bit_length()
    spectrum = np.fft.rfft(padded, size) * np.fft.rfft(taps, size)
    return np.fft.irfft(spectrum, size)[:, 2 * half : 2 * half + series.shape[1] : every]
