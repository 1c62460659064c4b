"""The ground of a scenario, which the rows of its grid follow down to a depth."""

from __future__ import annotations

import math
from functools import partial

from seismo.acquisition.projection import Projection
from seismo.errors import KeyPath, ScenarioError, gathered
from seismo.features.refinement.operators import FACTOR
from seismo.features.topography.heights.shape import (
    Ground,
    made_ground,
    nodes_of,
)
from seismo.features.topography.heights.spline import GroundSpline
from seismo.features.topography.limits import (
    position_text,
    refuse_cliffs,
    refuse_faces,
    refuse_planes,
    refuse_records,
    refuse_waves,
)
from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import cross_reach
from seismo.grid.grid import Grid
from seismo.grid.vertical_coordinate import POWER
from seismo.scenario import Scenario
from seismo.scenario.kept_results import remembered
from seismo.scenario.named_files import missing_files

_LEVEL = 1e-9  # spacings, by which flat ground may be off
_EVEN = 1e-6  # spacings: rounding
_ABOVE = 0.15  # of the relief, above the level of the grid's first row
_RELIEFS = 6.0  # depth in reliefs, and the least in spacings, below which rows are flat
_ROWS = 20.0
_FREE = 8  # flat rows above a layer, besides those that differences reach
_LOWEST = 0.4  # g of cells
_FEWEST = 6  # points along x and y, that a quintic spline goes through


class PlaneAboveGroundError(ScenarioError):
    """A plane of refinement leaves too little under the ground; z = `enough` (m) leaves enough."""

    def __init__(self, enough: float, *messages: str) -> None:
        """Keep the shallowest plane that does."""
        super().__init__(*messages)
        self.enough = enough


def ground_of(scenario: Scenario) -> Ground | None:
    """Return the ground of a scenario; None without topography.

    Raises:
        ScenarioError: its file does not do, or a face goes with level ground alone.
    """
    if scenario.topography is None:
        return None
    return _read_ground(scenario)


def _same_ground(scenario: Scenario, other: Scenario) -> bool:
    """Whether two scenarios, such as those of two grids of a run, have one ground."""
    names = ("topography", "grid", "geographic", "base")
    sides = [
        [getattr(one.boundaries, f"{a}_{end}") for a in "xy" for end in ("min", "max")]
        for one in (scenario, other)
    ]
    same = all(getattr(scenario, name) is getattr(other, name) for name in names)
    return same and sides[0] == sides[1]


@remembered(_same_ground)
def _read_ground(scenario: Scenario) -> Ground:
    """Return the ground that a scenario describes."""
    # A quintic spline goes through six points at least.
    for axis, line in zip("xy", nodes_of(scenario), strict=True):
        if line is not None and line.size < _FEWEST:
            problem = f"has {line.size} points, and topography needs {_FEWEST} at least"
            raise scenario.mistake("grid", "extent", axis, problem=f"{problem}; make it longer")
    geographic = scenario.geographic
    projection = None if geographic is None else partial(Projection, geographic)
    assert scenario.topography is not None  # `ground_of`
    try:
        ground = made_ground(scenario, scenario.topography, projection)
    except ScenarioError as error:
        # Without the ground nothing has a place: of other files it is told that they are not there.
        raise ScenarioError.of([error, *missing_files(scenario, "topography")]) from None
    refuse_faces(scenario, ground)
    return ground


def rows_under(
    scenario: Scenario, ground: Ground, on_coarse_rows: bool = False
) -> tuple[float, int]:
    """Return z in m of the first row over flat ground and the cells below; see `make_grid`.

    Raises:
        ScenarioError: the ground rises above the top that the scenario gives.
    """
    spec = scenario.grid
    height = spec.spacing.at_top("z") or 1.0
    unit = FACTOR * height if spec.planes or on_coarse_rows else height
    top = ground.highest if spec.origin.z is None else spec.origin.z
    if spec.planes and spec.origin.z is None:
        below = spec.planes[0].below
        top = below - math.ceil((below - ground.highest) / unit - _EVEN) * unit
    if ground.highest < top - _EVEN * height:
        x, y = ground.position(int(ground.z.argmin()))
        raise scenario.mistake(
            "grid", "origin", "z",
            problem=f"lies below the highest ground, z = {ground.highest:.6g} m at "
            f"{position_text(scenario, x, y)}; leave it out, or give that or less",
        )  # fmt: skip
    cells = round(unit / height)
    # Flat ground is the first row, wherever the top of the scenario lies.
    if ground.relief <= _LEVEL * height:
        return ground.highest, cells * round((top + spec.extent.z - ground.highest) / unit)
    # Rows stay whole spacings below the top: cells are taller above the level, lower below it.
    down = cells * round((ground.highest + _ABOVE * ground.relief - top) / unit)
    return top + down * height, round(spec.extent.z / height) - down


