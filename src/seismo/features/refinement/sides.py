"""Each of two grids as a run of its own: what lies on its side of the plane where they meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.features.contacts.contact import contacts_of
from seismo.features.refinement.levels import showing
from seismo.solver.discretization import Discretization


def with_ends(grid: Discretization) -> Discretization:
    """Return a grid's side of the plane with some sources and receivers: all, if none are there."""
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
            *(("snapshots", one.name) for one in grid.series),
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
    """Return positions (..., 3) in m, the deepest or highest of a grid's side for those beyond."""
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
