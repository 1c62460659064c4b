"""Where the plane of a refined grid may lie: clear of what its closed rows must not meet.

Whatever keeps a plane away rules out a range of depths. All that rule out the plane of a scenario
are told together, with the nearest planes that none of them rules out:

    z    source      contact     layer at the bottom
    |----(=====)---(=========)-------(============     rows of the coarser grid: | | | | | |
         no plane    no plane         no plane
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seismo.errors import KeyPath, ScenarioError
from seismo.features.refinement.operators import (
    FACTOR,
    READ_AMONG,
    acting_rows,
)
from seismo.features.topography.ground import shallowest_plane
from seismo.grid.grid import Grid
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import halo_of
from seismo.solver.sampling.output_sets import make_all_maps

_ROUNDING = 1e-6  # of the spacing
_PLANE: KeyPath = ("grid", "refinement", 0, "below")
_NO_OTHER = "; no other plane suits"
_NO_PLANE = "; no plane suits this run: make grid.extent.z larger, or leave grid.refinement out"


@dataclass(frozen=True)
class RuledOut:
    """Depths where no plane may lie, between `first` and `last` (m), these excluded.

    Attributes:
        first: z in m.
        last: z in m.
        problem: what is wrong with a plane there.
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
    # What the plane meets, each with what mends it.
    met = [one for one in ranges if one.has(plane, slack)]
    if not met:
        return
    planes = _nearest_planes(below.grid, plane, ranges, slack)
    another = f"use below: {' or '.join(f'{z:g} m' for z in planes)}"
    errors = []
    for one in met:
        remedies = ", or ".join(text for text in (one.remedy, another if planes else "") if text)
        why = ": ".join(text for text in (one.problem, remedies) if text)
        if not planes:
            why += _NO_OTHER if one.remedy else _NO_PLANE
        errors.append(scenario.mistake(*one.key, problem=why))
    raise ScenarioError.of(errors)


def _nearest_planes(
    grid: Grid, plane: float, ranges: Sequence[RuledOut], slack: float
) -> list[float]:
    """Return the nearest planes (m) above and below one on rows of the coarser grid."""
    # Nodes of both grids stand on a plane: a row of the coarser one.
    rows = grid.coordinate("z", np.arange(1, grid.points[2] - 1))
    suits = [z for z in rows.tolist() if not any(one.has(z, slack) for one in ranges)]
    return [*[z for z in suits if z < plane][-1:], *[z for z in suits if z > plane][:1]]


def _by_rows(
    scenario: Scenario, above: Discretization, below: Discretization
) -> Iterator[RuledOut]:
    """Yield depths beside what has closed rows of its own: surfaces, layers and contacts."""
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
        (one.grid, contact.z_index) for one in (above, below) for contact in one.slips.corrected
    ]
    for z in sorted({float(grid.coordinate("z", index)) for grid, index in contacts}):
        problem = f"lies beside the contact of fluid and solid at z = {z:g} m"
        yield RuledOut(z - depth, z + reach, problem)


def _by_sources(above: Discretization, below: Discretization, plane: float) -> Iterator[RuledOut]:
    """Yield depths where sources act on points across a plane, or on closed rows beside it.

    These read what closed rows give (`seismo.features.refinement.operators.acting_rows`).
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
    for fault in (one for shot in below.shots for one in shot.faults):
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
    # By the rows of the coarser grid, which has those of all depths.
    grid = below.grid
    # The grid's first row, the last one that is clear of the plane, and the plane.
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
        # A plane on the last row lies within the map as well, one on the first row above it.
        end = last + 0.5 * grid.spacing[2] if last > first else first
        yield RuledOut(first, end, problem, remedy, ("output", "maps", number))
