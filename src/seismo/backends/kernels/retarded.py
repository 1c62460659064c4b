"""Signals of rows, each some steps late and passed through a filter, and what they add to a field.

All points that a plane wave comes to at the same time have the same signals, but for a factor. So
these are filtered first, a column of rows at a time, and are then added to the points.
"""

from __future__ import annotations

TOGETHER = 4  # samples of a filter that are taken in one pass over the rows of a column


def retard(n, z0, z1, filtered, segments, lags, taps, signals, clock):
    """Set filtered[n, z] to the sum over k of taps[n, k] * signals[segment, step - lag + k, z].

    Signals are their first sample before they begin, and their last one after their end.
    """
    segment = segments[n]
    first = clock[0] - lags[n]
    last = signals.shape[1] - 1
    for z in range(z0, z1):
        filtered[n, z] = 0
    # Finite impulse response of the column: rows are neighbours, samples are not.
    for k in range(0, taps.shape[1], TOGETHER):
        a = taps[n, k]
        b = taps[n, k + 1]
        c = taps[n, k + 2]
        d = taps[n, k + 3]
        at_a = min(max(first + k, 0), last)
        at_b = min(max(first + k + 1, 0), last)
        at_c = min(max(first + k + 2, 0), last)
        at_d = min(max(first + k + 3, 0), last)
        for z in range(z0, z1):
            filtered[n, z] += (a * signals[segment, at_a, z] + b * signals[segment, at_b, z]) + (
                c * signals[segment, at_c, z] + d * signals[segment, at_d, z]
            )


def add_retarded(n, field, points, entries, scales, filtered):
    """Add a multiple of a filtered signal to the field at point n."""
    field[points[n]] += scales[n] * filtered[entries[n]]