def first_row(scenario: Scenario, on_coarse_rows: bool) -> tuple[float, int]:
    """Return z in m of the first row over flat ground, and the cells below; see `make_grid`."""
    ground = ground_of(scenario)
    assert ground is not None  # as the scenario has topography
    return rows_under(scenario, ground, on_coarse_rows)


def topography_of(scenario: Scenario, grid: Grid) -> Topography | None:
    """Return the ground over a grid; None where it is flat.

    Raises:
        ScenarioError: it is too steep, the grid is not deep enough under it, or the waves or what
            is recorded do not go with it.
    """
    ground = ground_of(scenario)
    if ground is None or ground.relief <= _LEVEL * grid.spacing[2]:
        return None
    # f, depths of the ground below the level: one spline, so that slopes are those of one function.
    below = GroundSpline(ground.x, ground.y, ground.z - grid.origin[2])
    # Rows that are flat above a layer at the bottom, or the lowest face.
    last = grid.points[2] - 1 - grid.high[2] - max(_highest_order(scenario) // 2, 4) - _FREE
    deepest = last * grid.spacing[2]
    planes = scenario.grid.planes
    if planes:
        deepest = planes[0].below - grid.origin[2] - _rows_above_plane(scenario) * grid.spacing[2]
    if grid.stretching is not None:
        deepest = float(grid.coordinate("z", last)) - grid.origin[2]
    # The depth L of the mapping, and the least that leaves cells their height.
    least = _least_depth(ground, grid)
    wanted = max(_RELIEFS * ground.relief, _ROWS * grid.spacing[2], least)
    missing = max(least, grid.spacing[2]) - deepest
    problem = (
        f"leaves too little under ground of {ground.relief:.6g} m relief: cells would be less than "
        f"{_LOWEST:g} of their height; use {{:g}} m or more, or ground of less relief"
    )
    if missing > 0.0 and planes:
        unit = FACTOR * grid.spacing[2]
        enough = planes[0].below + math.ceil(missing / unit) * unit
        key: KeyPath = ("grid", "refinement", 0, "below")
        if enough >= grid.origin[2] + scenario.grid.extent.z:
            problem += "; no plane of this grid does: make grid.extent.z larger"
            raise scenario.mistake(*key, problem=problem.format(enough))
        error = scenario.mistake(*key, problem=problem.format(enough))
        raise PlaneAboveGroundError(enough, *error.messages)
    if missing > 0.0:
        enough = float(math.ceil(scenario.grid.extent.z + missing))
        raise scenario.mistake("grid", "extent", "z", problem=problem.format(enough))
    topography = Topography(grid, below, min(deepest, wanted))
    # What does not go with it is told together.
    gathered(
        (
            partial(refuse_waves, scenario),
            partial(refuse_records, scenario),
            partial(refuse_cliffs, scenario, topography),
            partial(refuse_planes, scenario, topography),
        )
    )
    return topography


def shallowest_plane(scenario: Scenario, grid: Grid) -> float:
    """Return z in m above which no plane of refinement leaves enough under the ground.

    Args:
        scenario: a scenario with topography.
        grid: its finer grid.
    """
    ground = ground_of(scenario)
    assert ground is not None  # as the scenario has topography
    h = grid.spacing[2]
    return grid.origin[2] + max(_least_depth(ground, grid), h) + _rows_above_plane(scenario) * h


def _highest_order(scenario: Scenario) -> int:
    return 16 if scenario.grid.order == "auto" else int(scenario.grid.order)


def _rows_above_plane(scenario: Scenario) -> int:
    """Return the flat rows above a plane of refinement, whose closed rows read no curved ones."""
    return cross_reach(_highest_order(scenario)) + _FREE + 1


def _least_depth(ground: Ground, grid: Grid) -> float:
    """Return the least depth in m of the mapping that leaves cells their height."""
    # g = 1 - POWER f / L on the ground.
    return POWER * (float(ground.z.max()) - grid.origin[2]) / (1.0 - _LOWEST)
