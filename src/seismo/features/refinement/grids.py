"""The discretization of a scenario on two grids, a finer one above a plane and a coarser one below.

Each has its own spacing, order, closure and layers. They have one time step, and layers that are
alike, of the fastest wave and of what the ground above guides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from seismo.errors import ScenarioError, gathered
from seismo.features.refinement.levels import above_plane, levels, showing
from seismo.features.refinement.plane import at_plane, refuse_plane
from seismo.features.refinement.time_step import plane_limit
from seismo.features.topography.ground import PlaneAboveGroundError
from seismo.scenario import Scenario
from seismo.solver.accuracy.time_step import make_clock
from seismo.solver.accuracy.waves import are_converted
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import field_damping
from seismo.solver.grid_layout import Level, ground_over
from seismo.solver.medium.earth_samples import even_planes

OnLevel = Callable[[Scenario, Level, Any], Discretization]


def discretize_grids(scenario: Scenario, on_level: OnLevel) -> Discretization | None:
    """Discretize a scenario on two grids; None where it has no plane of refinement.

    Args:
        scenario: its plane is known.
        on_level: function(scenario, level, ground) -> the discretization of one of the grids.

    Raises:
        ScenarioError: a grid or the plane will not do.
    """
    if not scenario.grid.planes:
        return None
    try:
        return _on_both(scenario, on_level)
    except PlaneAboveGroundError as error:
        # What is wrong with the plane that the ground needs is told as well, as that of it.
        try:
            _on_both(at_plane(scenario, error.enough), on_level)
        except ScenarioError as others:
            at = f" (with the plane at z = {error.enough:g} m, which the ground needs)"
            raise ScenarioError(*error.messages, *(text + at for text in others.messages)) from None
        raise


def _on_both(scenario: Scenario, on_level: OnLevel) -> Discretization:
    """Discretize a scenario on the grids on both sides of its plane."""
    fine, coarse = levels(scenario)
    ground = ground_over(scenario, fine.grid)

    def on_grid(level: Level) -> Discretization:
        return on_level(scenario, level, ground)

    grids = gathered(partial(on_grid, level) for level in (fine, coarse))
    # S waves of one side cross the plane.
    if are_converted(*(discretization.waves for discretization in grids)):
        fine, coarse = (_converting(level) for level in (fine, coarse))
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
    assert coarse.interface is not None
    plane = coarse.interface.row
    refuse_plane(scenario, above, below)
    names = above_plane(scenario, below.grid, below.physics, below.clock, plane)
    # Layers are alike on both: of the fastest wave, and of what the ground above guides.
    fastest = [side.fastest for side in (above, below)]
    guided = field_damping(replace(below, closure=above.closure), max(fastest))
    above, below = (
        replace(side, field_damping=guided, fastest_beside=other, clock=clock)
        for side, other in zip((above, below), reversed(fastest), strict=True)
    )
    above, below = (replace(side, even=even_planes(side)) for side in (above, below))
    above = replace(above, scenario=showing(above.scenario, names))
    # Rows above the plane, of the coarser grid, are not updated, and so not corrected.
    contacts = below.slips
    kept = tuple(contact for contact in contacts.corrected if contact.row >= plane)
    below = below.having(replace(contacts, corrected=kept))
    return replace(below, scenario=scenario, above=above)


def _converting(level: Level) -> Level:
    """Return a grid with S waves that come across its plane."""
    assert level.interface is not None
    return replace(level, interface=replace(level.interface, converted=True))
