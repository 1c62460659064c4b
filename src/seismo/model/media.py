"""The media that a grid holds: each of a few layers, or three that stand for many."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.grid.grid import AXES, Grid
from seismo.model.earth import Earth

MOST_MEDIA = 12
_SAMPLES = 200_000
_TYPICAL = ("slowest", "middle", "fastest")


@dataclass(frozen=True)
class RepresentativeMedium:
    """One medium of the earth.

    Of many media three stand for all: the slowest, the median and the fastest. Depths and share
    then are those of the slowest tenth of the points, of those between, and of the fastest.

    Attributes:
        top: smallest depth in m at which it occurs.
        bottom: greatest depth in m.
        vp: m/s, None where the equation has none.
        vs: m/s, 0 in a fluid, None where the equation has none.
        rho: kg/m3, None where the equation has none.
        share: of the sampled points.
        stands_for: "slowest", "middle" or "fastest" of many media, "" where it is a medium alone.
    """

    top: float
    bottom: float
    vp: float | None
    vs: float | None
    rho: float | None
    share: float
    stands_for: str = ""

    @property
    def slowest(self) -> float:
        """Velocity of the slowest wave in m/s."""
        return self.vs or self.vp or math.nan


def media_of(earth: Earth, grid: Grid) -> list[RepresentativeMedium]:
    """List the media of the earth from the top, or the slowest, median and fastest of many."""
    depths, columns = _sampled(earth, grid)
    rows, inverse = _different(columns)
    many = rows.shape[1] > MOST_MEDIA
    if many:
        rows, inverse = _typical(earth, columns)
    found = []
    for number in range(rows.shape[1]):
        here = inverse == number
        if not here.any():
            continue
        values = dict(zip(earth.needs, map(float, rows[:, number]), strict=True))
        vp, vs, rho = (values.get(name) for name in ("vp", "vs", "rho"))
        found.append(RepresentativeMedium(
            float(depths[here].min()), float(depths[here].max()), vp, vs, rho, float(here.mean()),
            _TYPICAL[number] if many else "",
        ))  # fmt: skip
    return found if many else sorted(found, key=lambda medium: (medium.top, medium.slowest))


def _sampled(earth: Earth, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return depths (n) in m and parameters (needed, n) at points spread over the extent."""
    ticks = {}
    for axis in grid.axes:
        a = AXES.index(axis)
        ticks[axis] = grid.coordinate(axis, np.arange(grid.extent.lo[a], grid.extent.hi[a]))
    if earth.layered:
        ticks = {a: t if a == "z" else t[:1] for a, t in ticks.items()}
    total = math.prod(len(t) for t in ticks.values())
    every = math.ceil((max(1.0, total / _SAMPLES)) ** (1.0 / grid.dimensions))
    ticks = {a: t[::every] for a, t in ticks.items()}
    z, x = ticks["z"].reshape(-1, 1, 1), ticks["x"].reshape(1, 1, -1)
    y = ticks["y"].reshape(1, -1, 1) if "y" in ticks else None
    sampled = earth.sample(z, y, x)
    columns = np.array([sampled[name].ravel() for name in earth.needs])
    shape = next(iter(sampled.values())).shape
    return np.broadcast_to(z, shape).ravel(), columns


def _different(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different columns (needed, medium) in order, and which one each (n) is.

    Rows are numbered one after the other: a fifth of the time that sorting columns takes.
    """
    key = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        values, number = np.unique(row, return_inverse=True)
        key = key * len(values) + number
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return columns[:, first], inverse


def _typical(earth: Earth, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stand for many media by three: the slowest tenth, what is between, and the fastest tenth.

    All points as slow, or as fast, as the last of a tenth belong to it: water is not cut in two.
    """
    named = dict(zip(earth.needs, columns, strict=True))
    speeds = named["vp"] if "vp" in named else named["vs"]
    if "vs" in named:
        speeds = np.where(named["vs"] > 0.0, named["vs"], speeds)
    order = np.argsort(speeds, kind="stable")
    tenth = max(1, len(order) // 10)
    slow, fast = speeds[order[[tenth - 1, -tenth]]]
    inverse = np.where(speeds <= slow, 0, np.where(speeds < fast, 1, 2))
    inverse[order[-1]] = 2  # however few speeds there are, media are more than one
    between = order[inverse[order] == 1]
    median = between[len(between) // 2] if between.size else order[len(order) // 2]
    return columns[:, [order[0], median, order[-1]]], inverse
