"""What a plane where two spacings meet adds to the error of a run, and of which grid each cause is.

Each grid has the receivers and sources on its side; a cause of both counts as it is on the worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Shot
from seismo.grid.refinement import READ_ABOVE, READ_BELOW
from seismo.runs.assessment.accuracy import Expected, expected_error
from seismo.runs.assessment.percent import percent
from seismo.runs.assessment.remedy import warned_of
from seismo.solver.accuracy import crossing_error
from seismo.solver.discretization import Discretization
from seismo.solver.fluid_contacts import contacts_of
from seismo.solver.grids import showing

CROSSING = "waves that cross the plane of refinement"
READ_ERROR = 0.04  # of receivers beside it


def refinement_error(setup: Discretization) -> float:
    """Return the relative error of waves that cross the plane, 0 without one."""
    if setup.fine is None:
        return 0.0
    waves = setup.waves
    return crossing_error(waves.spectra, setup.stencil.order, waves.slowest, max(waves.spacing))


def refined_error(setup: Discretization) -> Expected:
    """Predict the error of the traces of a run on two grids."""
    each = [expected_error(with_own(grid)) for grid in setup.grids_of_spacing]
    causes = {CROSSING: refinement_error(setup)}
    for what, error in (cause for one in each for cause in one.causes):
        causes[what] = max(error, causes.get(what, 0.0))
    return Expected(
        tuple(sorted(causes.items(), key=lambda cause: -cause[1])),
        _worst(pair for one in each for pair in one.sets),
        tuple(source for one in each for source in one.near_sources),
        tuple(group for one in each for group in one.reading),
    )


def refined_remedy(setup: Discretization, expected: Expected) -> str:
    """Return what keeps to the wanted accuracy on two grids, empty where they do."""
    if expected.error <= setup.scenario.grid.accuracy:
        return ""
    return "use a smaller grid.spacing, or a deeper grid.refinement[0].below"


def inaccurate_refined(setup: Discretization, expected: Expected) -> Iterator[str]:
    """Warn of errors that other grids would avoid."""
    remedy = refined_remedy(setup, expected)
    if remedy and warned_of(setup, expected):
        yield f"grid: the traces will err by {expected}; {remedy}"


def beside_plane(setup: Discretization) -> Iterator[str]:
    """Warn of receivers so near the plane that the closed rows beside it are read."""
    if setup.fine is None or setup.meets is None:
        return
    plane = float(setup.grid.coordinate("z", setup.meets))
    above = plane - READ_ABOVE * setup.fine.grid.spacing[2]
    below = plane + READ_BELOW * setup.grid.spacing[2]

    def is_beside(positions: np.ndarray) -> np.ndarray:
        return (above < positions[:, 2]) & (positions[:, 2] < below)

    rows = (
        (one.name, grid.grid.coordinate("z", np.array(one.cut.index[2])))
        for grid in setup.grids_of_spacing
        for one in grid.maps
    )
    for name, z in rows:
        if ((above < z) & (z < below)).any():
            yield (
                f"output.maps {name}: has points next to the plane of grid.refinement, where "
                f"fields err by {percent(READ_ERROR)} or so: leave {above:g} to {below:g} m out"
            )
    for group in setup.groups:
        if count := group.count_where(is_beside):
            yield (
                f"receivers {group.name}: {count} next to the plane of grid.refinement, where "
                f"fields err by {percent(READ_ERROR)} or so: use z of {above:g} m or less, "
                f"or of {below:g} m or more"
            )


def _worst(pairs: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    sets: dict[str, float] = {}
    for name, error in pairs:
        sets[name] = max(error, sets.get(name, 0.0))
    return tuple(sets.items())


def acts_on(grid: Discretization) -> bool:
    """Whether a grid has any of the sources."""
    return any(_acting(grid, shot).sources for shot in grid.shots)


def with_own(grid: Discretization) -> Discretization:
    """Return a grid's side of the plane with the sources and receivers there; all if none are."""
    groups = [_side(grid, group) for group in grid.groups if grid.reads(group.coordinates).any()]
    shots = [shot for one in grid.shots if (shot := _acting(grid, one)).sources]
    names = frozenset(
        (
            *(("snapshots", one.name) for one in grid.series),
            *(("maps", one.name) for one in grid.maps),
        )
    )
    live = grid.live_grid
    interfaces, contacts = contacts_of(
        grid.scenario, grid.physics, grid.earth, live, grid.stencil, grid.closure
    )
    return replace(
        grid,
        groups=groups or [_receivers_at_plane(grid, group) for group in grid.groups],
        shots=shots or [_sources_at_plane(grid, shot) for shot in grid.shots],
        scenario=showing(grid.scenario, names),
        grid=live,
        interfaces=interfaces,
        contacts=contacts,
        meets=None,
        fine=None,
    )


def _receivers_at_plane(grid: Discretization, group: ReceiverGroup) -> ReceiverGroup:
    """Return receivers of the other side at the plane."""
    return replace(group, coordinates=_at_plane(grid, group.coordinates))


def _sources_at_plane(grid: Discretization, shot: Shot) -> Shot:
    """Return a shot of the other side at the plane."""
    points = (replace(one, position=_at_plane(grid, one.position)) for one in shot.points)
    faults = (replace(one, positions=_at_plane(grid, one.positions)) for one in shot.faults)
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
