"""Rows of fields: messages, images, corrections, slices and maxima, row by row.

A row is all x of one y, z and shot. Each function does the points x0 <= x < x1 of row or base k; a
backend calls it for every piece of every row (`seismo.backends.base.Backend.each_row`). The order
of additions is fixed, so that results do not depend on how the grid is cut.

Messages across cuts, images beyond faces and corrections beside the full sweeps have rows of all
owned x. `bases` are the flat indices where the row z = 0 of the padded array would begin, for each
y and shot; rows of the same y and shot are given as offsets from it. Slices, every n-th point of a
box, begin at from_rows[k] of the field and at to_rows[k] of the slice. The maxima of maps, and the
oscillators behind them, have rows that begin at rows[k] of every array of a component.

Model arrays of 16 bits are rounded up or down at random (`dither`), so that their mean stays as it
is. To nearest, a number of 16 bits errs by up to 2^-12 of itself, by as much wherever the rock is
the same: waves would travel at another speed. Up or down at random, by a hash of the place, there
remain scatterers of the size of a cell, which waves hardly see.

Numbers of a row of a slice are read before the loop over its points, in variables that the compiler
knows, and indices are unsigned: CPUs then do many points at once.
"""

from __future__ import annotations

import math

import numpy as np


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
    """Set points of a line to `factor` times those of another line, each with its own step."""
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
        weights: of the rows.
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
    """Add gain * derivative to a row of a field."""
    target_start = bases[k] + target_row
    for x in range(x0, x1):
        target[target_start + x] += gain * derivative[k, x]


def extrapolate(k, x0, x1, field, bases, target_row, source_rows, weights):
    """Set a row of a field to weights[s] * row s, summed over s."""
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
        source: the array to round.
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


POINTS = 8


def cut(k, x0, x1, target, to_rows, source, from_rows, step, factor, added):
    """Set each target to `factor` times every step-th point of a row of the source.

    Args:
        k: number of the row.
        x0: first target.
        x1: behind the last target.
        target: the array to set.
        to_rows: its rows.
        source: field.
        from_rows: its rows.
        step: distance along x of the wanted points.
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


MOST_COMPONENTS = 3
SMALL, UP, DOWN, ONE = (np.float32(2.0**power) for power in (-40, 60, -60, 0))
ZERO = np.float32(0.0)


def change(k, x0, x1, rates, before, sampled, rows):
    """Set rates to the sampled values less the previous ones, and store the samples."""
    row = rows[k]
    for x in range(x0, x1):
        at = np.uint64(row + x)
        rates[at] = sampled[at] - before[at]
        before[at] = sampled[at]


def oscillate(
    k, x0, x1, state, state_rows, size, rates, before, sampled, rows, numbers, coefficients
):  # fmt: skip
    """Advance oscillators from the previous step to this, or by a part of the step.

    In between the acceleration of the ground is linear: z becomes z + g z + p a + q b, of the
    complex g, p, q of the oscillator's recurrence (Nigam & Jennings 1969). Adding the change to z,
    rather than multiplying it by 1 + g, keeps small g precise.

    Args:
        k: number of the row.
        x0: first point.
        x1: behind the last point.
        state: real parts of z, and the imaginary ones `size` numbers further.
        state_rows: where rows begin there.
        size: numbers of a component.
        rates: a, acceleration in the step before, times the time step.
        before: velocity in the step before.
        sampled: velocity in this step; its difference from the previous step is b.
        rows: where rows begin in these three.
        numbers: number of each row's oscillator.
        coefficients: (oscillator, 6) real and imaginary parts of g, p and q.
    """
    row = rows[k]
    at_real = state_rows[k]
    at_imaginary = at_real + size
    c = coefficients[numbers[k]]
    g_real = c[0]
    g_imaginary = c[1]
    p_real = c[2]
    p_imaginary = c[3]
    q_real = c[4]
    q_imaginary = c[5]
    for x in range(x0, x1):
        at = np.uint64(row + x)
        # a and b: acceleration at both ends of the step, times dt.
        first = rates[at]
        last = sampled[at] - before[at]
        real = state[np.uint64(at_real + x)]
        imaginary = state[np.uint64(at_imaginary + x)]
        # Real and imaginary part of z + g z + p a + q b.
        grown = g_real * real - g_imaginary * imaginary
        turned = g_imaginary * real + g_real * imaginary
        state[np.uint64(at_real + x)] = real + (grown + p_real * first + q_real * last)
        state[np.uint64(at_imaginary + x)] = imaginary + (
            turned + p_imaginary * first + q_imaginary * last
        )


def raise_peaks(k, x0, x1, peaks, sampled, rows, starts, clock, last):
    """Raise peaks to the length of the vectors whose components begin at `starts` of `sampled`.

    Of three at most, up to the step `last`. Squares of small ones are too small for single
    precision, of large ones too large: these are scaled by a power of two, which rounds nothing.
    """
    count = starts.size
    row = rows[k]
    at = (row + starts[0], row + starts[min(1, count - 1)], row + starts[count - 1])
    # Past the last step lengths are 0: a branch would keep CPUs from doing many points at once.
    share = ONE if clock[0] <= last else ZERO
    for x in range(x0, x1):
        size = abs(sampled[np.uint64(at[0] + x)])
        for n in range(1, MOST_COMPONENTS):
            if n < count:
                other = abs(sampled[np.uint64(at[n] + x)])
                # Scale by 2^60 where squares would underflow, by 2^-60 where they would overflow;
                # powers of two do not round.
                longer = max(size, other)
                up, down = (UP, DOWN) if longer < SMALL else (ONE, ONE)
                up, down = (DOWN, UP) if longer > UP else (up, down)
                a = up * size
                b = up * other
                size = down * math.sqrt(a * a + b * b)
        size = share * size
        if size > peaks[np.uint64(row + x)]:
            peaks[np.uint64(row + x)] = size


def raise_along(
    k, x0, x1, peaks, sampled, rows, starts, stride, cosines, sines, clock, last
):  # fmt: skip
    """Raise peaks along directions, `stride` numbers apart, to the part of a vector along each.

    The two components of the vector begin at `starts` of `sampled`; after the step `last` all
    stays as it is.
    """
    row = rows[k]
    along_x = row + starts[0]
    along_y = row + starts[1]
    share = ONE if clock[0] <= last else ZERO
    for n in range(cosines.size):
        # |cos vx + sin vy|: the motion along a direction.
        cosine = share * cosines[n]
        sine = share * sines[n]
        for x in range(x0, x1):
            first = cosine * sampled[np.uint64(along_x + x)]
            size = abs(first + sine * sampled[np.uint64(along_y + x)])
            if size > peaks[np.uint64(row + x)]:
                peaks[np.uint64(row + x)] = size
        row += stride
