"""Cells: fields, coefficients and derivatives by name, which formulas of equations are written on.

A formula is a function of a `Cell`, its view of the lane that is updated::

    cell["vx"]             the field there; of a coefficient its value on the node
    cell.put("vx", value)  write the field
    cell.d("x", "sxx")     derivative along x, half a cell up the axis where the field stands on
                           the nodes of that axis, and down where it stands between them
    cell.total(("x", "sxx"), ("z", "sxz"))  the sum of such, at the same place
    cell.dd("x", "p")      second derivative on the spot
    cell.flux("x", "p")    update of the layer memory that second derivatives need first
    cell.centred("x", "p") first derivative on the spot; of a coefficient times a field with
                           `of="n_x"`; after the second derivatives
    cell.mean("xz", "sxz") field half a cell further along two axes, up or down as `d` goes
    cell.next("rho", "x")  coefficient one node further along an axis, or along several ("xz")
    cell.number("name")    scalar of the run (`Physics.numbers`)

Rows that follow the ground have first derivatives at constant x, y or z of their own. With the
symbols of `seismo.features.topography.differences`, g = 1 + f B' and f_x, f_y of the ground
(`seismo.features.topography.rows`) they are, of a field whose gradient is taken, and of one whose
divergence is::

    d_x v = dx v - (1 / g) Z H,           H = Px' [f_x v],   d_z v = (1 / g) G v
    d_x s = (1 / g) (dx (g s) - Z' H),    H = f_x Px s,      d_z s = (1 / g) D s

H is a field of its own, `slope_x_` and the name of the field, which a stage before has made: of it
and of each other a point reads 2 M neighbours and few more, in place of their product. f, f_x and
f_y come from planes, arrays with a number for each column of points, by where in the cell it
stands: `ground_` and the axes along which that is half a cell further, `ground_x_` and so on. In
absorbing layers, where the ground does not slope, dx passes through layer memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from seismo.backends.operators.derivatives import (
    Around,
    KernelContext,
    Neighbours,
    Operators,
    added,
    midpoint_sum,
    staggered_sum,
    stride_of,
    weighted,
)
from seismo.equations.framework.formula import (
    SECOND_SLOTS,
    Formula,
    half_of_derivative,
    is_slope_name,
    slope_name,
    sloping,
)
from seismo.grid.coefficients import midpoint_pairs


def planes_of(axes: str) -> tuple[str, ...]:
    """Return the names of the planes of the ground that derivatives take."""
    horizontal = axes.replace("z", "")
    columns = ["", *horizontal, *((horizontal,) if len(horizontal) > 1 else ())]
    slopes = [f"ground_{a}_{half}" for a in horizontal for half in ("", *horizontal)]
    return *(f"ground_{half}" for half in columns), *slopes


class CurvedRows:
    """Derivatives of a formula's fields on rows that follow the ground.

    Args:
        operators: of the flat rows.
        i: index of the lane.
        s: the context of the thread.
        arrays: fields and planes by name.
        formula: that takes them.
    """

    def __init__(
        self, operators: Operators, i: Any, s: KernelContext, arrays: Mapping[str, Any],
        formula: Formula,
    ) -> None:  # fmt: skip
        assert operators.curved is not None
        self._operators = operators
        self._curved = operators.curved
        self._lanes = operators.lanes
        self._i = i
        self._s = s
        self._arrays = arrays
        self._staggered = formula.staggered
        self._gradients = formula.gradients
        self._on_surface = formula.on_surface
        self._weights = tuple(midpoint_pairs(operators.order).tolist())

    def total(self, *terms: tuple[str, str, int]) -> Any:
        """Return a sum of derivatives at constant other coordinates, that stand at the same place.

        Each is that along an axis of a field, with the n-th memory variable of layers there.
        """
        # Where all of them stand: half a cell along the axis from the field.
        axis, name, _ = terms[0]
        target = half_of_derivative(self._staggered[name], axis)
        # The sum without slopes: (1 / g) G or D along z, dx v or (1 / g) dx (g s) along x or y.
        g = self.height(target)
        total = added(self._along(axis, name, n) / g if axis == "z" or self._diverges(name)
                      else self._along(axis, name, n) for axis, name, n in terms)  # fmt: skip
        across = tuple((axis, name) for axis, name, _ in terms if axis != "z")
        if not across:
            return total
        # What slopes add to all of them: 1 / g times Z or Z' of H.
        # Weights of the target's row, down the columns of H there.
        weights = self._cross(target, int(self._diverges(across[0][1])))
        at, first = self._first
        column = self._neighbours(slope_name(across), "z", at)
        sloped = weighted(weights, (column.at(first + k) for k in range(len(weights))))
        return total - sloped / g

    def _diverges(self, name: str) -> bool:
        return name not in self._gradients

    def _along(self, axis: str, name: str, n: int) -> Any:
        """Return G v, D s or dx v, or through a layer g times dx (g s) / g."""
        half = self._staggered[name]
        up = axis not in half
        f = self._arrays[name]
        # Of gradients, and along s, the difference of flat rows; of divergences that of g s.
        if axis == "z" or not self._diverges(name):
            return self._operators.first(axis, up, f, self._i, self._s, n)
        # g of the field's own columns, in the row of both.
        products = _Products(self._heights(half, axis), self._neighbours(name, axis, self._i))
        # dx (g s), through the memory of a layer.
        d = staggered_sum(products, self._s.first["xyz".index(axis)], int(up))
        return self._operators.through_layer(d, axis, up, self._s, n)

    def sloped(self, name: str) -> Any:
        """Return H of a sum of derivatives: Px' [f_x v] of gradients, f_x Px s of divergences."""
        return added(self._sloped(axis, field) for axis, field in sloping(name))

    def _sloped(self, axis: str, field: str) -> Any:
        # Px or Px', to half points or back to nodes.
        half = self._staggered[field]
        up = int(axis not in half)
        neighbours = self._neighbours(field, axis, self._i)
        # A gradient: slopes where the field stands, before it is interpolated.
        if not self._diverges(field):
            slopes = self._plane_neighbours(f"ground_{axis}_{_across(half)}", axis)
            return midpoint_sum(_Products(slopes, neighbours), self._weights, up)
        # A divergence: the slope where H stands, after that.
        slope = self.plane(f"ground_{axis}_{_across(half_of_derivative(half, axis))}")
        return slope * midpoint_sum(neighbours, self._weights, up)

    @property
    def _first(self) -> tuple[Any, int]:
        """The lane from which Z and Z' count rows, and the number of the first that they read."""
        # Closed rows count from the surface, others have their weights about themselves.
        if self._operators.closed:
            return self._i - self._s.depth, 0
        return self._i, -(self._curved.cross // 2)

    def height(self, half: str) -> Any:
        """Return g = 1 + f B' where fields stand that are half a cell further along some axes."""
        return self._heights(half, "x").at(0)

    def _heights(self, half: str, axis: str) -> _Heights:
        """Return g around the lane along an axis."""
        return _Heights(
            self._plane_neighbours(f"ground_{_across(half)}", axis), self._row(half)[-2]
        )

    def plane(self, name: str) -> Any:
        """Return the number of a plane in the lane's columns."""
        return self._plane_neighbours(name, "x").at(0)

    def between(self, axis: str, name: str, slope: str) -> Any:
        """Return Px [slope v] of a field in the row of the surface, above the lane's columns."""
        return self._between(axis, name, slope).at(0)

    def through(self, axis: str, name: str, slope: str, plane: str) -> Any:
        """Return Px' [plane Px [slope v]] of a field in the row of the surface."""
        # Px to the half points about the node, times the plane, and Px' back.
        weighted_ones = _Products(
            self._plane_neighbours(plane, axis), self._between(axis, name, slope)
        )
        return midpoint_sum(weighted_ones, self._weights, 0)

    def above(self, axis: str, name: str, weights: Sequence) -> Any:
        """Return Px' of a field half a cell along an axis, summed down the rows of the surface."""
        # Columns of the closed rows, from the surface down.
        at = self._i - self._s.depth
        columns = _Columns(self._lanes, axis, self._arrays[name], at, self._s, weights)
        return midpoint_sum(columns, self._weights, 0)

    @property
    def of_surface(self) -> Any:
        """The weight of the surface's row in the interpolation to this row of half points."""
        return self._s.up[-1]

    def _between(self, axis: str, name: str, slope: str) -> _Between:
        # f_x v of the surface's row.
        field = self._neighbours(name, axis, self._i - self._s.depth)
        return _Between(_Products(self._plane_neighbours(slope, axis), field), self._weights)

    def _plane_neighbours(self, name: str, axis: str) -> Neighbours:
        """Return a plane around the lane's columns along an axis."""
        # A plane has a number for each column of points, whatever the row.
        return self._neighbours(name, axis, self._i - self._s.ground)

    def _neighbours(self, name: str, axis: str, index: Any) -> Neighbours:
        """Return an array around an index in fields along an axis."""
        is_slope = is_slope_name(name)
        if is_slope or name in self._on_surface:
            index = self._curved.index_in(index, self._s, is_slope)
        return Neighbours(self._lanes, axis, self._arrays[name], index, stride_of(self._s, axis))

    def _row(self, half: str) -> Any:
        """Return the weights of rows of nodes, or of half points."""
        return self._s.up if "z" in half else self._s.down

    def _cross(self, half: str, form: int) -> Any:
        """Return the weights of Z (form 0) or Z' (1) of the fields on rows of a kind."""
        # The table of a row: derivatives along z, Z, Z', B', weight of the surface.
        first = self._curved.plain + form * self._curved.widest
        return self._row(half)[first : first + self._curved.cross]


class _Columns(NamedTuple):
    """Weighted sums of a field along z, of the columns around a lane along an axis."""

    lanes: Any
    axis: str
    field: Any
    index: Any
    s: KernelContext
    weights: Any

    def at(self, n: int) -> Any:
        """Return the sum n points further."""
        # w_0 f(i + n) + w_1 f(i + n, one row down) + ...
        stride = stride_of(self.s, self.axis)
        levels = (
            Neighbours(
                self.lanes, self.axis, self.field, self.index + self.s.z_stride * k, stride
            ).at(n)
            for k in range(len(self.weights))
        )
        return weighted(self.weights, levels)


class _Products(NamedTuple):
    """Products of two quantities around a lane."""

    first: Around
    second: Around

    def at(self, n: int) -> Any:
        """Return the product n points further."""
        return self.first.at(n) * self.second.at(n)


class _Between(NamedTuple):
    """What stands on nodes around a lane, interpolated to the half points behind them."""

    nodes: Around
    weights: tuple[float, ...]

    def at(self, n: int) -> Any:
        """Return the value at the n-th half point."""
        # w_m times the sum of nodes m + 1 ahead and m behind.
        pairs = (self.nodes.at(n + 1 + m) + self.nodes.at(n - m) for m in range(len(self.weights)))
        return weighted(self.weights, pairs)


class _Heights(NamedTuple):
    """The heights g of cells around a lane: the ground there, and B' of the row."""

    ground: Neighbours
    slope_of_share: Any

    def at(self, n: int) -> Any:
        """Return g n points further."""
        return 1.0 + self.ground.at(n) * self.slope_of_share


def _across(half: str) -> str:
    """Return the horizontal axes along which columns stand half a cell further."""
    return half.replace("z", "")


class Cell:
    """A lane of cells as a formula sees it; fields and coefficients by their names.

    Attributes:
        axes: "xz" or "xyz"; "xzy" where the arrays are taken turned: the axis of a thread's march
            comes last.
        numbers: names of the scalars of the run.
        fields: names of the fields that the formula changes, then of those that it differentiates.
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
        """Return the arrays' names of axes, where these are turned."""
        return axes.translate(self._axis_map)

    def _node(self, name: str) -> Any:
        """Return the index of a coefficient: where the model goes on, or keeps few planes."""
        # Packed coefficients (kept for some planes only) count from their own origin.
        i = self._i - self._s.packed if name in self._formula.packed else self._i
        return i - self._s.medium

    def _index_of(self, name: str) -> Any:
        """Return the index of a field: fields of a few rows have fewer numbers per shot."""
        curved = self._operators.curved
        is_slope = curved is not None and is_slope_name(name)
        if curved is not None and (is_slope or name in self._formula.on_surface):
            return curved.index_in(self._i, self._s, is_slope)
        return self._i

    def __getitem__(self, name: str) -> Any:
        """Return a field's own value, or that of a coefficient on the node."""
        if name in self._formula.staggered:
            return self._lanes.load(self._arrays[name], self._index_of(name))
        # A coefficient on the node is common to all shots.
        return self._lanes.level(self._arrays[name], self._node(name), 0, self._s.z_stride)

    def next(self, name: str, axes: str) -> Any:
        """Return a coefficient at the next node along axes."""
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
        """Return the sum of derivatives along axes, of fields, that stand at the same place."""
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
