"""What absorbing layers send back of waves that meet them at grazing incidence, on the grid.

A path from a source to a receiver by way of the layer's outer end has the angle and the length r of
that from the source's image. What the layer sends back (`seismo.runs.prediction.layers.waves`)
changes much among the plane waves that arrive together, and is their mean along the path of
steepest descent (Aki & Richards 2002, section 6.1). It counts by how much more than the straight
path this one spreads. What layers that damp the fields send back besides is another cause
(`seismo.runs.prediction.layers.damping`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.grid.grid import AXES
from seismo.runs.prediction.layers.waves import LayerWaves
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import strength

GRAZING = "waves along absorbing layers"
_MOST_ENDS = 200  # sources, and receivers, between which paths are sought
_PATHS = 3  # by a face, the most grazing ones
_STEEP = 0.5  # cosine of the angle of incidence from which on nothing is told
_SHORT = 80.0  # radians along a face, below which plane waves of too many angles arrive together
_QUANTILES = (1e-3, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999)  # of the energy, by frequency
# Plane waves that arrive along a path, as t of exp(-t^2).
_ANGLES = np.linspace(-4.0, 4.0, 17)


def grazing_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by waves that go along absorbing layers."""
    if not discretization.groups:
        return 0.0
    sources = np.array(
        [s.position for shot in discretization.shots for s in shot.sources if s.is_local]
    )
    if not sources.size:
        return 0.0
    by_face = [
        _by_face(discretization, axis, side, sources)
        for axis, side in product(discretization.grid.axes, (0, 1))
    ]
    return min(1.0, math.hypot(*by_face))


def goes_along(discretization: Discretization, along: float, away: float) -> bool:
    """Whether waves that go so far along a face, and to it and from it [m], are told of here."""
    k = 2.0 * math.pi * discretization.dominant_frequency / discretization.waves.slowest
    return away < _STEEP * math.hypot(along, away) and k * along >= _SHORT


def _by_face(discretization: Discretization, axis: str, side: int, sources: np.ndarray) -> float:
    """Return the error of the worst trace by one face."""
    grid = discretization.grid
    a = AXES.index(axis)
    if not (grid.low[a], grid.high[a])[side]:
        return 0.0
    paths = _paths(discretization, axis, side, sources)
    if not len(paths):
        return 0.0
    spectra = discretization.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    frequencies = np.interp(_QUANTILES, below, spectra.frequency)
    errors = []
    damping = discretization.layer_phases[0][1]
    matched = replace(strength(discretization, damping), damping=0.0)
    for velocity in _velocities(discretization, sources):
        k = 2.0 * math.pi * frequencies / velocity
        known = k * paths[:, 0].max() >= _SHORT
        if not known[len(known) // 2]:
            continue
        layer = LayerWaves(
            discretization, axis, side, velocity, matched, (grid.low[a], grid.high[a])[side]
        )
        back = _along_paths(layer, k[known], paths).max(axis=0)
        logarithms = np.log(spectra.frequency), np.log(frequencies[known])
        errors.append(spectra.error(np.interp(*logarithms, back)))
    return float(np.sqrt(np.mean(np.square(errors or [0.0]))))


def _paths(discretization: Discretization, axis: str, side: int, sources: np.ndarray) -> np.ndarray:
    """Return lengths in m of paths (n, 3): along a face, to it and from it, and straight."""
    grid = discretization.grid
    a = AXES.index(axis)
    columns = [AXES.index(other) for other in grid.axes if other != axis]
    edge = grid.limits(axis)[side]
    outer = abs(float(grid.coordinate(axis, (0, grid.points[a] - 1)[side])) - edge)
    paths = [np.zeros((0, 3))]
    for pair in paths_of(sources, discretization.groups):
        acting, reading = (thinned(ends, _MOST_ENDS) for ends in pair)
        offset = acting[:, None] - reading[None]
        along = np.linalg.norm(offset[..., columns], axis=-1)
        away = np.abs(acting[:, None, a] - edge) + np.abs(reading[None, :, a] - edge)
        straight = np.hypot(along, offset[..., a])
        paths.append(np.stack([along, away, straight], axis=-1).reshape(-1, 3))
    every = np.concatenate(paths)
    through = every[:, 1] + 2.0 * outer
    cosines = through / np.hypot(every[:, 0], through)
    order = np.argsort(cosines)[:_PATHS]
    return every[order[cosines[order] < _STEEP]]


def _velocities(discretization: Discretization, sources: np.ndarray) -> list[float]:
    """Return the velocities in m/s of P and S waves where the first source is."""
    x, y, z = (np.array([coordinate]) for coordinate in sources[0])
    medium = discretization.earth.sample(z, y if discretization.grid.dimensions == 3 else None, x)
    names = ["vp", "vs"] if discretization.waves.shear else ["vp"]
    speeds = [float(np.ravel(medium[name])[0]) for name in names if name in medium]
    return [speed for speed in speeds if speed] or [discretization.waves.slowest]


def _along_paths(layer: LayerWaves, wavenumbers: np.ndarray, paths: np.ndarray) -> np.ndarray:
    """Return what comes back (path, wave) over what arrives straight.

    That is a mean along t, exp(i k r cos u) = exp(i k r - t^2), of incidences u past the image's:
    sin(u / 2) = exp(-i pi / 4) t / sqrt(2 k r).

    Args:
        layer: that they meet.
        wavenumbers: (wave) 1/m.
        paths: as `_paths` returns them.
    """
    along, away, straight = (column[:, None] for column in paths.T)
    distance = away + 2.0 * layer.depth
    r = np.hypot(along, distance)
    half_sine = np.exp(-0.25j * math.pi) * _ANGLES / np.sqrt(2.0 * wavenumbers * r)[:, :, None]
    cosine = np.cos(np.arccos(distance / r)[:, :, None] + 2.0 * np.arcsin(half_sine))
    k = np.broadcast_to(wavenumbers[:, None], cosine.shape)
    back = layer.sent_back(k.ravel(), cosine.ravel()).reshape(cosine.shape)
    back = back * np.exp(-2j * k * cosine * layer.depth - _ANGLES**2) / np.sqrt(1.0 - half_sine**2)
    dimensions = layer.discretization.grid.dimensions
    total = back.sum(axis=-1) * (_ANGLES[1] - _ANGLES[0]) / math.sqrt(math.pi)
    return np.asarray(np.abs(total) * (straight / r) ** (0.5 * dimensions - 0.5))
