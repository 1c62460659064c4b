"""Errors by slow waves of acoustic VTI and TTI equations, and by spheres against them.

A receiver has them where the source stands in rock that sends them
(`seismo.equations.rock.slow_waves`), itself stands in such rock, and the run is long enough
for them to come. They go straight, as in one rock.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import paths_of
from seismo.grid.grid import AXES
from seismo.model.earth import Earth
from seismo.runs.prediction.lines import Cause, never
from seismo.solver.discretization import Discretization

SLOW = "slow waves of anisotropic rock"
SPHERES = "isotropic spheres about sources"
_CHANGED = 0.5  # of P, times epsilon - delta, by a sphere: 3 to 5 % where that is 0.1
_MOST_ENDS = 200  # sources, and receivers, that are looked at


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
    """Return what spheres about sources change of P."""
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
