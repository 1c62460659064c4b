"""The grid: points, spacing, absorbing layers, and the coordinate of each index in metres.

Axes are x, y, z with z positive down. A 2-D grid has one point along y. Index 0 is the outermost
point, inside the absorbing layer if any; the scenario's extent begins at index `low`::

    index        0            low                  points - high - 1    points - 1
                 |  PML (low)  |        extent             |  PML (high)  |
    coordinate               origin

The spacing along z may grow with depth (`Stretching`). With rows counted by zeta from the top of
the extent, z = top + h S(zeta), and a cell of row zeta is J = S' >= 1 times as tall as a cell at
the top. A derivative along z is 1 / J that along zeta, J taken where the derivative stands; an
integral over depth has the weights J. J is a cubic B-spline of its values at the rows, S its
integral. It is 1 in the first rows (`FLAT_ROWS`), where a free surface closes differences, and is
constant in absorbing layers.

J follows a wanted factor, which grows with depth: it is never above it, grows by `GROWTH` a row at
most, and is the mean of that over `SMOOTH_ROWS` rows, so that waves do not notice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

FLAT_ROWS = 24  # at the top; closures of order 16, and interpolation beside them, take as many
SMOOTH_ROWS = 20  # whose mean the factors are
GROWTH = 1.05  # largest ratio of neighbouring rows
LARGEST = 3.0  # times the spacing at the top that cells are tall where nothing else is asked for
MOST_ROWS = 1_000_000  # laid out in a loop
_STEPS = 6  # of Newton's method, from an inverse by straight lines
_BEYOND = 4  # rows at either end that the spline continues with the same value


@dataclass(frozen=True)
class Stretching:
    """Depths of rows whose spacing grows.

    Attributes:
        top: z in m of row 0.
        spacing: height in m of a cell there.
        factors: J at the rows of the extent.
        fraction: of a cell that `moved` goes for a whole cell.
    """

    top: float
    spacing: float
    factors: tuple[float, ...]
    fraction: float = 1.0

    @property
    def last(self) -> int:
        """The last row of the extent."""
        return len(self.factors) - 1

    @cached_property
    def largest(self) -> float:
        """J of the last row, which is the largest."""
        return float(self.factor(self.last))

    @cached_property
    def flat(self) -> int:
        """The last of the rows at the top with cells of height `spacing`."""
        grown = np.flatnonzero(np.array(self.factors) != 1.0)
        # The spline at a row depends on less than two rows on either side.
        return max(0, int(grown[0]) - 2) if grown.size else self.last

    def of_part(self, fraction: float) -> Stretching:
        """Return the same for a fraction of cells."""
        return replace(self, fraction=fraction)

    @cached_property
    def _splines(self) -> tuple[Any, Any]:
        """J and its integral, as functions of the row."""
        from scipy.interpolate import BSpline  # half a second that other grids do without

        padded = np.pad(np.array(self.factors), _BEYOND, "edge")
        knots = np.arange(len(padded) + 4) - _BEYOND - 2.0
        spline = BSpline(knots, padded, 3)
        return spline, spline.antiderivative()

    @cached_property
    def _table(self) -> np.ndarray:
        return self.cells(np.arange(len(self.factors)))

    def factor(self, row: np.ndarray | float) -> np.ndarray:
        """Return J at (fractional) rows (n); constant beyond the extent."""
        row = np.clip(np.asarray(row, float), 0.0, self.last)
        spline, _ = self._splines
        return np.where(row <= self.flat, 1.0, spline(row))

    def cells(self, row: np.ndarray | float) -> np.ndarray:
        """Return how many cells of the top's height lie between row 0 and (fractional) rows."""
        row = np.asarray(row, float)
        inside = np.clip(row, 0.0, self.last)
        _, integral = self._splines
        grown = self.flat + integral(inside) - integral(self.flat)
        grown = np.where(inside <= self.flat, inside, grown)
        # Beyond the extent J is that of its ends.
        below = np.maximum(row - self.last, 0.0) * self.factor(self.last)
        return grown + np.minimum(row, 0.0) + below

    def coordinate(self, row: np.ndarray) -> np.ndarray:
        """Return z in m of (fractional) rows."""
        return self.top + self.cells(row) * self.spacing

    def row(self, z: np.ndarray) -> np.ndarray:
        """Return the fractional rows of z in m."""
        wanted = (np.asarray(z, float) - self.top) / self.spacing
        table = self._table
        row = np.interp(wanted, table, np.arange(len(table)))
        for _ in range(_STEPS):
            row = row - (self.cells(row) - wanted) / self.factor(row)
        return np.where(wanted <= self.flat, wanted, row)

    def moved(self, z: np.ndarray, cells: np.ndarray | float) -> np.ndarray:
        """Return z in m of points `cells` (fractional) cells below depths z in m."""
        return self.coordinate(self.row(z) + np.asarray(cells) * self.fraction)


