"""Plane waves from below, the box that has all of their motion, and the earth about it.

A wave comes up in the half-space under a layered earth, with its reflections at layers and surface.
It enters through the sides and the bottom of a box; outside of it a run has only scattered waves,
which the absorbing layers absorb (total and scattered field; Alterman & Karal 1968)::

    free surface  ______________________________
                 |    |                    |    |
    scattered    |    |   total motion     |    |  scattered
                 |    |____________________|    |
                 |      margin                  |
    absorbing    |______________________________|

Directions: n = (sin i cos a, sin i sin a, -cos i) on the axes x, y, z of the grid, with the
incidence i from the vertical and the azimuth a from x to y, is where the wave goes. P moves along
n, SV along (cos i cos a, cos i sin a, sin i), SH along (-sin a, cos a, 0), where the wavelet is
positive.

The incident wave is that of the earth without the contents of the box. About it, as far as
differences reach inwards and as far as the grid goes outwards, rock may vary with depth alone, and
from the bottom of the box on not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.locator import Locator
from seismo.acquisition.sources import IncomingWave, PointSource
from seismo.acquisition.spectra import SourceKind, wavelet_of
from seismo.features.plane_waves.section import PlaneWaveSource
from seismo.grid.grid import AXES, Grid, triple
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import effective_medium
from seismo.model.extremes import Extremes
from seismo.scenario.sections.sources import SOURCE_NAME

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

LEAST_MARGIN = 10  # points outside a box along every axis: all that differences of order 16 reach
MARGIN = 12
# Dominant periods before a wavelet's own beginning that belong to it, too. Where waves of its
# slowness are evanescent it comes with the wavelet's Hilbert transform, of which 1e-5 is left
# after 8.
LEAD = 0.5
EVANESCENT_LEAD = 8.0
_ALIKE = 1e-6  # relative difference of averages that are equal
_ISOTROPIC = ("vp", "vs", "rho", "qp", "qs")


@dataclass(frozen=True)
class PlaneWave(PointSource):
    """A plane wave of a shot; its position is the corner of its box that it comes to first.

    Attributes:
        wave: "P", "SV" or "SH".
        incidence: of the direction in the half-space, from the vertical, in radians.
        azimuth: of the direction, from x to y, in radians.
        margin: m from the ends of the grid's extent to the box, a few points if None.
        velocity: of the wave in the half-space in m/s.
        impedance: of the half-space for it in Pa s/m.
        evanescent: whether P or S waves of its slowness are, in any rock of the run.
    """

    wave: str = "P"
    incidence: float = 0.0
    azimuth: float = 0.0
    margin: float | None = None
    velocity: float = math.nan
    impedance: float = math.nan
    evanescent: bool = False

    @property
    def level(self) -> tuple[float, float]:
        """Horizontal direction: sine of the incidence times cosine and sine of the azimuth."""
        sine = math.sin(self.incidence)
        along = (sine * math.cos(self.azimuth), sine * math.sin(self.azimuth))
        # Straight along an axis the other part is no rounding error.
        x, y = (0.0 if abs(share) < 1e-12 else share for share in along)
        return x, y

    @property
    def incoming(self) -> IncomingWave:
        """The wave, by its slowness in the half-space."""
        return IncomingWave(self.wave, float(np.hypot(*self.level)) / self.velocity)

    @property
    def silent_after(self) -> float:
        """Time in s after which nothing of it enters the grid, which layers may keep up for long.

        Nor does the first motion tell how large its other components become.
        """
        return math.inf

    def travel_times(self, positions: np.ndarray, axes: list[int], speed: float) -> np.ndarray:
        """Return when it comes to positions (n, 3) m through its half-space, (n) in s."""
        direction = np.array([*self.level, -math.cos(self.incidence)])
        away = positions - np.array(self.position)
        return np.maximum(away @ direction / self.velocity, 0.0)

    def in_earth(self, earth: Earth, grid: Grid, extremes: Extremes) -> PlaneWave:
        """Return it with the rock that it comes from, and a start before which it is negligible.

        Args:
            earth: the medium.
            grid: the grid.
            extremes: of the medium on the grid.
        """
        below = rock_below(earth, grid)
        velocity = float(below.get("vp" if self.wave == "P" else "vs", math.nan))
        fastest = extremes.vs_max if self.wave == "SH" else extremes.vp_max
        evanescent = math.sin(self.incidence) * fastest >= velocity
        periods = EVANESCENT_LEAD if evanescent else LEAD
        lead = periods / wavelets.dominant_frequency(self.wavelet, self.base)
        return replace(
            self, velocity=velocity, impedance=velocity * float(below.get("rho", math.nan)),
            evanescent=evanescent, delay=self.delay + lead,
        )  # fmt: skip


@dataclass(frozen=True)
class WaveBox:
    """The points inside of which a run has the total motion.

    Attributes:
        first: first nodes inside along x, y, z.
        last: last nodes inside.
        faces: the axes that it ends along, z at the bottom alone.
    """

    first: tuple[int, int, int]
    last: tuple[int, int, int]
    faces: str

    def inside(self, axis: str, half: bool, index: np.ndarray) -> np.ndarray:
        """Whether points (n) n, or n + 1/2, along an axis lie inside."""
        if axis not in self.faces:
            return np.ones(index.shape, bool)
        a = AXES.index(axis)
        return (index >= self.first[a]) & (index + half <= self.last[a])


def rock_below(earth: Earth, grid: Grid) -> dict[str, float]:
    """Return the parameters of the rock at the bottom of the extent, in its first column.

    Velocities of attenuating rock hold at the reference frequency.
    """
    x, _ = grid.limits("x")
    y = np.array([grid.limits("y")[0]]) if grid.dimensions == 3 else None
    _, z = grid.limits("z")
    sample = earth.as_given.sample(np.array([z]), y, np.array([x]))
    return {name: float(numbers[0]) for name, numbers in sample.items()}


def wave_box(grid: Grid, margin: float | None, level_axes: str) -> WaveBox:
    """Return the box of a plane wave.

    Args:
        grid: the grid.
        margin: m from the ends of its extent to the box, `MARGIN` points if None.
        level_axes: the horizontal axes along which it ends; along others it has no end.
    """
    first = list(grid.extent.lo)
    last = [n - 1 for n in grid.extent.hi]
    for axis in (*level_axes, "z"):
        a = AXES.index(axis)
        low, high = grid.limits(axis)
        if margin is not None:
            last[a] = math.floor(float(grid.index(axis, high - margin)) + 1e-6)
            start = math.ceil(float(grid.index(axis, low + margin)) - 1e-6)
        else:
            last[a] -= MARGIN
            start = first[a] + MARGIN
        if axis != "z":
            first[a] = start
    return WaveBox(triple(first), triple(last), f"{level_axes}z")


def first_corner(
    grid: Grid, box: WaveBox, level: tuple[float, float]
) -> tuple[float, float, float]:
    """Return x, y, z in m of the corner of a box that a wave comes to first.

    Args:
        grid: the grid.
        box: of the wave.
        level: horizontal direction, x and y.
    """
    corner = [0.0, 0.0, float(grid.coordinate("z", box.last[2]))]
    for axis, along in zip("xy", level, strict=True):
        a = AXES.index(axis)
        ends = (box.first[a], box.last[a])
        if axis in grid.axes:
            # Where it goes straight up, the middle of the bottom.
            at = 0.5 * sum(ends) if along == 0.0 else ends[along < 0.0]
            corner[a] = float(grid.coordinate(axis, at))
    x, y, z = corner
    return x, y, z


def place_wave(locate: Locator, source: PlaneWaveSource, number: int) -> PlaneWave:
    """Return a plane wave of a scenario in the grid, before it knows its rock."""
    scenario = locate.scenario
    grid = locate.grid
    wavelet = wavelet_of(scenario, number)
    middle = [0.5 * sum(grid.limits(axis)) for axis in AXES]
    azimuth = (source.azimuth or 0.0) - locate.azimuth((middle[0], middle[1], 0.0))
    wave = PlaneWave(
        name=source.name or SOURCE_NAME.format(number),
        kind=source.type,
        position=(0.0, 0.0, 0.0),
        strength={"": source.amplitude},
        wavelet=wavelet,
        delay=source.delay,
        derivative=0,
        base=scenario.base,
        wave=source.wave,
        incidence=math.radians(source.incidence),
        azimuth=math.radians(azimuth),
        margin=source.margin,
    )
    if wave.start < 0.0:
        raise scenario.mistake(
            "sources", number, "delay",
            problem="the wave is in its box before t = 0: give "
            f"{source.delay - wave.start:.4g} s or more",
        )  # fmt: skip
    level = [
        a for a in grid.axes.replace("z", "")
        if getattr(scenario.boundaries, f"{a}_min") == "absorbing"
    ]  # fmt: skip
    box = wave_box(grid, source.margin, "".join(level))
    return replace(wave, position=first_corner(grid, box, wave.level))


KIND = SourceKind("plane_wave", place_wave)


def plane_waves(discretization: Discretization) -> list[PlaneWave]:
    """Return the plane waves of a run."""
    return [
        wave for shot in discretization.shots for wave in shot.points if isinstance(wave, PlaneWave)
    ]


def box_of(discretization: Discretization, wave: PlaneWave) -> WaveBox:
    """Return the box of a plane wave in a run."""
    faces = discretization.scenario.boundaries
    level = [
        a
        for a in discretization.grid.axes
        if a != "z" and getattr(faces, f"{a}_min") == "absorbing"
    ]
    return wave_box(discretization.grid, wave.margin, "".join(level))


def refuse_background(discretization: Discretization) -> None:
    """Raise ScenarioError where the earth about the box of a plane wave will not do."""
    for wave in plane_waves(discretization):
        number = discretization.shots[0].points.index(wave)
        for key, problem in _problems(discretization, wave):
            raise discretization.scenario.mistake("sources", number, *key, problem=problem)


def _problems(
    discretization: Discretization, wave: PlaneWave
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield keys of the source and their problems."""
    box = box_of(discretization, wave)
    grid = discretization.grid
    # Points between the box and the layers, which differences of the highest order reach.
    for axis in box.faces:
        a = AXES.index(axis)
        ends = (box.first[a] - grid.low[a], grid.points[a] - 1 - grid.high[a] - box.last[a])
        least = min(ends) if axis != "z" else ends[1]
        if least < LEAST_MARGIN:
            needed = LEAST_MARGIN * grid.edge(axis, box.last[a])
            yield ("margin",), f"less than {LEAST_MARGIN} points along {axis}: give {needed:g} m"
            return
        if box.last[a] - box.first[a] <= discretization.stencil.order:
            problem = f"leaves no more than {discretization.stencil.order} points of the box along"
            yield ("margin",), f"{problem} {axis}: make it smaller, or grid.extent.{axis} larger"
            return
    # The half-space has equal rows.
    heights = grid.heights(np.arange(box.last[2], grid.points[2]))
    if not np.allclose(heights, heights[-1], rtol=_ALIKE, atol=0.0):
        problem = "rows still grow there, and a plane wave comes from rows of one height"
        yield (
            ("margin",),
            f"{problem}: end their growth above its box with a list in grid.spacing.z",
        )
        return
    if discretization.slips.corrected:
        depth = float(grid.coordinate("z", discretization.slips.corrected[0].z_index))
        problem = f"fluid meets solid at z = {depth:.6g} m of the layered earth"
        yield ("type",), f"{problem}, where plane waves are not known: use solids alone"
        return
    # Polarisation and dispersion of the incident wave are as in isotropic rock.
    below = rock_below(discretization.earth, grid)
    odd = [name for name, value in below.items() if name not in _ISOTROPIC and value != 0.0]
    if odd or not below.get("vs"):
        rock = f"rock with {', '.join(odd)}" if odd else "a fluid"
        yield ("type",), f"comes from isotropic solid rock, and the bottom of the model is {rock}"
        return
    yield from _uneven(discretization, box)


