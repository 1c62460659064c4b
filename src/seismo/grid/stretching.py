"""Rows of a grid whose spacing grows with depth, and how they are laid out.

With rows counted by zeta from the top of the extent, z = top + h S(zeta), and a cell of row zeta is
J = S' >= 1 times as tall as one at the top. A derivative along z is 1 / J that along zeta, J taken
where the derivative stands; an integral over depth has the weights J. J is a cubic B-spline of its
values at the rows, S its integral. It is 1 in the first rows (`FLAT_ROWS`), where a free surface
closes differences, and is constant in absorbing layers.

J follows a wanted factor, which grows with depth: it is never above it, grows by `GROWTH` a row at
most, and is the mean of that over `SMOOTH_ROWS` rows, so that waves do not notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

FLAT_ROWS = 24  # at the top; closures of order 16, and what reads beside them, take as many
SMOOTH_ROWS = 20  # whose mean the factors are
GROWTH = 1.05  # largest ratio of neighbouring rows
LARGEST = 3.0  # times the spacing at the top that cells are tall where nothing else is asked for
MOST_ROWS = 1_000_000  # laid out one by one
_STEPS = 6  # of Newton's method, from an inverse by straight lines
_BEYOND = 4  # rows at either end that the spline continues with the same value


@dataclass(frozen=True)
class Stretching:
    """Depths of rows whose spacing grows.

    Attributes:
        top: z in m of row 0.
        spacing: height in m of a cell there.
        factors: J at the rows of the extent.
        fraction: of a cell that `moved` goes for a whole one.
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
        """Return z in m of what lies so many (fractional) cells below depths z in m."""
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
    """Return rows whose last one is at a number of cells of the top's height."""
    covered = float(rows.cells(rows.last))
    grown = covered - rows.last
    # The same growth, a little less of it everywhere; where it is next to nothing, as it is.
    share = (total - rows.last) / grown if grown > 0.0 else 1.0
    if not 0.5 <= share <= 1.5:
        return rows
    factors = (1.0 + share * (factor - 1.0) for factor in rows.factors)
    return replace(rows, factors=tuple(factors))
