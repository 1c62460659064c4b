"""Difference operators on lanes: plain, stretched in absorbing layers, one-sided at a free surface.

In a layer, d/dx becomes (1/kappa) d/dx + psi with the memory variable psi <- b psi + a d/dx
(convolutional perfectly matched layer; Roden & Gedney 2000; Komatitsch & Martin 2007). A second
derivative keeps two: for the flux at half points and for the outer derivative. A formula's
derivatives along an axis take the axis' memory variables in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from seismo.backends.operators import stencils
from seismo.backends.operators.stencils import (
    AXES,
    KernelContext,
    Neighbours,
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
from seismo.grid.coefficients import MIDPOINT


class Curved(NamedTuple):
    """Which weights rows that follow the ground have.

    Attributes:
        plain: width of the derivatives along z in the table of weights, before the others.
        widest: width of Z and Z' in the table.
        cross: how many of them these rows use.
        shots: numbers from a shot's fields to the next one's, from its H to the next one's, and
            from its fields of the surface's row to the next one's; zeros of one shot alone.
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
        # Shots stand closer to one another there.
        return i - s.shot + s.shot // volume * rows[not is_slope]


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
            return stencils.across(neighbours, self.order, s, slot)
        if self.at_once:
            return stencils.at_once(neighbours, self.order, s, slot)
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
        return stencils.flux_to_come(self._neighbours("z", f, i, s), self.order, s, self.slot("z"))

    def put(self, f: Any, i: Any, s: KernelContext, value: Any, half: str = "") -> None:
        """Write a field that stands halfway along some axes.

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