def _uneven(discretization: Discretization, box: WaveBox) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where rock about the box differs from that of its first corner.

    The ends of the extent are left out: cells there have half the samples of others, and only
    scattered waves arrive there.
    """
    grid = discretization.grid
    reach = discretization.stencil.order // 2
    inner = {"z": np.arange(grid.extent.lo[2], grid.extent.hi[2])}
    corner = {}
    for a, axis in enumerate("xy"):
        ends = int(axis in grid.axes)
        inner[axis] = np.arange(grid.extent.lo[a] + ends, grid.extent.hi[a] - ends)
        corner[axis] = np.array([max(box.first[a], inner[axis][0])])
    column = _averages(discretization, {**inner, **corner})
    # From the bottom of the box on, a single rock.
    bottom = box.last[2] - grid.extent.lo[2]
    for numbers in column.values():
        rows = np.flatnonzero(
            ~np.isclose(numbers[bottom:], numbers[-1:], rtol=_ALIKE, atol=0.0).all((1, 2))
        )
        if rows.size:
            z = float(grid.coordinate("z", inner["z"][bottom + rows[-1]]))
            depth = float(grid.coordinate("z", box.last[2]))
            yield (
                ("margin",),
                f"its box ends at z = {depth:.6g} m, and below rock still changes at {z:.6g} m: "
                "the wave comes from a half-space; make grid.extent.z larger, or margin smaller",
            )
            return
    if discretization.earth.layered:
        return
    # Slabs of nodes about each face, outwards to the ends of the grid.
    for axis in box.faces:
        a = AXES.index(axis)
        along = inner[axis]
        about = along[along > box.last[a] - reach]
        if axis != "z":
            about = np.concatenate([along[along < box.first[a] + reach], about])
        there = _averages(discretization, {**inner, axis: about})
        for name, numbers in there.items():
            wanted = column[name] if axis != "z" else column[name][about - inner["z"][0]]
            alike = np.isclose(numbers, wanted, rtol=_ALIKE, atol=0.0)
            if not alike.all():
                z, y, x = np.argwhere(~alike)[0]
                index = {**inner, axis: about}
                yield (
                    ("margin",),
                    _difference(discretization, box, index["z"][z], index["y"][y], index["x"][x]),
                )
                return


def _averages(
    discretization: Discretization, index: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the averages (z, y, x) about nodes of the grid."""
    grid = discretization.grid
    z, x = (grid.coordinate(a, index[a]) for a in "zx")
    y = grid.coordinate("y", index["y"]) if grid.dimensions == 3 else None
    averages = effective_medium(
        discretization.earth,
        GridCells(z, y, x, grid.cells),
        discretization.physics.medium,
        discretization.scenario.averaging,
    )
    shape = (z.size, 1 if y is None else y.size, x.size)
    arrays = {k: v[:, None, :] if v.ndim == 2 else v for k, v in averages.items()}
    return {name: np.broadcast_to(array, shape) for name, array in arrays.items()}


def _difference(discretization: Discretization, box: WaveBox, z: int, y: int, x: int) -> str:
    """Describe a node whose rock differs from that of the box's corner."""
    grid = discretization.grid
    at = {"x": x, "y": y, "z": z}
    position = ", ".join(f"{a} = {float(grid.coordinate(a, at[a])):.6g} m" for a in grid.axes)
    reach = discretization.stencil.order // 2
    within = []
    for axis in box.faces:
        a = AXES.index(axis)
        low, high = grid.coordinate(axis, [box.first[a] + reach, box.last[a] - reach])
        within.append(
            f"{axis} = {low:.6g} to {high:.6g} m" if axis != "z" else f"above z = {high:.6g} m"
        )
    return (
        f"about its box the earth may vary with depth alone, and the rock at {position} is not "
        f"that of its corner; keep what varies within {', '.join(within)}, or enlarge grid.extent"
    )