# Edges of cells by axis name: a length in m, or how they grow.
CellSizes = Mapping[str, float | Stretching]


def moved(sizes: CellSizes, axis: str, coordinate: Any, cells: Any) -> Any:
    """Return coordinates in m so many cells further along an axis."""
    size = sizes[axis]
    if isinstance(size, Stretching):
        return size.moved(coordinate, cells)
    return coordinate + cells * size


def laid_out(
    top: float, spacing: float, length: float, wanted: Callable[[float], float]
) -> Stretching | None:
    """Return rows that cover a length; None where none is taller than the others.

    Args:
        top: z in m of the first row.
        spacing: height in m of a cell there.
        length: m.
        wanted: function(z in m) -> the largest factor that is wanted there, growing with depth.
    """
    total = length / spacing
    raw = [1.0] * (FLAT_ROWS + 1)
    factors = list(raw)
    depth = float(FLAT_ROWS)
    while depth < total and len(factors) < MOST_ROWS:
        raw.append(max(raw[-1], min(raw[-1] * GROWTH, wanted(top + depth * spacing))))
        factors.append(float(np.mean(raw[-SMOOTH_ROWS:])))
        depth += 0.5 * (factors[-2] + factors[-1])
    grown = np.array(factors)
    if depth < total or not (grown > 1.0).any():
        return None
    return _fitted(Stretching(top, spacing, tuple(factors)), total)


def _fitted(rows: Stretching, total: float) -> Stretching:
    """Return rows whose last is at a number of cells of the top's height."""
    covered = float(rows.cells(rows.last))
    grown = covered - rows.last
    # The same growth, a little less of it everywhere; where it is next to nothing, as it is.
    share = (total - rows.last) / grown if grown > 0.0 else 1.0
    if not 0.5 <= share <= 1.5:
        return rows
    factors = (1.0 + share * (factor - 1.0) for factor in rows.factors)
    return replace(rows, factors=tuple(factors))


Bounds = tuple[np.ndarray, np.ndarray | None, np.ndarray]  # z, y, x of a side of boxes
AXES = ("x", "y", "z")
_DIGITS = 9  # of coordinates in results behind the first of the spacing
Triple = tuple[int, int, int]


def triple(numbers) -> Triple:
    """Return three integers as a tuple."""
    x, y, z = (int(n) for n in numbers)
    return x, y, z


@dataclass(frozen=True)
class Box:
    """Points lo <= index < hi along x, y, z."""

    lo: Triple
    hi: Triple

    @property
    def shape(self) -> Triple:
        """Points along x, y, z."""
        (x0, y0, z0) = self.lo
        (x1, y1, z1) = self.hi
        return x1 - x0, y1 - y0, z1 - z0

    @property
    def size(self) -> int:
        """Number of points, 0 when empty."""
        nx, ny, nz = (max(n, 0) for n in self.shape)
        return nx * ny * nz

    def __and__(self, other: Box) -> Box:
        """Return the points common to both."""
        # An empty intersection has hi = lo, thus the size 0.
        lo = np.maximum(self.lo, other.lo)
        hi = np.maximum(lo, np.minimum(self.hi, other.hi))
        return Box(triple(lo), triple(hi))


