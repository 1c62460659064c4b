"""Lanes that a marching thread holds: its column in registers, or rows in a tile.

A field may come as a tuple, as `seismo.backends.gpu.lanes` says; what it holds is taken from
there, the rest from memory.
"""

from __future__ import annotations

from numba.cuda import types
from numba.cuda.extending import intrinsic, overload


def _held(lane, place: int):
    """Make an intrinsic (field) -> the lane at a place of its tuple."""

    @intrinsic
    def held(context, source):
        def generate(context, builder, signature, args):
            return builder.extract_value(args[0], place)

        return lane(source), generate

    return held


def level_of(lane, n: int, stored):
    """Make the function that takes a lane from a field's tuple if it is there, or from memory."""

    def level(f, i, stride):
        """Stand for the overloads."""

    @overload(level)
    def implementation(f, i, stride):
        if isinstance(f, types.BaseTuple) and abs(n) < len(f) // 2:
            held = _held(lane, n + len(f) // 2)
            return lambda f, i, stride: held(f)
        return lambda f, i, stride: stored(f, i, stride)

    return level


def own_of(lane, stored):
    """Make the function that takes the point's own lane from an array's tuple, or from memory."""

    def own(f, i):
        """Stand for the overloads."""

    @overload(own)
    def implementation(f, i):
        if isinstance(f, types.BaseTuple):
            held = _held(lane, len(f) // 2)
            return lambda f, i: held(f)
        return lambda f, i: stored(f, i)

    return own


def _tiled(f) -> bool:
    return isinstance(f, types.BaseTuple) and isinstance(f[len(f) - 1], types.BaseTuple)


def row_of(n: int, stored, tile_read):
    """Make the function that reads a lane of another row from a field's tile, or from memory."""

    def row(f, i, stride):
        """Stand for the overloads."""

    @overload(row)
    def implementation(f, i, stride):
        if _tiled(f):
            return lambda f, i, stride: tile_read(f[-1][0], f[-1][1] + n * f[-1][2])
        return lambda f, i, stride: stored(f, i, stride)

    return row


def beside_of(lane, n: int, stored, tile_read):
    """Make the function that reads an aligned lane further along x from a tile, or from memory."""

    def beside(f, i):
        """Stand for the overloads."""

    @overload(beside)
    def implementation(f, i):
        if isinstance(f, types.BaseTuple) and not n:
            held = _held(lane, len(f) // 2)
            return lambda f, i: held(f)
        if _tiled(f):
            return lambda f, i: tile_read(f[-1][0], f[-1][1] + n)
        return lambda f, i: stored(f, i)

    return beside
