"""Round model arrays to 16 bits, up or down at random, so that their mean stays as it is.

To nearest, a number of 16 bits errs by up to 2^-12 of itself, by as much wherever the rock is the
same: waves would travel at another speed. Up or down at random, by a hash of the place, what is
left are scatterers of the size of a cell, which waves hardly see.
"""

from __future__ import annotations

import math

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
