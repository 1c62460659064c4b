"""Spheres about sources in anisotropic rock (`isotropic_source: auto`), which send P alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.acquisition.spectra import dominant_frequency
from seismo.equations.framework.table import Physics
from seismo.features.topography.rows import Topography
from seismo.grid.grid import Grid
from seismo.grid.interpolation import BROAD_RADIUS, RADIUS
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.model.media import MediaSample
from seismo.model.parts import CORE, SourceSpheres
from seismo.scenario import Scenario
from seismo.solver.grid_layout import Level
from seismo.solver.medium.earth_samples import statistics_of

_WAVELENGTHS = 0.5  # radius of a sphere, in dominant wavelengths


def with_spheres(
    read: tuple[Earth, Extremes, MediaSample], level: Level, physics: Physics,
    shots: Iterable[Shot], topography: Topography | None,
) -> tuple[Earth, Extremes, MediaSample]:  # fmt: skip
    """Return an earth with a sphere about each source that would send slow waves.

    Args:
        read: the earth without, its extremes and its media.
        level: the grid; spheres are added where its scenario asks for them.
        physics: whose `about_sources` say what the medium at a source should fulfil.
        shots: all shots, which have one earth.
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
