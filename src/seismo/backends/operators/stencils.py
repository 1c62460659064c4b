"""Sums of a field's differences on lanes, and where along the way a thread finds what it needs.

Functions of the flat index `i` of a point and its `Place`, written out term by term, as
`seismo.backends.operators.derivatives` puts them together.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache

AXES = ("x", "y", "z")

Place = namedtuple(
    "Place",
    (
        "y_stride",  # distance of neighbours along y, z in the flat arrays
        "z_stride",
        "first",  # staggered coefficients / spacing, one tuple for each of x, y, z
        "second",  # centred coefficients / spacing^2, likewise
        "mask",  # which numbers of the lane lie inside the box
        "medium",  # from a point's coefficients to its fields: the model has no shots, and goes on
        # outwards in layers as it is at their inner edge
        "packed",  # offset of coefficients that are kept for some planes z only
        "memory",  # layer memory: array or address, index of this point, strides, slot size
        "j",
        "memory_y",
        "memory_z",
        "slot",
        "ahead",  # from a point's memory to the memory of the row that comes next
        "x",  # index along x, and b, a, 1/kappa at nodes and half points, m at nodes: a table along
        "x_table",  # x with its row length, seven numbers for this row of y and z
        "x_length",
        "y_row",
        "z_row",
        "up",  # surface weights of this row / spacing, and the row's offset from the surface
        "down",
        "depth",
        "flux",  # memory of second derivatives' fluxes, of this step (for a march that has them,
        # the new fluxes around the point) and of the next, where these
        "coming",  # are taken at once; its places are those of `memory`
        "kept",  # whether this row of z has memory at nodes, and at half points
    ),
    defaults=(None, None, None),
)


def added(lanes, pieces: list):
    """Add functions (f, i, stride, c) up, written out; the m-th goes with coefficient c[m]."""
    jit = lanes.jit

    def extend(previous, piece, m: int):
        return jit(lambda f, i, stride, c: previous(f, i, stride, c) + c[m] * piece(f, i, stride))

    first = pieces[0]
    total = jit(lambda f, i, stride, c: c[0] * first(f, i, stride))
    for m in range(1, len(pieces)):
        total = extend(total, pieces[m], m)
    return total


@lru_cache
def far(lanes, axis: str, n: int):
    """Read a field n points further along an axis."""
    if axis == "x" and n:
        beside = lanes.beside(n)
        return lanes.jit(lambda f, i, stride: beside(f, i))
    return lanes.row(n) if axis == "y" and n else lanes.level(n)


@lru_cache
def staggered_sum(lanes, axis: str, terms: int, start: int):
    """c[0] (f[i+start] - f[i+start-1]) + c[1] (f[i+start+1] - f[i+start-2]) + ..."""

    def pair(m: int):
        ahead, behind = (far(lanes, axis, n) for n in (start + m, start - 1 - m))
        return lanes.jit(lambda f, i, stride: ahead(f, i, stride) - behind(f, i, stride))

    return added(lanes, [pair(m) for m in range(terms)])


@lru_cache
def centred_sum(lanes, axis: str, terms: int):
    """d[0] f[i] + d[1] (f[i+s] + f[i-s]) + ..., written out."""

    def pair(m: int):
        ahead, behind = (far(lanes, axis, n) for n in (m, -m))
        return lanes.jit(lambda f, i, stride: ahead(f, i, stride) + behind(f, i, stride))

    return added(lanes, [far(lanes, axis, 0), *(pair(m) for m in range(1, terms + 1))])


@lru_cache
def column_sum(lanes, width: int):
    """w[0] f[i] + w[1] f[i+s] + ..., written out: the one-sided rows at the surface."""
    return added(lanes, [far(lanes, "z", n) for n in range(width)])


@lru_cache
def stride_of(lanes, axis: str):
    """Make the function (place) -> the distance of a field's neighbours along an axis."""
    return _distance(lanes, axis, lambda s: s.y_stride, lambda s: s.z_stride)


@lru_cache
def memory_stride_of(lanes, axis: str):
    """Make the function (place) -> the same of layer memory."""
    return _distance(lanes, axis, lambda s: s.memory_y, lambda s: s.memory_z)


def _distance(lanes, axis: str, along_y, along_z):
    one = lanes.index(1)
    return lanes.jit({"x": lambda s: one, "y": along_y, "z": along_z}[axis])


@lru_cache
def profile_of(lanes, axis: str, half: bool):
    """The layer's b, a and 1/kappa where this lane stands, at nodes or half points."""
    load, jit, whole = lanes.load, lanes.jit, lanes.index
    k = 3 if half else 0
    b, a, ikappa = whole(k), whole(k + 1), whole(k + 2)
    if axis == "x":

        @jit
        def profile(s):
            n, x = s.x_length, s.x
            return (
                load(s.x_table, x + b * n),
                load(s.x_table, x + a * n),
                load(s.x_table, x + ikappa * n),
            )
    elif axis == "y":

        @jit
        def profile(s):
            return s.y_row[k], s.y_row[k + 1], s.y_row[k + 2]
    else:

        @jit
        def profile(s):
            return s.z_row[k], s.z_row[k + 1], s.z_row[k + 2]

    return profile
