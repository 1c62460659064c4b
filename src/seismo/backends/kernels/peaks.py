"""Running maxima of maps, and the oscillators whose responses they are maxima of.

Rows are those of `seismo.backends.kernels.slices`: each function does the points x0 <= x < x1 of
row k, which begins at rows[k] of every array of one component.
"""

from __future__ import annotations

import math

import numpy as np

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
