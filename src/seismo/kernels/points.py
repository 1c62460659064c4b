"""Add to and read from single points of a field: how sources and receivers touch the wavefield.

Both are rows of a sparse matrix: (flat index, weight) pairs. The order of additions is fixed, so
that results do not depend on how the grid is cut.
"""

from __future__ import annotations

from typing import Any

from numba import njit

OPTIONS: Any = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit(**OPTIONS)
def inject(field, indices, weights, signals, samples, step):
    """Add weights[k] * samples[signals[k], step] to field[indices[k]] for every entry k."""
    for k in range(indices.size):
        field[indices[k]] += weights[k] * samples[signals[k], step]


@njit(**OPTIONS)
def gather(field, indices, slots, values):
    """Copy field[indices[k]] to values[slots[k]]."""
    for k in range(indices.size):
        values[slots[k]] = field[indices[k]]


@njit(**OPTIONS)
def reduce(values, starts, weights, channels, record, row):
    """Add the weighted sum of values starts[n] .. starts[n + 1] to record[row, channels[n]]."""
    for n in range(channels.size):
        total = record[row, channels[n]]
        for k in range(starts[n], starts[n + 1]):
            total += weights[k] * values[k]
        record[row, channels[n]] = total
