"""Coordinates of curved grids and of the earth: vertical coordinate, longitudes of any turn.

The vertical coordinate s is that of rows that follow the ground down to a depth: the top row lies
on the ground, and rows are flat from a depth L below the `level` on, where ground that is flat
would lie. Points stand at::

    z = s + f(x, y) B(s),    B = (1 - (s - level) / L)^3,   0 below level + L,

with f the depth of the ground below the level in m (hills negative).

The longitudes -179, 181 and 541 degrees are one meridian. All that compares or interpolates
longitudes takes them within half a turn of a meridian nearby, so
that they neither jump at 180 degrees nor at Greenwich.
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


TURN = 360.0
MOST = 720.0  # degrees, of a longitude of any turn
_CLOSED = 0.25  # of a step, by which an axis around the earth may miss 360 degrees
_FEWEST = 3  # longitudes that may go around the earth


def nearest_turn(longitude: Any, meridian: Any) -> np.ndarray:
    """Return longitudes from 180 degrees before a meridian to less than 180 degrees after it."""
    longitude = np.asarray(longitude, float)
    return longitude - _turns(longitude, meridian)


def unwrapped(longitudes: np.ndarray) -> np.ndarray:
    """Return longitudes (n) of an axis without jumps by a turn, where they jump."""
    steps = np.diff(longitudes)
    if (steps > 0.0).all() or (steps < 0.0).all():
        return longitudes
    return longitudes - TURN * np.append(0.0, np.cumsum(np.round(steps / TURN)))


def centred_longitudes(longitudes: np.ndarray, meridian: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rising longitudes about a meridian, and their numbers among the given longitudes.

    An axis that goes around the earth is cut opposite of the meridian, and continues by one
    longitude beyond the cut.

    Args:
        longitudes: rising (n), in degrees.
        meridian: in degrees.
    """
    numbers = np.arange(longitudes.size)
    step = float(np.median(np.diff(longitudes))) if longitudes.size >= _FEWEST else 0.0
    length = float(longitudes[-1] - longitudes[0])
    if step <= 0.0 or length + (1.0 + _CLOSED) * step < TURN:
        return longitudes - _turns(0.5 * (longitudes[0] + longitudes[-1]), meridian), numbers
    once = numbers[longitudes < longitudes[0] + TURN - _CLOSED * step]
    turned = nearest_turn(longitudes[once], meridian)
    order = np.argsort(turned, kind="stable")
    rising = turned[order]
    numbers = once[order]
    return (
        np.concatenate([rising[-1:] - TURN, rising, rising[:1] + TURN]),
        np.concatenate([numbers[-1:], numbers, numbers[:1]]),
    )


def _turns(longitude: Any, meridian: Any) -> Any:
    """Return the whole turns in degrees by which longitudes are away from a meridian."""
    return TURN * np.floor((longitude - meridian) / TURN + 0.5)
