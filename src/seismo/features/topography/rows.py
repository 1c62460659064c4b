"""Topography: the ground over a grid, and how rows follow it down to a depth.

The grid is flat in coordinates (x, y, s), s being the depth in m that rows have where the ground is
level with the top row, at the `level`. Points stand at::

    z = s + f(x, y) B(s),    B = (1 - (s - level) / L)^3,   0 below level + L,

with f the depth of the ground below the level (hills negative), so that the top row lies on the
ground, and rows from a depth L on are flat. Derivatives at constant z and s are related by::

    d/dz = (1 / g) d/ds,    d/dx|z = d/dx|s - (a / g) d/ds,    g = 1 + f B',    a = f_x B,

and likewise along y (Fornberg 1988; O'Reilly et al. 2022 for staggered grids). f, f_x, f_y depend
on x and y alone, B and B' on the row: no array has three dimensions. f is a quintic spline through
heights at nodes. In absorbing layers at the sides the ground goes on level along the normal, so
that a is 0 there.

All of a run except its inputs and outputs is in the coordinates (x, y, s): positions are moved into
them, and the medium is sampled where points stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.grid.coordinates import (
    POWER,
    VerticalCoordinate,
    remaining,
    share,
)
from seismo.grid.grid import AXES, Grid

_STEPS = 30  # of Newton's method at most, each of which is exact to rounding after five or so
_NEAR = 1e-12  # of the spacing, at which it ends
_DEGREE = 5  # quintic: slopes are smooth enough for differences of high order
_FEWEST = 256  # cells for which lines pay: there is a call of the spline for each of their samples
_SPARSE = 4  # crossings of lines for each point that is asked for, beyond which points are single


class GroundSpline:
    """A smooth function of x and y through values at nodes: a quintic spline.

    Values beyond the nodes are clamped to the nearest.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray | None, depths: np.ndarray) -> None:
        """Take depths (y, x) in m, or (x) where y is None, at coordinates in m."""
        from scipy.interpolate import RectBivariateSpline, make_interp_spline

        self._x = np.asarray(x, float)
        self._y = None if y is None else np.asarray(y, float)
        depths = np.asarray(depths, float)
        if self._y is None:
            self._spline: Any = make_interp_spline(self._x, depths, _DEGREE)
        else:
            self._spline = RectBivariateSpline(self._y, self._x, depths, kx=_DEGREE, ky=_DEGREE)

    def __call__(self, y: np.ndarray | None, x: np.ndarray, along: str = "") -> np.ndarray:
        """Return the function, or its slope along an axis, at broadcastable coordinates in m."""
        x, outside_x = _clipped(self._x, x)
        if self._y is None:
            value = self._spline(x, nu=int(along == "x"))
            return np.where(outside_x, 0.0, value) if along == "x" else np.asarray(value)
        y, outside_y = _clipped(self._y, np.zeros(()) if y is None else y)
        value = self._on_plane(y, x, {"dx": int(along == "y"), "dy": int(along == "x")})
        beyond = {"x": outside_x, "y": outside_y}
        return np.where(beyond[along], 0.0, value) if along else value

    def _on_plane(self, y: np.ndarray, x: np.ndarray, slopes: dict[str, int]) -> np.ndarray:
        """Return the spline, or a slope, at coordinates between the nodes.

        Where points are crossings of lines, values of a line are evaluated once for all of them, to
        the same bits.
        """
        if _spans_plane(y, x):
            shape = np.broadcast_shapes(y.shape, x.shape)
            return np.asarray(self._spline(y.ravel(), x.ravel(), **slopes)).reshape(shape)
        y, x = np.broadcast_arrays(y, x)
        rows = _Lines.of(y)
        columns = _Lines.of(x)
        if rows is None or columns is None or rows.count * columns.count > _SPARSE * len(y):
            return np.asarray(self._spline.ev(y, x, **slopes))
        result = np.empty(y.shape)
        for k, at in enumerate(zip(rows.coordinates.T, columns.coordinates.T, strict=True)):
            result[:, k] = self._spline(*at, **slopes)[rows.number, columns.number]
        return result


@dataclass(frozen=True)
class _Lines:
    """Rows or columns of cells, all sampled at the same coordinates along an axis.

    Attributes:
        coordinates: (lines, samples) in m, growing from line to line.
        number: (cells) of the line that each cell lies on.
    """

    coordinates: np.ndarray
    number: np.ndarray

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.coordinates)

    @classmethod
    def of(cls, coordinates: np.ndarray) -> _Lines | None:
        """Return the lines of samples (cells, samples), None if there are none, or few cells."""
        if coordinates.ndim != 2 or len(coordinates) < _FEWEST:
            return None
        # Samples of cells at an edge are clipped, but not all of them.
        middles = coordinates.min(axis=1) + coordinates.max(axis=1)
        _, first, number = np.unique(middles, return_index=True, return_inverse=True)
        lines = coordinates[first]
        is_sorted = bool(np.all(lines[1:] >= lines[:-1]))
        is_same = is_sorted and np.array_equal(lines[number], coordinates)
        return cls(lines, number) if is_same else None


