"""Add weighted rows of one field to rows of another: sparse corrections beside the full sweeps.

A row is all owned x of one y, z and shot. `bases` are the flat indices where the row z = 0 of the
padded array would begin, one for each y and shot; rows of the same are given as offsets from it.
The order of additions is fixed, so that results do not depend on how the grid is cut.
"""

from __future__ import annotations

from typing import Any

from numba import njit

OPTIONS: Any = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit(**OPTIONS)
def add_rows(target, source, bases, target_rows, source_rows, weights, length):
    """Add weights[t, s] * source row s to target row t, for every t and s and every base."""
    for k in range(bases.size):
        for t in range(target_rows.size):
            to = target[bases[k] + target_rows[t] :][:length]
            for s in range(source_rows.size):
                w = weights[t, s]
                if w != 0:
                    given = source[bases[k] + source_rows[s] :][:length]
                    for x in range(length):
                        to[x] += w * given[x]


@njit(**OPTIONS)
def add_slope(
    targets, target_rows, gains, source, source_rows, weights, bases, length,
    stride, shift, coefficients, profile, profile_index, memory, row,
):  # fmt: skip
    """Add the layer-stretched derivative of a weighted sum of source rows to target rows.

    Args:
        targets: tuple of fields.
        target_rows: offset of the row of each.
        gains: factor for each.
        source: field to differentiate.
        source_rows: offsets of its rows.
        weights: of those rows.
        bases: first flat index of every y and shot.
        length: points of a row.
        stride: distance of neighbours along the axis of the derivative.
        shift: 0 from nodes to half points, -stride back.
        coefficients: (M) staggered coefficients / spacing.
        profile: (3, ...) b, a and 1/kappa of the layer along the axis of the derivative.
        profile_index: (bases) place of every row in it, or -1 where it runs along the rows.
        memory: (bases, length) memory variable.
        row: (length) scratch.
    """
    for k in range(bases.size):
        row[:] = 0
        for n in range(source_rows.size):
            given = bases[k] + source_rows[n] + shift
            for m in range(coefficients.size):
                c, ahead, behind = weights[n] * coefficients[m], (m + 1) * stride, -m * stride
                for x in range(length):
                    row[x] += c * (source[given + x + ahead] - source[given + x + behind])
        for x in range(length):
            p = x if profile_index[k] < 0 else profile_index[k]
            psi = profile[0, p] * memory[k, x] + profile[1, p] * row[x]
            memory[k, x] = psi
            row[x] = profile[2, p] * row[x] + psi
        for t in range(len(targets)):
            to = targets[t][bases[k] + target_rows[t] :][:length]
            for x in range(length):
                to[x] += gains[t] * row[x]
