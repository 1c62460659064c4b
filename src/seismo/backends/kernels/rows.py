"""Rows of fields: messages across cuts, images beyond faces, corrections beside the full sweeps.

A row is all owned x of one y, z and shot. `bases` are the flat indices where the row z = 0 of the
padded array would begin, one for each y and shot; rows of the same are given as offsets from it.
Each function does the points x0 <= x < x1 of base k; a backend calls it for every piece of every
row (`seismo.backends.base.Backend.each_row`). The order of additions is fixed, so that results do
not depend on how the grid is cut.

Model arrays of 16 bits are rounded up or down at random (`dither`), so that their mean stays as it
is. To nearest, a number of 16 bits errs by up to 2^-12 of itself, by as much wherever the rock is
the same: waves would travel at another speed. Up or down at random, by a hash of the place, there
remain scatterers of the size of a cell, which waves hardly see.
"""

from __future__ import annotations

import math


def pack_rows(k, x0, x1, message, start, length, which, rows, *fields):
    """Copy the row of fields[which[k]] that begins at rows[k] to the k-th of `message`."""
    # Row k of the message has `length` numbers; fields are addressed by their number in the tuple.
    field = fields[which[k]]
    source_start = rows[k]
    target_start = start + k * length
    for x in range(x0, x1):
        message[target_start + x] = field[source_start + x]


def unpack_rows(k, x0, x1, message, start, length, which, rows, *fields):
    """Copy the k-th row of `message` to where that of fields[which[k]] begins, at rows[k]."""
    field = fields[which[k]]
    target_start = rows[k]
    source_start = start + k * length
    for x in range(x0, x1):
        field[target_start + x] = message[source_start + x]


def mirror(k, x0, x1, field, to_rows, from_rows, to_step, from_step, factor):
    """Set points of a line of a field to `factor` times those of another, by their own steps."""
    # Image method: f(-z) = factor f(z), with factor -1 or 1 by the symmetry of the field.
    target_start = to_rows[k]
    source_start = from_rows[k]
    for x in range(x0, x1):
        field[target_start + x * to_step] = factor * field[source_start + x * from_step]


def add_rows(k, x0, x1, target, source, bases, target_rows, source_rows, weights):
    """Add weights[t, s] * source row s to target row t, for every t and s."""
    for t in range(target_rows.size):
        target_start = bases[k] + target_rows[t]
        # Small dense matrix times rows: zero weights are skipped.
        for s in range(source_rows.size):
            w = weights[t, s]
            source_start = bases[k] + source_rows[s]
            if w != 0:
                for x in range(x0, x1):
                    target[target_start + x] += w * source[source_start + x]


def slope(
    k, x0, x1, source, source_rows, weights, bases, stride, shift, coefficients,
    profile, profile_index, memory, derivative,
):  # fmt: skip
    """Find the layer-stretched derivative of a weighted sum of source rows.

    Args:
        k: number of the base.
        x0: first point.
        x1: behind the last point.
        source: field to differentiate.
        source_rows: offsets of its rows.
        weights: of those rows.
        bases: first flat index of every y and shot.
        stride: distance of neighbours along the axis of the derivative.
        shift: 0 from nodes to half points, -stride back.
        coefficients: (M) staggered coefficients / spacing.
        profile: (3, ...) b, a and 1/kappa of the layer along the axis of the derivative.
        profile_index: (bases) place of every row in it, or -1 where it runs along the rows.
        memory: (bases, length) memory variable.
        derivative: (bases, length) the result.
    """
    for x in range(x0, x1):
        # Differences first, without the layer; `derivative` accumulates them.
        derivative[k, x] = 0
    # Staggered difference of order 2 M of each source row, weighted.
    for n in range(source_rows.size):
        source_start = bases[k] + source_rows[n] + shift
        for m in range(coefficients.size):
            c = weights[n] * coefficients[m]
            ahead = (m + 1) * stride
            behind = -m * stride
            for x in range(x0, x1):
                derivative[k, x] += c * (
                    source[source_start + x + ahead] - source[source_start + x + behind]
                )
    for x in range(x0, x1):
        # CPML recursion: psi <- b psi + a d, d / kappa + psi (Komatitsch & Martin 2007).
        p = x if profile_index[k] < 0 else profile_index[k]
        psi = profile[0, p] * memory[k, x] + profile[1, p] * derivative[k, x]
        memory[k, x] = psi
        derivative[k, x] = profile[2, p] * derivative[k, x] + psi


def add_scaled(k, x0, x1, target, bases, target_row, gain, derivative):
    """Add gain * derivative to one row of a field."""
    target_start = bases[k] + target_row
    for x in range(x0, x1):
        target[target_start + x] += gain * derivative[k, x]


def extrapolate(k, x0, x1, field, bases, target_row, source_rows, weights):
    """Set one row of a field to weights[s] * row s, summed over s."""
    target_start = bases[k] + target_row
    for x in range(x0, x1):
        field[target_start + x] = 0
    for s in range(source_rows.size):
        w = weights[s]
        source_start = bases[k] + source_rows[s]
        for x in range(x0, x1):
            field[target_start + x] += w * field[source_start + x]


def interpolate(
    k, x0, x1, target, target_rows, source, source_rows, row_weights, columns, column_weights
):  # fmt: skip
    """Set row k to points of another grid, weighted across rows (k, n) and along them (x, m)."""
    target_start = target_rows[k]
    for x in range(x0, x1):
        target[target_start + x] = 0
    for n in range(source_rows.shape[1]):
        w = row_weights[k, n]
        source_start = source_rows[k, n]
        for x in range(x0, x1):
            for m in range(columns.shape[1]):
                target[target_start + x] += (
                    w * column_weights[x, m] * source[source_start + columns[x, m]]
                )


def take(k, x0, x1, target, target_rows, source, source_rows, step):
    """Set row k to every point of a row of another grid that is `step` points further."""
    target_start = target_rows[k]
    source_start = source_rows[k]
    for x in range(x0, x1):
        target[target_start + x] = source[source_start + step * x]


BITS = 11  # of a number of 16 bits (float16)
_MASK = 0xFFFFFFFF
_HALF = 16
_FACTOR = 0x45D9F3B  # spreads a bit over the upper half


def dither(k, x0, x1, target, source, rows, numbers, seed):
    """Round the points x0 <= x < x1 of row k, which begins at rows[k] of both arrays.

    Args:
        k: number of the row.
        x0: first point.
        x1: behind the last point.
        target: numbers of 16 bits.
        source: what is rounded.
        rows: where rows begin.
        numbers: of the rows, the same however the grid is cut.
        seed: of the array.
    """
    row = rows[k]
    for x in range(x0, x1):
        # Hash of the place, 32 bits, and from it a number from 0 to 1.
        h = ((numbers[k] * _FACTOR + seed) & _MASK) ^ x
        h = (((h >> _HALF) ^ h) * _FACTOR) & _MASK
        h = (((h >> _HALF) ^ h) * _FACTOR) & _MASK
        chance = ((h >> _HALF) ^ h) * 2.0**-32
        # In units of the last bit: down to a whole number, and up in so many cases.
        _, exponent = math.frexp(source[row + x])
        exact = math.ldexp(source[row + x], BITS - exponent)
        down = math.floor(exact)
        kept = down + 1.0 if chance < exact - down else down
        target[row + x] = math.ldexp(kept, exponent - BITS)
