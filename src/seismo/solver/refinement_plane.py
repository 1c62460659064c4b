"""The plane of `grid.refinement: auto`: the shallowest below which larger cells will do.

Below it waves are three times as long as the slowest ones anywhere, so that they have no fewer
points in a wavelength, and what crosses it errs by half the wanted accuracy at most. Sources,
receivers and contacts of fluid and solid keep away from the closed rows beside it. Where no plane
spares a fifth of the points the grid has one spacing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Shot, with_subfaults
from seismo.acquisition.spectra import spectra_of
from seismo.equations.registry import physics_for
from seismo.grid.grid import Grid
from seismo.grid.interpolation import RADIUS
from seismo.grid.refinement import FACTOR, READ_ABOVE, READ_BELOW
from seismo.scenario import Scenario
from seismo.scenario.grid import Refinement
from seismo.solver.accuracy import AUTO_ORDERS, crossing_error
from seismo.solver.attenuation import relaxation_of
from seismo.solver.grid_layout import make_grid
from seismo.solver.grids import Level, refuse_unrefined
from seismo.solver.ground import topography_of
from seismo.solver.growing_rows import CLEAR, slowest_waves
from seismo.solver.medium import earth_of

MOST_POINTS = 0.8  # of those of one spacing
MOST_ERROR = 0.5  # of the wanted accuracy
_ROWS_ABOVE = (
    3.0  # over the order: closed rows of a surface, those of the plane, and what these read
)
_ROWS_BELOW = 2.0
_KEPT = 4  # scenarios whose planes are remembered

_known: list[tuple[Scenario, Scenario]] = []


def with_plane(scenario: Scenario) -> Scenario:
    """Return a scenario with the plane of its `grid.refinement: auto`; the same where none pays.

    Raises:
        ScenarioError: its equation does not go with grids of two spacings.
    """
    if not scenario.grid.plane_is_open:
        return scenario
    # The plane follows from the scenario alone, and is asked for by check, plan and run.
    for known, planned in _known:
        if known is scenario:
            return planned
    planned = scenario
    if (below := _shallowest(scenario)) is not None:
        refinement = (Refinement(below=below),)
        grid = scenario.grid.model_copy(update={"refinement": refinement})
        planned = scenario.model_copy(update={"grid": grid})
    _known.append((scenario, planned))
    del _known[:-_KEPT]
    return planned


def _shallowest(scenario: Scenario) -> float | None:
    """Return z of the shallowest plane in m, None where none pays."""
    region = make_grid(scenario)
    topography = topography_of(scenario, region)
    relaxation = relaxation_of(scenario)
    name = scenario.equation.name
    options = relaxation or scenario.options
    physics = physics_for(name, region.dimensions, options, topography is not None)
    refuse_unrefined(Level(scenario, region, meets=0), physics)
    earth = earth_of(scenario, region, physics, relaxation, topography)
    # The slowest waves below each row of the extent.
    rows = np.arange(region.low[2], region.points[2] - region.high[2])
    slowest, wet = slowest_waves(earth, region, region.coordinate("z", rows))
    below = np.minimum.accumulate(slowest[::-1])[::-1]
    # Rows that both grids have, with room above and below.
    order = max(AUTO_ORDERS) if scenario.grid.order == "auto" else scenario.grid.order
    last = rows.size - 1
    planes = np.arange(0, last + 1, FACTOR)
    is_free = planes >= _ROWS_ABOVE * order + (topography.rows if topography else 0)
    is_free &= planes <= last - FACTOR * _ROWS_BELOW * order
    if wet.any() and not wet.all():
        is_free &= planes > np.flatnonzero(wet)[-1] + CLEAR
    # Points of both grids over those of one.
    share = (planes + (last - planes) / FACTOR**region.dimensions) / last
    is_free &= share <= MOST_POINTS
    is_free &= below[planes] >= FACTOR * below[0]
    # What acts and what is read stays away.
    geometry = Geometry(scenario, region, topography)
    shots = [with_subfaults(shot, earth, region.dimensions) for shot in geometry.shots()]
    groups = geometry.groups()
    for first, behind in _kept_free(region, shots, groups, order):
        is_free &= (planes <= first) | (planes >= behind)
    # And what crosses the plane is accurate enough.
    quantities = {quantity for group in groups for quantity in group.quantities}
    sources = [source for shot in shots for source in shot.sources]
    spectra = spectra_of(sources, quantities, region.dimensions)
    coarse = FACTOR * max(region.spacing[:1] + region.spacing[2:])
    orders = AUTO_ORDERS if scenario.grid.order == "auto" else (scenario.grid.order,)
    for plane in planes[is_free]:
        error = max(crossing_error(spectra, n, below[plane], coarse) for n in orders)
        if error <= MOST_ERROR * scenario.grid.accuracy:
            return float(region.coordinate("z", rows[plane]))
    return None


def _kept_free(
    grid: Grid, shots: list[Shot], groups: list[ReceiverGroup], order: int
) -> Iterator[tuple[float, float]]:
    """Yield ranges of rows of the extent, between which no plane may be."""
    reach = RADIUS + order // 2 - 1
    # As `refuse_beside` has it: so many rows above the plane, three times as many below.
    acting = [np.array([source.position[2]]) for shot in shots for source in shot.points]
    acting += [fault.positions[:, 2] for shot in shots for fault in shot.faults]
    read = [np.array([z]) for group in groups for z in np.unique(group.read_positions[:, 2])]
    for depths, above, below in ((acting, reach, reach), (read, READ_ABOVE, READ_BELOW)):
        for z in depths:
            index = grid.index("z", z) - grid.low[2]
            yield float(index.min() - FACTOR * below), float(index.max() + above)
