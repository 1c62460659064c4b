"""Rows cut out of fields: every n-th point of a box.

A row is all wanted x of one y, z and shot; it begins at from_rows[k] of the field and at to_rows[k]
of what is made of it. Each function does the points x0 <= x < x1 of row k; a backend calls it for
every piece of every row (`seismo.backends.base.Backend.each_row`).

What belongs to a row is read before the loop over its points, in numbers that the compiler knows,
and indices are unsigned: CPUs then do many points at once.
"""

from __future__ import annotations

import numpy as np

POINTS = 8


def cut(k, x0, x1, target, to_rows, source, from_rows, step, factor, added):
    """Set each target to `factor` times every step-th point of a row of the source.

    Args:
        k: number of the row.
        x0: first target.
        x1: behind the last target.
        target: what is set.
        to_rows: its rows.
        source: field.
        from_rows: its rows.
        step: distance along x of what is wanted.
        factor: of the field.
        added: whether the target is added to, rather than set.
    """
    # Unsigned indices have no negative wrap-around: the loop vectorises.
    to = to_rows[k]
    begin = from_rows[k]
    for x in range(x0, x1):
        total = factor * source[np.uint64(begin + x * step)]
        if added:
            total += target[np.uint64(to + x)]
        target[np.uint64(to + x)] = total


def cut_beside(k, x0, x1, target, to_rows, source, from_rows, step, offsets, weights, added):
    """Do the same with sums of POINTS points beside each, at `offsets` (row, n) by `weights`."""
    # Offsets and weights in tuples of constant length: registers, and an unrolled inner loop.
    to = to_rows[k]
    begin = from_rows[k]
    o = offsets[k]
    w = weights[k]
    at = (begin + o[0], begin + o[1], begin + o[2], begin + o[3], begin + o[4], begin + o[5],
          begin + o[6], begin + o[7])  # fmt: skip
    factors = (w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
    for x in range(x0, x1):
        total = factors[0] * source[np.uint64(at[0] + x * step)]
        for n in range(1, POINTS):
            total += factors[n] * source[np.uint64(at[n] + x * step)]
        if added:
            total += target[np.uint64(to + x)]
        target[np.uint64(to + x)] = total


def add_multiplied(
    k, x0, x1, target, to_rows, source, from_rows, step, offsets, weights, factors, factor_rows
):  # fmt: skip
    """Add sums of points beside each, as in `cut_beside`, times a factor of each target's own."""
    to = to_rows[k]
    begin = from_rows[k]
    o = offsets[k]
    w = weights[k]
    at = (begin + o[0], begin + o[1], begin + o[2], begin + o[3], begin + o[4], begin + o[5],
          begin + o[6], begin + o[7])  # fmt: skip
    shares = (w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
    row = factor_rows[k]
    for x in range(x0, x1):
        total = shares[0] * source[np.uint64(at[0] + x * step)]
        for n in range(1, POINTS):
            total += shares[n] * source[np.uint64(at[n] + x * step)]
        target[np.uint64(to + x)] += factors[np.uint64(row + x)] * total


def shorten(k, x0, x1, bits, to_rows, half, kept, special):
    """Round numbers, seen as integers, to the bits of `kept`; leave NaN and infinity (`special`).

    Rounding upwards by `half` the last bit carries into the exponent where it has to.
    """
    row = to_rows[k]
    for x in range(x0, x1):
        # NaN and infinity have all exponent bits set.
        number = bits[np.uint64(row + x)]
        if number & special != special:
            bits[np.uint64(row + x)] = (number + half) & kept
