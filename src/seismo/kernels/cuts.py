"""Rows cut out of fields: every n-th point of a box, on its own or as a running maximum.

A row is all wanted x of one y, z and shot; it begins at from_rows[k] of the field and at to_rows[k]
of what is made of it. Each function does the points x0 <= x < x1 of row k; a backend calls it for
every piece of every row (`seismo.backends.base.Backend.each_row`).
"""

from __future__ import annotations

import math


def cut(k, x0, x1, target, to_rows, source, from_rows, step, offsets, weights, added):
    """Set each target to the weighted sum of points beside every step-th of a row.

    Args:
        k: number of the row.
        x0: first target.
        x1: behind the last target.
        target: what is set.
        to_rows: its rows.
        source: field.
        from_rows: its rows.
        step: distance along x of what is wanted.
        offsets: (rows, n) of the points to sum.
        weights: (rows, n).
        added: whether the target is added to, rather than set.
    """
    for x in range(x0, x1):
        given, to = from_rows[k] + x * step, to_rows[k] + x
        total = weights[k, 0] * source[given + offsets[k, 0]]
        for n in range(1, offsets.shape[1]):
            total += weights[k, n] * source[given + offsets[k, n]]
        if added:
            total += target[to]
        target[to] = total


def shorten(k, x0, x1, bits, to_rows, half, kept, special):
    """Round numbers, seen as integers, to the bits of `kept`; leave NaN and infinity (`special`).

    Rounding upwards by `half` the last bit carries into the exponent where it has to.
    """
    for x in range(to_rows[k] + x0, to_rows[k] + x1):
        number = bits[x]
        if number & special != special:
            bits[x] = (number + half) & kept


def change(k, x0, x1, rates, before, values, rows):
    """Set rates to values less what they were before, and remember them."""
    for x in range(rows[k] + x0, rows[k] + x1):
        rates[x] = values[x] - before[x]
        before[x] = values[x]


def raise_peaks(k, x0, x1, peaks, values, rows, starts):
    """Raise peaks to the length of the vectors whose components begin at `starts` of values."""
    for x in range(rows[k] + x0, rows[k] + x1):
        size = abs(values[starts[0] + x])
        for n in range(1, starts.size):
            size = math.hypot(size, values[starts[n] + x])
        if size > peaks[x]:
            peaks[x] = size
