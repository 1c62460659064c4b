"""Models given as arrays on the nodes: their checks, and their way into a loaded simulation."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError
from seismo.grid.grid import Grid
from seismo.model.node_values import nodes_along, with_values
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation

ParameterArrays = dict[str, np.ndarray]  # values (z, [y,] x) by parameter


def shape_of(grid: Grid) -> tuple[int, ...]:
    """Return the shape (z, [y,] x) of a model: the nodes of the extent."""
    return tuple(nodes_along(grid, a).size for a in "zyx" if a in grid.axes)


def load_model(simulation: Simulation, model: ParameterArrays) -> None:
    """Set the coefficients of a simulation to those of a model; launches stay bound to them.

    Args:
        simulation: of a run that was discretized for a range of models.
        model: values (z, [y,] x) in SI at the nodes of the extent, by every parameter. Layers have
            the values of their inner edge.

    Raises:
        ModelError: a value, or a pair of them, is physically impossible.
    """
    discretization = with_model(simulation.discretization, model)
    for solver in simulation.solvers:
        solver.load_medium(discretization)


def with_model(discretization: Discretization, model: ParameterArrays) -> Discretization:
    """Return a run with another model; all that was derived of the first one stays as it is."""
    other = copy(discretization)
    earth = with_values(discretization.earth, discretization.grid, model)
    vars(other).update(earth=earth)
    return other


def checked(name: str, array_like: Any, grid: Grid, bounds: tuple[float, float]) -> np.ndarray:
    """Return values (..., z, [y,] x) of a parameter in float64.

    Raises:
        ModelError: they have another shape, or lie beyond the bounds anywhere.
    """
    array = np.asarray(array_like)
    if array.dtype.kind not in "fiu":
        raise ModelError(f"has type {array.dtype}; give real numbers", name)
    shape = shape_of(grid)
    if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
        raise ModelError(
            f"has the shape {list(array.shape)}; give {list(shape)}, the nodes of the extent along "
            f"{', '.join(a for a in 'zyx' if a in grid.axes)}, layers left out; of several models "
            "an axis before these",
            name,
        )
    array = np.asarray(array, float)
    low, high = bounds
    # A comparison with NaN is false.
    within = (low <= array) & (array <= high)
    if not within.all():
        index = np.unravel_index(int(np.argmin(within)), array.shape)
        raise ModelError(_problem(name, array[index], index, bounds), name)
    return array


def _problem(
    name: str, value: float, index: tuple[np.intp, ...], bounds: tuple[float, float]
) -> str:
    unit = PARAMETERS[name].unit
    node = ", ".join(map(str, index))
    if not np.isfinite(value):
        return f"{value:g} at node [{node}] is not finite"
    low, high = bounds
    limit = f"is below the bound {low:g}" if value < low else f"exceeds the bound {high:g}"
    return f"{value:g} {unit} at node [{node}] {limit} {unit}; make a propagator of wider bounds"
