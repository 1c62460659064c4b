"""The plane of `grid.refinement: auto`: the shallowest below which larger cells will do.

Below it waves are three times as long as the slowest ones anywhere, so that they have no fewer
points in a wavelength, and what crosses it errs by half the wanted accuracy at most. Sources,
receivers, maps and contacts of fluid and solid keep away from the closed rows beside it. Where no
plane spares a fifth of the points the grid has one spacing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.locator import level_of
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot, with_moments
from seismo.equations.framework.registry import physics_for
from seismo.features.growing_rows.layout import CLEAR, slowest_waves
from seismo.features.loss.mechanisms import relaxation_of
from seismo.features.refinement.levels import refuse_unrefined
from seismo.features.refinement.operators import (
    FACTOR,
    READ_AMONG,
    READ_BELOW,
    acting_rows,
)
from seismo.features.topography.ground import topography_of
from seismo.grid.grid import Grid
from seismo.scenario import Scenario
from seismo.scenario.scenario_facts import remembered
from seismo.scenario.sections.grid import Refinement
from seismo.solver.accuracy.stencil import AUTO_ORDERS, crossing_error
from seismo.solver.accuracy.waves import trace_spectra
from seismo.solver.grid_layout import GridInterface, Level, make_grid
from seismo.solver.medium.earth_samples import earth_of
from seismo.solver.sampling.field_sampling import Slice, make_slice, refuse_empty_boxes

MOST_POINTS = 0.8  # of those of one spacing
MOST_ERROR = 0.5  # of the wanted accuracy
# Rows above the plane: closed ones of a surface, those of the plane, and what these read. Orders 4,
# 6, 8, 16 take 20, 24, 26 and fewer than 56.
_ABOVE = 8
_ABOVE_ORDER = 3
_BELOW_ORDER = 2  # rows of larger cells below it
# Contacts of rock in so many of these err by 2 to 5 % (`runs.assessment.refined`): where the
# slowest wave jumps by such a share from row to row.
_CONTACT_ROWS = 4
_JUMP = 0.05
# Soft layers of so many rows at most err by up to 25 % where they end nearer above it.
_THIN_ROWS = 9
_THIN_CLEAR = 6


def with_plane(scenario: Scenario) -> Scenario:
    """Return a scenario with the plane of its `grid.refinement: auto`; the same where none pays.

    Raises:
        ScenarioError: its equation does not go with grids of two spacings.
    """
    return _planned(scenario) if scenario.grid.plane_is_open else scenario


@remembered()
def _planned(scenario: Scenario) -> Scenario:
    """Return a scenario whose plane is open with the shallowest; the same where none pays."""
    below = _shallowest(scenario)
    return scenario if below is None else at_plane(scenario, below)


def at_plane(scenario: Scenario, below: float) -> Scenario:
    """Return a scenario with its plane of refinement at z = `below` (m)."""
    refinement = (Refinement(below=below),)
    grid = scenario.grid.model_copy(update={"refinement": refinement})
    return scenario.model_copy(update={"grid": grid})


def _shallowest(scenario: Scenario) -> float | None:
    """Return z of the shallowest plane in m, None where none pays."""
    region = make_grid(scenario, on_coarse_rows=True)
    topography = topography_of(scenario, region)
    relaxation = relaxation_of(scenario)
    name = scenario.equation.name
    options = relaxation or scenario.options
    physics = physics_for(name, region.dimensions, options, topography is not None)
    refuse_unrefined(Level(scenario, region, GridInterface(0, region)), physics)
    earth = earth_of(scenario, region, physics, relaxation, topography)
    # The slowest waves below each row of the extent.
    rows = np.arange(region.low[2], region.points[2] - region.high[2])
    slowest, wet = slowest_waves(earth, region, region.coordinate("z", rows))
    below = np.minimum.accumulate(slowest[::-1])[::-1]
    # Rows that both grids have, where waves are long enough, away from what acts and what is read.
    orders = AUTO_ORDERS if scenario.grid.order == "auto" else (scenario.grid.order,)
    curved = topography.rows if topography else 0
    planes = _possible_planes(rows.size - 1, region.dimensions, max(orders), curved)
    is_free = below[planes] >= FACTOR * below[0]
    if wet.any() and not wet.all():
        is_free &= planes > np.flatnonzero(wet)[-1] + CLEAR
    geometry = Geometry(scenario, region, topography)
    shots = [with_moments(shot, earth, region.dimensions) for shot in geometry.shots()]
    groups = geometry.groups()
    level = level_of(scenario, region)
    refuse_empty_boxes(scenario, region)
    maps = [make_slice(entry.on_z(level), region) for entry in scenario.output.maps]
    jumps = np.flatnonzero(np.abs(np.diff(slowest)) > _JUMP * slowest[1:])
    ranges = [(jump - FACTOR * _CONTACT_ROWS, jump + 1) for jump in jumps]
    # Soft layers that are thin end well above the plane.
    is_rise = np.diff(slowest)[jumps] > 0.0
    ranges += [
        (begin, end + _THIN_CLEAR)
        for begin in jumps[~is_rise]
        for end in jumps[is_rise]
        if 0 < end - begin <= _THIN_ROWS
    ]
    for first, behind in (*ranges, *_kept_free(region, shots, groups, maps, max(orders))):
        is_free &= (planes <= first) | (planes >= behind)
    # What crosses the plane is accurate enough.
    spectra = trace_spectra(shots, groups, region.dimensions)
    coarse = FACTOR * region.coarsest
    for plane in planes[is_free]:
        error = max(crossing_error(spectra, order, below[plane], coarse) for order in orders)
        if error <= MOST_ERROR * scenario.grid.accuracy:
            return float(region.coordinate("z", rows[plane]))
    return None


def _possible_planes(last: int, dimensions: int, order: int, curved: int) -> np.ndarray:
    """Return the rows (n) that a plane may be in by the room above and below, and that pay.

    Args:
        last: row of the extent.
        dimensions: of the grid.
        order: of the differences.
        curved: rows that follow the ground.
    """
    planes = np.arange(0, last + 1, FACTOR)
    is_possible = planes >= _ABOVE_ORDER * order + _ABOVE + curved
    is_possible &= planes <= last - FACTOR * _BELOW_ORDER * order
    # Points of both grids over those of one.
    share = (planes + (last - planes) / FACTOR**dimensions) / last
    return planes[is_possible & (share <= MOST_POINTS)]


def _kept_free(
    grid: Grid, shots: list[Shot], groups: list[ReceiverGroup], maps: list[Slice], order: int
) -> Iterator[tuple[float, float]]:
    """Yield ranges of rows of the extent, between which no plane may be."""
    reach = acting_rows(order)
    # As `refuse_plane` has it: so many rows above the plane, three times as many below.
    acting = [np.array([source.position[2]]) for shot in shots for source in shot.points]
    acting += [fault.positions[:, 2] for shot in shots for fault in shot.faults]
    read = [np.array([z]) for group in groups for z in np.unique(group.read_positions[:, 2])]
    # No map lies on both sides.
    read += [grid.coordinate("z", np.array(map_.index[2])) for map_ in maps]
    for depths, above, below in ((acting, reach, reach), (read, READ_AMONG, READ_BELOW)):
        for z in depths:
            index = grid.index("z", z) - grid.low[2]
            yield float(index.min() - FACTOR * below), float(index.max() + above)
