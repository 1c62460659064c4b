"""Longitudes of any turn: -179, 181 and 541 degrees are one meridian.

All that compares or interpolates longitudes takes them within half a turn of a meridian nearby, so
that they neither jump at 180 degrees nor at Greenwich.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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


def around(longitudes: np.ndarray, meridian: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rising longitudes about a meridian, and where they are among those given.

    An axis that goes around the earth is cut opposite of the meridian, and goes on by one longitude
    beyond the cut.

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
