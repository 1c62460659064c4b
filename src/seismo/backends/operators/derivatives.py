"""Difference operators on lanes: plain, stretched in absorbing layers, one-sided at a free surface.

In a layer, d/dx becomes (1/kappa) d/dx + psi with the memory variable psi <- b psi + a d/dx
(convolutional perfectly matched layer; Roden & Gedney 2000; Komatitsch & Martin 2007). A second
derivative keeps two: for the flux at half points and for the outer derivative. A formula's
derivatives along an axis take the axis' memory variables in turn.

Stencils are functions of the flat index `i` of a lane's first point, written out term by term;
strides and coefficients come from its `KernelContext`. `lanes` are a backend's.

Second derivatives in absorbing layers have a form in one pass, which updates both their memory
variables (`at_once`, `across`), the flux at half points and the outer derivative
(`seismo.solver.medium.cpml.coupled` says how). It takes twice as many points of the field, and the
flux as it was around; in turn no sweep goes before it, and no layer is read twice. `slot` numbers
the axis' memory variable.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from seismo.backends.traced import choose, when
from seismo.grid.coefficients import MIDPOINT

AXES = ("x", "y", "z")

KernelContext = namedtuple(
    "KernelContext",
    (
        "y_stride",  # distance of neighbours along y, z in the flat arrays
        "z_stride",
        "first",  # staggered coefficients / spacing, a tuple for each of x, y, z
        "second",  # centred coefficients / spacing^2, likewise
        "on_nodes",  # coefficients of first derivatives on the nodes / spacing, likewise
        "numbers",  # scalars of the run
        "shot",  # from a point of the model to its fields, which has no shots
        "mask",  # which numbers of the lane lie inside the box
        "medium",  # the same for a point's own coefficients: in layers the model goes on outwards
        # as it is at their inner edge
        "packed",  # offset of coefficients kept for a range of planes z only
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
        "coming",  # are taken at once; its places are as in `memory`
        "kept",  # whether this row of z has memory at nodes, and at half points
        "ground",  # from a point to its column in planes with a number for each
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
    """A quantity around a lane of points, along an axis: a field, or an expression of fields."""

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

    The derivative is a sum with the layer's own weights: rows and planes have one weight for all
    lanes. They follow m in the row of its profile: 4 half - 1 of the field, 2 half of the flux.
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
    reach = -(-half // lanes.width)
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
    fluxes = [flux(n) for n in range(-reach, reach + 1)]
    pairs = (lanes.among(fluxes, m) - lanes.among(fluxes, -1 - m) for m in range(half))
    # d = D2 f + D psi, before the outer recursion.
    d = centred_sum(neighbours, s.second[0])
    return fluxes[reach], d + weighted(s.first[0], pairs)


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


class Curved(NamedTuple):
    """Which weights rows that follow the ground have.

    Attributes:
        plain: width of the derivatives along z in the table of weights, before the others.
        widest: width of Z and Z' in the table.
        cross: how many of them these rows use.
        shots: numbers from a shot's fields, H, and fields of the surface's row to the next shot's;
            zeros for a single shot.
    """

    plain: int
    widest: int
    cross: int
    shots: tuple[int, int, int] = (0, 0, 0)

    def index_in(self, i: Any, s: KernelContext, is_slope: bool) -> Any:
        """Return the index in an array of H, or of the surface's row, of a point's in fields."""
        volume, *rows = self.shots
        if not volume:
            return i
        # Shots lie closer together there.
        return i - s.shot + s.shot // volume * rows[not is_slope]


@dataclass(frozen=True)
class Operators:
    """The operators of a variant.

    Attributes:
        lanes: the lanes of a backend (load, read, store, beside, row, level, rounded).
        order: 2, 4, ... 16.
        axes: "xz" or "xyz".
        stretched: the axes whose derivatives pass through layer memory, e.g. "xz".
        slots: memory variables of a stage along one axis.
        closed: width of the surface weights, 0 away from a free surface.
        at_once: whether second derivatives update their flux memory, too.
        across: whether a march along z does, across the layer; it sets `flux_to_come`.
        damped: whether `put` in a layer damps the field.
        turned: whether the arrays are taken with y and z swapped.
        scaled: whether first derivatives along z are divided by how tall their cells are.
        curved: weights of rows that follow the ground, None where they are flat.
    """

    lanes: Any
    order: int
    axes: str
    stretched: str = ""
    slots: int = 0
    closed: int = 0
    at_once: bool = False
    across: bool = False
    damped: bool = False
    turned: bool = False
    scaled: bool = False
    curved: Curved | None = None

    def slot(self, axis: str) -> int:
        """Return the first memory variable of a stretched axis."""
        # Memory variables are numbered by axis, then by derivative of the formula along that axis.
        return self.stretched.index(axis) * self.slots

    def first(self, axis: str, up: bool, f: Any, i: Any, s: KernelContext, n: int) -> Any:
        """Return a first derivative half a cell up or down; it takes the n-th memory variable."""
        # SBP rows at the free surface: one-sided weights in place of the staggered ones, counted
        # from the surface row (`i - depth`).
        if axis == "z" and self.closed:
            rows = (s.up if up else s.down)[: self.closed]
            return column_sum(self.lanes, f, i - s.depth, s.z_stride, rows)
        # Interior row, or a layer along this axis: the staggered difference, stretched there.
        d = self._difference(axis, up, f, i, s)
        # Layers along z have the heights of their rows in the profile.
        if axis in self.stretched:
            return self.through_layer(d, axis, up, s, n)
        # Rows of a grid that is stretched along z: (1 / J) d/dzeta; 1 / J stands for 1 / kappa.
        if self.scaled and axis == "z":
            return d * profile_of(self.lanes, "z", up, s)[2]
        return d

    def _difference(self, axis: str, up: bool, f: Any, i: Any, s: KernelContext) -> Any:
        # Difference about i + 1/2 (up, start 1) or i - 1/2 (down, start 0), by the staggered
        # coefficients.
        return staggered_sum(self._neighbours(axis, f, i, s), s.first[AXES.index(axis)], int(up))

    def _neighbours(self, axis: str, f: Any, i: Any, s: KernelContext) -> Neighbours:
        return Neighbours(self.lanes, axis, f, i, stride_of(s, axis))

    def through_layer(self, d: Any, axis: str, half: bool, s: KernelContext, n: int) -> Any:
        """Pass a derivative through its memory variable where a layer is: d / kappa + psi."""
        if axis not in self.stretched:
            return d
        # CFS-CPML recursion (Roden & Gedney 2000; Komatitsch & Martin 2007):
        # psi <- b psi + a d, and d / kappa + psi in place of d.
        b, a, ikappa = profile_of(self.lanes, axis, half, s)
        memory_index = s.j + (self.slot(axis) + n) * s.slot
        # The memory of the next row is fetched while this row is computed (CPU; no operation on a
        # GPU).
        self.lanes.fetch(s.memory, memory_index + s.ahead)
        psi = b * self.lanes.load(s.memory, memory_index) + a * d
        self.lanes.store(s.memory, memory_index, psi, s.mask)
        return d * ikappa + psi

    def second(self, axis: str, f: Any, i: Any, s: KernelContext) -> Any:
        """Return a second derivative; in a layer with memories of flux and outer derivative.

        kappa is 1 here: the flux correction is then the memory variable itself.
        """
        a = AXES.index(axis)
        neighbours = self._neighbours(axis, f, i, s)
        # Interior: the centred difference alone.
        if axis not in self.stretched:
            return centred_sum(neighbours, s.second[a])
        slot = self.slot(axis)
        # Fused update of flux and outer memory; a march along z has the fluxes around it in
        # registers.
        if self.at_once and self.across:
            return across(neighbours, self.order, s, slot)
        if self.at_once:
            return at_once(neighbours, self.order, s, slot)
        # Two-pass update: the difference of the flux memory, which `flux` has updated at half
        # points in the stage before, corrects the second derivative; the sum passes through the
        # outer memory.
        along = s.j + slot * s.slot
        flux = s.memory if s.flux is None else s.flux  # a march has the lanes around the point
        fluxes = Neighbours(self.lanes, axis, flux, along, memory_stride_of(s, axis))
        correction = staggered_sum(fluxes, s.first[a], 0)
        total = centred_sum(neighbours, s.second[a])
        return self.through_layer(total + correction, axis, False, s, 1)

    def centred(self, axis: str, f: Any, i: Any, s: KernelContext, coefficient: Any, n: int) -> Any:
        """Return a first derivative on the spot, of a coefficient times a field if there is one."""
        # First derivative on the node by antisymmetric coefficients, stretched in a layer as others
        # are.
        node = i - s.shot
        factors = None if coefficient is None else self._neighbours(axis, coefficient, node, s)
        d = odd_sum(self._neighbours(axis, f, i, s), s.on_nodes[AXES.index(axis)], factors)
        return self.through_layer(d, axis, False, s, n)

    def mean(self, axes: str, f: Any, i: Any, s: KernelContext, up: bool) -> Any:
        """Return a field half a cell up or down two axes, of which x comes first, and z last."""
        # Tensor product of two midpoint interpolations: along `across` within each row, then over
        # rows.
        across = axes[0]
        along = axes[1]

        def row(n: int, start: Any) -> Any:
            at = start + stride_of(s, along) * n
            return midpoint_sum(self._neighbours(across, f, at, s), MIDPOINT, int(up))

        # SBP rows: the interpolation that is adjoint in the norms of the closure stands behind the
        # derivative's weights.
        if along == "z" and self.closed:
            weights = (s.up if up else s.down)[self.closed :]
            return weighted(weights, (row(n, i - s.depth) for n in range(len(weights))))
        # Interior: symmetric pairs of rows about the midpoint.
        pairs = (row(int(up) + m, i) + row(int(up) - 1 - m, i) for m in range(len(MIDPOINT)))
        return weighted(MIDPOINT, pairs)

    def flux(self, axis: str, f: Any, i: Any, s: KernelContext) -> None:
        """Update the flux memory of a second derivative; nothing outside the layer."""
        # psi <- b psi + a d at half points, from the first derivative there; `second` reads it.
        if axis in self.stretched:
            self.through_layer(self._difference(axis, True, f, i, s), axis, True, s, 0)

    def flux_to_come(self, f: Any, i: Any, s: KernelContext) -> Any:
        """Return the flux that a plane brings to a march across the layer."""
        return flux_to_come(self._neighbours("z", f, i, s), self.order, s, self.slot("z"))

    def put(self, f: Any, i: Any, s: KernelContext, value: Any, half: str = "") -> None:
        """Write a field that stands halfway along axes.

        A layer that damps it keeps m f, with the m of each stretched axis where the field stands.
        """
        # Damping layer: the field is multiplied by the product of m over the stretched axes.
        if self.damped and self.stretched:
            damping = None
            for axis in self.stretched:
                m = self._damping_of(axis, axis in half, s)
                damping = m if damping is None else damping * m
            value = value * damping
        self.lanes.store(f, i, value, s.mask)

    def _damping_of(self, axis: str, half: bool, s: KernelContext) -> Any:
        # Columns 6 and 7 of the profile: m at nodes and at half points.
        if axis == "x":
            return self.lanes.load(s.x_table, s.x + (6 + half) * s.x_length)
        return (s.y_row if axis == "y" else s.z_row)[6 + half]
