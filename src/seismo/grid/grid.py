"""The grid: points, spacing, absorbing layers, and the coordinate of each index in metres.

Axes are x, y, z with z positive down. A 2-D grid has one point along y. Index 0 is the outermost
point, inside the absorbing layer if there is one; the scenario's extent begins at index `low`::

    index        0            low                  points - high - 1    points - 1
                 |  PML (low)  |        extent             |  PML (high)  |
    coordinate               origin
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from seismo.grid.stretching import CellSizes, Stretching

Bounds = tuple[np.ndarray, np.ndarray | None, np.ndarray]  # z, y, x of one side of boxes
AXES = ("x", "y", "z")
_DIGITS = 9  # of coordinates in results behind the first one of the spacing
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
        """The same points, of which only those count as layers that damp."""
        # The collar is the inner side of each layer: here it belongs to the extent.
        low, high = (
            triple(max(0, n - self.collar) for n in ends) for ends in (self.low, self.high)
        )
        return replace(self, low=low, high=high, collar=0)

    @property
    def cell(self) -> float:
        """Volume (3-D, m^3) or area (2-D, m^2) of a cell at the top."""
        # 2-D grids: the absent axis does not count.
        return float(np.prod([self.spacing[AXES.index(a)] for a in self.axes]))

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
        """Return the point next to one of another grid."""
        x, y, z = (self.index(a, other.coordinate(a, n)) for a, n in zip(AXES, index, strict=True))
        return round(float(x)), round(float(y)), round(float(z))

    def limits(self, axis: str) -> tuple[float, float]:
        """Return the first and last coordinate [m] of the extent along an axis."""
        a = AXES.index(axis)
        ends = (self.low[a], self.points[a] - self.high[a] - 1)
        first, last = self.coordinate(axis, ends)
        return float(first), float(last)
