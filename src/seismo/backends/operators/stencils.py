"""Sums of a field's differences on lanes, and where along the way a thread finds what it needs.

Functions of the flat index `i` of a lane's first point, written out term by term; strides and
coefficients come from its `KernelContext`. `lanes` are those of a backend.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

AXES = ("x", "y", "z")

KernelContext = namedtuple(
    "KernelContext",
    (
        "y_stride",  # distance of neighbours along y, z in the flat arrays
        "z_stride",
        "first",  # staggered coefficients / spacing, one tuple for each of x, y, z
        "second",  # centred coefficients / spacing^2, likewise
        "on_nodes",  # coefficients of first derivatives on the nodes / spacing, likewise
        "numbers",  # scalars of the run
        "shot",  # from a point of the model to its fields, which has no shots
        "mask",  # which numbers of the lane lie inside the box
        "medium",  # the same for a point's own coefficients: in layers the model goes on outwards
        # as it is at their inner edge
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
        "ground",  # from a point to its column in planes that have one number for each
    ),
    defaults=(None, None, None, None),
)


def stride_of(s: KernelContext, axis: str) -> Any:
    """Return the distance of a field's neighbours along an axis."""
    # Unit stride along x: a row is contiguous in the flat arrays.
    return {"x": 1, "y": s.y_stride, "z": s.z_stride}[axis]


def memory_stride_of(s: KernelContext, axis: str) -> Any:
    """Return the same of layer memory."""
    return {"x": 1, "y": s.memory_y, "z": s.memory_z}[axis]


def added(terms: Iterable) -> Any:
    """Add up from left to right, each term evaluated when it is its turn."""
    # The order of additions is fixed: floating-point sums depend on it, and results must not depend
    # on the decomposition or the backend.
    terms = iter(terms)
    return sum(terms, next(terms))


def weighted(weights: Sequence, terms: Iterable) -> Any:
    """Return weights[0] values[0] + weights[1] values[1] + ..."""
    return added(weight * value for weight, value in zip(weights, terms, strict=True))


class Neighbours(NamedTuple):
    """A field around a lane of points, along an axis.

    Attributes:
        lanes: of a backend.
        axis: along which.
        field: the field.
        index: of the lane.
        stride: distance of neighbours.
    """

    lanes: Any
    axis: str
    field: Any
    index: Any
    stride: Any

    def at(self, n: int) -> Any:
        """Read the field n points further."""
        lanes, axis, f, i, stride = self
        # Along x the lane straddles two aligned ones (`lanes.beside`).
        if axis == "x" and n:
            return lanes.beside(f, i, n)
        # Along y the lane is aligned, in another row.
        if axis == "y" and n:
            return lanes.row(f, i, n, stride)
        # Along z a march has planes in registers (`lanes.level`).
        return lanes.level(f, i, n, stride)


class Around(Protocol):
    """A quantity around a lane of points, along an axis: a field, or what is made of some."""

    def at(self, n: int) -> Any:
        """Return it n points further."""


def _about_midpoint(neighbours: Around, count: int, start: int) -> Iterator[tuple[Any, Any]]:
    """Yield f[i+start+m] and f[i+start-1-m] for m = 0, 1, ... count - 1."""
    # The m-th pair lies (m + 1/2) spacings from the midpoint, at start - 1/2.
    for m in range(count):
        ahead = neighbours.at(start + m)
        yield ahead, neighbours.at(start - 1 - m)


def staggered_sum(neighbours: Around, weights: Sequence, start: int) -> Any:
    """c[0] (f[i+start] - f[i+start-1]) + c[1] (f[i+start+1] - f[i+start-2]) + ..."""
    # Antisymmetric weights: each coefficient multiplies the difference of its pair.
    pairs = _about_midpoint(neighbours, len(weights), start)
    return weighted(weights, (ahead - behind for ahead, behind in pairs))


def centred_sum(neighbours: Neighbours, weights: Sequence) -> Any:
    """d[0] f[i] + d[1] (f[i+s] + f[i-s]) + ..."""

    # Symmetric weights: the centre once, then the sum of each pair.
    def pairs():
        yield neighbours.at(0)
        for m in range(1, len(weights)):
            ahead = neighbours.at(m)
            yield ahead + neighbours.at(-m)

    return weighted(weights, pairs())


def odd_sum(neighbours: Neighbours, weights: Sequence, coefficient: Neighbours | None) -> Any:
    """e[0] (n[i+s] f[i+s] - n[i-s] f[i-s]) + ...; without a coefficient n where it is None."""

    def term(n: int) -> Any:
        value = neighbours.at(n)
        return value if coefficient is None else coefficient.at(n) * value

    # Antisymmetric about a node: no weight on the node itself.
    return weighted(weights, (term(m) - term(-m) for m in range(1, len(weights) + 1)))


def midpoint_sum(neighbours: Around, weights: Sequence, start: int) -> Any:
    """w[0] (f[i+start] + f[i+start-1]) + w[1] (f[i+start+1] + f[i+start-2]) + ..."""
    # Symmetric weights about a midpoint.
    pairs = _about_midpoint(neighbours, len(weights), start)
    return weighted(weights, (ahead + behind for ahead, behind in pairs))


def column_sum(lanes: Any, f: Any, i: Any, stride: Any, weights: Sequence) -> Any:
    """w[0] f[i] + w[1] f[i+s] + ...: the one-sided rows at the surface."""
    return weighted(weights, (lanes.level(f, i, n, stride) for n in range(len(weights))))


def profile_of(lanes: Any, axis: str, half: bool, s: KernelContext) -> tuple:
    """Return the layer's b, a and 1/kappa where this lane stands, at nodes or half points."""
    # Columns of the profile: 0 .. 2 at nodes, 3 .. 5 at half points.
    k = 3 if half else 0
    # Along x each point of the lane has its own profile value: a lane of each of the three.
    if axis == "x":
        return tuple(lanes.load(s.x_table, s.x + n * s.x_length) for n in (k, k + 1, k + 2))
    # Along y and z the whole lane stands in one row: three scalars.
    row = s.y_row if axis == "y" else s.z_row
    return row[k], row[k + 1], row[k + 2]
