"""How well the grid carries the waves of each layer, up to the highest frequency of the sources.

Of a wave of angular frequency w and velocity c, the staggered differences make the wavenumber k
into K(k) = k r(k) (`seismo.stencils.phase_velocity_ratio`), and time stepping makes w into
(2 / dt) sin(w dt / 2). The wave then travels at

    c' / c = asin(c dt K / 2) / (c dt k / 2),    k = w / c,

or r alone where the time dispersion is removed. Along an axis the differences err most, along a
diagonal least, and time stepping errs the same way in both: the larger error of the two is given.

How many points are enough depends on what the waves meet. Where nothing but the differences errs,
on order and stencil: `points_needed`. At contacts and free surfaces, which the grid carries to
second order at best, on neither: measured against exact solutions and finer grids (validation/
README.md), errors of traces are about 0.5 % with `CONTACT_POINTS` and 2 to 4 % with half as many.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from seismo import wavelets
from seismo.grid import AXES
from seismo.setup import Setup
from seismo.stencils import Stencil, phase_velocity_ratio

MOST_LAYERS = 12
SPEED_ERROR = 0.1  # % of the phase velocity, that `points_needed` keeps
CONTACT_POINTS = 10.0
_SAMPLES = 200_000
_TYPICAL = ("slowest", "middle", "fastest")


@dataclass(frozen=True)
class LayerResolution:
    """One medium of the earth and how the grid carries its slowest wave.

    Of many media three stand for all: the slowest, the median and the fastest. Depths and share
    then are those of the slowest tenth of the points, of those between, and of the fastest.

    Attributes:
        top: smallest depth in m at which it occurs.
        bottom: greatest depth in m.
        vp: m/s, None where the equation has none.
        vs: m/s, 0 in a fluid, None where the equation has none.
        rho: kg/m3, None where the equation has none.
        share: of the sampled points.
        points_per_wavelength: of the slowest wave at the highest frequency.
        phase_error: of its velocity there, in %.
        stands_for: "slowest", "middle" or "fastest" of many media, "" where it is a medium alone.
    """

    top: float
    bottom: float
    vp: float | None
    vs: float | None
    rho: float | None
    share: float
    points_per_wavelength: float
    phase_error: float
    stands_for: str = ""

    @property
    def slowest(self) -> float:
        """Velocity of the slowest wave in m/s."""
        return slowest_of(self.vp, self.vs)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def slowest_of(vp: float | None, vs: float | None) -> float:
    """Give the velocity of the slowest wave of a medium in m/s."""
    return vs or vp or math.nan


def highest_frequency(setup: Setup) -> float:
    """Give the frequency in Hz above which all sources radiate less than 1 % of their peak."""
    base = setup.scenario.base
    found = []
    for source in setup.scenario.sources:
        # Where the wavelet is the moment itself, its rate is what radiates.
        rate = getattr(source, "time_function", "moment_rate") == "moment"
        found.append(wavelets.maximum_frequency(source.wavelet, base, rate=rate))
    return max(found)


def dominant_frequency(setup: Setup) -> float:
    """Give the lowest of the sources' dominant frequencies in Hz."""
    base = setup.scenario.base
    return min(wavelets.dominant_frequency(s.wavelet, base) for s in setup.scenario.sources)


def coarsest_spacing(setup: Setup) -> float:
    """Give the largest spacing in m."""
    return max(setup.grid.spacing[AXES.index(a)] for a in setup.grid.axes)


def phase_error(setup: Setup, velocity: float, frequency: float) -> float:
    """Give the error in % of the phase velocity of a wave of that velocity in m/s."""
    points = velocity / (frequency * coarsest_spacing(setup))
    dimensions = setup.grid.dimensions
    # On the diagonal every axis sees the projected wavelength.
    errors = [_error(setup, p, velocity, frequency) for p in (points, points * dimensions**0.5)]
    return max(errors, key=abs)


def points_needed(stencil: Stencil, second_order: bool = False) -> float:
    """Give the points per wavelength from which on waves keep their speed to `SPEED_ERROR`.

    Along an axis, of the differences alone. Min-max coefficients touch that error at any number.
    """
    points = np.geomspace(2.0, 100.0, 4000)
    if second_order:
        ratio = np.array([_second_ratio(stencil.second, p) for p in points])
    else:
        ratio = phase_velocity_ratio(stencil.first, points)
    wrong = np.flatnonzero(np.abs(ratio - 1.0) > 0.0101 * SPEED_ERROR)
    return float(points[min(wrong[-1] + 1, len(points) - 1)])


def needed_of(setup: Setup) -> float:
    """Give `points_needed` of a run."""
    return points_needed(setup.stencil, setup.physics.second_order)


def has_contacts(setup: Setup, layers: list[LayerResolution]) -> bool:
    """Tell whether waves may meet a contact of media, or a closed free surface.

    A free surface of acoustic waves is imaged exactly.
    """
    return len(layers) > 1 or setup.closure is not None


def _error(setup: Setup, points: float, velocity: float, frequency: float) -> float:
    scenario, dt = setup.scenario, setup.clock.dt
    if setup.physics.second_order:
        ratio = _second_ratio(setup.stencil.second, points)
    else:
        ratio = float(phase_velocity_ratio(setup.stencil.first, np.array([points]))[0])
    if not scenario.time.dispersion_removal:
        half = math.pi * frequency * dt
        ratio = math.asin(min(1.0, half * ratio)) / half
    return 100.0 * (ratio - 1.0)


def _second_ratio(coefficients: np.ndarray, points: float) -> float:
    k = 2.0 * math.pi / points
    m = np.arange(1, len(coefficients))
    return math.sqrt(float(2.0 * (1.0 - np.cos(k * m)) @ coefficients[1:])) / k


def layers_of(setup: Setup, frequency: float) -> list[LayerResolution]:
    """List the media of the earth from the top, or the slowest, median and fastest of many."""
    depths, columns = _samples(setup)
    rows, inverse = np.unique(columns, axis=1, return_inverse=True)
    inverse = inverse.ravel()
    many = rows.shape[1] > MOST_LAYERS
    if many:
        rows, inverse = _typical(setup, columns)
    found = []
    for number in range(rows.shape[1]):
        here = inverse == number
        if not here.any():
            continue
        values = dict(zip(setup.earth.needs, map(float, rows[:, number]), strict=True))
        vp, vs, rho = (values.get(name) for name in ("vp", "vs", "rho"))
        velocity = slowest_of(vp, vs)
        found.append(LayerResolution(
            float(depths[here].min()), float(depths[here].max()), vp, vs, rho, float(here.mean()),
            velocity / (frequency * coarsest_spacing(setup)),
            phase_error(setup, velocity, frequency),
            _TYPICAL[number] if many else "",
        ))  # fmt: skip
    return found if many else sorted(found, key=lambda layer: (layer.top, layer.slowest))


def _samples(setup: Setup) -> tuple[np.ndarray, np.ndarray]:
    """Give depths (n) in m and parameters (needed, n) at points spread over the extent."""
    grid, earth = setup.grid, setup.earth
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


def _typical(setup: Setup, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stand for many media by three: the slowest tenth, what is between, and the fastest tenth.

    All points as slow, or as fast, as the last of a tenth belong to it: water is not cut in two.
    """
    named = dict(zip(setup.earth.needs, columns, strict=True))
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
