"""The vertical coordinate s of a grid whose rows follow the ground down to a depth.

The top row lies on the ground, and rows are flat from a depth L below the `level` on, where ground
that is flat would lie. Points stand at::

    z = s + f(x, y) B(s),    B = (1 - (s - level) / L)^3,   0 below level + L,

with f the depth of the ground below the level in m (hills negative).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seismo.grid.grid import Grid

POWER = 3  # of B, whose first two derivatives vanish where rows become flat


class VerticalCoordinate:
    """Ground that the rows of a grid follow.

    Attributes:
        grid: flat in s.
        surface: depth f(y, x) in m of the ground below the level.
        depth: L in m, below which rows are flat.
    """

    grid: Grid
    surface: Callable[..., np.ndarray]
    depth: float

    @property
    def level(self) -> float:
        """Z in m of flat ground on which f is 0."""
        raise NotImplementedError

    @property
    def flat_from(self) -> float:
        """S in m from which on rows are flat."""
        raise NotImplementedError

    @property
    def highest(self) -> float:
        """Z in m of the highest ground at the nodes."""
        raise NotImplementedError

    @property
    def steepest(self) -> float:
        """The tangent of the steepest dip of the ground."""
        raise NotImplementedError

    def ground(self, y: Any, x: Any) -> np.ndarray:
        """Return z in m of the ground."""
        raise NotImplementedError

    def z(self, s: Any, y: Any, x: Any) -> np.ndarray:
        """Return z in m of points at s in m."""
        raise NotImplementedError

    def share(self, s: Any) -> np.ndarray:
        """Return B at s in m."""
        raise NotImplementedError

    def z_over(self, f: np.ndarray, s: Any) -> np.ndarray:
        """Return z in m of points at s in m where the ground is f in m below the level."""
        raise NotImplementedError

    def s(self, z: Any, y: Any, x: Any) -> np.ndarray:
        """Return s in m of points at z in m; above the ground it goes on as at the ground."""
        raise NotImplementedError


def remaining(s: Any, level: float, depth: float) -> np.ndarray:
    """Return 1 - (s - level) / L, 0 where rows are flat."""
    return np.clip(1.0 - (np.asarray(s, float) - level) / depth, 0.0, None)


def share(s: Any, level: float, depth: float) -> np.ndarray:
    """Return B at s in m, of rows that are flat from a depth in m below the level in m on."""
    return remaining(s, level, depth) ** POWER
