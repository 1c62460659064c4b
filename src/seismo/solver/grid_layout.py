"""Grids, halo, image faces and row groups: the layout of a run before its model is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from seismo.equations.framework.table import Physics, Stage
from seismo.features import acting
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Box, Grid, triple
from seismo.grid.surface_closure import SurfaceClosure
from seismo.scenario import Scenario
from seismo.scenario.sections.grid import Boundaries
from seismo.solver.boundary_images import Face

_FACE = {"free_surface": "free surface", "rigid": "rigid face", "periodic": "periodic face"}
FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}


def _no_growth(stencil: Stencil) -> float:
    return 1.0


@dataclass(frozen=True)
class GridInterface:
    """The plane where a grid meets another, of another spacing.

    Attributes:
        row: of this grid's nodes on the plane.
        side: rows on this side of it, as a grid.
        is_below: whether it lies below this grid.
        spacing: along z in m above the plane.
        growth: of the largest eigenvalue by the rows beside the plane, for differences.
        converted: whether S waves come from the other grid, whatever the sources.
    """

    row: int
    side: Grid
    is_below: bool = False
    spacing: float = 0.0
    growth: Callable[[Stencil], float] = _no_growth
    converted: bool = False


@dataclass(frozen=True)
class Level:
    """A grid of a run, of which a scenario has at least one.

    Attributes:
        scenario: with the spacing, the layers and the faces of this grid.
        grid: all of its rows.
        interface: where it meets another grid, or None.
        subdivision: cells in a cell of the coarsest grid, along an axis.
    """

    scenario: Scenario
    grid: Grid
    interface: GridInterface | None = None
    subdivision: int = 1

    @property
    def live(self) -> Grid:
        """The rows that are updated, as a grid."""
        return self.interface.side if self.interface else self.grid

    @property
    def is_highest(self) -> bool:
        """Whether no other grid lies above."""
        return self.interface is None or self.interface.is_below

    @property
    def has_all_depths(self) -> bool:
        """Whether it has rows of all depths."""
        return self.interface is None or not self.interface.is_below

    def stepped(self, dt: float) -> Level:
        """Return the same with a time step in s."""
        time = self.scenario.time.model_copy(update={"step": dt})
        return replace(self, scenario=self.scenario.model_copy(update={"time": time}))


def make_grid(scenario: Scenario, on_coarse_rows: bool = False) -> Grid:
    """Lay out the grid of a scenario, absorbing layers included.

    Args:
        scenario: a checked scenario.
        on_coarse_rows: whether rows under the ground suit a plane of refinement.
    """
    spec = scenario.grid
    faces = scenario.boundaries
    stretching = next((rows(scenario) for rows in acting("stretching", scenario)), None)
    top = spec.origin.top
    # Under topography the first row lies between the highest ground and the lowest.
    rows = None
    for first_row in acting("first_row", scenario):
        (top, rows) = first_row(scenario, on_coarse_rows)
    change = scenario.equation.beside_layers
    collar = change.points if change else 0
    axes = "xyz" if scenario.dimensions == 3 else "xz"
    points = [1, 1, 1]
    low = [0, 0, 0]
    high = [0, 0, 0]
    for axis, (first, last) in FACES.items():
        if axis not in axes:
            continue
        a = AXES.index(axis)
        # Absorbing layers lie outside the extent.
        width = faces.layer.points + collar
        low[a] = width if getattr(faces, first) == "absorbing" else 0
        high[a] = width if getattr(faces, last) == "absorbing" else 0
        cells = round(getattr(spec.extent, axis) / (spec.spacing.at_top(axis) or 1.0))
        if axis == "z" and stretching is not None:
            cells = stretching.last
        elif axis == "z" and rows is not None:
            cells = rows
        # A periodic axis has its last node on its first.
        inner = cells if getattr(faces, first) == "periodic" else cells + 1
        points[a] = inner + low[a] + high[a]
    spacing = (spec.spacing.x, spec.spacing.y or 1.0, spec.spacing.at_top("z") or 1.0)
    origin = (spec.origin.x, spec.origin.y, top)
    return Grid(
        axes, triple(points), spacing, origin, triple(low), triple(high), collar, stretching
    )


def settled(scenario: Scenario) -> Scenario:
    """Return a scenario with values that depend on the earth, such as the plane of a refinement."""
    for settle in acting("settle", scenario):
        scenario = settle(scenario)
    return scenario


def levels_of(scenario: Scenario) -> tuple[Level, ...]:
    """Return the grids of a scenario that is settled, the finest grid first."""
    for levels in acting("levels", scenario) if scenario.grid.planes else ():
        grids: tuple[Level, ...] = levels(scenario)
        return grids
    return (Level(scenario, make_grid(scenario)),)


def ground_over(scenario: Scenario, grid: Grid) -> Any:
    """Return the ground that the rows of a grid follow; None where it is flat."""
    for ground in acting("ground", scenario):
        return ground(scenario, grid)
    return None


def halo_of(scenario: Scenario, order: int, curved: bool, is_finer: bool = False) -> int:
    """Return the points that parts of the grid hold of their neighbours.

    Contacts and maps reach two; rows of features may reach further than differences.

    Args:
        scenario: the scenario.
        order: of the differences.
        curved: whether rows follow the ground.
        is_finer: whether it is the finer of two grids.
    """
    reaches = (reach(order, curved, is_finer) for reach in acting("halo", scenario))
    return max([2, order // 2, *reaches])


def refuse_unfit(scenario: Scenario, physics: Physics) -> None:
    """Refuse layers and orders that an equation does not go with.

    Raises:
        ScenarioError: it names the key, and its remedy.
    """
    if physics.differences == "second" and scenario.boundaries.layer.damping:
        raise scenario.mistake(
            "boundaries", "layer", "damping",
            problem="layers of equations of second order in time need none: leave it out",
        )  # fmt: skip
    if physics.differences == "second" and scenario.boundaries.layer.kappa != 1:
        raise scenario.mistake(
            "boundaries", "layer", "kappa",
            problem=f"the layers of {scenario.physics} waves, driven by second differences, do not "
            "stretch; leave it out, or use another physics",
        )  # fmt: skip
    free = scenario.boundaries.top == "free_surface"
    if physics.interpolates and free and scenario.grid.order == 2:
        raise scenario.mistake(
            "grid", "order",
            problem="of elastic waves about a tilted axis under a free surface is 4 at least; use "
            "4, or auto",
        )  # fmt: skip


def refuse_thin(
    scenario: Scenario, grid: Grid, physics: Physics, order: int,
    closure: SurfaceClosure | None, curved: bool,
) -> None:  # fmt: skip
    """Refuse grids with too few points between faces for the operators beside these.

    Args:
        scenario: the scenario.
        grid: the grid.
        physics: the wave equation.
        order: of the differences.
        closure: closed operators under a free surface, or None.
        curved: whether rows follow the ground.

    Raises:
        ScenarioError: it names the extent, how much of it is needed, and other remedies.
    """
    # Rows that a free surface closes lie above the layer at the bottom.
    closed_rows = closure.rows if closure else 0
    needs = [("z", grid.rows_above_layers, closed_rows, "free surface")]
    # Differences read up to the halo beyond a face, the image of as many points inside.
    halo = halo_of(scenario, order, curved)
    for face in image_faces(scenario.boundaries, grid, physics):
        points = grid.points[AXES.index(face.axis)]
        least = halo + (face.kind != "periodic")
        needs.append((face.axis, points, least, _FACE[face.kind]))
    # The most of all, for a single message.
    missing, axis, points, kind = max((n - p, a, p, k) for a, p, n, k in needs)
    if missing > 0:
        enough = getattr(scenario.grid.extent, axis) + missing * grid.spacing[AXES.index(axis)]
        lower = f", or a lower grid.order than {order}" if order > 4 else ""
        raise scenario.mistake(
            "grid", "extent", axis,
            problem=f"has {points} points, and differences of order {order} beside a "
            f"{kind} need {points + missing}; use {enough:.6g} m{lower}",
        )  # fmt: skip


def image_faces(boundaries: Boundaries, grid: Grid, physics: Physics) -> list[Face]:
    """List the faces whose outside is an image of the inside."""
    faces = []
    for axis, (first, last) in FACES.items():
        for name, high in ((first, False), (last, True)):
            kind = getattr(boundaries, name)
            # Absorbing faces have layers; closed free surfaces have operators of their own.
            closed = kind == "free_surface" and physics.closes_surface
            if axis in grid.axes and kind != "absorbing" and not closed:
                faces.append(Face(axis, high, kind))
    return faces


@dataclass(frozen=True)
class RowGroup:
    """Rows along x that share a variant of the operators, and another at their ends.

    Attributes:
        box: the points; whole rows.
        spans: along x the left layer, the middle, the right layer, as (first, last + 1); empty ones
            have first = last + 1.
        middle: axes whose derivatives pass through layer memory in the middle.
        ends: the same in the layers at both ends.
        closed: whether it lies in the rows closed by a free surface.
        curved: whether its rows follow the ground.
        refined: whether its rows lie beside the plane where two spacings meet.
    """

    box: Box
    spans: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    middle: str
    ends: str
    closed: bool
    curved: bool = False
    refined: bool = False

    @property
    def kind(self) -> tuple[str, str, bool]:
        """Stretched axes in the middle and at the ends, and whether it is closed."""
        return self.middle, self.ends, self.closed

    def stretched(self, span: int) -> str:
        """Return the stretched axes of a span."""
        return self.middle if span == 1 else self.ends


def _segments(grid: Grid, axis: str, reach: int) -> list[tuple[int, int, bool]]:
    """Cut y or z in layer, middle and layer; tell which are layers."""
    n = AXES.index(axis)
    points = grid.points[n]
    # Layers, and the points beside them that see their memory.
    low = grid.low[n] + reach if grid.low[n] else 0
    high = points - grid.high[n] - reach if grid.high[n] else points
    # Layers that meet leave no interior.
    if low >= high:
        return [(0, points, bool(grid.low[n] or grid.high[n]))]
    cuts = [(0, low, True), (low, high, False), (high, points, True)]
    return [c for c in cuts if c[0] < c[1]]


def spans(grid: Grid, lane: int, reach: int):
    """Cut x in layer, middle and layer, on whole lanes, so that vectors are aligned.

    Where nothing is left for the middle, all is a layer: rows begin on a whole lane, too.
    """
    points = grid.points[0]
    low = grid.low[0]
    high = grid.high[0]
    # Enlarge the segments of the layers to whole lanes.
    first = -(-(low + reach) // lane) * lane if low else 0
    last = (points - high - reach) // lane * lane if high else points
    if first >= last:
        return (0, 0), (0, 0), (0, points)
    return (0, first), (first, last), (last, points)


def regions(
    grid: Grid, lane: int, closed_rows: int = 0, reach: int = 0, curved_rows: int = 0,
    refined: tuple[int, int] = (0, 0),
) -> list[RowGroup]:  # fmt: skip
    """Cut the grid into regions of a kind of row each.

    Args:
        grid: the grid.
        lane: numbers in a lane.
        closed_rows: rows under a free surface with their own operators.
        reach: points beside a layer whose derivatives still see its memory.
        curved_rows: rows from the top that follow the ground.
        refined: the first row beside the plane where two spacings meet, and the row behind the
            last.
    """
    cuts = spans(grid, lane, reach)
    # Product of the segments along y and z.
    y_cuts = _segments(grid, "y", reach) if "y" in grid.axes else [(0, 1, False)]
    z_cuts = _segments(grid, "z", reach)
    # Rows of a closed surface are a row group of their own; so are rows that follow the ground.
    first = 0
    for rows in (closed_rows, curved_rows):
        if rows > first:
            rest = [(max(lo, rows), hi, s) for lo, hi, s in z_cuts if hi > rows]
            z_cuts = [*(cut for cut in z_cuts if cut[1] <= first), (first, rows, False), *rest]
            first = rows
    # Rows beside another spacing lie in the interior.
    for row in (row for row in refined if refined[1]):
        z_cuts = [
            cut
            for lo, hi, is_layer in z_cuts
            for cut in ((lo, min(hi, row), is_layer), (max(lo, row), hi, is_layer))
            if cut[0] < cut[1]
        ]
    groups = []
    for y, z in product(y_cuts, z_cuts):
        # Stretched axes of the interior of a row and of its ends.
        middle = ("y" if y[2] else "") + ("z" if z[2] else "")
        ends = "x" + middle if grid.low[0] or grid.high[0] else middle
        box = Box((0, y[0], z[0]), (grid.points[0], y[1], z[1]))
        closed = bool(closed_rows) and z[0] == 0
        beside = refined[0] <= z[0] < refined[1]
        groups.append(RowGroup(box, cuts, middle, ends, closed, z[0] < curved_rows, beside))
    return groups


def reached(stage: Stage, grid: Grid, closed_rows: int) -> Box:
    """Return the points that others may read anew after a stage, with so many closed rows."""
    # The surface's row, or the closed ones; terms of slopes are read in its column, never cut.
    nx, ny, nz = grid.points
    rows = {"surface": min(1, closed_rows), "closed": closed_rows, "curved": 0}
    return Box((0, 0, 0), (nx, ny, rows.get(stage.where, nz)))
