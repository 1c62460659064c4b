"""Add signals of rows to points of a field, each some steps late and passed through a filter."""

from __future__ import annotations


def add_retarded(n, field, points, rows, columns, signals, taps, lags, clock):
    """Add sum over k of taps[k, column] * signals[row, step - lag + k] to the field at point n.

    Signals are their first sample before they begin, and their last one after their end.
    """
    row = rows[n]
    column = columns[n]
    first = clock[0] - lags[column]
    last = signals.shape[1] - 1
    # Finite impulse response of the column.
    total = taps[0, column] * signals[row, min(max(first, 0), last)]
    for k in range(1, taps.shape[0]):
        total += taps[k, column] * signals[row, min(max(first + k, 0), last)]
    field[points[n]] += total
