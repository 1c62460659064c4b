"""Grids, halo and image faces, which follow from a scenario before its model is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from seismo.equations.framework.table import Physics
from seismo.features import acting
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Grid, triple
from seismo.grid.surface_closure import SurfaceClosure
from seismo.scenario import Scenario
from seismo.solver.surface.boundary_images import Face

_FACE = {"free_surface": "free surface", "rigid": "rigid face", "periodic": "periodic face"}
FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}


def _no_growth(stencil: Stencil) -> float:
    return 1.0


@dataclass(frozen=True)
class GridInterface:
    """The plane where a grid meets another one, of another spacing.

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
    """A grid of a run, of which a scenario has one or more.

    Attributes:
        scenario: with the spacing, the layers and the faces of this grid.
        grid: all of its rows.
        interface: where it meets another grid, None without one.
        subdivision: cells in one of the coarsest grid, along an axis.
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
        """Whether its rows are those of all depths."""
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
    """Return a scenario with what it leaves to the earth, such as the plane of a refinement."""
    for settle in acting("settle", scenario):
        scenario = settle(scenario)
    return scenario


def levels_of(scenario: Scenario) -> tuple[Level, ...]:
    """Return the grids of a scenario that is settled, the finest one first."""
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
        is_finer: whether it is the finer one of two grids.
    """
    reaches = (reach(order, curved, is_finer) for reach in acting("halo", scenario))
    return max([2, order // 2, *reaches])


def refuse_unfit(scenario: Scenario, physics: Physics) -> None:
    """Refuse layers and orders that an equation does not go with.

    Raises:
        ScenarioError: it names the key, and what to write there.
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


def rows_above_layers(grid: Grid) -> int:
    """Return the rows of nodes from the top down that lie in no layer that damps."""
    return grid.points[2] - grid.damped.high[2]


def refuse_thin(
    scenario: Scenario, grid: Grid, physics: Physics, order: int,
    closure: SurfaceClosure | None, curved: bool,
) -> None:  # fmt: skip
    """Refuse grids with too few points between faces for what is done beside these.

    Args:
        scenario: the scenario.
        grid: the grid.
        physics: the wave equation.
        order: of the differences.
        closure: closed operators under a free surface, or None.
        curved: whether rows follow the ground.

    Raises:
        ScenarioError: it names the extent, how much of it is needed, and what else helps.
    """
    # Rows that a free surface closes lie above the layer at the bottom.
    closed_rows = closure.rows if closure else 0
    needs = [("z", rows_above_layers(grid), closed_rows, "free surface")]
    # Differences read up to the halo beyond a face, the image of as many points inside.
    halo = halo_of(scenario, order, curved)
    for face in image_faces(scenario, grid, physics):
        points = grid.points[AXES.index(face.axis)]
        least = halo + (face.kind != "periodic")
        needs.append((face.axis, points, least, _FACE[face.kind]))
    # The most of all, for one message.
    missing, axis, points, kind = max((n - p, a, p, k) for a, p, n, k in needs)
    if missing > 0:
        enough = getattr(scenario.grid.extent, axis) + missing * grid.spacing[AXES.index(axis)]
        lower = f", or a lower grid.order than {order}" if order > 4 else ""
        raise scenario.mistake(
            "grid", "extent", axis,
            problem=f"has {points} points, and differences of order {order} beside a "
            f"{kind} need {points + missing}; use {enough:.6g} m{lower}",
        )  # fmt: skip


def image_faces(scenario: Scenario, grid: Grid, physics: Physics) -> list[Face]:
    """List the faces whose outside is an image of the inside."""
    faces = []
    for axis, (first, last) in FACES.items():
        for name, high in ((first, False), (last, True)):
            kind = getattr(scenario.boundaries, name)
            # Absorbing faces have layers; closed free surfaces have operators of their own.
            closed = kind == "free_surface" and physics.closes_surface
            if axis in grid.axes and kind != "absorbing" and not closed:
                faces.append(Face(axis, high, kind))
    return faces
