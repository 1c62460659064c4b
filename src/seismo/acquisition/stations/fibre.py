"""Fibres for distributed acoustic sensing (DAS): channels that record strain along a gauge length.

A channel at the distance s along the fibre has the mean rate of strain along it over the gauge
length L, which is what interferometry of two points L apart tells of a straight fibre::

    1/L int t . d_s v ds = 1/L sum_k t_k . [v(s_k+1) - v(s_k)],   s - L/2 = s_0 < ... = s + L/2

v velocity, t direction of the fibre, s_k the bends between. It is a sum of velocities at the ends
and bends, with weights (t_k-1 - t_k) / L (Daley et al. 2016; Lindsey & Martin 2021, eq. 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_STRAIGHT = 1e-9  # change of direction that is none
_SHORTEST = 1e-8  # of the length of a fibre: pieces that are none


@dataclass(frozen=True)
class Fibre:
    """The channels of a fibre.

    Attributes:
        gauge_length: in m.
        distances: (channels) of their centres along the fibre, in m.
        ends: for each channel the ends and bends (n, 3) m of its gauge length.
        weights: and the weights (n, 3) 1/m of the velocities there along x, y, z.
    """

    gauge_length: float
    distances: np.ndarray
    ends: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]


def fibre_of(points: np.ndarray, spacing: float, gauge_length: float) -> tuple[Fibre, np.ndarray]:
    """Return the channels along a line through points, and their positions (channels, 3) m.

    The gauge length of the first begins where the fibre does, and that of the last ends on it.

    Args:
        points: (n, 3) m, in order.
        spacing: of channels along the fibre in m.
        gauge_length: in m, at most the length of the fibre.
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    points = points[np.append(True, steps > 0.0)]
    along = np.append(0.0, np.cumsum(steps[steps > 0.0]))
    count = 1 + int((along[-1] - gauge_length) / spacing * (1.0 + 1e-9))
    distances = 0.5 * gauge_length + spacing * np.arange(count)
    pieces = [
        _channel(points, along, s - 0.5 * gauge_length, s + 0.5 * gauge_length) for s in distances
    ]
    ends, weights = zip(*pieces, strict=True)
    return Fibre(gauge_length, distances, ends, weights), _at(points, along, distances)


def length_of(points: np.ndarray) -> float:
    """Return the length in m of a line through points (n, 3) m."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _at(points: np.ndarray, along: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the positions (n, 3) at distances along a line of points at distances `along`."""
    return np.stack([np.interp(distances, along, points[:, a]) for a in range(3)], axis=1)


def _channel(
    points: np.ndarray, along: np.ndarray, begin: float, end: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends and bends (n, 3) of a gauge length, and the weights (n, 3) of velocities."""
    # Rounding must not make pieces without a direction of ends that are bends.
    least = _SHORTEST * along[-1]
    bends = along[(along > begin + least) & (along < end - least)]
    corners = _at(points, along, np.concatenate([[begin], bends, [end]]))
    pieces = np.diff(corners, axis=0)
    directions = pieces / np.linalg.norm(pieces, axis=1, keepdims=True)
    none = np.zeros((1, 3))
    turns = -np.diff(directions, axis=0, prepend=none, append=none)
    kept = np.abs(turns).max(axis=1) > _STRAIGHT
    return corners[kept], turns[kept] / (end - begin)
