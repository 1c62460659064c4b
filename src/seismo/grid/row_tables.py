"""Tables of rows with difference operators of their own: those that follow the ground, and others.

A row has weights for each form that formulas take of a field; closed rows count their columns from
a row of their own, others from themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RowWeights:
    """The weights of all rows that follow the ground (`seismo.features.topography.row_weights`).

    Attributes:
        closed: rows from the surface down whose weights are one-sided and count from its row.
        count: rows in all; those below are flat.
        plain: width of the derivatives along z of closed rows.
        cross: width of Z and Z' in closed rows.
        inner: the same of the others, which have them about themselves.
        up: (count, plain + 2 cross + 2) of half rows: G, Z, Z', B' in 1/m, and P of the surface's
            row; all but the last two over the spacing.
        down: (count, ...) of node rows: D, Z, Z', B', 0.
        to_node: P' (closed) of the surface's row.
    """

    closed: int
    count: int
    plain: int
    cross: int
    inner: int
    up: np.ndarray
    down: np.ndarray
    to_node: np.ndarray

    @property
    def read(self) -> int:
        """Rows from the surface down that Z and Z' may read."""
        return self.count + self.inner


@dataclass(frozen=True)
class BesideRefinement:
    """Differences along z in the rows beside the plane where two spacings meet (spacing 1).

    Attributes:
        first: the first of these rows, from `base` down.
        base: row that columns of weights count from.
        up: (rows, columns) weights of nodes at half points below rows `base`, ...
        down: (rows, columns) weights of half points at nodes.
        plane: row of nodes on the plane.
        nodes: row of nodes beyond the plane that holds values on it.
        halves: row of half points that does.
        inner: (n) rows of half points from the plane on, and in `extrapolation` what each counts.
        growth: largest eigenvalue of the operators beside the plane over that of the interior.
    """

    first: int
    base: int
    up: np.ndarray
    down: np.ndarray
    plane: int
    nodes: int
    halves: int
    inner: np.ndarray
    extrapolation: np.ndarray
    growth: float

    @property
    def rows(self) -> tuple[int, int]:
        """The first of the rows beside the plane, and the one behind the last."""
        return self.first, self.base + len(self.up)
