"""Scenarios, parameters and bounds that a propagator refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seismo.equations.framework.registry import PARAMETERS, physics_for
from seismo.errors import ScenarioError
from seismo.model.effective.averaging import OF_ROCK
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import SOURCES
from seismo.solver.accuracy.time_step import ORDINARY

ParameterBounds = Mapping[str, tuple[float, float]]


def refuse_bounds(parameters: Sequence[str], bounds: ParameterBounds) -> None:
    """Refuse parameters without bounds, bounds without parameters, and impossible bounds.

    Raises:
        ScenarioError: of the first of them.
    """
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
    for name in parameters:
        if name not in physics.needs:
            raise ScenarioError(
                f"parameters: {name} is none of {equation}; choose from {', '.join(physics.needs)}"
            )


def _unsuited(scenario: Scenario) -> tuple[tuple[bool, tuple[str | int, ...], str], ...]:
    """Return by key whether a scenario has something unsuited, and the problem."""
    added = [n for n, source in enumerate(scenario.sources) if type(source) not in SOURCES]
    return (
        (
            scenario.averaging != "point",
            ("averaging",),
            "are the values at the nodes; write averaging: point",
        ),
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
