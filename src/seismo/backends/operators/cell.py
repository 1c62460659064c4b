"""Cells: fields, coefficients and derivatives by name, which formulas of equations are written on.

A formula is a function of a `Cell`, its view of the lane that is updated::

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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from seismo.backends.operators.curved import CurvedRows
from seismo.backends.operators.derivatives import Operators
from seismo.backends.operators.stencils import (
    KernelContext,
    added,
    stride_of,
)
from seismo.equations.framework.formula import (
    SECOND_SLOTS,
    Formula,
    is_slope_name,
)


class Cell:
    """A lane of cells as a formula sees it; fields and coefficients by their names.

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
        half = self._array_axes("".join(self._formula.staggered.get(name, "")))
        self._operators.put(self._arrays[name], self._index_of(name), self._s, value, half)

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


def bind(operators: Operators, formula: Formula) -> Callable:
    """Return the update (index, place, *arrays) of a formula."""

    def update(i: Any, s: KernelContext, *arrays: Any) -> None:
        formula.update(Cell(operators, formula, i, s, arrays))

    return update
