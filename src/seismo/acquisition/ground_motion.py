"""Measures of ground motion, from accelerograms: response spectra, RotD, intensities, durations.

The response u (m) of a damped oscillator of period T = 2 pi / w to the acceleration a of the ground
obeys u'' + 2 d w u' + w^2 u = -a. With s = -d w + i w sqrt(1 - d^2) it is Im z / (w sqrt(1 - d^2)),
where z' = s z - a. Over a step h in which a is linear this is solved exactly,

    z(t + h) = e^(s h) z(t) - a(t) (e^(s h) - 1) / s
               - (a(t + h) - a(t)) (e^(s h) - 1 - s h) / (h s^2),

the solution of Nigam & Jennings (1969, Bull. Seism. Soc. Am. 59, 909-922) in one complex number.
The pseudo-spectral acceleration is SA(T) = w^2 max |u|.

All arrays end with the axis of time; between samples motion is linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

GRAVITY = 9.80665  # m/s^2, standard
_ANGLES = np.radians(np.arange(180.0))  # of horizontal components
_PER_PERIOD = 71  # samples: the peak of a sine between them is 0.1 % higher at most


@dataclass(frozen=True)
class Recurrence:
    """One step of an oscillator: z(t + h) - z(t) = growth z - constant a - linear da.

    Attributes:
        growth: e^(s h) - 1.
        constant: factor of the acceleration a(t) in s.
        linear: factor of its change a(t + h) - a(t) in s.
        scale: w^2 u over Im z in 1/s.
    """

    growth: complex
    constant: complex
    linear: complex
    scale: float


def recurrence(period: float, damping: float, interval: float) -> Recurrence:
    """Return the exact step of an oscillator where acceleration is linear in between.

    Args:
        period: of the undamped oscillator in s.
        damping: as a share of critical damping, below 1.
        interval: h in s.
    """
    frequency = 2.0 * math.pi / period
    damped = frequency * math.sqrt(1.0 - damping**2)
    exponent = complex(-damping * frequency, damped)
    step = exponent * interval
    growth = complex(np.expm1(step))
    linear = (growth - step) / (interval * exponent**2)
    return Recurrence(growth, growth / exponent, linear, frequency**2 / damped)


def substeps(interval: float, period: float) -> int:
    """Return in how many parts an interval is stepped, for peaks that are true to 0.1 %."""
    return max(1, math.ceil(_PER_PERIOD * interval / period))


def oscillator(
    acceleration: np.ndarray, interval: float, period: float, damping: float = 0.05
) -> np.ndarray:
    """Return w^2 u (..., time) in m/s^2, the response times the square of its frequency.

    Args:
        acceleration: (..., time) of the ground in m/s^2, from rest.
        interval: between samples in s.
        period: of the undamped oscillator in s.
        damping: as a share of critical damping, below 1.
    """
    step = recurrence(period, damping, interval)
    decay = 1.0 + step.growth
    # Time comes first, so that a step is a contiguous row.
    ground = np.moveaxis(np.asarray(acceleration, float), -1, 0)
    drive = -ground[:-1] * step.constant - np.diff(ground, axis=0) * step.linear
    state = np.zeros(ground.shape[1:], complex)
    response = np.zeros(ground.shape)
    for k, increment in enumerate(drive, 1):
        state = decay * state + increment
        response[k] = state.imag
    return np.moveaxis(response, 0, -1) * step.scale


def spectral_response(
    acceleration: np.ndarray, interval: float, period: float, damping: float = 0.05
) -> np.ndarray:
    """Return `oscillator` at so many times that its largest values are true to 0.1 %."""
    count = acceleration.shape[-1]
    finer = substeps(interval, period)
    fine = _linear(acceleration, (count - 1) * finer + 1)
    return oscillator(fine, interval / finer, period, damping)


def peak(motion: np.ndarray) -> np.ndarray:
    """Return the largest absolute values (...) of motion (..., time)."""
    return np.abs(motion).max(axis=-1)


def rotated_peaks(along_x: np.ndarray, along_y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return RotD50 and RotD100 (...) of two horizontal components (..., time).

    They are the median and the largest of the peaks along all horizontal directions, a degree
    apart (Boore 2010, Bull. Seism. Soc. Am. 100, 1830-1835).
    """
    cosine = np.cos(_ANGLES)
    sine = np.sin(_ANGLES)
    peaks = [peak(along_x * c + along_y * s) for c, s in zip(cosine, sine, strict=True)]
    return np.median(peaks, axis=0), np.max(peaks, axis=0)


