"""Add to and read from single points of a field: how sources and receivers touch the wavefield.

Both are rows of a sparse matrix, summed in a fixed order, so that results do not depend on how the
grid is cut or on the machine. Each function does the n-th part of the work; a backend calls it for
every n (`seismo.backends.base.Backend.each`).
"""

from __future__ import annotations


def inject(n, field, cells, starts, weights, signals, samples, clock):
    """Add weights[k] * samples[signals[k], step] of all entries k of cell n to the field there.

    Without entries it is no cell, and nothing may be stored: another one may stand for the same.
    """
    if starts[n] < starts[n + 1]:
        value, step = field[cells[n]], clock[0]
        for k in range(starts[n], starts[n + 1]):
            value += weights[k] * samples[signals[k], step]
        field[cells[n]] = value


def gather(n, field, indices, slots, values):
    """Copy field[indices[n]] to values[slots[n]]."""
    values[slots[n]] = field[indices[n]]


def sums(n, values, indices, starts, weights, partial):
    """Sum weights[k] * values[indices[k]] over the entries k of piece n of a row."""
    first = starts[n]
    total = weights[first] * values[indices[first]]
    for k in range(first + 1, starts[n + 1]):
        total += weights[k] * values[indices[k]]
    partial[n] = total


def record(n, values, indices, starts, weights, channels, traces, clock):
    """Add weights[k] * values[indices[k]] of row n to what its channel has in this step."""
    step, channel = clock[0], channels[n]
    total = traces[step, channel]
    for k in range(starts[n], starts[n + 1]):
        total += weights[k] * values[indices[k]]
    traces[step, channel] = total
