"""From a scenario to its discretization: grids, earth, waves, time step and geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Share, Shot, evenly, in_earth, with_moments
from seismo.equations.framework.registry import physics_for
from seismo.equations.loss.relaxation import Relaxation
from seismo.errors import ScenarioError, gathered
from seismo.features.contacts.placement import contacts_of
from seismo.features.growing_rows.layout import refuse_growing_contacts
from seismo.features.guided_waves.column_means import has_means
from seismo.features.guided_waves.guides import (
    REFINED,
    GuidedDamping,
    damping,
)
from seismo.features.half_precision.units import halved
from seismo.features.long_steps.stencil import (
    clear_axes,
    lengthened,
    refuse_long_steps,
)
from seismo.features.loss.mechanisms import relaxation_of, stepping
from seismo.features.loss.storage import relaxing
from seismo.features.plane_waves.background import refuse_background
from seismo.features.refinement.levels import (
    Level,
    above_plane,
    levels,
    refuse_unrefined,
    showing,
)
from seismo.features.refinement.plane import at_plane, with_plane
from seismo.features.refinement.plane_position import refuse_plane
from seismo.features.refinement.time_step import plane_limit
from seismo.features.slow_waves.spheres_at_sources import with_spheres
from seismo.features.topography.curved_runs import curved
from seismo.features.topography.ground import PlaneAboveGroundError, topography_of
from seismo.features.topography.rows import Topography
from seismo.grid.grid import Grid
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
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
from seismo.solver.accuracy.waves import are_converted, waves_of
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import make_grid, refuse_thin, refuse_unfit
from seismo.solver.interpolation.unreadable_receivers import refuse_unreadable
from seismo.solver.medium.earth_samples import even_planes, read_earth
from seismo.solver.sampling.output_boxes import refuse_empty_boxes
from seismo.solver.surface.closure_choice import free_surface, surface_of

BATCH_POINTS = 1 << 20  # small shots advance together up to so many points; see `Backend`


def discretize(
    scenario: Scenario, batch_points: int = BATCH_POINTS, share: Share | None = None
) -> Discretization:
    """Discretize a scenario: grid, earth, time step and geometry.

    Args:
        scenario: a checked scenario.
        batch_points: small shots advance together up to so many points.
        share: which of the shots, all when None.

    Raises:
        ScenarioError: a model file, position or time step will not do.
    """
    scenario = with_plane(scenario)
    try:
        discretization = _on_grids(scenario, share)
    except PlaneAboveGroundError as error:
        # What is wrong with the plane that the ground needs is told as well, as that of it.
        try:
            _on_grids(at_plane(scenario, error.enough), share)
        except ScenarioError as others:
            at = f" (with the plane at z = {error.enough:g} m, which the ground needs)"
            raise ScenarioError(*error.messages, *(text + at for text in others.messages)) from None
        raise
    refuse_unreadable(discretization)
    return batched(discretization, batch_points)


def _on_grids(scenario: Scenario, share: Share | None) -> Discretization:
    """Discretize a scenario whose plane is known, on one grid or two."""
    # All of the region with one spacing, which models, sources and receivers refer to.
    region = make_grid(scenario)
    if not scenario.grid.planes:
        ground = topography_of(scenario, region)
        discretization = _on_grid(Level(scenario, region), ground, region, scenario, share)
        refuse_background(discretization)
        return discretization
    # Two grids: each with its own spacing, order, closure and layers, on its side of the plane.
    fine, coarse = levels(scenario)
    on_grid = partial(
        _on_grid, ground=topography_of(scenario, fine.grid), region=region, run=scenario,
        share=share,
    )  # fmt: skip
    grids = gathered(partial(on_grid, level) for level in (fine, coarse))
    # S waves of one side cross the plane.
    if are_converted(*(discretization.waves for discretization in grids)):
        fine, coarse = (replace(level, converted=True) for level in (fine, coarse))
        grids = [
            discretization if discretization.waves.shear else on_grid(level)
            for discretization, level in zip(grids, (fine, coarse), strict=True)
        ]
    # One time step: the shortest of both, and of what moves at the plane.
    clocks = [discretization.clock for discretization in grids]
    clocks.append(make_clock(scenario, plane_limit(*grids), 1.0))
    dt = min(clock.dt for clock in clocks)
    shortest = next(clock for clock in clocks if clock.dt == dt)
    clock = replace(shortest, limit=min(clock.limit for clock in clocks))
    above, below = (
        discretization if discretization.clock.dt == dt
        else on_grid(level.stepped(dt))
        for discretization, level in zip(grids, (fine, coarse), strict=True)
    )  # fmt: skip
    # What lies across the plane is refused; what lies above it is shown by the finer grid.
    plane = coarse.plane
    refuse_plane(scenario, above, below)
    names = above_plane(scenario, below.grid, below.physics, below.clock, plane)
    # Layers are alike on both: of the fastest wave, and of what the ground above guides.
    fastest = [one.fastest for one in (above, below)]
    guided = _guided(replace(below, closure=above.closure), max(fastest))
    above, below = (
        replace(one, guided_damping=guided, faster=other, clock=clock)
        for one, other in zip((above, below), reversed(fastest), strict=True)
    )
    above, below = (replace(one, even=even_planes(one)) for one in (above, below))
    above = replace(above, scenario=showing(above.scenario, names))
    # Rows above the plane, of the coarser grid, are not updated, and so not corrected.
    below = replace(below, contacts=tuple(one for one in below.contacts if one.row >= plane))
    return replace(below, scenario=scenario, fine=above)


def _on_grid(
    level: Level, ground: Topography | None, region: Grid, run: Scenario, share: Share | None
) -> Discretization:
    """Discretize a run over some ground on one of its grids, of all shots or a share."""
    scenario = level.scenario
    grid = level.grid
    relaxation = relaxation_of(scenario)
    # Below a plane where two grids meet rows are flat.
    topography = ground if level.meets is None or level.finer > 1 else None
    slopes = topography is not None
    name = scenario.equation.name
    physics = physics_for(name, grid.dimensions, relaxation or scenario.options, slopes)
    # Earth, sources, receivers and output: what is wrong with any is told together.
    placed = Geometry(run, region, ground)
    steps: list[Callable[[], Any]] = [
        partial(read_earth, scenario, level.live, physics, relaxation, ground, region),
        placed.shots,
        placed.groups,
        partial(refuse_unfit, scenario, physics),
        partial(refuse_unrefined, level, physics),
    ]
    steps += [partial(refuse_empty_boxes, scenario, grid)] * (level.finer == 1)  # of all depths
    read, placed_shots, groups, *_ = gathered(steps)
    earth, extremes, sample = with_spheres(read, level, physics, placed_shots, ground)
    shots = [_radiating(shot, earth, grid, extremes) for shot in placed_shots]
    # Closure of a free surface, by what lies among its rows.
    surface = None
    if scenario.boundaries.top == "free_surface":
        sources = [source for shot in shots for source in shot.sources]
        surface = free_surface(physics, earth, grid, sources, _depths(groups), sample.wet, slopes)
    # Order and coefficients, by the waves that the grid has to carry.
    top = (surface.kind(least_order(scenario.grid)), surface.sources) if surface else (None, None)
    waves = waves_of(level, physics, earth.layered, sample.media(), shots, groups, *top)
    refuse_uncarried(scenario, waves)
    stencil = choose_stencil(scenario.grid, waves)
    if scenario.grid.stencil == "long_steps":
        refuse_long_steps(scenario, physics, earth)
        clear = clear_axes(earth, grid, extremes, shots, groups)
        waves, stencil, surface = lengthened(waves, stencil, surface, clear, scenario.grid)
    closure, slope = surface_of(surface, earth, grid, stencil)
    refuse_thin(scenario, grid, physics, stencil.order, closure, slopes)
    interfaces, contacts = contacts_of(scenario, physics, earth, grid, stencil, closure)
    refuse_growing_contacts(scenario, grid, contacts, closure, stencil.order // 2)
    # Stability limit of a uniform medium, and what contacts and averages leave of it.
    scheme = Scheme(physics, level.live, stencil, closure, topography, level.growth(stencil))
    limit, safe = limits_of(scenario, scheme, earth, extremes, grid, contacts)
    clock_of = partial(make_clock, scenario, limit, safe)
    clock, relaxation = stepping(relaxation, scenario, extremes, clock_of)
    if not scenario.time.dispersion_removal:
        waves = replace(waves, dt=clock.dt)
    discretization = Discretization(
        scenario, physics, grid, earth, extremes, waves, clock, stencil, closure, slope, shots,
        shots, groups, contacts=contacts, interfaces=interfaces, topography=topography,
        finer=level.finer, meets=level.meets,
    )  # fmt: skip
    discretization = _with_tables(discretization, relaxation)
    # What depends on how the medium relaxes; of the shots, those of this run.
    taken_shots = shots if share is None else share.take(shots)
    guided = _guided(discretization, discretization.fastest)
    discretization = replace(discretization, shots=taken_shots, guided_damping=guided)
    return replace(discretization, even=even_planes(discretization))


def _radiating(shot: Shot, earth: Earth, grid: Grid, extremes: Extremes) -> Shot:
    """Return a shot with what faults and plane waves radiate in this earth."""
    return in_earth(with_moments(shot, earth, grid.dimensions), earth, grid, extremes)


def _with_tables(discretization: Discretization, relaxation: Relaxation | None) -> Discretization:
    """Return the run with the equations' tables of losses, 16-bit numbers and curved rows."""
    if relaxation is not None:
        discretization = relaxing(discretization, relaxation)
    if discretization.scenario.in_16_bits:
        discretization = halved(discretization)
    return curved(discretization)


def _guided(discretization: Discretization, fastest: float) -> GuidedDamping:
    """Return the damping of what the medium guides, in layers for waves so fast [m/s]."""
    faces = discretization.scenario.boundaries
    on_rigid = faces.bottom == "rigid"
    advised = damping(
        discretization.earth, discretization.grid, discretization.closure is not None, on_rigid,
        fastest, has_means(discretization.physics.medium),
    )  # fmt: skip
    if discretization.meets is not None:
        advised = advised.at_least(REFINED)
    return advised.replaced(faces.layer.damping, discretization.total_steps)


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
