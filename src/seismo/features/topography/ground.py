"""Ground of a scenario, which the rows of its grid follow down to a depth, and its limits.

Refused with topography are equations that do not know it, receivers that need differences at
constant z, rigid and periodic faces beside ground that is not level, planes of output among rows
that follow the ground, cliffs, and water on it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from seismo.acquisition.locator import Projection
from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.errors import KeyPath, ScenarioError, gathered
from seismo.features.refinement.operators import FACTOR
from seismo.features.topography.rows import GroundSpline, Topography
from seismo.features.topography.section import STEEPEST, section_of
from seismo.features.topography.shape import (
    BLEND,
    Ground,
    made_ground,
    nodes_of,
)
from seismo.grid.coefficients import cross_reach
from seismo.grid.coordinates import POWER
from seismo.grid.grid import Grid
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario
from seismo.scenario.scenario_facts import missing_files, remembered

_LEVEL = 1e-9  # spacings, by which flat ground may be off
_EVEN = 1e-6  # spacings: rounding
_ABOVE = 0.15  # of the relief, above the level of the grid's first row
_RELIEFS = 6.0  # depth in reliefs, and the least in spacings, below which rows are flat
_ROWS = 20.0
_FREE = 8  # flat rows above a layer, besides rows that differences reach
_LOWEST = 0.4  # g of cells
_FEWEST = 6  # points along x and y, that a quintic spline goes through
_EVEN_BESIDE = 1e-6  # spacings, by which ground beside a rigid or periodic face may be off


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
    if not scenario.has_topography:
        return None
    return _read_ground(scenario)


def _same_ground(scenario: Scenario, other: Scenario) -> bool:
    """Whether two scenarios, such as two grids of a run, have the same ground."""
    names = ("topography", "grid", "geographic", "base")
    sides = [
        [getattr(compared.boundaries, f"{a}_{end}") for a in "xy" for end in ("min", "max")]
        for compared in (scenario, other)
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
    section = section_of(scenario)
    assert section is not None  # `ground_of`
    try:
        ground = made_ground(scenario, section, projection)
    except ScenarioError as error:
        # Without the ground nothing has a place: missing files are reported first.
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
        ScenarioError: it is too steep, the grid is not deep enough under it, or the waves or
            recorded quantities do not go with it.
    """
    ground = ground_of(scenario)
    if ground is None or ground.relief <= _LEVEL * grid.spacing[2]:
        return None
    # f, depths of the ground below the level: a single spline, for consistent slopes.
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
    # Incompatible keys are reported together.
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


def refuse_waves(scenario: Scenario) -> None:
    """Refuse topography for equations that do not know it.

    Raises:
        ScenarioError: it names the key and the remedy.
    """
    if scenario.precision == "float16":
        problem = "does not go with topography; use float32, or leave topography out"
        raise scenario.mistake("precision", problem=problem)
    dimensions = scenario.dimensions
    physics = physics_for(scenario.equation.name, dimensions, scenario.options, True)
    if not physics.gradients:
        names = (name for name, n in VARIANTS if n == dimensions)
        known = [n for n in names if physics_for(n, dimensions, None, True).gradients]
        why = (
            "since neither of their two fields vanishes on ground that slopes"
            if physics.differences == "second"
            else "since their strains are interpolated along rows that are flat"
        )
        raise scenario.mistake(
            "topography",
            problem=f"{scenario.equation.name} waves do not go with it, {why}; those of "
            f"{', '.join(known)} do: use these, or leave it out",
        )  # fmt: skip


def refuse_records(scenario: Scenario) -> None:
    """Raise ScenarioError for receivers that need differences at constant z.

    Fields are read along s, x, y of the grid.
    """
    errors = []
    for number, group in enumerate(scenario.receivers):
        if group.type == "fibre":
            problem = "strains along fibres are not read under topography yet; use points"
            errors.append(scenario.mistake("receivers", number, "type", problem=problem))
        elif group.moves:
            problem = "receivers do not move over topography yet; list them"
            errors.append(scenario.mistake("receivers", number, "relative_to", problem=problem))
    if errors:
        raise ScenarioError.of(errors)


