"""Scenarios, parameters and bounds that a propagator refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.framework.registry import PARAMETERS, physics_for
from seismo.equations.framework.table import Physics
from seismo.errors import ScenarioError
from seismo.grid.grid import AXES
from seismo.grid.interpolation import BROAD_RADIUS, RADIUS
from seismo.inversion.adjoint.memory import remembers
from seismo.inversion.models import is_of_part, parameter_of, value_at
from seismo.inversion.sources import SOURCE_PARAMETERS
from seismo.model.node_values import arrays_of
from seismo.scenario import Scenario
from seismo.scenario.model_parts import given_parameters
from seismo.scenario.sections.sources import SOURCES
from seismo.solver.accuracy.time_step import ORDINARY
from seismo.solver.discretization import Discretization
from seismo.solver.medium.earth_samples import conversion_of

_LEAST_POINTS = 2.0  # in the shortest wavelength: a grid does not carry waves of fewer
_ADVISED_POINTS = 3.0
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
        known = PARAMETERS.get(parameter_of(name) if is_of_part(name) else name)
        if known is not None and (low < known.least or high > known.limits[1]):
            raise ScenarioError(
                f"{interval} is beyond {known.least:g} to {known.limits[1]:g} {known.unit}"
            )


def refuse_several(scenario: Scenario) -> None:
    """Refuse members of an ensemble, which are other models.

    Raises:
        ScenarioError: of their section.
    """
    if scenario.section("ensemble") is not None:
        raise scenario.mistake(
            "ensemble",
            problem="has members, and a propagator runs the models it is given; leave it out",
        )


def refuse_coarse(discretization: Discretization, bounds: ParameterBounds) -> None:
    """Refuse a grid that was chosen for the scenario's rock, where slower rock may be given.

    Raises:
        ScenarioError: waves of the slowest have too few points.
    """
    scenario = discretization.scenario
    speeds = [
        low for name, (low, _) in bounds.items() if parameter_of(name) in ("vp", "vs") and low
    ]
    if "grid.spacing" not in scenario.chosen or not speeds:
        return
    spacing = max(discretization.waves.spacing)
    shortest = min(speeds) / discretization.highest_frequency
    if shortest < _LEAST_POINTS * spacing:
        raise ScenarioError(
            f"grid.spacing: {spacing:g} m was chosen for the rock of the scenario, and waves of "
            f"{min(speeds):g} m/s, within the bounds, have {shortest / spacing:.2g} points in the "
            f"shortest wavelength; give a spacing of {shortest / _ADVISED_POINTS:.3g} m or less"
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
    of_rock = model_parameters(scenario, physics)
    known = (*of_rock, *SOURCE_PARAMETERS)
    for name in parameters:
        if is_of_part(name):
            value_at(scenario, name)
            parameter = parameter_of(name)
            if parameter not in of_rock:
                raise ScenarioError(
                    f"parameters: {name}: {parameter} is no parameter of {equation} "
                    f"({', '.join(of_rock)}); places and shapes of parts have no derivative"
                )
            if parameter in parameters:
                raise ScenarioError(
                    f"parameters: {name}: {parameter} is there at all nodes, too; leave either out"
                )
        elif name not in known:
            raise ScenarioError(
                f"parameters: {name} is none of {equation}; choose from {', '.join(known)}"
            )


def model_parameters(scenario: Scenario, physics: Physics) -> tuple[str, ...]:
    """Return the names of the parameters of the earth that models give.

    Of rock whose elastic constants the waves take these are they, about the axes of the grid, where
    parts of the scenario's model give constants.
    """
    conversion = conversion_of(scenario.model, physics)
    if conversion is None or given_parameters(scenario.model).isdisjoint(CONSTANTS):
        return physics.needs
    return tuple(
        n for n in conversion.names if n not in ("vp", "vs") or "c33" not in conversion.names
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
        (
            scenario.isotropic_source == "auto",
            ("isotropic_source",),
            "have the rock that they give about sources, too; leave it out",
        ),
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
    if not parameters:
        raise ScenarioError("derivatives: the propagator has no parameters; name them")
    has_norm = discretization.scenario.equation.energy is not None
    if not has_norm and not remembers(discretization.physics):
        raise discretization.scenario.mistake(
            "physics", problem=f"is {discretization.scenario.equation.name}, which has no "
            "derivative yet; give rock whose planes of symmetry are those of the grid",
        )  # fmt: skip
    _refuse_pressures(discretization, parameters)
    mirrors = [f for f in discretization.image_faces if f.kind != "free_surface"]
    if mirrors:
        raise ScenarioError(
            f"derivatives: faces that are {mirrors[0].kind} have no derivative by the rock on them "
            "yet; make them absorbing"
        )
    if any(group.motion is not None for group in discretization.groups):
        raise ScenarioError("derivatives: receivers that move have no derivative yet")
    _refuse_in_layers(discretization)


def _refuse_pressures(discretization: Discretization, parameters: Sequence[str]) -> None:
    """Refuse what acoustic equations of anisotropic rock have no derivative by.

    Raises:
        ScenarioError: of the first reason.
    """
    physics = discretization.physics
    if len(physics.previous) < 1 + (not remembers(physics)):
        return
    sources = [source for shot in discretization.shots for source in shot.points]
    for source in sources:
        if source.kind != "pressure":
            raise ScenarioError(
                f"derivatives: source {source.name} is of type {source.kind}, and acoustic waves "
                "in anisotropic rock, and with losses, have a derivative with sources of type "
                "pressure alone yet"
            )
    for name in parameters:
        if name in ("theta", "phi"):
            raise ScenarioError(
                f"derivatives: by {name} there is none of acoustic waves yet; leave it out of "
                "`parameters`"
            )
    model = arrays_of(discretization.earth)
    if discretization.scenario.averaging == "effective" and any(
        np.ptp(model[name]) > 0.0 for name in ("theta", "phi") if name in model
    ):
        raise ScenarioError(
            "derivatives: axes of symmetry vary, and their averages over cells have no derivative "
            "yet; set averaging: point"
        )


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
    radius = BROAD_RADIUS if discretization.physics.broad_sources else RADIUS
    positions_of = [
        (f"source {source.name}", np.array([source.position]), radius)
        for shot in discretization.shots
        for source in shot.points
    ]
    positions_of += [
        (f"receivers {g.name}", g.read_positions, RADIUS) for g in discretization.groups
    ]
    for name, positions, radius in positions_of:
        # Points on either side of a position that it acts on, or is read of.
        margin = max(discretization.stencil.order // 2, radius - 1)
        for axis in grid.axes:
            n = AXES.index(axis)
            index = grid.index(axis, positions[:, n])
            low = grid.extent.lo[n]
            high = grid.extent.hi[n] - 1
            too_low = grid.low[n] and (index < low + margin).any()
            too_high = grid.high[n] and (index > high - margin).any()
            if too_low or too_high:
                metres = margin * grid.spacing[n]
                raise ScenarioError(
                    f"{name}: nearer than {metres:g} m to the absorbing layer along {axis}, where "
                    "derivatives by the model are not exact; move it inwards"
                )
