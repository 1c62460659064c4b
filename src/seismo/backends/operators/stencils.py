"""Stencils: sums of a field's differences on lanes, and the context of the thread that takes them.

Functions of the flat index `i` of a lane's first point, written out term by term; strides and
coefficients come from its `KernelContext`. `lanes` are those of a backend.

Second derivatives in absorbing layers have a form in one pass, which updates both their memory
variables (`at_once`, `across`). `seismo.backends.operators.derivatives` has the two steps that it
does at once: the flux at half points, and the outer derivative
(`seismo.solver.medium.cpml.coupled` says how). It takes twice as many points of the field, and
the flux as it was around; in turn no sweep goes before it, and no layer is read twice. `slot`
numbers the axis' memory variable.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from seismo.backends.traced import choose, when

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
        "x",  # index along x, and b, a, 1/kappa at nodes and half points, m at both: a table along
        "x_table",  # x with its row length, eight numbers for this row of y and z
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


def at_once(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the second derivative along an axis; update its flux and outer memory."""
    lanes = neighbours.lanes
    axis = neighbours.axis
    memory_index = s.j + slot * s.slot
    outer = lanes.load(s.memory, memory_index)  # before anything is stored
    # d = D2 f + D psi with the new flux psi; along x each number of the lane has its own profile.
    along = _along_x if axis == "x" else _across_rows
    flux, d = along(neighbours, order // 2, s, memory_index)
    # Outer recursion: chi <- b chi + a d, and d + chi in place of d (kappa = 1).
    b, gain, _ = profile_of(lanes, axis, False, s)
    outer = b * outer + gain * d
    lanes.store(s.coming, memory_index, flux, s.mask)
    lanes.store(s.memory, memory_index, outer, s.mask)
    return d + outer


def _across_rows(
    neighbours: Neighbours, half: int, s: KernelContext, memory_index: Any
) -> tuple[Any, Any]:
    """Return the flux to come, and the second derivative before its outer memory.

    The derivative is a sum with the layer's own weights: rows and planes have one for all lanes.
    They follow m in the row of its profile: 4 half - 1 of the field, 2 half of the flux.
    """
    lanes, axis, f, i, stride = neighbours
    memory_stride = memory_stride_of(s, axis)
    row = s.y_row if axis == "y" else s.z_row
    # New flux at i + 1/2, for the memory of the next step: psi <- b psi + a D f.
    b, gain, _ = profile_of(lanes, axis, True, s)
    ahead = staggered_sum(neighbours, s.first[AXES.index(axis)], 1)
    flux = b * lanes.read(s.flux, memory_index) + gain * ahead
    # D2 f + D psi with the recursion of psi substituted: w_k f(i + k), |k| < 2 half ...
    node = 5 + 2 * half
    total = row[node] * neighbours.at(0)
    for n in range(1, 2 * half):
        further = lanes.read(f, i + n * stride)
        behind = lanes.read(f, i - n * stride)
        total = total + row[node + n] * further + row[node - n] * behind
    # ... + v_m psi(i + m + 1/2), -half <= m < half, with the psi of the step before.
    edge = node + 3 * half  # the weight of the flux half a point further
    memory = None
    for m in range(half):
        further = lanes.read(s.flux, memory_index + m * memory_stride)
        behind = lanes.read(s.flux, memory_index - (m + 1) * memory_stride)
        pair = row[edge + m] * further
        memory = (pair if memory is None else memory + pair) + row[edge - 1 - m] * behind
    return flux, total + memory


def _along_x(
    neighbours: Neighbours, half: int, s: KernelContext, memory_index: Any
) -> tuple[Any, Any]:
    """Return the same along x: the flux to come of the lanes around, each with its own profile."""
    lanes = neighbours.lanes
    # Lanes to the left and right that the staggered difference of the flux reaches.
    around = -(-half // lanes.width)
    width = lanes.width

    # Recursion of the flux at half points (columns 3 and 4 of the profile: b and a).
    def flux(n: int) -> Any:
        x = s.x + n * width
        b, gain = (lanes.read(s.x_table, x + k * s.x_length) for k in (3, 4))
        ahead = staggered_sum(
            neighbours._replace(index=neighbours.index + n * width), s.first[0], 1
        )
        return b * lanes.read(s.flux, memory_index + n * width) + gain * ahead

    # D psi: staggered difference of the new fluxes, half a cell down to the nodes.
    fluxes = [flux(n) for n in range(-around, around + 1)]
    pairs = (lanes.among(fluxes, m) - lanes.among(fluxes, -1 - m) for m in range(half))
    # d = D2 f + D psi, before the outer recursion.
    d = centred_sum(neighbours, s.second[0])
    return fluxes[around], d + weighted(s.first[0], pairs)


def flux_to_come(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the flux along z that a plane brings to a march across the layer.

    It stands half the order further than the point. Memory that stays 0, beside the layer, is left
    alone.
    """
    lanes = neighbours.lanes
    # The plane that enters the queue lies half the order ahead of the point that is updated.
    b, gain, _ = profile_of(lanes, "z", True, s)
    # Rows that keep no memory all read the number at index 0.
    memory_index = choose(s.kept[1], s.j + slot * s.slot, 0)
    ahead = staggered_sum(neighbours, s.first[2], order // 2)
    return b * lanes.read(s.flux, memory_index) + gain * ahead


def across(neighbours: Neighbours, order: int, s: KernelContext, slot: int) -> Any:
    """Return the second derivative along z of a march that has the fluxes to come around a point.

    They are `s.flux`.
    """
    # The fluxes of half points z - half + 1/2 .. z + half - 1/2, in registers since they were
    # computed.
    half = order // 2
    lanes = neighbours.lanes
    memory_index = s.j + slot * s.slot
    b, gain, _ = profile_of(lanes, "z", False, s)
    outer = lanes.load(s.memory, choose(s.kept[0], memory_index, 0))
    # Difference of the new fluxes back to the node, and the outer recursion.
    pairs = (s.flux[half + m] - s.flux[half - 1 - m] for m in range(half))
    d = centred_sum(neighbours, s.second[2]) + weighted(s.first[2], pairs)
    outer = b * outer + gain * d
    # Rows beside the layer see its memory but have none of their own to store.
    with when(s.kept[1]):
        lanes.store(s.coming, memory_index, s.flux[half], s.mask)
    with when(s.kept[0]):
        lanes.store(s.memory, memory_index, outer, s.mask)
    return d + outer
