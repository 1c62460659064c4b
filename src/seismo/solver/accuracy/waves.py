"""Waves that the grid of a run has to carry: their spectra, and their paths in each medium.

No rays are traced. The longest path is the distance from a source to the farthest receiver, or
to the farthest corner of the extent where the motion is wanted everywhere, and no longer than a
wave gets within the duration. A medium that holds a source or a receiver is crossed along all of
it, another of several layers twice in its thickness, each of many media by its share of points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup, paths_of
from seismo.acquisition.sources import Shot
from seismo.acquisition.spectra import spectra_of
from seismo.equations.framework.table import Physics
from seismo.grid.coefficients import Operator, Spectra, Stencil
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import ClosureKind
from seismo.model.media import RepresentativeMedium
from seismo.solver.closure_choice import SurfaceSources
from seismo.solver.grid_layout import Level

_MOST_PAIRS = 2_000_000  # of sources and receivers whose distances are computed each
_ISOTROPIC = {"pressure", "explosion"}
_SHORTEST = 1.2e-4  # of the energy lies above it: 2.5 times the frequency of a Ricker wavelet


@dataclass(frozen=True)
class Passage:
    """How far waves travel in a medium.

    Attributes:
        medium: where.
        velocity: of the slowest wave there in m/s.
        distance: m.
    """

    medium: RepresentativeMedium
    velocity: float
    distance: float


@dataclass(frozen=True)
class Waves:
    """Waves that a grid has to carry.

    Attributes:
        spectra: of the traces.
        passages: longest path in each medium.
        spacing: (axis) m.
        second_order: whether second differences drive the waves.
        longest: distance in m from a source to its farthest receiver or corner.
        surface: how differences close a free surface, None where there is none or images make it.
        surface_sources: how sources among and below its rows err, None where there is none.
        nearest: distance in m from a source to its nearest receiver.
        depth: in m below the top of the shallowest source, and of the shallowest receiver, added.
        duration: s.
        layered: whether the earth varies with depth only.
        reverberating: whether waves come back from the top.
        shear: whether there are S waves where there is rock.
        dt: time step in s where its error stays in the traces, else 0.
    """

    spectra: Spectra
    passages: tuple[Passage, ...]
    spacing: tuple[float, ...]
    second_order: bool
    longest: float
    surface: ClosureKind | None
    surface_sources: SurfaceSources | None
    nearest: float
    depth: float
    duration: float
    layered: bool
    reverberating: bool
    shear: bool
    dt: float = 0.0

    @property
    def fastest(self) -> float:
        """Velocity of the fastest wave in m/s."""
        media = [passage.medium for passage in self.passages]
        return max(medium.fastest for medium in media)

    @property
    def slowest(self) -> float:
        """Velocity of the slowest wave in m/s, as it would be in cells at the top of the grid."""
        return min(passage.velocity / passage.medium.height for passage in self.passages)

    @property
    def highest(self) -> float:
        """Highest frequency in Hz that waves of the fastest medium carry: two points in each."""
        # Nyquist wavenumber: two points in a wavelength of the fastest wave.
        fastest = max(p.medium.fastest / p.medium.height for p in self.passages)
        return fastest / (2.0 * max(self.spacing))

    @property
    def carried(self) -> float:
        """Share of the energy that waves of the fastest medium carry."""
        carried = self.spectra.frequency < self.highest
        return float(self.spectra.energy[:, carried].sum(axis=1).max())

    @property
    def shortest_period(self) -> float:
        """Period in s of the shortest waves that count (`_SHORTEST`)."""
        # Frequency below which all but `_SHORTEST` of the energy lies.
        below = np.cumsum(self.spectra.energy, axis=1)
        ends = (below < 1.0 - _SHORTEST).sum(axis=1).max()
        return 1.0 / float(self.spectra.frequency[min(ends, len(self.spectra.frequency) - 1)])

    def points(self, velocity: float) -> float:
        """Return the points in the shortest wavelength, along the axis of the largest spacing."""
        return velocity * self.shortest_period / max(self.spacing)

    def phase(
        self, stencil: Stencil, velocity: float, direction: tuple[float, ...] | None = None
    ) -> np.ndarray:
        """Return the phase error (n) in rad/m of the spectra's frequencies.

        Args:
            stencil: order and tolerance of the differences.
            velocity: of the waves in m/s.
            direction: (axis) of length 1; left out, the axis along which differences err most.
        """
        operator = Operator(stencil, self.second_order, self.spacing, self.dt)
        if direction is None and stencil.bounds:
            # Coefficients differ from axis to axis.
            along = np.eye(len(self.spacing)).tolist()
            phases = [self.phase(stencil, velocity, tuple(shares)) for shares in along]
            return np.abs(phases).max(axis=0)
        largest = int(np.argmax(self.spacing))
        coarsest = tuple(float(axis == largest) for axis in range(len(self.spacing)))
        return operator.phase(self.spectra.frequency, velocity, direction or coarsest)


def waves_of(
    level: Level, physics: Physics, layered: bool,
    media: Sequence[RepresentativeMedium], shots: Sequence[Shot],
    groups: Sequence[ReceiverGroup], surface: ClosureKind | None,
    surface_sources: SurfaceSources | None,
) -> Waves:  # fmt: skip
    """Return the waves that the grid of a run has to carry.

    Args:
        level: the grid.
        physics: the wave equation.
        layered: whether the earth varies with depth only.
        media: of the earth.
        shots: all of them.
        groups: receivers.
        surface: how differences close a free surface, None where they do not.
        surface_sources: how sources among and below its rows err.
    """
    scenario = level.scenario
    grid = level.grid
    sources = [source for shot in shots for source in shot.sources]
    everywhere = not groups or bool(scenario.output.maps)
    longest = longest_path(grid, sources, groups, everywhere)
    # S waves: from sources, contacts, a surface or anisotropy, also of the other of two grids.
    shear = len(media) > 1 or surface is not None or not {s.kind for s in sources} <= _ISOTROPIC
    shear = shear or (level.interface is not None and level.interface.converted)
    shear = shear or any(medium.anisotropic for medium in media)  # explosions make S waves there
    depths = [np.array([s.position[2] for s in sources])]
    depths += [group.all_positions[:, 2] for group in groups]
    recorded = 0.0 if everywhere else min(d.min() for d in depths[1:]) - grid.origin[2]
    duration = scenario.time.duration
    # Paths in each medium, by sources and receivers in it and below it.
    ends = np.concatenate(depths)
    deepest = max(medium.bottom for medium in media)
    passages = tuple(
        _passage(medium, shear, (longest, duration), grid.spacing[2], ends, deepest)
        for medium in media
    )
    axes = [AXES.index(axis) for axis in grid.axes]
    spacing = tuple(grid.spacing[axis] for axis in axes)
    return Waves(
        trace_spectra(shots, groups, grid.dimensions), passages, spacing,
        physics.differences == "second", longest, surface, surface_sources,
        0.0 if everywhere else _nearest(sources, groups, axes),
        float(depths[0].min() - grid.origin[2] + recorded),
        duration, layered, scenario.boundaries.top != "absorbing", shear,
    )  # fmt: skip


def are_converted(above: Waves, below: Waves) -> bool:
    """Whether S waves of a grid of two, or of a contact on their plane, come to the other."""
    media = [passage.medium for waves in (above, below) for passage in waves.passages]
    properties = [(medium.vp, medium.vs, medium.rho, medium.others) for medium in media]
    return above.shear or below.shear or any(property_ != properties[0] for property_ in properties)


def trace_spectra(
    shots: Sequence[Shot], groups: Sequence[ReceiverGroup], dimensions: int
) -> Spectra:
    """Return the spectra of the traces of a run in 2 or 3 dimensions."""
    radiating = (source for shot in shots for source in shot.summaries)
    quantities = {name for group in groups for name in group.quantities}
    return spectra_of(radiating, quantities, dimensions)


def _passage(
    medium: RepresentativeMedium, shear: bool, most: tuple[float, float], spacing: float,
    ends: np.ndarray, deepest: float,
) -> Passage:  # fmt: skip
    """Return how far waves travel in a medium.

    Args:
        medium: the medium.
        shear: whether there are S waves.
        most: longest path of all in m, and duration of the run in s.
        spacing: height of a cell in m, where cells are not stretched.
        ends: depths of sources and receivers in m.
        deepest: bottom of all media in m.
    """
    velocity = medium.slowest if shear else medium.vp or medium.slowest
    # Path in each medium: the longest, as far as the duration lets a wave go.
    longest, duration = most
    crossed = min(longest, velocity * duration)
    # A cell beyond its ends counts as within.
    low = medium.top - spacing * medium.height
    high = medium.bottom + spacing * medium.height
    if medium.stands_for:
        crossed *= medium.share
    # Without source or receiver: twice through the layer.
    elif not ((low <= ends) & (ends <= high)).any():
        crossed = min(crossed, 2.0 * (high - low))
    elif medium.bottom < deepest:  # media below send waves back through it
        crossed = min(max(crossed, 2.0 * (high - low)), velocity * duration)
    return Passage(medium, velocity, crossed)


def longest_path(
    grid: Grid, sources: Sequence[Any], groups: Sequence[ReceiverGroup], everywhere: bool
) -> float:
    """Return the distance in m from a source to the farthest receiver, or corner of the extent."""
    axes = [AXES.index(axis) for axis in grid.axes]
    starts = np.array([source.position for source in sources])[:, axes]
    ends = [_corners(np.array([grid.limits(axis) for axis in grid.axes]))] if everywhere else []
    # Distances of moving receivers from their own source, from a sample of shots.
    moving = [group for group in groups if group.motion is not None]
    paths = paths_of(np.array([source.position for source in sources]), moving)
    lengths = [float(np.linalg.norm((a - b)[:, axes], axis=1).max()) for a, b in paths]
    for group in groups:
        if group.motion is not None:
            continue
        positions = group.coordinates[:, axes]
        # All pairs, or the corners of the receivers' box where these are too many.
        few = len(positions) * len(starts) <= _MOST_PAIRS
        box = np.stack([positions.min(axis=0), positions.max(axis=0)], axis=1)
        ends.append(positions if few else _corners(box))
    lengths += [
        float(np.linalg.norm(starts[:, None] - points[None], axis=2).max()) for points in ends
    ]
    return max(lengths)


def _nearest(sources: Sequence[Any], groups: Sequence[ReceiverGroup], axes: list[int]) -> float:
    """Return the distance in m from a source to the nearest receiver, at least, along axes."""
    paths = paths_of(np.array([source.position for source in sources]), groups)
    nearest = math.inf
    for starts, ends in paths:
        starts, ends = starts[:, axes], ends[:, axes]
        if len(starts) * len(ends) <= _MOST_PAIRS:
            away = starts[:, None] - ends[None]
        else:  # that of their boxes
            gap = np.maximum(starts.min(0) - ends.max(0), ends.min(0) - starts.max(0))
            away = np.maximum(gap, 0.0)
        nearest = min(nearest, float(np.linalg.norm(away, axis=-1).min()))
    return nearest


def _corners(limits: np.ndarray) -> np.ndarray:
    """Return the corners (corner, axis) of a box of limits (axis, 2)."""
    return np.array(np.meshgrid(*limits)).reshape(len(limits), -1).T