def median_of_directions(peaks: np.ndarray) -> np.ndarray:
    """Return RotD50 (...) of peaks (direction, ...) along even directions of half a turn.

    Halfway between two directions the peak of a motion of an instant is their mean over the
    cosine of half the angle; so many are added. Of 90 directions the median is that of 180 to
    0.01 % on average and 0.2 % at worst.
    """
    between = 0.5 * (peaks + np.roll(peaks, -1, axis=0)) / math.cos(0.5 * math.pi / len(peaks))
    return np.median(np.concatenate([peaks, between]), axis=0)


def arias_intensity(acceleration: np.ndarray, interval: float) -> np.ndarray:
    """Return pi / (2 g) times the integral of a^2 (...) in m/s (Arias 1970)."""
    return math.pi / (2.0 * GRAVITY) * _energy(acceleration, interval)[..., -1]


def cumulative_absolute_velocity(acceleration: np.ndarray, interval: float) -> np.ndarray:
    """Return the integral of |a| (...) in m/s (EPRI 1988), exact where a changes its sign, too."""
    first = acceleration[..., :-1].astype(float)
    last = acceleration[..., 1:].astype(float)
    total = np.abs(first) + np.abs(last)
    crossing = first * last < 0.0
    squares = np.divide(first**2 + last**2, total, out=np.zeros_like(total), where=total > 0.0)
    return 0.5 * interval * np.where(crossing, squares, total).sum(axis=-1)


def significant_duration(
    acceleration: np.ndarray, interval: float, first: float, last: float
) -> np.ndarray:
    """Return the time in s between two shares of the Arias intensity; NaN without motion.

    Args:
        acceleration: (..., time) in m/s^2.
        interval: between samples in s.
        first: share at the begin, such as 0.05.
        last: share at the end, such as 0.75 or 0.95 (Trifunac & Brady 1975).
    """
    energy = _energy(acceleration, interval)
    flat = energy.reshape(-1, energy.shape[-1])
    time = interval * np.arange(flat.shape[-1])
    durations = [
        np.subtract(*np.interp(np.array([last, first]) * row[-1], row, time))
        if row[-1] > 0.0
        else math.nan
        for row in flat
    ]
    return np.reshape(durations, energy.shape[:-1])


INTENSITIES: dict[str, tuple[str, Callable[[np.ndarray, float], np.ndarray]]] = {
    # name -> unit, function(acceleration, interval)
    "arias": ("m/s", arias_intensity),
    "cav": ("m/s", cumulative_absolute_velocity),
    "d5_75": ("s", lambda a, interval: significant_duration(a, interval, 0.05, 0.75)),
    "d5_95": ("s", lambda a, interval: significant_duration(a, interval, 0.05, 0.95)),
}


def _energy(acceleration: np.ndarray, interval: float) -> np.ndarray:
    """Return the integral of a^2 up to each sample (..., time)."""
    first = acceleration[..., :-1].astype(float)
    last = acceleration[..., 1:].astype(float)
    steps = interval / 3.0 * (first**2 + first * last + last**2)
    return np.concatenate([np.zeros_like(steps[..., :1]), steps.cumsum(axis=-1)], axis=-1)


def _linear(motion: np.ndarray, count: int) -> np.ndarray:
    """Return motion (..., time) at `count` equal steps, linear between its samples."""
    if count == motion.shape[-1]:
        return motion
    index = np.linspace(0.0, motion.shape[-1] - 1, count)
    low = np.minimum(index.astype(int), motion.shape[-1] - 2)
    share = index - low
    return motion[..., low] * (1.0 - share) + motion[..., low + 1] * share
