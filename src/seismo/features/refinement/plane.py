"""The plane of a refined grid: where it may lie, and where `grid.refinement: auto` puts it.

Whatever its closed rows must not meet rules out a range of depths. All that rule out the plane of a
scenario are reported together, with the nearest possible planes:

    z    source      contact     layer at the bottom
    |----(=====)---(=========)-------(============     rows of the coarser grid: | | | | | |
         no plane    no plane         no plane

By itself a run takes the shallowest plane below which larger cells will do. Below it waves are
three times as long as the slowest anywhere, so that they have no fewer points in a wavelength, and
waves across it err by half the wanted accuracy at most. Sources, receivers, maps and contacts of
fluid and solid keep away from the closed rows beside it. Where no plane spares a fifth of the
points the grid has a single spacing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.locator import level_of
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot, with_moments
from seismo.equations.framework.registry import physics_for
from seismo.errors import KeyPath, ScenarioError
from seismo.features.growing_rows.layout import CLEAR, slowest_waves
from seismo.features.loss.mechanisms import relaxation_of
from seismo.features.refinement.levels import refuse_unrefined
from seismo.features.refinement.operators import FACTOR, READ_AMONG, READ_BELOW, acting_rows
from seismo.features.topography.ground import shallowest_plane, topography_of
from seismo.grid.grid import Grid
from seismo.scenario import Scenario
from seismo.scenario.scenario_facts import remembered
from seismo.scenario.sections.grid import Refinement
from seismo.solver.accuracy.stencil import AUTO_ORDERS, crossing_error
from seismo.solver.accuracy.waves import trace_spectra
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import GridInterface, Level, halo_of, make_grid
from seismo.solver.medium.earth_samples import earth_of
from seismo.solver.sampling.field_sampling import Slice, make_slice, refuse_empty_boxes
from seismo.solver.sampling.output_sets import make_all_maps

_ROUNDING = 1e-6  # of the spacing
_PLANE: KeyPath = ("grid", "refinement", 0, "below")
_NO_OTHER = "; no other plane suits"
_NO_PLANE = "; no plane suits this run: make grid.extent.z larger, or leave grid.refinement out"
MOST_POINTS = 0.8  # of the points of a single spacing
MOST_ERROR = 0.5  # of the wanted accuracy
# Rows above the plane: closed rows of a surface, rows of the plane, and the rows that these read.
# Orders 4, 6, 8, 16 take 20, 24, 26 and fewer than 56.
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


@dataclass(frozen=True)
class RuledOut:
    """Depths where no plane may lie, between `first` and `last` (m), these excluded.

    Attributes:
        first: z in m.
        last: z in m.
        problem: of a plane there.
        remedy: that leaves the plane where it is, "" if there is none.
        key: of the scenario.
    """

    first: float
    last: float
    problem: str
    remedy: str = ""
    key: KeyPath = _PLANE

    def has(self, z: float, slack: float) -> bool:
        """Whether a depth in m lies between, further from both ends than `slack`."""
        return self.first + slack < z < self.last - slack


def refuse_plane(scenario: Scenario, above: Discretization, below: Discretization) -> None:
    """Refuse a plane whose closed rows meet sources, maps, a surface, a layer or a contact.

    Args:
        scenario: the scenario.
        above: the finer grid above the plane.
        below: the coarser grid.

    Raises:
        ScenarioError: with all that keeps the plane away, and the nearest planes that suit.
    """
    plane = float(below.grid.coordinate("z", below.plane_rows.plane))
    slack = _ROUNDING * above.grid.spacing[2]
    ranges = [*_by_rows(scenario, above, below), *_by_sources(above, below, plane)]
    ranges += _by_maps(scenario, below)
    # Obstacles at the plane, each with its remedy.
    met = [ruled_out for ruled_out in ranges if ruled_out.has(plane, slack)]
    if not met:
        return
    planes = _nearest_planes(below.grid, plane, ranges, slack)
    another = f"use below: {' or '.join(f'{z:g} m' for z in planes)}"
    errors = []
    for ruled_out in met:
        remedies = ", or ".join(
            text for text in (ruled_out.remedy, another if planes else "") if text
        )
        why = ": ".join(text for text in (ruled_out.problem, remedies) if text)
        if not planes:
            why += _NO_OTHER if ruled_out.remedy else _NO_PLANE
        errors.append(scenario.mistake(*ruled_out.key, problem=why))
    raise ScenarioError.of(errors)


def _nearest_planes(
    grid: Grid, plane: float, ranges: Sequence[RuledOut], slack: float
) -> list[float]:
    """Return the nearest planes (m) above and below a plane, on rows of the coarser grid."""
    # Nodes of both grids stand on a plane: a row of the coarser.
    rows = grid.coordinate("z", np.arange(1, grid.points[2] - 1))
    suits = [z for z in rows.tolist() if not any(ruled_out.has(z, slack) for ruled_out in ranges)]
    return [*[z for z in suits if z < plane][-1:], *[z for z in suits if z > plane][:1]]


def _by_rows(
    scenario: Scenario, above: Discretization, below: Discretization
) -> Iterator[RuledOut]:
    """Yield depths beside features with closed rows of their own: surfaces, layers and contacts."""
    fine = above.grid
    coarse = below.grid
    # Rows that closed ones read on both sides of the plane.
    rows_above = (
        above.plane_rows.plane
        - above.plane_rows.base
        + halo_of(scenario, above.stencil.order, False)
    )
    rows_below = below.plane_rows.rows[1] + below.halo - below.plane_rows.plane
    reach = rows_above * fine.spacing[2]
    depth = rows_below * coarse.spacing[2]
    # Above: closed rows of the surface, or a layer at the top.
    top = float(fine.coordinate("z", max(above.closed_rows, fine.low[2]) + rows_above))
    yield RuledOut(-math.inf, top, "is too near the top")
    # Below: the layer at the bottom.
    bottom = float(coarse.coordinate("z", coarse.points[2] - coarse.high[2] - rows_below))
    yield RuledOut(bottom, math.inf, "is too near the bottom", "make grid.extent.z larger")
    if above.vertical is not None:
        least = shallowest_plane(scenario, fine)
        yield RuledOut(-math.inf, least, "leaves too little under the ground")
    # On both sides: contacts, whose rows have other differences.
    contacts = [
        (slip.grid, contact.z_index) for slip in (above, below) for contact in slip.slips.corrected
    ]
    for z in sorted({float(grid.coordinate("z", index)) for grid, index in contacts}):
        problem = f"lies beside the contact of fluid and solid at z = {z:g} m"
        yield RuledOut(z - depth, z + reach, problem)


def _by_sources(above: Discretization, below: Discretization, plane: float) -> Iterator[RuledOut]:
    """Yield depths where sources act on points across a plane, or on closed rows beside it.

    These read closed rows (`seismo.features.refinement.operators.acting_rows`).
    """
    rows = acting_rows(max(above.stencil.order, below.stencil.order))
    reach = rows * above.grid.spacing[2]
    # Of all rows, above the plane too.
    first, last = below.grid.limits("z")
    # Where a source may go, inside the grid.
    moves = [
        f"to {z:g} m or {word}"
        for z, word in ((plane - reach, "less"), (plane + FACTOR * reach, "more"))
        if first <= z <= last
    ]
    at = f"the plane at z = {plane:g} m"
    for source in (point for shot in below.shots for point in shot.points):
        z = float(source.position[2])
        problem = f"the source {source.name} at z = {z:g} m lies too near {at}"
        remedy = f"move the source {' or '.join(moves)}" if moves else ""
        yield RuledOut(z - FACTOR * reach, z + reach, problem, remedy)
    # One grid has all subfaults of a fault.
    for fault in (source_fault for shot in below.shots for source_fault in shot.faults):
        z_first, z_last = (float(pick(fault.positions[:, 2])) for pick in (np.min, np.max))
        problem = (
            f"the fault {fault.name} from z = {z_first:g} to {z_last:g} m meets {at}, or lies too "
            "near it"
        )
        yield RuledOut(z_first - FACTOR * reach, z_last + reach, problem)


def _by_maps(scenario: Scenario, below: Discretization) -> Iterator[RuledOut]:
    """Yield depths within maps.

    Components are interpolated, which the coarser grid cannot do above a plane.
    """
    # By the rows of the coarser grid, which has all depths.
    grid = below.grid
    # The grid's first row, the last row that is clear of the plane, and the plane.
    row = below.plane_rows.plane
    rows = (0, row - READ_AMONG // FACTOR - 1, row)
    top, clear, level = (float(z) for z in grid.coordinate("z", np.array(rows)))
    problem = f"lies on both sides of the plane of grid.refinement, z = {level:g} m"
    remedy = (
        f"give it a box on one side, such as z: [{top:g} m, {clear:g} m] in place of its z or "
        "depth, or a plane of one z or depth"
    )
    for number, map_ in enumerate(make_all_maps(scenario, grid, below.physics, below.clock.dt)):
        along_z = np.array(map_.cut.index[2])[[0, -1]]
        first, last = (float(z) for z in grid.coordinate("z", along_z))
        # A plane on the last row lies within the map as well, on the first row above it.
        end = last + 0.5 * grid.spacing[2] if last > first else first
        yield RuledOut(first, end, problem, remedy, ("output", "maps", number))


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
    # Rows that both grids have, where waves are long enough, away from sources and receivers.
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
    # Points of both grids over those of a single grid.
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