def refuse_faces(scenario: Scenario, ground: Ground) -> None:
    """Refuse ground that is not level along the normal of a rigid or periodic face."""
    for axis, line in (("x", ground.x), ("y", ground.y)):
        if line is None:
            continue
        # The axis in question last.
        z = ground.z if axis == "x" or ground.y is None else ground.z.swapaxes(0, 1)
        count = min(BLEND, line.size)
        tolerance = _EVEN_BESIDE * float(line[1] - line[0])
        # Beside a face whose outside is an image of the inside, or the other end.
        for face, strip in ((f"{axis}_min", z[..., :count]), (f"{axis}_max", z[..., -count:])):
            kind = getattr(scenario.boundaries, face)
            if kind == "absorbing":
                continue
            differs = kind == "periodic" and np.abs(z[..., 0] - z[..., -1]).max() > tolerance
            if differs or float(np.ptp(strip, axis=-1).max()) > tolerance:
                raise scenario.mistake(
                    "boundaries", face,
                    problem=f"{kind} needs ground that is level beside it"
                    + " and alike at both ends" * (kind == "periodic")
                    + "; make it absorbing, or the ground level there",
                )  # fmt: skip


def refuse_planes(scenario: Scenario, topography: Topography) -> None:
    """Raise ScenarioError for planes of output among the rows that follow the ground."""
    errors = []
    # To a millimetre, as reported.
    flat_from = math.ceil(topography.flat_from * 1e3 - 0.5) / 1e3
    flat = f"z: {flat_from:.9g} m or more, where rows are flat, or a section x"
    for key in ("snapshots", "maps"):
        for number, entry in enumerate(getattr(scenario.output, key)):
            plane = entry.plane
            if plane is None:
                continue
            # Rows of constant s: planes of constant z where rows are flat, and the ground.
            path = ("output", key, number, "plane")
            if plane.z is not None and plane.z < flat_from - 1e-3:
                problem = f"cuts rows that follow the ground; use depth: 0 m, the ground, {flat}"
                errors.append(scenario.mistake(*path, "z", problem=problem))
            elif plane.depth:
                problem = f"is no row of the grid under topography; use 0 m, the ground, {flat}"
                errors.append(scenario.mistake(*path, "depth", problem=problem))
    if errors:
        raise ScenarioError.of(errors)


def refuse_cliffs(scenario: Scenario, topography: Topography) -> None:
    """Raise ScenarioError for ground that is too steep, with the place."""
    # The dip of the steepest ground at a node.
    steepest = math.degrees(math.atan(topography.steepest))
    if steepest <= STEEPEST:
        return
    x, y = steepest_place(topography)
    raise scenario.mistake(
        "topography",
        problem=f"is {steepest:.1f} degrees steep at {position_text(scenario, x, y)}, "
        f"{STEEPEST:g} is the limit; give smoother ground, or a coarser grid.spacing, which "
        "smooths it",
    )  # fmt: skip


def refuse_water(
    scenario: Scenario, earth: Earth, extremes: Extremes, topography: Topography | None
) -> None:
    """Refuse fluid among the rows that follow the ground.

    Raises:
        ScenarioError: it names the first place.
    """
    if topography is None or not extremes.fluid or "vs" not in earth.needs:
        return
    # Row by row of nodes, down to where rows are flat.
    cells = GridCells.of(topography.grid)
    for row in range(topography.rows):
        # Fluids have no S waves.
        slow = earth.sample(*cells.rows(slice(row, row + 1)))["vs"] == 0.0
        if slow.any():
            index = np.unravel_index(int(slow.argmax()), slow.shape)
            x = float(cells.x[index[-1]])
            y = 0.0 if cells.y is None else float(cells.y[index[1]])
            z = float(topography.z(cells.z[row], y, x))
            raise scenario.mistake(
                "topography",
                problem=f"goes with solid ground alone, and there is a fluid at "
                f"{position_text(scenario, x, y)}, z = {z:.6g} m; leave the fluid out, or "
                "topography",
            )  # fmt: skip


def steepest_place(topography: Topography) -> tuple[float, float]:
    """Return x, y in m where the ground is steepest."""
    grid = topography.grid
    # tan^2 of the dip at nodes: f_x^2 + f_y^2.
    across = [a for a in grid.axes if a != "z"]
    squares = np.broadcast_arrays(*(topography.slope(a, "") ** 2 for a in across))
    row, column = np.unravel_index(int(np.sum(squares, axis=0).argmax()), squares[0].shape)
    y = float(grid.coordinate("y", row)) if "y" in across else 0.0
    return float(grid.coordinate("x", column)), y


def position_text(scenario: Scenario, x: float, y: float) -> str:
    """Format a place in m."""
    return f"x = {x:.6g} m" + f", y = {y:.6g} m" * (scenario.dimensions == 3)
