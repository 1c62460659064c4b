"""The grids of a scenario: a single grid, or a finer above a plane and a coarser below it.

The coarser has the rows of all depths: rows above the plane are not updated, and copy the finer
grid (`seismo.features.refinement.exchange`). Absorbing layers are as thick on both. Rows of the
finer grid follow the ground where that is not flat, and are level above the plane.

Each of them counts as a run of its own with the sources and receivers of its side (`on_side`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.equations.framework.table import Physics
from seismo.features.contacts.contact import contacts_of
from seismo.features.refinement.operators import FACTOR, beside, side
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Grid, triple
from seismo.grid.surface_closure import BesideRefinement
from seismo.grid.time_step import Clock
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import GridInterface, Level, make_grid
from seismo.solver.sampling.output_sets import make_all_maps, make_all_series

_BEYOND = 2  # rows below the plane, of the finer grid: nodes on it, and rows swept beyond


def levels(scenario: Scenario) -> tuple[Level, Level]:
    """Return the finer grid above the plane of a scenario, and the coarser below.

    Raises:
        ScenarioError: the plane lies between rows of the coarser grid.
    """
    spec = scenario.grid
    (refinement,) = spec.planes
    # Above the plane all is as the scenario says, but for the bottom, which has no layer.
    faces = scenario.boundaries
    layer = faces.layer
    # Twelve points of a layer are 36 of the finer grid.
    wide = layer.model_copy(update={"points": FACTOR * layer.points})
    fine_faces = faces.model_copy(update={"layer": wide, "bottom": "absorbing"})
    fine_scenario = _changed(scenario, boundaries=fine_faces)
    # Below the plane all spacings are three times as large, and the layers have as many points.
    spacing = spec.spacing.model_copy(
        update={a: FACTOR * h for a in "xyz" if (h := getattr(spec.spacing, a)) is not None}
    )
    # The coarser grid has rows above the plane, but no free surface there: these do not step.
    under = faces.model_copy(update={"top": "absorbing"})
    coarse_spec = spec.model_copy(update={"spacing": spacing})
    coarse_scenario = _changed(scenario, grid=coarse_spec, boundaries=under)
    coarse = _coarser(make_grid(scenario))
    plane = _plane(scenario, coarse, refinement.below)
    # The finer grid covers the coarser along x and y, layers included. Its last rows are the nodes
    # on the plane, and the row that holds values on it.
    fine = make_grid(fine_scenario)
    points = triple((*fine.points[:2], FACTOR * plane + _BEYOND))
    fine = replace(fine, points=points, high=triple((*fine.high[:2], 0)))
    return (
        _level(fine_scenario, fine, FACTOR, FACTOR * plane, fine.spacing[2]),
        _level(coarse_scenario, coarse, 1, plane, coarse.spacing[2] / FACTOR),
    )


def _level(scenario: Scenario, grid: Grid, finer: int, plane: int, fine_spacing: float) -> Level:
    """Return a grid on its side of the plane."""
    live = side(grid, plane, finer > 1)

    def growth(stencil: Stencil) -> float:
        return beside(stencil, plane, finer > 1).growth

    return Level(scenario, grid, GridInterface(plane, live, finer > 1, fine_spacing, growth), finer)


def rows_of(discretization: Discretization) -> BesideRefinement | None:
    """Return the differences of a grid beside the plane where it meets another; None without."""
    if discretization.interface is None:
        return None
    interface = discretization.interface
    return beside(discretization.stencil, interface.row, interface.is_below)


def _changed(scenario: Scenario, **sections: object) -> Scenario:
    return scenario.model_copy(update=sections)


def _coarser(grid: Grid) -> Grid:
    """Return a grid of the same extent with larger cells, and as many points in its layers."""
    ends = zip(grid.points, grid.low, grid.high, strict=True)
    points = [low + high + (n - low - high - 1) // FACTOR + 1 for n, low, high in ends]
    lengths = zip(AXES, grid.spacing, strict=True)
    x, y, z = (FACTOR * h if axis in grid.axes else h for axis, h in lengths)
    return replace(grid, points=triple(points), spacing=(x, y, z))


def _plane(scenario: Scenario, coarse: Grid, z: float) -> int:
    """Return the row of nodes on the plane, of the coarser grid."""
    key = ("grid", "refinement", 0, "below")
    top, bottom = coarse.limits("z")
    if not top < z < bottom:
        raise scenario.mistake(
            *key, problem=f"must lie below {top:g} m and above {bottom:g} m, the first row of the "
            "grid and its last one",
        )  # fmt: skip
    # Nodes of both grids stand on the plane: a row of the coarser.
    row = float(coarse.index("z", z))
    h = coarse.spacing[2]
    plane = round(row)
    if abs(row - plane) > 1e-6:
        nearest = float(coarse.coordinate("z", plane))
        raise scenario.mistake(
            *key, problem=f"is {z:g} m, between rows that lie {h:g} m apart; use {nearest:g} m"
        )
    return plane


def field_size(scenario: Scenario) -> int:
    """Return the numbers of a field on all grids, the fewest where the plane is open."""
    grid = scenario.grid
    if grid.planes:
        return sum(level.grid.size for level in levels(scenario))
    size = make_grid(scenario).size
    return size // FACTOR**scenario.dimensions if grid.plane_is_open else size


def refuse_unrefined(level: Level, physics: Physics) -> None:
    """Refuse equations and numbers that do not go with grids of two spacings.

    Raises:
        ScenarioError: it names the key and the remedy.
    """
    scenario = level.scenario
    if level.interface is None:
        return
    # 16 bits keep no values on a plane; waves need a traction there for each velocity.
    if scenario.precision == "float16":
        problem = "does not go with grid.refinement; use float32, or leave that out"
        raise scenario.mistake("precision", problem=problem)
    if not physics.has_tractions:
        known = [
            name for name, n in VARIANTS
            if n == len(physics.axes) and physics_for(name, n).has_tractions
        ]  # fmt: skip
        raise scenario.mistake(
            "grid", "refinement",
            problem=f"{scenario.equation.name} waves do not go with it, those of "
            f"{', '.join(known)} do; use these, or leave it out",
        )  # fmt: skip


def above_plane(
    scenario: Scenario, grid: Grid, physics: Physics, clock: Clock, plane: int
) -> frozenset[tuple[str, str]]:
    """Return kinds and names of the sets of snapshots and maps that lie above the plane.

    Args:
        scenario: the scenario.
        grid: the coarser grid.
        physics: the wave equation.
        clock: time steps.
        plane: its row of nodes on the plane.
    """
    # By the rows of the coarser grid, which has all depths.
    maps = make_all_maps(scenario, grid, physics, clock.dt)
    series = make_all_series(scenario, grid, physics, clock)
    rows = {
        ("snapshots", snapshot_series.name): snapshot_series.cut.index[2]
        for snapshot_series in series
    }
    rows |= {("maps", map_.name): map_.cut.index[2] for map_ in maps}
    return frozenset(name for name, along_z in rows.items() if along_z[-1] < plane)


def showing(scenario: Scenario, names: frozenset[tuple[str, str]]) -> Scenario:
    """Return a scenario with a selection of its sets of snapshots and maps, by kind and name."""
    # The others are of the other grid.
    output = scenario.output
    kept = {
        key: tuple(
            output_set for output_set in getattr(output, key) if (key, output_set.name) in names
        )
        for key in ("snapshots", "maps")
    }
    return _changed(scenario, output=output.model_copy(update=kept))


def with_ends(grid: Discretization) -> Discretization:
    """Return a grid's side of the plane with its sources and receivers: all, if it has none."""
    side = on_side(grid)
    return replace(
        side,
        groups=side.groups or [_receivers_at_plane(grid, group) for group in grid.groups],
        shots=[shot for shot in side.shots if shot.sources]
        or [_sources_at_plane(grid, shot) for shot in grid.shots],
    )


