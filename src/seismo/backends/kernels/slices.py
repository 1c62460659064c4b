"""Slices of fields, every n-th point of a box, and the running maxima of maps.

A row is all wanted x of one y, z and shot; it begins at from_rows[k] of the field and at to_rows[k]
of the slice. Each function does the points x0 <= x < x1 of row k; a backend calls it for
every piece of every row (`seismo.backends.base.Backend.each_row`). Maxima, and the oscillators
whose responses they are maxima of, have rows that begin at rows[k] of every array of one component.

Numbers of a row are read before the loop over its points, in variables that the compiler knows,
and indices are unsigned: CPUs then do many points at once.
"""

from __future__ import annotations

import math

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


MOST_COMPONENTS = 3
SMALL, UP, DOWN, ONE = (np.float32(2.0**power) for power in (-40, 60, -60, 0))
ZERO = np.float32(0.0)


def change(k, x0, x1, rates, before, sampled, rows):
    """Set rates to the sampled values less what they were before, and remember them."""
    row = rows[k]
    for x in range(x0, x1):
        at = np.uint64(row + x)
        rates[at] = sampled[at] - before[at]
        before[at] = sampled[at]


def oscillate(
    k, x0, x1, state, state_rows, size, rates, before, sampled, rows, numbers, coefficients
):  # fmt: skip
    """Advance oscillators from the step before to this one, or by a part of that.

    In between the acceleration of the ground is linear: z becomes z + g z + p a + q b, of the
    complex g, p, q of the oscillator's recurrence (Nigam & Jennings 1969). Adding to z what
    changes, rather than multiplying it by 1 + g, keeps small g precise.

    Args:
        k: number of the row.
        x0: first point.
        x1: behind the last point.
        state: real parts of z, and the imaginary ones `size` numbers further.
        state_rows: where rows begin there.
        size: numbers of one component.
        rates: a, acceleration in the step before, times the time step.
        before: velocity in the step before.
        sampled: velocity in this step; less the one before it is b.
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
