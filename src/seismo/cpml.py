"""Absorbing layers: complex-frequency-shifted convolutional PML profiles, and their shell boxes.

In a layer of thickness L, at depth u (0 at its inner side, 1 outside), with N the `power`::

    d = d0 u^N,  d0 = -(N + 1) c log(R) / (2 L),  kappa = 1 + (kappa_max - 1) u^N,
    alpha = alpha_max (1 - u),
    b = exp(-(d / kappa + alpha) dt),  a = d (b - 1) / (kappa (d + kappa alpha))

(Roden & Gedney 2000; Komatitsch & Martin 2007). R is the theoretical reflection at normal
incidence, c the fastest velocity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from seismo.grid import AXES, Box, Grid


@dataclass(frozen=True)
class Layer:
    """Strength of the absorbing layers.

    Attributes:
        reflection: theoretical reflection coefficient at normal incidence.
        kappa: largest stretching of the grid.
        alpha: largest frequency shift [1/s].
        power: N of the profile.
        velocity: fastest wave [m/s].
    """

    reflection: float
    kappa: float
    alpha: float
    power: float
    velocity: float


def profile(grid: Grid, axis: str, layer: Layer, dt: float) -> np.ndarray:
    """Compute b, a and 1/kappa at nodes and at half points along one axis.

    Returns:
        (6, points) float64; b = a = 0 and 1/kappa = 1 outside the layers.
    """
    n = AXES.index(axis)
    points, h = grid.points[n], grid.spacing[n]
    rows = []
    for shift in (0.0, 0.5):
        position = np.arange(points) + shift
        b, a, ikappa = np.zeros(points), np.zeros(points), np.ones(points)
        for width, depth in (
            (grid.low[n], grid.low[n] - position),
            (grid.high[n], position - (points - 1 - grid.high[n])),
        ):
            u = np.clip(depth / max(width, 1), 0.0, 1.0)
            inside = u > 0
            strength = -(layer.power + 1) * layer.velocity * np.log(layer.reflection)
            d = strength / (2 * max(width, 1) * h) * u**layer.power
            kappa = 1 + (layer.kappa - 1) * u**layer.power
            alpha = layer.alpha * (1 - u)
            decay = np.exp(-(d / kappa + alpha) * dt)
            with np.errstate(invalid="ignore", divide="ignore"):
                gain = d * (decay - 1) / (kappa * (d + kappa * alpha))
            b[inside], ikappa[inside] = decay[inside], 1 / kappa[inside]
            a[inside] = np.nan_to_num(gain[inside])
        rows += [b, a, ikappa]
    return np.array(rows)


@dataclass(frozen=True)
class Region:
    """A box of points that share one variant of the operators.

    Attributes:
        box: the points.
        stretched: axes whose derivatives pass through layer memory.
        closed: whether it lies in the rows closed by a free surface.
    """

    box: Box
    stretched: str
    closed: bool


def _segments(grid: Grid, axis: str, lane: int, reach: int) -> list[tuple[int, int, bool]]:
    """Cut an axis in layer, middle, layer; along x on whole lanes, so that vectors are aligned."""
    n = AXES.index(axis)
    points = grid.points[n]
    low = grid.low[n] + reach if grid.low[n] else 0
    high = points - grid.high[n] - 1 - reach if grid.high[n] else points
    if axis == "x":
        low, high = -(-low // lane) * lane, high // lane * lane if grid.high[n] else high
    if low >= high:
        return [(0, points, True)]
    cuts = [(0, low, True), (low, high, False), (high, points, True)]
    return [c for c in cuts if c[0] < c[1]]


def regions(grid: Grid, lane: int, closed_rows: int = 0, reach: int = 0) -> list[Region]:
    """Cut the grid into regions of one variant each.

    Faces stretch one axis; edges and corners all of them, which costs little there and saves
    compiling the combinations.

    Args:
        grid: the grid.
        lane: numbers in a lane.
        closed_rows: rows under a free surface with their own operators.
        reach: points beside a layer whose derivatives still see its memory.
    """
    segments = {a: _segments(grid, a, lane, reach) if a in grid.axes else [(0, 1, False)] for a in AXES}
    if closed_rows:
        rest = [(max(lo, closed_rows), hi, s) for lo, hi, s in segments["z"] if hi > closed_rows]
        segments["z"] = [(0, closed_rows, False), *rest]
    found = []
    for x, y, z in product(*(segments[a] for a in AXES)):
        closed = bool(closed_rows) and z[0] == 0
        which = [a for a, s in zip(AXES, (x, y, z), strict=True) if s[2]]
        if len(which) > 1 or (closed and which):
            which = [a for a in grid.axes if not (closed and a == "z")]
        box = Box((x[0], y[0], z[0]), (x[1], y[1], z[1]))
        found.append(Region(box, "".join(which), closed))
    return found


def variants(found: Iterable[Region]) -> list[tuple[str, bool]]:
    """Name each combination of stretched axes and closure once, in order."""
    return list(dict.fromkeys((r.stretched, r.closed) for r in found))
