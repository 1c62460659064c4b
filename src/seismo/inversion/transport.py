"""Optimal transport: the squared 2-Wasserstein distance of traces that are made positive.

A positive signal of total 1 is a density of mass over time, constant in each sample. The cheapest
transport to another one keeps the order of the mass: with the quantiles x(y) and X(y), the times
before which a share y of either mass lies,

    W2^2 = integral over y from 0 to 1 of (x(y) - X(y))^2.

Both are piecewise linear: the integral over the pieces between all their nodes is exact.
The derivative by the cumulative mass F at a node is the integral over time of -2 (t - X(F(t)))
times the hat function of the node, exact for the same reason.

A trace s becomes the mass log(1 + exp(b s)), divided by its total: b is `sharpness` over the
largest observed amplitude. Small amplitudes hardly change the shape of the mass, positive ones
attract it, negative ones thin it.

Literature: Villani (2003, Topics in optimal transportation, section 2.2); Yang, Engquist, Sun &
Hamfeldt (2018, Geophysics 83, R43-R62), trace by trace; Engquist & Yang (2019, Methods Appl. Anal.
26, 133-148), signals made positive.
"""

from __future__ import annotations

import numpy as np


def transport(
    predicted: np.ndarray, observed: np.ndarray, sharpness: float = 3.0
) -> tuple[float, np.ndarray]:
    """Return the sum of squared 2-Wasserstein distances of traces, in squared samples.

    Traces without an observed signal are left out.

    Args:
        predicted: traces (trace, sample).
        observed: the same.
        sharpness: exponent that the largest observed amplitude of a trace has.

    Returns:
        The value and its derivative.
    """
    total = 0.0
    adjoint = np.zeros_like(predicted)
    for number, (trace, reference) in enumerate(zip(predicted, observed, strict=True)):
        peak = np.abs(reference).max()
        if peak > 0.0:
            rate = sharpness / peak
            masses = np.logaddexp(0.0, rate * trace)
            value, by_mass = squared_distance(masses, np.logaddexp(0.0, rate * reference))
            total += value
            adjoint[number] = by_mass * rate * 0.5 * (1.0 + np.tanh(0.5 * rate * trace))
    return total, adjoint


def squared_distance(masses: np.ndarray, reference: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the squared 2-Wasserstein distance of densities, and its derivative by the first.

    Args:
        masses: of each sample, none negative; their total does not count.
        reference: the same, all positive.

    Returns:
        The distance in squared samples; the derivative (sample).
    """
    cumulative = _cumulative(masses)
    reference_cumulative = _cumulative(reference)
    times = np.arange(masses.size + 1.0)
    # Between these times, of nodes of either quantile, both cumulative masses are linear.
    time = np.union1d(times, np.interp(reference_cumulative, cumulative, times))
    level = np.interp(time, times, cumulative)
    shift = time - np.interp(level, reference_cumulative, times)
    begin = shift[:-1]
    end = shift[1:]
    value = float((np.diff(level) * (begin**2 + begin * end + end**2)).sum()) / 3.0

    # Integrals of the shift times the rising and the falling half of hat functions.
    width = np.diff(time)
    sample = np.minimum((0.5 * (time[:-1] + time[1:])).astype(int), masses.size - 1)
    rise = time[:-1] - sample
    rising = width / 6.0 * (begin * (3.0 * rise + width) + end * (3.0 * rise + 2.0 * width))
    falling = width / 2.0 * (begin + end) - rising
    by_level = -2.0 * (
        np.bincount(sample, falling, times.size) + np.bincount(sample + 1, rising, times.size)
    )
    by_mass = np.cumsum(by_level[:0:-1])[::-1] - (by_level * cumulative).sum()
    return value, by_mass / masses.sum()


def _cumulative(masses: np.ndarray) -> np.ndarray:
    """Return the share of the mass before each sample, and 1."""
    summed = np.concatenate([[0.0], np.cumsum(masses)])
    return summed / summed[-1]
