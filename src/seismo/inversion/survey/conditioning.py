"""Masks and preconditioners of an inversion, as arrays on the nodes of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from seismo.grid.grid import AXES, Grid
from seismo.inversion.survey.settings import FixedNodes
from seismo.inversion.survey.traces import ShotPropagator
from seismo.model.node_values import nodes_along
from seismo.solver.discretization import Discretization

_ENERGY_SAMPLES = 200  # of the fields of a run


def mask_of(
    settings: FixedNodes, discretization: Discretization, start: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the mask (z, [y,] x): 0 where nodes stay as they are, 1 where they are free.

    Args:
        settings: the nodes that stay.
        discretization: the run.
        start: values (z, [y,] x) of the first model by parameter.
    """
    grid = discretization.grid
    coordinates = _coordinates(grid)
    mask = np.ones(np.broadcast_shapes(*(coordinate.shape for coordinate in coordinates.values())))
    if settings.above is not None:
        mask *= coordinates["z"] >= settings.above
    if settings.slower_than is not None:
        mask *= start.get("vp", start.get("vs", mask)) >= settings.slower_than
    if settings.layers is not None:
        mask *= _away_from_layers(grid, coordinates, settings.layers)
    if settings.sources is not None:
        positions = [p.position for shot in discretization.shots for p in shot.points]
        mask *= _growing(coordinates, positions, settings.sources)
    if settings.receivers is not None:
        for group in discretization.groups:
            mask *= _growing(coordinates, group.all_positions, settings.receivers)
    return mask


def depth_weights(power: float, grid: Grid) -> np.ndarray:
    """Return the preconditioner (z, [y,] x) of a power of the depth, at most 1.

    It acts twice on a step, so it is the square root of the wanted power. The first row has the
    weight of half a cell.
    """
    z = nodes_along(grid, "z")
    depth = np.maximum(z - z[0], 0.5 * grid.spacing[AXES.index("z")])
    of_rows = (depth / depth[-1]) ** (0.5 * power)
    shape = [nodes_along(grid, a).size for a in "zyx" if a in grid.axes]
    return np.broadcast_to(of_rows.reshape(-1, *(1,) * (len(shape) - 1)), shape).copy()


def illumination_weights(energy: np.ndarray, level: float) -> np.ndarray:
    """Return the preconditioner (z, [y,] x) of an energy of waves, at most 1.

    Its square, which acts on a step, is level / (level + share of the greatest energy).

    Literature: Shin, Jang & Min (2001, Geophys. Prosp. 49, 592-606).
    """
    largest = float(energy.max())
    share = energy / largest if largest else energy
    return np.sqrt(level / (level + share))


def energy_of(propagator: ShotPropagator, models: dict[str, Any]) -> np.ndarray:
    """Return the sum over time and shots of squared fields (z, [y,] x) of the selected batch.

    The fields are pressure where the equation is of second order in time, else velocities.

    Args:
        propagator: of the waves.
        models: values (z, [y,] x) by parameter.
    """
    physics = propagator.discretization.physics
    names = [f.name for f in physics.fields if f.late and not f.previous_of]
    names = list(physics.previous) or names
    every = max(1, propagator.discretization.total_steps // _ENERGY_SAMPLES)
    energy = np.zeros(propagator.shape)
    for _, fields in propagator.steps(every=every, **models):
        for name in names:
            energy += (fields[name].astype(float) ** 2).sum(axis=0)
    return energy


def _coordinates(grid: Grid) -> dict[str, np.ndarray]:
    """Return the coordinates of the nodes in m, by axis, so that they broadcast to a model."""
    axes = [axis for axis in "zyx" if axis in grid.axes]
    return dict(zip(axes, np.ix_(*(nodes_along(grid, axis) for axis in axes)), strict=True))


def _away_from_layers(
    grid: Grid, coordinates: dict[str, np.ndarray], distance: float
) -> np.ndarray:
    """Return which nodes lie further than a distance from all absorbing layers."""
    away = np.ones(1, bool)
    for axis, coordinate in coordinates.items():
        n = AXES.index(axis)
        if grid.low[n]:
            away = away & (coordinate - coordinate.min() >= distance)
        if grid.high[n]:
            away = away & (coordinate.max() - coordinate >= distance)
    return away


def _growing(
    coordinates: dict[str, np.ndarray], positions: Iterable[Iterable[float]], reach: float
) -> np.ndarray:
    """Return weights that grow from 0 at positions (n, 3) m to 1 at a distance from them."""
    weights = np.ones(1)
    for position in np.unique(np.array([tuple(p) for p in positions]), axis=0):
        squares = [
            (coordinate - position[AXES.index(a)]) ** 2 for a, coordinate in coordinates.items()
        ]
        share = np.minimum(np.sqrt(sum(squares)) / reach, 1.0)
        weights = np.minimum(weights, 0.5 - 0.5 * np.cos(np.pi * share))
    return weights
