"""Difference operators on lanes: plain, stretched in absorbing layers, one-sided at a free surface.

A formula of an equation is a function of a `Cell`, what it sees of the lane that is updated::

    cell["vx"]             the field there; of a coefficient its value on the node
    cell.put("vx", value)  write the field
    cell.d("x", "sxx")     derivative along x, half a cell up the axis where the field stands on
                           the nodes of that axis, and down where it stands between them
    cell.total(("x", "sxx"), ("z", "sxz"))  the sum of such, at one place
    cell.dd("x", "p")      second derivative on the spot
    cell.flux("x", "p")    update of the layer memory that second derivatives need first
    cell.centred("x", "p") first derivative on the spot; of a coefficient times a field with
                           `of="n_x"`; after the second derivatives
    cell.mean("xz", "sxz") field half a cell further along two axes, up or down as `d` goes
    cell.next("rho", "x")  coefficient one node further along an axis, or along several ("xz")
    cell.number("name")    scalar of the run (`Physics.numbers`)

In a layer, d/dx becomes (1/kappa) d/dx + psi with the memory variable psi <- b psi + a d/dx
(convolutional perfectly matched layer; Roden & Gedney 2000; Komatitsch & Martin 2007). A second
derivative keeps two: for the flux at half points and for the outer derivative. A formula's
derivatives along an axis take the axis' memory variables in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from seismo.backends.operators import fused_pml
from seismo.backends.operators.curved import Curved, CurvedRows
from seismo.backends.operators.stencils import (
    AXES,
    KernelContext,
    Neighbours,
    added,
    centred_sum,
    column_sum,
    memory_stride_of,
    midpoint_sum,
    odd_sum,
    profile_of,
    staggered_sum,
    stride_of,
    weighted,
)
from seismo.equations.framework.formula import (
    SECOND_SLOTS,
    Formula,
    is_slope_name,
)
from seismo.grid.coefficients import MIDPOINT


@dataclass(frozen=True)
class Operators:
    """The operators of one variant.

    Attributes:
        lanes: the lanes of a backend (load, read, store, beside, row, level, rounded).
        order: 2, 4, ... 16.
        axes: "xz" or "xyz".
        stretched: the axes whose derivatives pass through layer memory, e.g. "xz".
        slots: memory variables of a stage along one axis.
        closed: width of the surface weights, 0 away from a free surface.
        at_once: whether second derivatives update their flux memory, too.
        across: whether a march along z does, across the layer; `flux_to_come` is what it brings.
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

    def bind(self, formula: Formula) -> Callable:
        """Return the update (index, place, *arrays) of a formula."""

        def update(i: Any, s: KernelContext, *arrays: Any) -> None:
            formula.update(Cell(self, formula, i, s, arrays))

        return update

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
        # The memory of the next row is fetched while this one is computed (CPU; no operation on a
        # GPU).
        self.lanes.fetch(s.memory, memory_index + s.ahead)
        psi = b * self.lanes.load(s.memory, memory_index) + a * d
        self.lanes.store(s.memory, memory_index, psi, s.mask)
        return d * ikappa + psi

    def second(self, axis: str, f: Any, i: Any, s: KernelContext) -> Any:
        """Return a second derivative; in a layer with memory of the flux and the outer one.

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
            return fused_pml.across(neighbours, self.order, s, slot)
        if self.at_once:
            return fused_pml.at_once(neighbours, self.order, s, slot)
        # Two-pass update: the difference of the flux memory, which `flux` has updated at half
        # points in the stage before, corrects the second derivative; the sum passes through the
        # outer memory.
        along = s.j + slot * s.slot
        flux = s.memory if s.flux is None else s.flux  # a march has those around the point
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
        return fused_pml.flux_to_come(self._neighbours("z", f, i, s), self.order, s, self.slot("z"))

    def put(self, f: Any, i: Any, s: KernelContext, value: Any) -> None:
        """Write a field; a layer that damps it keeps m f, with the m of each stretched axis."""
        # Damping layer: the field is multiplied by the product of m over the stretched axes.
        if self.damped and self.stretched:
            damping = None
            for axis in self.stretched:
                m = self._damping_of(axis, s)
                damping = m if damping is None else damping * m
            value = value * damping
        self.lanes.store(f, i, value, s.mask)

    def _damping_of(self, axis: str, s: KernelContext) -> Any:
        # Column 6 of the profile: m at nodes.
        if axis == "x":
            return self.lanes.load(s.x_table, s.x + 6 * s.x_length)
        return (s.y_row if axis == "y" else s.z_row)[6]


class Cell:
    """What a formula sees of a lane of cells; fields and coefficients by their names.

    Attributes:
        axes: "xz" or "xyz"; "xzy" where the arrays are taken turned: what a thread marches along
            comes last.
        numbers: names of the scalars of the run.
        fields: names of what the formula changes, then of what it differentiates.
    """

    def __init__(
        self, operators: Operators, formula: Formula, i: Any, s: KernelContext, arrays: Sequence
    ) -> None:  # fmt: skip
        self._operators = operators
        self._lanes = operators.lanes
        self._formula = formula
        self._i = i
        self._s = s
        # Where the march goes along y, y and z are exchanged in the arrays; formulas keep the
        # names.
        self._axis_map = str.maketrans("yz", "zy") if operators.turned else {}
        self.axes = self._array_axes(operators.axes)
        self.numbers = formula.numbers
        self.fields = formula.fields
        names = (*formula.fields, *formula.coefficients, *formula.marched)
        self._arrays = dict(zip(names, arrays, strict=True))
        # One counter for each axis: the n-th derivative along it has the n-th memory variable.
        self._memories = Counter[str]()

    @property
    def curved(self) -> CurvedRows:
        """The derivatives on rows that follow the ground."""
        return CurvedRows(self._operators, self._i, self._s, self._arrays, self._formula)

    def _array_axes(self, axes: str) -> str:
        """Return what axes are called where the arrays are taken turned."""
        return axes.translate(self._axis_map)

    def _node(self, name: str) -> Any:
        """Return the index of a coefficient: where the model goes on, or keeps few planes."""
        # Packed coefficients (kept for some planes only) count from their own origin.
        i = self._i - self._s.packed if name in self._formula.packed else self._i
        return i - self._s.medium

    def _index_of(self, name: str) -> Any:
        """Return the index of a field: those of some rows alone have less of each shot."""
        curved = self._operators.curved
        is_slope = curved is not None and is_slope_name(name)
        if curved is not None and (is_slope or name in self._formula.on_surface):
            return curved.index_in(self._i, self._s, is_slope)
        return self._i

    def __getitem__(self, name: str) -> Any:
        """Return a field's own value, or that of a coefficient on the node."""
        if name in self._formula.staggered:
            return self._lanes.load(self._arrays[name], self._index_of(name))
        # A coefficient on the node has one copy for all shots.
        return self._lanes.level(self._arrays[name], self._node(name), 0, self._s.z_stride)

    def next(self, name: str, axes: str) -> Any:
        """Return a coefficient one node further along some axes."""
        # Steps along y and z move the index; x last, since its lane is cut out of two.
        i = self._node(name)
        array = self._arrays[name]
        for axis in self._array_axes(axes.replace("x", "")):
            i = i + stride_of(self._s, axis)
        return self._lanes.beside(array, i, 1) if "x" in axes else self._lanes.read(array, i)

    def number(self, name: str) -> Any:
        """Return a scalar of the run."""
        return self._s.numbers[self.numbers.index(name)]

    def put(self, name: str, value: Any) -> None:
        """Write a field."""
        self._operators.put(self._arrays[name], self._index_of(name), self._s, value)

    def d(self, axis: str, name: str) -> Any:
        """Return the derivative of a field, half a cell up or down the axis."""
        # Up where the field stands on the nodes of the axis, down where between them.
        n = self._memories[axis]
        up = axis not in self._formula.staggered[name]
        self._memories[axis] += 1
        if self._operators.curved:
            return self.curved.total((axis, name, n))
        at = self._arrays[name], self._i, self._s
        return self._operators.first(self._array_axes(axis), up, *at, n)

    def total(self, *pairs: tuple[str, str]) -> Any:
        """Return the sum of derivatives along axes, of fields, that stand at one place."""
        if not self._operators.curved:
            return self.sum(self.d(axis, name) for axis, name in pairs)
        numbered = [(axis, name, self._memories[axis]) for axis, name in pairs]
        self._memories.update(axis for axis, _ in pairs)
        return self.curved.total(*numbered)

    def centred(self, axis: str, name: str, of: str = "") -> Any:
        """Return the first derivative of a field on the spot, or of a coefficient times it."""
        n = self._memories[axis]
        coefficient = self._arrays[of] if of else None
        self._memories[axis] += 1
        return self._operators.centred(
            self._array_axes(axis), self._arrays[name], self._i, self._s, coefficient, n
        )

    def mean(self, axes: str, name: str) -> Any:
        """Return a field half a cell further along two axes: between nodes, or on them."""
        up = axes[0] not in self._formula.staggered[name]
        return self._operators.mean(
            self._array_axes(axes), self._arrays[name], self._i, self._s, up
        )

    def dd(self, axis: str, name: str) -> Any:
        """Return the second derivative of a field."""
        # Slots of the two-pass update: flux first, outer memory second.
        self._memories[axis] = SECOND_SLOTS
        return self._operators.second(self._array_axes(axis), self._arrays[name], self._i, self._s)

    def flux(self, axis: str, name: str) -> None:
        """Update the flux memory of the second derivative."""
        self._operators.flux(self._array_axes(axis), self._arrays[name], self._i, self._s)

    def sum(self, terms: Iterable) -> Any:
        """Add up from left to right."""
        return added(terms)

    def rounded(self, value: Any) -> Any:
        """Return a value rounded as it stands: no sum is fused with the product that it is."""
        return self._lanes.rounded(value)