def on_side(grid: Discretization) -> Discretization:
    """Return a grid's side of the plane with the sources and receivers there."""
    groups = [_side(grid, group) for group in grid.groups if grid.reads(group.coordinates).any()]
    names = frozenset(
        (
            *(("snapshots", snapshot_series.name) for snapshot_series in grid.series),
            *(("maps", map_.name) for map_ in grid.maps),
        )
    )
    live = grid.live_grid
    contacts = contacts_of(
        grid.scenario, grid.physics, grid.earth, live, grid.stencil, grid.closure
    )
    return replace(
        grid,
        groups=groups,
        shots=[_acting(grid, shot) for shot in grid.shots],
        scenario=showing(grid.scenario, names),
        grid=live,
        facts=grid.facts.having(contacts),
        interface=None,
        above=None,
    )


def _receivers_at_plane(grid: Discretization, group: ReceiverGroup) -> ReceiverGroup:
    """Return receivers of the other side at the plane."""
    return replace(group, coordinates=_at_plane(grid, group.coordinates))


def _sources_at_plane(grid: Discretization, shot: Shot) -> Shot:
    """Return a shot of the other side at the plane."""
    points = (replace(point, position=_at_plane(grid, point.position)) for point in shot.points)
    faults = (fault.moved(_at_plane(grid, fault.positions)) for fault in shot.faults)
    return replace(shot, points=tuple(points), faults=tuple(faults))


def _at_plane(grid: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return positions (..., 3) in m, the deepest or highest of a grid's side for points beyond."""
    moved = np.array(positions, float)
    rows = grid.live_grid
    first, last = (float(rows.coordinate("z", n)) for n in (0, rows.points[2] - 1))
    moved[..., 2] = moved[..., 2].clip(first, last)
    return moved


def _side(grid: Discretization, group: ReceiverGroup) -> ReceiverGroup:
    is_read = grid.reads(group.coordinates)
    codes = tuple(code for code, is_here in zip(group.codes, is_read, strict=True) if is_here)
    return replace(group, codes=codes, coordinates=group.coordinates[is_read])


def _acting(grid: Discretization, shot: Shot) -> Shot:
    points = tuple(source for source in shot.points if grid.has(source.position))
    faults = tuple(fault for fault in shot.faults if grid.has(fault.positions).all())
    return replace(shot, points=points, faults=faults)
