"""Scenarios, parameters and bounds that a propagator refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seismo.equations.framework.registry import PARAMETERS, physics_for
from seismo.errors import ScenarioError
from seismo.grid.grid import AXES
from seismo.inversion.sources import SOURCE_PARAMETERS
from seismo.model.effective.averaging import OF_ROCK
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import SOURCES
from seismo.solver.accuracy.time_step import ORDINARY
from seismo.solver.discretization import Discretization

ParameterBounds = Mapping[str, tuple[float, float]]


def refuse_bounds(parameters: Sequence[str], bounds: ParameterBounds) -> None:
    """Refuse parameters without bounds, bounds without parameters, and impossible bounds.

    Raises:
        ScenarioError: of the first of them.
    """
    for name in SOURCE_PARAMETERS:
        if name in bounds:
            raise ScenarioError(f"bounds: {name} is of sources, which need none; leave it out")
    parameters = [name for name in parameters if name not in SOURCE_PARAMETERS]
    for name in dict.fromkeys((*parameters, *bounds)):
        if name not in bounds:
            raise ScenarioError(
                f"bounds: {name} has none; give its least and greatest value, such as "
                f"bounds={{'{name}': (1000.0, 5000.0)}}: the time step depends on them"
            )
        if name not in parameters:
            raise ScenarioError(f"bounds: {name} is none of `parameters`; name it there")
        low, high = bounds[name]
        interval = f"bounds: {name}: ({low:g}, {high:g})"
        if not low < high:
            raise ScenarioError(f"{interval}; give the least value, then the greatest")
        if name == "rho" and high > ORDINARY * low:
            raise ScenarioError(
                f"{interval}: of densities that differ {ORDINARY:g} times or more no time step is "
                "known to suit all models; narrow them"
            )
        known = PARAMETERS.get(name)
        if known is not None and (low < known.least or high > known.limits[1]):
            raise ScenarioError(
                f"{interval} is beyond {known.least:g} to {known.limits[1]:g} {known.unit}"
            )


def refuse_unsuited(scenario: Scenario, parameters: Sequence[str]) -> None:
    """Refuse what cannot be run with models given as arrays.

    Raises:
        ScenarioError: of the first such key.
    """
    for is_there, key, problem in _unsuited(scenario):
        if is_there:
            raise scenario.mistake(*key, problem=f"models given as arrays {problem}")
    equation = scenario.equation.name
    physics = physics_for(equation, scenario.dimensions, scenario.options)
    if not OF_ROCK.keys() >= {*physics.needs, *physics.medium}:
        raise scenario.mistake(
            "physics", problem="takes no models given as arrays yet; leave out `parameters`"
        )
    known = (*physics.needs, *SOURCE_PARAMETERS)
    for name in parameters:
        if name not in known:
            raise ScenarioError(
                f"parameters: {name} is none of {equation}; choose from {', '.join(known)}"
            )


def _unsuited(scenario: Scenario) -> tuple[tuple[bool, tuple[str | int, ...], str], ...]:
    """Return by key whether a scenario has something unsuited, and the problem."""
    added = [n for n, source in enumerate(scenario.sources) if type(source) not in SOURCES]
    return (
        (scenario.in_16_bits, ("precision",), "need float32 or float64"),
        (bool(scenario.grid.planes), ("grid", "refinement"), "need a single grid; leave it out"),
        (
            scenario.grid.spacing.grows,
            ("grid", "spacing", "z"),
            "need the same spacing for all rows; give a length",
        ),
        (
            scenario.grid.stencil == "long_steps",
            ("grid", "stencil"),
            "need another; leave it out",
        ),
        (scenario.has_topography, ("topography",), "need flat ground; leave it out"),
        (scenario.equation.attenuates, ("physics",), "take no losses yet; leave out qp and qs"),
        (
            bool(added),
            ("sources", *added[:1], "type"),
            "need sources at points: waves of this one follow from the scenario's model",
        ),
    )


def refuse_underivable(discretization: Discretization, parameters: Sequence[str]) -> None:
    """Refuse runs whose derivative is not exact by the stages of the forward run.

    Raises:
        ScenarioError: of the first reason.
    """
    physics = discretization.physics
    if not parameters:
        raise ScenarioError("derivatives: the propagator has no parameters; name them")
    energy = discretization.scenario.equation.energy
    has_coefficient = not physics.previous or physics.stages[-1].coefficients == ("k",)
    if energy is None or not has_coefficient:
        raise discretization.scenario.mistake(
            "physics", problem="has no derivative by the model yet; use acoustic, "
            "acoustic_variable_density, elastic of isotropic rock, or elastic_sh",
        )  # fmt: skip
    mirrors = [f for f in discretization.image_faces if f.kind != "free_surface"]
    if mirrors:
        raise ScenarioError(
            f"derivatives: faces that are {mirrors[0].kind} have no derivative by the rock on them "
            "yet; make them absorbing"
        )
    if any(group.motion is not None for group in discretization.groups):
        raise ScenarioError("derivatives: receivers that move have no derivative yet")
    _refuse_in_layers(discretization)


def refuse_fluids(model: Mapping[str, np.ndarray]) -> None:
    """Refuse fluids among rock, whose stresses are one: the norm of their energy is singular.

    Raises:
        ScenarioError: vs is 0 somewhere.
    """
    if "vs" in model and not model["vs"].all():
        node = ", ".join(map(str, np.argwhere(model["vs"] == 0.0)[0]))
        raise ScenarioError(
            f"derivatives: vs is 0 at node [{node}], and fluids among rock have no derivative yet; "
            "give vs above 0 everywhere, or use acoustic_variable_density"
        )


def _refuse_in_layers(discretization: Discretization) -> None:
    """Refuse sources and receivers in absorbing layers, where a step is not its own transpose."""
    grid = discretization.grid
    positions_of = [
        (f"source {source.name}", np.array([source.position]))
        for shot in discretization.shots
        for source in shot.points
    ]
    positions_of += [(f"receivers {g.name}", g.read_positions) for g in discretization.groups]
    for name, positions in positions_of:
        for axis in grid.axes:
            n = AXES.index(axis)
            index = grid.index(axis, positions[:, n])
            low = grid.extent.lo[n]
            high = grid.extent.hi[n] - 1
            margin = discretization.stencil.order // 2
            too_low = grid.low[n] and (index < low + margin).any()
            too_high = grid.high[n] and (index > high - margin).any()
            if too_low or too_high:
                metres = margin * grid.spacing[n]
                raise ScenarioError(
                    f"{name}: nearer than {metres:g} m to the absorbing layer along {axis}, where "
                    "derivatives by the model are not exact; move it inwards"
                )