def _spans_plane(y: np.ndarray, x: np.ndarray) -> bool:
    """Whether y varies along a single axis of an array, and x along a later axis, both growing."""
    axes = [[-k for k in range(1, c.ndim + 1) if c.shape[-k] > 1] for c in (y, x)]
    if not (len(axes[0]) == len(axes[1]) == 1 and axes[0] < axes[1]):
        return False
    return all(bool(np.all(np.diff(c.ravel()) >= 0.0)) for c in (y, x))


def _clipped(nodes: np.ndarray, coordinate: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates moved to between the nodes, and whether they lay outside."""
    coordinate = np.asarray(coordinate, float)
    inside = np.clip(coordinate, nodes[0], nodes[-1])
    return inside, inside != coordinate


@dataclass(frozen=True, eq=False)
class Topography(VerticalCoordinate):
    """The ground over a grid.

    Attributes:
        grid: flat in s; its first row along z lies at the level, and is the ground.
        surface: depth f(y, x) in m of the ground below the level.
        depth: L in m, below which rows are flat.
    """

    grid: Grid
    surface: GroundSpline
    depth: float

    @property
    def level(self) -> float:
        """Z in m of flat ground on which f is 0."""
        return self.grid.origin[2]

    @property
    def flat_from(self) -> float:
        """S in m from which on rows are flat."""
        return self.level + self.depth

    @cached_property
    def highest(self) -> float:
        """Z in m of the highest ground at the nodes."""
        return float(np.min(self.ground(*self.across(""))))

    def share(self, s: Any) -> np.ndarray:
        """Return B at s in m."""
        return share(s, self.level, self.depth)

    def slope_of_share(self, s: Any) -> np.ndarray:
        """Return B' [1/m] at s in m."""
        return -POWER / self.depth * remaining(s, self.level, self.depth) ** (POWER - 1)

    def ground(self, y: Any, x: Any) -> np.ndarray:
        """Return z in m of the ground."""
        return self.level + self.surface(y, x)

    def z(self, s: Any, y: Any, x: Any) -> np.ndarray:
        """Return z in m of points (broadcast shape) at s in m."""
        return self.z_over(self.surface(y, x), s)

    def z_over(self, f: np.ndarray, s: Any) -> np.ndarray:
        """Return z in m of points at s in m where the ground is f in m below the level."""
        return np.asarray(s, float) + f * self.share(s)

    def height(self, s: Any, y: Any, x: Any) -> np.ndarray:
        """Return g, the height of cells at s in m over that of flat ones."""
        return 1.0 + self.surface(y, x) * self.slope_of_share(s)

    def s(self, z: Any, y: Any, x: Any) -> np.ndarray:
        """Return s in m of points at z in m; above the ground it goes on as at the ground."""
        f = self.surface(y, x)
        z, f = np.broadcast_arrays(np.asarray(z, float), f)
        # Newton's method from below, where z(s) is convex or concave throughout.
        s = np.where(z >= self.level + self.depth, z, z - f * self.share(z))
        for _ in range(_STEPS):
            inside = np.maximum(s, self.level)
            # dz/ds = 1 + f B'; above the ground z goes on along its tangent.
            slope = 1.0 + f * self.slope_of_share(inside)
            missing = z - (inside + f * self.share(inside)) - np.minimum(s - self.level, 0) * slope
            s = s + missing / slope
            if np.all(np.abs(missing) < _NEAR * self.grid.spacing[2]):
                break
        return s

    @cached_property
    def rows(self) -> int:
        """Rows that are not flat, or are taller or lower than flat ones."""
        rows = np.arange(self.grid.points[2] + 1)
        return int(np.count_nonzero(self.grid.coordinate("z", rows) < self.level + self.depth))

    def across(self, half: str) -> tuple[np.ndarray | None, np.ndarray]:
        """Return y (n, 1) and x (m) in m of columns half a cell along axes from the nodes."""
        y, x = (
            np.asarray(self.grid.coordinate(a, np.arange(self.grid.points[AXES.index(a)])
                                            + 0.5 * (a in half)), float) for a in "yx"
        )  # fmt: skip
        return (y[:, None] if "y" in self.grid.axes else None), x

    def below_level(self, half: str) -> np.ndarray:
        """Return f in m at the columns (y, x) half a cell along `half` axes from the nodes."""
        y, x = self.across(half)
        return np.atleast_2d(self.surface(y, x))

    def slope(self, axis: str, half: str) -> np.ndarray:
        """Return f_x or f_y at these columns (y, x)."""
        y, x = self.across(half)
        return np.atleast_2d(self.surface(y, x, along=axis))

    @cached_property
    def steepest(self) -> float:
        """The tangent of the steepest dip of the ground."""
        # tan^2 of the dip = f_x^2 + f_y^2
        squares = sum(self.slope(a, "") ** 2 for a in self.grid.axes if a != "z")
        return float(np.sqrt(np.max(squares)))

    @cached_property
    def heights(self) -> tuple[float, float]:
        """The least and the largest g, which stand on the ground."""
        # B' is largest on the ground, and so is g - 1.
        g = self.height(self.level, *self.across(""))
        return min(1.0, float(g.min())), max(1.0, float(g.max()))