@dataclass(frozen=True)
class Grid:
    """Extent and resolution of a simulation.

    Attributes:
        axes: "xz" or "xyz".
        points: points along x, y, z with the absorbing layers (1 along an absent axis).
        spacing: m along x, y, z; along z that at the top.
        origin: coordinate [m] of the first point of the extent.
        low: points of the absorbing layer before it, along x, y, z.
        high: points of the absorbing layer behind the last point of the extent.
        collar: points of every layer, at its inner side, that do not damp yet.
        stretching: how the spacing along z grows with depth, None where it is the same everywhere.
    """

    axes: str
    points: Triple
    spacing: tuple[float, float, float]
    origin: tuple[float, float, float]
    low: Triple
    high: Triple
    collar: int = 0
    stretching: Stretching | None = None

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return len(self.axes)

    @property
    def size(self) -> int:
        """Number of points, layers included."""
        nx, ny, nz = self.points
        return nx * ny * nz

    @property
    def box(self) -> Box:
        """All points."""
        return Box((0, 0, 0), self.points)

    @property
    def extent(self) -> Box:
        """The points outside the absorbing layers."""
        return Box(self.low, triple(np.subtract(self.points, self.high)))

    @property
    def damped(self) -> Grid:
        """The same points, of which only damped layers count as layers."""
        # The collar is the inner side of each layer: here it belongs to the extent.
        low, high = (
            triple(max(0, n - self.collar) for n in ends) for ends in (self.low, self.high)
        )
        return replace(self, low=low, high=high, collar=0)

    @property
    def rows_above_layers(self) -> int:
        """Rows of nodes from the top down that lie in no layer that damps."""
        return self.points[2] - self.damped.high[2]

    @property
    def cell(self) -> float:
        """Volume (3-D, m^3) or area (2-D, m^2) of a cell at the top."""
        # 2-D grids: the absent axis does not count.
        return float(np.prod([self.spacing[AXES.index(a)] for a in self.axes]))

    @property
    def coarsest(self) -> float:
        """The largest spacing in m, of the axes that there are."""
        return max(self.spacing[AXES.index(axis)] for axis in self.axes)

    @property
    def cells(self) -> CellSizes:
        """Edges of the cells along each axis."""
        sizes: dict[str, float | Stretching] = dict(zip(AXES, self.spacing, strict=True))
        return sizes if self.stretching is None else sizes | {"z": self.stretching}

    def heights(self, index) -> np.ndarray:
        """Return how tall cells at (fractional) indices along z are, in spacings at the top."""
        rows = np.asarray(index, float) - self.low[2]
        return np.ones(rows.shape) if self.stretching is None else self.stretching.factor(rows)

    def edge(self, axis: str, index: np.ndarray | float) -> float:
        """Return the edge in m of a cell at a (fractional) index along an axis."""
        length = self.spacing[AXES.index(axis)]
        return length * float(self.heights(index)) if axis == "z" else length

    # Index `low` is the first point of the extent, at `origin`.
    def coordinate(self, axis: str, index) -> np.ndarray:
        """Return the coordinate [m] of (fractional) indices along an axis."""
        a = AXES.index(axis)
        if axis == "z" and self.stretching is not None:
            return self.stretching.coordinate(np.asarray(index, float) - self.low[a])
        return self.origin[a] + (np.asarray(index, float) - self.low[a]) * self.spacing[a]

    def ticks(self, axis: str, index) -> np.ndarray:
        """Return coordinates [m] for an axis of the results, rounded to 1e-9 of the spacing.

        Grids of other spacings have the same number at the same place then.
        """
        # Decimal places of 1e-9 of the spacing.
        digits = _DIGITS - math.floor(math.log10(self.spacing[AXES.index(axis)]))
        return np.round(self.coordinate(axis, index), digits)

    def index(self, axis: str, coordinate) -> np.ndarray:
        """Return the fractional index of coordinates [m] along an axis."""
        a = AXES.index(axis)
        if axis == "z" and self.stretching is not None:
            return self.stretching.row(coordinate) + self.low[a]
        return (np.asarray(coordinate, float) - self.origin[a]) / self.spacing[a] + self.low[a]

    def nearest(self, other: Grid, index: Triple) -> Triple:
        """Return the point next to a point of another grid."""
        x, y, z = (self.index(a, other.coordinate(a, n)) for a, n in zip(AXES, index, strict=True))
        return round(float(x)), round(float(y)), round(float(z))

    def limits(self, axis: str) -> tuple[float, float]:
        """Return the first and last coordinate [m] of the extent along an axis."""
        a = AXES.index(axis)
        ends = (self.low[a], self.points[a] - self.high[a] - 1)
        first, last = self.coordinate(axis, ends)
        return float(first), float(last)
