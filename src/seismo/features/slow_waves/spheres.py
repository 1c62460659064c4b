"""Slow waves of acoustic VTI and TTI: isotropic spheres against them, and the errors of both.

Spheres about sources in anisotropic rock (`isotropic_source: auto`) send P alone.

A receiver has slow waves where the source stands in rock that sends them
(`seismo.equations.rock.slow_waves`), itself stands in such rock, and the run is long enough for
them to come. They go straight, as in a single rock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import paths_of
from seismo.acquisition.sources import Shot
from seismo.acquisition.spectra import dominant_frequency
from seismo.equations.framework.table import Physics
from seismo.features.topography.rows import Topography
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import BROAD_RADIUS, RADIUS
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.model.media import MediaSample
from seismo.model.parts import CORE, SourceSpheres
from seismo.runs.prediction.lines import Cause, never
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import Level
from seismo.solver.medium.earth_samples import statistics_of

_WAVELENGTHS = 0.5  # radius of a sphere, in dominant wavelengths
SLOW = "slow waves of anisotropic rock"
SPHERES = "isotropic spheres about sources"
_CHANGED = 0.5  # of P, times epsilon - delta, by a sphere: 3 to 5 % where that is 0.1
_MOST_ENDS = 200  # sources, and receivers, that are looked at


def with_spheres(
    read: tuple[Earth, Extremes, MediaSample], level: Level, physics: Physics,
    shots: Iterable[Shot], topography: Topography | None,
) -> tuple[Earth, Extremes, MediaSample]:  # fmt: skip
    """Return an earth with a sphere about each source that would send slow waves.

    Args:
        read: the earth without, its extremes and its media.
        level: the grid; spheres are added where its scenario asks for them.
        physics: whose `about_sources` are the conditions of the medium at a source.
        shots: all shots, which share an earth.
        topography: of the run.
    """
    scenario = level.scenario
    if scenario.isotropic_source != "auto" or not physics.about_sources:
        return read
    earth, *_ = read
    spheres = _spheres(scenario, earth, physics, level.grid, shots)
    if spheres is None:
        return read
    earth = replace(earth, spheres=spheres)
    return earth, *statistics_of(scenario, earth, level.live, physics, topography)


def _spheres(
    scenario: Scenario, earth: Earth, physics: Physics, grid: Grid, shots: Iterable[Shot]
) -> SourceSpheres | None:
    """Return the spheres about sources, None where no source needs one."""
    positions = np.unique([s.position for shot in shots for s in shot.sources], axis=0)
    x, y, z = positions.T
    across = y if grid.dimensions == 3 else None
    medium = earth.sample(z, across, x)
    (condition,) = physics.about_sources
    sends = ~np.broadcast_to(condition.holds(medium), x.shape)
    if not sends.any():
        return None
    wavelength = float(medium["vp"][sends].max()) / dominant_frequency(scenario)
    # The points that a source is spread over lie in the core.
    spread = BROAD_RADIUS if physics.broad_sources else RADIUS
    radius = max(_WAVELENGTHS * wavelength, spread * grid.coarsest / CORE)
    true_z, _, _ = earth.frame.points((z, across, x)).coordinates
    centres = np.stack([np.broadcast_to(true_z, x.shape), y, x], axis=1)[sends]
    other, turned = condition.names
    return SourceSpheres(centres, radius, turned, other)


def slow_wave_error(discretization: Discretization) -> float:
    """Return the largest share of slow waves in a trace, of P (L2)."""
    slow = discretization.physics.slow_waves
    if slow is None or not discretization.groups:
        return 0.0
    sources = [source for shot in discretization.shots for source in shot.sources]
    time = discretization.clock.steps * discretization.clock.dt - min(
        source.start for source in sources
    )
    axes = [AXES.index(axis) for axis in discretization.grid.axes]
    worst = 0.0
    for ends in paths_of(_positions(discretization), discretization.groups):
        acting, reading = (end[:: -(-len(end) // _MOST_ENDS)] for end in ends)
        receivers = reading[_sends(discretization, discretization.earth, reading)]
        for position in acting[_sends(discretization, discretization.earth, acting)]:
            offsets = (receivers - position)[:, axes]
            medium = {
                n: float(v[0])
                for n, v in _medium(discretization.earth, discretization, position[None]).items()
            }
            wavelength = medium["vp"] / discretization.dominant_frequency
            points = wavelength / discretization.grid.coarsest
            comes = np.linalg.norm(offsets, axis=1) < time * slow.velocity(offsets, medium)
            shares = slow.share(offsets, medium, points)[comes]
            worst = max(worst, float(shares.max(initial=0.0)))
    return worst


def sphere_error(discretization: Discretization) -> float:
    """Return the change of P by spheres about sources."""
    if discretization.earth.spheres is None:
        return 0.0
    plain = replace(discretization.earth, spheres=None)
    medium = _medium(plain, discretization, _positions(discretization))
    return _CHANGED * float(np.max(medium["epsilon"] - medium["delta"]))


def _positions(discretization: Discretization) -> np.ndarray:
    """Return the positions (n, 3) m of all sources."""
    return np.array([source.position for shot in discretization.shots for source in shot.sources])


def _medium(
    earth: Earth, discretization: Discretization, positions: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the parameters at positions (n, 3) m."""
    return earth.at(positions, discretization.grid.dimensions)


def _sends(discretization: Discretization, earth: Earth, positions: np.ndarray) -> np.ndarray:
    """Return where rock at positions (n, 3) m has slow waves."""
    medium = _medium(earth, discretization, positions)
    fulfilled = [condition.holds(medium) for condition in discretization.physics.about_sources]
    sends: np.ndarray = ~np.logical_and.reduce(fulfilled)
    return sends


CAUSES = (
    Cause(
        SLOW, slow_wave_error, "medium", falls_with_spacing=never, key="isotropic_source",
        remedy="give isotropic_source: auto",
    ),
    Cause(
        SPHERES, sphere_error, "medium", falls_with_spacing=never,
        remedy="move sources out of rock of unlike epsilon and delta",
    ),
)  # fmt: skip
