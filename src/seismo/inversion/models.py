"""Models given as arrays on the nodes: their checks, and their way into a loaded simulation."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Grid
from seismo.inversion.adjoint.extent import ArrayMemory
from seismo.model.earth import LEAST_RATIO
from seismo.model.effective.averaging import is_told_by_rock, of_rock
from seismo.model.node_values import extent_of, nodes_along, with_values
from seismo.solver.discretization import Discretization
from seismo.solver.medium.coefficients import as_volume, every_node
from seismo.solver.simulation import Simulation

ParameterArrays = dict[str, np.ndarray]  # values (z, [y,] x) by parameter


@dataclass(frozen=True, eq=False)
class Call:
    """What a propagator was called with.

    Attributes:
        model: values (z, [y,] x) by every parameter of the equation.
        sources: values that parameters of sources were given.
        batches: the shots that advance together, with these.
    """

    model: ParameterArrays
    sources: ParameterArrays
    batches: list[list[Shot]]

    @property
    def shots(self) -> list[Shot]:
        """All shots."""
        return [shot for shots in self.batches for shot in shots]


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
    discretization = simulation.discretization
    _refuse_impossible(discretization, model)
    # Averages over cells are made anew, those of anisotropic rock, too, and where layers have
    # running means or a mirror turns coefficients.
    is_pointwise = not (
        discretization.scenario.averaging == "effective"
        or not is_told_by_rock(discretization.earth.needs)
        or discretization.field_damping.averaged
        or discretization.physics.odd
        or discretization.scenario.equation.beside_layers
    )
    if not is_pointwise:
        other = with_model(discretization, model)
        for solver in simulation.solvers:
            solver.load_medium(other)
        return
    memory = ArrayMemory.of(simulation.backend, discretization.points, len(simulation.solvers))
    coefficients = coefficients_at_nodes(discretization, memory.put(model))
    for solver in simulation.solvers:
        indices = node_indices(discretization, solver.subdomain)
        solver.set_coefficients(coefficients, partial(continued, indices=indices))


def coefficients_at_nodes(
    discretization: Discretization, model: ParameterArrays
) -> ParameterArrays:
    """Return the coefficients (z, y, x) of a model at the nodes of the extent, point by point.

    Arrays stand where those of the model do.
    """
    physics = discretization.physics
    rock = of_rock({name: as_volume(array) for name, array in model.items()}, physics.medium)
    # Densities of components are kept in no plane: all planes are even.
    like = next(iter(rock.values()))
    rock |= {
        name: np.zeros_like(like[:1, :1, :1]) for name in physics.sparse if name.startswith("rho_")
    }
    coefficients: ParameterArrays = physics.coefficients(rock, discretization.clock.dt)
    return coefficients


def node_indices(discretization: Discretization, subdomain: Subdomain) -> list[np.ndarray]:
    """Return along z, y, x which nodes of the extent the points of a subdomain continue.

    The halo along y and z counts as points.
    """
    grid = discretization.grid
    nodes = every_node(discretization, subdomain)
    indices = []
    for axis in "zyx":
        a = AXES.index(axis)
        node = np.array(nodes.get(axis, range(1)))
        indices.append(np.clip(node - grid.extent.lo[a], 0, grid.extent.shape[a] - 1))
    return indices


def continued(array: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return an array (z, y, x) of the extent at the points that continue it."""
    for axis, index in enumerate(indices):
        if array.shape[axis] > 1:
            array = array.take(index, axis)
    return array


def with_model(discretization: Discretization, model: ParameterArrays) -> Discretization:
    """Return a run with another model; all that was derived of the first one stays as it is."""
    other = copy(discretization)
    vars(other).update(earth=with_values(discretization.earth, discretization.grid, model))
    return other


def _refuse_impossible(discretization: Discretization, model: ParameterArrays) -> None:
    """Refuse a model whose vp and vs make no solid.

    Raises:
        ModelError: with the first place.
    """
    if not {"vp", "vs"} <= model.keys() or (model["vp"] >= LEAST_RATIO * model["vs"]).all():
        return
    with_model(discretization, model).earth.sample(*extent_of(discretization.grid))


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
    array = np.array(array, float)  # the caller may change its own
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
