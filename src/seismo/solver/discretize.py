"""From a scenario to its discretization: grids, earth, waves, time step and geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import (
    Share,
    Shot,
    evenly,
    in_earth,
    with_moments,
)
from seismo.equations.framework.registry import physics_for
from seismo.equations.framework.table import Physics
from seismo.errors import gathered
from seismo.features import acting
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.model.media import MediaSample
from seismo.scenario import Scenario
from seismo.solver.accuracy.stencil import (
    choose_stencil,
    least_order,
    refuse_uncarried,
)
from seismo.solver.accuracy.time_step import (
    Scheme,
    limits_of,
    make_clock,
)
from seismo.solver.accuracy.waves import Waves, waves_of
from seismo.solver.closure_choice import free_surface, surface_of
from seismo.solver.discretization import Discretization, Facts
from seismo.solver.grid_layout import (
    Level,
    ground_over,
    make_grid,
    refuse_thin,
    refuse_unfit,
    settled,
)
from seismo.solver.interpolation.channels import refuse_unreadable
from seismo.solver.interpolation.traction_free_slopes import SurfaceSlope
from seismo.solver.medium.earth_samples import even_planes, read_earth
from seismo.solver.medium.field_damping import LayerDamping
from seismo.solver.sampling.field_sampling import refuse_empty_boxes

if TYPE_CHECKING:
    from seismo.model.node_values import ModelRange

BATCH_POINTS = 1 << 20  # small shots advance together up to so many points; see `Backend`


def discretize(
    scenario: Scenario,
    batch_points: int = BATCH_POINTS,
    share: Share | None = None,
    models: ModelRange | None = None,
) -> Discretization:
    """Discretize a scenario: grid, earth, time step and geometry.

    Args:
        scenario: a checked scenario.
        batch_points: small shots advance together up to so many points.
        share: which of the shots, all when None.
        models: that the run has to suit besides the scenario's, None for that alone.

    Raises:
        ScenarioError: a model file, position or time step will not do.
    """
    scenario = settled(scenario)
    on_level = partial(_on_level, share=share, models=models)
    on_grids = (grids(scenario, on_level) for grids in acting("grids", scenario))
    discretization = next((run for run in on_grids if run is not None), None)
    if discretization is None:
        grid = make_grid(scenario)
        discretization = on_level(scenario, Level(scenario, grid), ground_over(scenario, grid))
        for refuse in acting("refuse", scenario):
            refuse(discretization)
    _refuse_resting(discretization)
    refuse_unreadable(discretization)
    return batched(discretization, batch_points)


def _refuse_resting(discretization: Discretization) -> None:
    """Refuse sources in a fluid that stays at rest.

    Raises:
        ScenarioError: it names the first.
    """
    for shot in discretization.shots:
        for source in (source for source in shot.sources if source.is_local):
            if discretization.rests(np.array(source.position)):
                raise discretization.scenario.mistake(
                    "sources",
                    problem=f"{source.name} of {shot.name} stands in a fluid (vs = 0) at z = "
                    f"{source.position[2]:.6g} m, where {discretization.scenario.physics} waves do "
                    "not travel; move it into rock",
                )  # fmt: skip


def _on_level(
    run: Scenario, level: Level, ground: Any, share: Share | None, models: ModelRange | None
) -> Discretization:
    """Discretize a run over its ground on a grid of it, for all shots or a share."""
    scenario = level.scenario
    grid = level.grid
    # All of the region with a single spacing, which models, sources and receivers refer to.
    region = grid if level.interface is None else make_grid(run)
    relaxation = next((fit(scenario) for fit in acting("relaxation", scenario)), None)
    # Below a plane where two grids meet rows are flat.
    facts = Facts() if ground is None or not level.is_highest else Facts((ground,))
    slopes = bool(facts.entries)
    name = scenario.equation.name
    physics = physics_for(name, grid.dimensions, relaxation or scenario.options, slopes)
    # Earth, sources, receivers and output: mistakes in all are reported together.
    placed = Geometry(run, region, ground)
    steps: list[Callable[[], Any]] = [
        partial(read_earth, scenario, level.live, physics, relaxation, ground, region, models),
        placed.shots,
        placed.groups,
        partial(refuse_unfit, scenario, physics),
    ]
    steps += [partial(refuse, level, physics) for refuse in acting("refuse_level", scenario)]
    steps += [partial(refuse_empty_boxes, scenario, grid)] * level.has_all_depths
    read, placed_shots, groups, *_ = gathered(steps)
    for changed in acting("earth", scenario):
        read = changed(read, level, physics, placed_shots, ground)
    earth, extremes, sample = read
    shots = [_radiating(shot, earth, grid, extremes) for shot in placed_shots]
    # Rows under a free surface are fitted to even rock alone, and no rock that may vary.
    sample.wet |= models is not None
    waves, stencil, closure, slope = _differences(
        level, physics, earth, extremes, sample, shots, groups, slopes
    )
    # Stability limit of a uniform medium, and the share that special rows and averages leave.
    growth = level.interface.growth(stencil) if level.interface else 1.0
    scheme = Scheme(scenario, physics, level.live, grid, earth, stencil, closure, facts, growth)
    for prepare in acting("prepare", scenario):
        scheme = replace(scheme, facts=scheme.facts.having(prepare(scheme)))
    for refuse in acting("refuse_scheme", scenario):
        refuse(scheme)
    clock_of = partial(make_clock, scenario, *limits_of(scheme, extremes))
    clock = clock_of()
    for stepping in acting("stepping", scenario):
        clock, relaxation = stepping(relaxation, scenario, extremes, clock_of)
    if not scenario.time.dispersion_removal:
        waves = replace(waves, dt=clock.dt)
    discretization = Discretization(
        scenario, physics, grid, earth, extremes, waves, clock, stencil, closure, slope, shots,
        shots, groups, facts=scheme.facts, interface=level.interface,
        subdivision=level.subdivision,
    )  # fmt: skip
    # Tables of the equations: losses, 16-bit numbers, rows that follow the ground.
    for with_table in acting("physics", scenario):
        discretization = with_table(discretization, relaxation)
    # Damping depends on how the medium relaxes; of the shots only this run's are kept.
    guided = field_damping(discretization, discretization.fastest)
    if share is not None:
        discretization = replace(discretization, shots=share.take(shots))
    return damped(discretization, guided)


def _differences(
    level: Level, physics: Physics, earth: Earth, extremes: Extremes, sample: MediaSample,
    shots: list[Shot], groups: list[ReceiverGroup], slopes: bool,
) -> tuple[Waves, Stencil, SurfaceClosure | None, SurfaceSlope | None]:  # fmt: skip
    """Return the waves that a grid carries, its differences, and its free surface's.

    Raises:
        ScenarioError: no differences carry the waves, or the grid is too thin for them.
    """
    scenario = level.scenario
    grid = level.grid
    # Closure of a free surface, by sources, receivers and contacts among its rows.
    surface = None
    if scenario.boundaries.top == "free_surface":
        sources = [source for shot in shots for source in shot.sources]
        surface = free_surface(physics, earth, grid, sources, _depths(groups), sample.wet, slopes)
    # Order and coefficients, by the waves that the grid has to carry.
    top = (surface.kind(least_order(scenario.grid)), surface.sources) if surface else (None, None)
    waves = waves_of(level, physics, earth.layered, sample.media(), shots, groups, *top)
    refuse_uncarried(scenario, waves)
    chosen = waves, choose_stencil(scenario.grid, waves), surface
    for rechosen in acting("stencil", scenario):
        chosen = rechosen(level, physics, earth, extremes, shots, groups, chosen)
    waves, stencil, surface = chosen
    closure, slope = surface_of(surface, earth, grid, stencil)
    refuse_thin(scenario, grid, physics, stencil.order, closure, slopes)
    return waves, stencil, closure, slope


def field_damping(discretization: Discretization, fastest: float) -> LayerDamping:
    """Return the damping of the fields in layers for waves so fast [m/s]."""
    for damping in acting("field_damping", discretization.scenario):
        advised: LayerDamping = damping(discretization, fastest)
        return advised
    return LayerDamping()


def damped(discretization: Discretization, damping: LayerDamping) -> Discretization:
    """Return the run with a damping of the fields in the layers of all its grids."""
    above = discretization.above and damped(discretization.above, damping)
    changed = replace(discretization, field_damping=damping, above=above)
    # Rows of layers at the sides may have means of their columns, which are not even.
    return replace(changed, even=even_planes(changed))


def _radiating(shot: Shot, earth: Earth, grid: Grid, extremes: Extremes) -> Shot:
    """Return a shot with the moments of its faults and plane waves in this earth."""
    return in_earth(with_moments(shot, earth, grid.dimensions), earth, grid, extremes)


def _depths(groups: Sequence[ReceiverGroup]) -> np.ndarray:
    """Return z (n) in m of all that is read."""
    return np.array([z for group in groups for z in group.read_positions[:, 2]])


def batched(discretization: Discretization, batch_points: int, grids: int = 1) -> Discretization:
    """Let small shots advance together up to so many points, unless the scenario says how many.

    Args:
        discretization: the run.
        batch_points: of the shots on each grid.
        grids: that stand side by side.
    """
    shots = len(discretization.shots)
    survey = discretization.scenario.survey
    if survey is None or survey.batch == "auto":
        together = evenly(shots, batch_points // discretization.points, grids)
    else:
        together = min(shots, survey.batch * grids)
    return discretization.sharing(together, grids)
