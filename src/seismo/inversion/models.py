"""Models given as arrays on the nodes, or by values of parts: checks, and loading.

A parameter such as `model[1].vs` or `model[0].layers[2].vp` is a value of a part of the scenario's
model. Nodes have values that depend on it linearly, by weights that are 1 in a part of uniform rock
and 0 beyond it::

    array = array of the scenario + sum over values of  weights (value - value of the scenario)
    derivative by a value = sum over nodes of  weights * derivative by the array
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError, ScenarioError
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Grid
from seismo.inversion.adjoint.extent import ArrayMemory
from seismo.model.earth import LEAST_RATIO
from seismo.model.effective.averaging import is_told_by_rock, of_rock
from seismo.model.node_values import ModelRange, arrays_of, extent_of, nodes_along, with_values
from seismo.scenario import Scenario
from seismo.scenario.python_data import path_of, plain
from seismo.solver.discretization import Discretization
from seismo.solver.medium.coefficients import as_volume, every_node
from seismo.solver.medium.earth_samples import earth_of
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


class PartValues:
    """Values of parts of the scenario's model that calls may change.

    Attributes:
        start: the scenario's own values, by path.
        parameters: of the rock, by path.
    """

    def __init__(
        self, discretization: Discretization, paths: Sequence[str],
        bounds: Mapping[str, tuple[float, float]],
    ) -> None:  # fmt: skip
        """Find the weights of each value.

        Args:
            discretization: of the runs.
            paths: of the values.
            bounds: least and greatest value of each, in SI.

        Raises:
            ScenarioError: values at nodes do not depend on a value linearly.
        """
        scenario = discretization.scenario
        self.start = {path: value_at(scenario, path) for path in paths}
        self.parameters = {path: parameter_of(path) for path in paths}
        self._weights: dict[str, np.ndarray] = {}
        self._own_arrays = arrays_of(discretization.earth)
        for path, value in self.start.items():
            low, high = bounds[path]
            step = _STEP * (high - low) * (1.0 if value < 0.5 * (low + high) else -1.0)
            first, second = (self._slope(discretization, path, value + n * step) for n in (1, 2))
            if not np.allclose(first, second, rtol=0.0, atol=_LINEAR):
                raise ScenarioError(
                    f"parameters: {path}: rock depends on it, and not linearly; name others"
                )
            # Differences of rounded values: those of uniform parts are whole.
            rounded = np.round(first)
            self._weights[path] = np.where(np.abs(first - rounded) < _LINEAR, rounded, first)

    def _slope(self, discretization: Discretization, path: str, value: float) -> np.ndarray:
        """Return the change of the array on nodes over that of a value of a part."""
        scenario = discretization.scenario.changed({path: value})
        earth = earth_of(
            scenario, discretization.grid, discretization.physics, discretization.earth.relaxation
        )
        name = self.parameters[path]
        changed = arrays_of(ModelRange({name: (0.0, 0.0)}).on_nodes(earth, discretization.grid))
        slope: np.ndarray = (changed[name] - self._own_arrays[name]) / (value - self.start[path])
        return slope

    def checked(
        self, path: str, array_like: Any, bounds: tuple[float, float]
    ) -> np.ndarray:  # fmt: skip
        """Return values () or (model) in float64.

        Raises:
            ModelError: they have another shape, or lie beyond the bounds.
        """
        array = np.asarray(array_like)
        if array.dtype.kind not in "fiu" or array.ndim > 1:
            raise ModelError("give a number, or of several models as many", path)
        array = np.array(array, float)
        low, high = bounds
        if not ((low <= array) & (array <= high)).all():
            raise ModelError(
                f"{array} is not within {low:g} and {high:g}; make a propagator of wider bounds",
                path,
            )
        return array

    def arrays(self, by_path: Mapping[str, np.ndarray]) -> ParameterArrays:
        """Return the arrays (z, [y,] x) of a model, by parameter, with values () by path."""
        changes = self.changes({path: value - self.start[path] for path, value in by_path.items()})
        return {name: self._own_arrays[name] + change for name, change in changes.items()}

    def changes(self, by_path: Mapping[str, np.ndarray]) -> ParameterArrays:
        """Return the changes of arrays (z, [y,] x), by parameter, with those of values."""
        arrays: ParameterArrays = {}
        for path, value in by_path.items():
            name = self.parameters[path]
            arrays[name] = arrays.get(name, 0.0) + self._weights[path] * value
        return arrays

    def by_values(self, by_arrays: Mapping[str, np.ndarray]) -> ParameterArrays:
        """Return derivatives () by values from those by arrays on nodes."""
        return {
            path: np.asarray((self._weights[path] * by_arrays[name]).sum())
            for path, name in self.parameters.items()
        }


_STEP = 1e-3  # of the range of a value, by which weights are found
_LINEAR = 1e-7  # difference of weights that is rounding


def is_of_part(name: str) -> bool:
    """Whether a parameter is a value of a part of the model."""
    return "[" in name


def parameter_of(name: str) -> str:
    """Return the parameter of the rock that a value of a part, or an array, is of."""
    keys = path_of(name)
    return next((str(key) for key in reversed(keys) if key in PARAMETERS), str(keys[-1]))


def bounds_of_rock(
    bounds: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Return the bounds of parameters of the rock, from those of values of parts."""
    of_rock: dict[str, tuple[float, float]] = {}
    for name, (low, high) in bounds.items():
        parameter = parameter_of(name)
        least, greatest = of_rock.get(parameter, (low, high))
        of_rock[parameter] = min(low, least), max(high, greatest)
    return of_rock


def value_at(scenario: Scenario, path: str) -> float:
    """Return a value of a part of a scenario's model, in SI.

    Raises:
        ScenarioError: there is none.
    """
    keys = path_of(path)
    value: Any = plain(scenario)
    for key in keys:
        inside = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            inside = value[key]
        value = inside
    if keys[0] != "model" or not isinstance(value, (int, float)):
        raise ScenarioError(
            f"parameters: {path}: the scenario's model has no such number; name one, such as "
            "model[0].vp"
        )
    return float(value)


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
