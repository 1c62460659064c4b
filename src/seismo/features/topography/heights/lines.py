"""Heights of the ground from text: lines of x, y and height, at the points of a regular grid.

Coordinates may be rounded, or have noise, each by itself. Along each axis those that are closer
than a fraction of the shorter steps are one; rows and columns then are whole steps apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.formats.reading.text import read_lines
from seismo.grid.longitude import nearest_turn

# Share of a step by which points may be off a regular grid. Rounded to 1 m they are 0.5 m off, and
# so are the ends of the axis between which the grid is laid: 1 m of a step of 25 m.
_TOLERANCE = 0.04
_SHORT = 0.1  # of the length of an axis; steps of noise add up to less, those of rows to more
_MOST_NODES = 100  # of a regular grid for each line of the file


def read_height_lines(
    path: Path, meridian: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (n), columns (m), both rising, and heights (n, m), NaN where none is given.

    Args:
        path: of the file.
        meridian: in degrees, about which x are longitudes; None where they are none.

    Raises:
        ModelError: it is no such text, its points stand on no regular grid, or that is too large.
    """
    table, line_numbers = _table_of(path)
    x, y, heights = table.T
    x = x if meridian is None else nearest_turn(x, meridian)
    columns, rows = _regular_grid(x, y, path)
    refuse_what_does_not_fit(path, 8 * rows.count * columns.count)
    samples = np.full((rows.count, columns.count), np.nan)
    nodes = rows.nearest(y), columns.nearest(x)
    samples[nodes] = heights
    unlike = (samples[nodes] != heights) & np.isfinite(heights)
    if unlike.any():
        number = line_numbers[int(unlike.argmax())]
        raise ModelError(f"{path}:{number}: another line has another height there", "path")
    return rows.ticks, columns.ticks, samples


def _table_of(path: Path) -> tuple[np.ndarray, list[int]]:
    """Return x, y and heights (line, 3) of a file, and the numbers of the lines."""
    lines = read_lines(path, "expected lines of x, y, height")
    table = []
    for number, line in lines:
        words = line.replace(",", " ").replace(";", " ").split()
        try:
            table.append([float(word) for word in words])
        except ValueError:
            if table or number > lines[0][0]:
                raise ModelError(
                    f"{path}:{number}: not a line of numbers: x, y, height", "path"
                ) from None
    if len({len(row) for row in table}) != 1 or len(table[0]) != 3:
        raise ModelError(f"{path} needs lines of three numbers each: x, y, height", "path")
    line_numbers = [number for number, _ in lines[len(lines) - len(table) :]]
    return np.array(table), line_numbers


@dataclass(frozen=True)
class _EvenAxis:
    """Evenly spaced coordinates.

    Attributes:
        first: of them.
        last: of them.
        count: how many.
        error: largest distance of a point from the nearest, in steps.
    """

    first: float
    last: float
    count: int
    error: float = 0.0

    @property
    def step(self) -> float:
        """Distance between two of them, 0 of a single one."""
        return (self.last - self.first) / max(self.count - 1, 1)

    @property
    def ticks(self) -> np.ndarray:
        """All of them (count)."""
        return np.linspace(self.first, self.last, self.count)

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """Return the numbers of those that are nearest to points (n) of the axis."""
        if self.count == 1:
            return np.zeros(points.size, int)
        numbers = np.rint((points - self.first) / self.step)
        return np.clip(numbers, 0, self.count - 1).astype(int)


def _regular_grid(x: np.ndarray, y: np.ndarray, path: Path) -> tuple[_EvenAxis, _EvenAxis]:
    """Return the columns and rows of the regular grid that points (n) stand on.

    Raises:
        ModelError: there is none, or few of its nodes have a height.
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ModelError(f"{path}: x and y must be finite numbers", "path")
    points = np.unique(x + 1j * y).size
    lengths = np.ptp(x), np.ptp(y)
    # Spacing of so many points in square cells: (length + h) (width + h) = points h^2.
    half = 0.5 * sum(lengths)
    cell = (half + math.sqrt(half**2 + (points - 1) * math.prod(lengths))) / max(points - 1, 1)
    problem = ""
    # First with close coordinates as one; should points fall together by that, with all apart.
    for tolerance in (_TOLERANCE, 0.0):
        axes = [_even_axis(coordinates, tolerance, cell) for coordinates in (x, y)]
        nodes = math.prod(axis.count for axis in axes)
        errors = [axis.error for axis in axes]
        if nodes > _MOST_NODES * points:
            problem = problem or (
                f"its x and y make a regular grid of {axes[0].count} x {axes[1].count} points, of "
                f"which the file has {points}"
            )
        elif max(errors) > _TOLERANCE:
            name, axis = max(zip("xy", axes, strict=True), key=lambda one: one[1].error)
            problem = problem or (
                f"its {name} are {axis.error * axis.step:.3g} off a regular grid of {axis.step:.6g}"
            )
        elif nodes >= points:
            return axes[0], axes[1]
    raise ModelError(f"{path}: {problem}; grid it, by GMT surface, say", "path")


def _even_axis(coordinates: np.ndarray, tolerance: float, cell: float) -> _EvenAxis:
    """Return the even coordinates that are nearest to those (n) of points.

    Args:
        coordinates: of the points.
        tolerance: share of a step by which coordinates differ that are one.
        cell: spacing of the points.
    """
    rising = np.unique(coordinates)
    if np.ptp(rising) <= tolerance * cell:
        middle = float(rising.mean())
        return _EvenAxis(middle, middle, 1)
    steps = np.sort(np.diff(rising))
    lengths = np.cumsum(steps)
    short = steps[np.searchsorted(lengths, _SHORT * lengths[-1])]
    rising = rising[np.append(True, np.diff(rising) > tolerance * short)]
    # Rounded steps differ: the mean of those that are about the median is that of the grid.
    steps = np.diff(rising)
    step = np.quantile(steps, 0.5, method="lower")
    step = steps[np.rint(steps / step) == 1.0].mean()
    count = 1 + int(np.rint(steps / step).sum())
    axis = _EvenAxis(float(rising[0]), float(rising[-1]), count)
    nodes = axis.first + axis.step * axis.nearest(coordinates)
    error = float(np.abs(coordinates - nodes).max()) / axis.step
    return _EvenAxis(axis.first, axis.last, count, error)
