"""Checks of positions: ends of the grid, absorbing layers, sources, and the free surface."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.locator import level_of
from seismo.grid.grid import AXES
from seismo.grid.interpolation import ON_GRID
from seismo.grid.surface_closure import MOMENT_ROWS
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED, near_maps
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import FACES

EDGE_POINTS = 5  # sources and receivers spread over 4 points
ABOVE_POINTS = 3.0  # of an epicentre: see `_above_sources`
FORCE_ROWS = (0.25, 5.1)  # of a depth: see `_above_sources`
CLOSE_POINTS = 5.0  # from here on the grid's source is a point, to 2 % of the motion


def _ends(discretization: Discretization) -> WarningLines:
    """An extent that is no whole number of spacings ends elsewhere."""
    for axis in discretization.grid.axes:
        length = getattr(discretization.scenario.grid.extent, axis)
        spacing = discretization.grid.spacing[AXES.index(axis)]
        cells = round(length / spacing)
        is_grown = (
            axis == "z" and discretization.grid.stretching
        )  # rows that grow end at the length
        if abs(length - cells * spacing) > 1e-6 * spacing and not is_grown:
            yield (
                f"grid.extent.{axis}: {length:.10g} m is no whole number of spacings of "
                f"{spacing:.6g} m: the grid is {cells * spacing:.10g} m long"
            )


def _moved(discretization: Discretization) -> WarningLines:
    """A plane between nodes becomes that of the nearest ones."""
    moved: dict[tuple[str, float, float], list[str]] = {}
    level = level_of(discretization.scenario, discretization.grid)
    cuts = {series.name: series.cut for series in discretization.series} | {
        maps.name: maps.cut for maps in discretization.maps
    }
    for key in ("snapshots", "maps"):
        for entry in (e for e in getattr(discretization.scenario.output, key) if e.name in cuts):
            for axis, taken in cuts[entry.name].plane.items():
                requested = getattr(entry.on_z(level).plane, axis)
                if abs(requested - taken) > 1e-6 * discretization.grid.spacing[AXES.index(axis)]:
                    moved.setdefault((axis, requested, taken), []).append(
                        f"output.{key} {entry.name}"
                    )
    for (axis, requested, taken), names in moved.items():
        yield (
            f"{', '.join(names)}: the plane {axis} = {requested:.10g} m lies between nodes of the "
            f"grid: that of {axis} = {taken:.10g} m is taken"
        )


def _edges(discretization: Discretization) -> WarningLines:
    acting: dict[str, list[Any]] = {}
    for source in (s for s in discretization.shots[0].sources if s.is_local):
        acting.setdefault(f"source {source.name}", []).append(source.position)
    if len(discretization.shots) > 1:
        acting = {"shots": [s.position for shot in discretization.shots for s in shot.sources]}
    for name, named_positions in acting.items():
        positions = np.array(named_positions, float).reshape(-1, 3)
        is_near, faces = _near_a_layer(discretization, positions)
        yield from _named_edges(name, int(is_near.sum()), len(positions), faces)
    for group in discretization.groups:
        _, faces = _near_a_layer(discretization, group.all_positions)
        count = group.count_where(lambda positions: _near_a_layer(discretization, positions)[0])
        yield from _named_edges(f"receivers {group.name}", count, len(group), faces)


def _named_edges(name: str, near_count: int, count: int, faces: list[str]) -> WarningLines:
    """Name how many of so many sources or receivers are too near the layers, and at which faces."""
    if not near_count:
        return
    many = f"{near_count} of {count} " if count > 1 else ""
    remedy = "enlarge grid.extent"
    if "top" in faces:
        surface = "set boundaries.top: free_surface"
        remedy = f"if ground or sea end at the top, {surface}; otherwise {remedy}"
    yield (
        f"{many}{name}: within {EDGE_POINTS} points of the absorbing layer "
        f"({', '.join(faces)}), which takes part of the motion: {remedy}"
    )


def _near_a_layer(
    discretization: Discretization, positions: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Return which positions (n, 3) m lie in or beside absorbing layers, and the faces of these."""
    grid = discretization.grid
    is_near = np.zeros(len(positions), bool)
    named = []
    for axis in grid.axes:
        a = AXES.index(axis)
        ends = zip(
            FACES[axis], grid.limits(axis), (1, -1), (grid.low[a], grid.high[a]), strict=True
        )
        for face, edge, sign, points in ends:
            if points:
                inside = sign * (positions[:, a] - edge)
                close = inside < (EDGE_POINTS - 0.5) * grid.edge(axis, grid.index(axis, edge))
                named += [face] if close.any() else []
                is_near |= close
    return is_near, named


def _repeated_sources(discretization: Discretization) -> WarningLines:
    """Name sources that are listed twice, as their motion adds up."""
    known: dict[str, int] = {}
    for number, section in enumerate(discretization.scenario.sources):
        first = known.setdefault(repr(section.model_copy(update={"name": None})), number)
        if first != number:
            yield (
                f"{discretization.scenario.named('sources', number)}: the same as sources[{first}]:"
                " their motion adds up; leave one out, or double its strength if that is meant"
            )


def _close_receivers(discretization: Discretization) -> WarningLines:
    axes = [AXES.index(a) for a in discretization.grid.axes]
    least = CLOSE_POINTS * discretization.coarsest_spacing
    for group in discretization.groups:
        close = 0
        for shot in discretization.shots:
            beside = np.zeros(len(group), bool)
            for source in (s for s in shot.sources if s.is_local):
                offset = group.at(shot.name)[:, axes] - np.array(source.position)[axes]
                beside |= np.linalg.norm(offset, axis=1) < least
            beside &= group.recording(shot.name)
            close += int(beside.sum())
        if close:
            yield (
                f"receivers {group.name}: {close} within {CLOSE_POINTS:g} points of a source, "
                "where the grid's source is not yet a point: its field is wrong there"
            )


def _above_sources(discretization: Discretization) -> WarningLines:
    """Name receivers on the surface straight above sources that lie in its fitted rows.

    Measured (validation/shallow.py): shear moments five cells deep err there by 2 % with 10 points
    in the shortest wavelength, by 6 % with 5, and by 3 % with 20, where that motion is small;
    others by 0.5 % with 10, and by 4 % with 5. Forces one to five cells deep err there by 0.2 to
    20 %, in 2-D by up to 11 %.
    """
    if discretization.closure is None:
        return
    shallow: dict[str, list[tuple[str, np.ndarray]]] = {}
    across = [AXES.index(a) for a in discretization.grid.axes if a != "z"]
    of_forces = 20 if discretization.grid.dimensions == 3 else 11
    acting = ((shot.name, source) for shot in discretization.shots for source in shot.sources)
    for shot_name, source in acting:
        row = discretization.grid.index("z", source.position[2])
        if source.kind == "moment_tensor" and MOMENT_ROWS[0] < row < MOMENT_ROWS[1]:
            description = (
                f"a moment less than {MOMENT_ROWS[1]:g} points deep: motion errs by up to 6 % there"
            )
        elif source.kind == "force" and FORCE_ROWS[0] < row < FORCE_ROWS[1]:
            description = f"a force up to 5 points deep: motion errs by up to {of_forces} % there"
        else:
            continue
        shallow.setdefault(description, []).append((shot_name, np.array(source.position)[across]))
    least = ABOVE_POINTS * discretization.coarsest_spacing
    for group in discretization.groups:
        for description, epicentres in shallow.items():
            above = 0
            for shot_name, epicentre in epicentres:
                positions = group.at(shot_name)[group.recording(shot_name)]
                on_top = positions[discretization.grid.index("z", positions[:, 2]) < 1.0][:, across]
                above += int((np.linalg.norm(on_top - epicentre, axis=1) < least).sum())
            if above:
                yield (
                    f"receivers {group.name}: {above} on the free surface within {ABOVE_POINTS:g} "
                    f"points of the epicentre of {description}; use a finer grid.spacing"
                )


def _surface_strains(discretization: Discretization) -> WarningLines:
    """Name receivers of derivatives among the rows of a free surface, on which they are right.

    Measured at 7 and 10 points per shortest wavelength: rotation errs by up to 4.9 and 1.2 %,
    divergence by up to 2 and 1 % of the largest strain; on the surface both by 0.75 and 0.1 %. Rows
    of tilted rock have the plain closure: all within 0.5 and 0.2 %.
    """
    if discretization.slope is None:
        return
    rows = discretization.closed_rows
    for group in discretization.groups:
        count = group.count_where(partial(_among_rows, discretization))
        if count and any(quantity in DIFFERENTIATED for quantity in group.quantities):
            yield (
                f"receivers {group.name}: {count} record divergence, rotation or strain up to "
                f"{rows} points under the free surface, where they err by up to 5 % of the largest "
                "strain with 7 points per wavelength, and 1.5 % with 10: move them to the surface, "
                "or use a finer grid.spacing"
            )


def _among_rows(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m lie under a free surface, among its rows."""
    row = discretization.grid.index("z", positions[:, 2])
    return (row > ON_GRID) & (row < discretization.closed_rows)


def _close_maps(discretization: Discretization) -> WarningLines:
    """Name maps that a source lies on, or just below: their peaks are wrong next to it."""
    least = CLOSE_POINTS * discretization.coarsest_spacing
    sources = {s.position: s for shot in discretization.shots for s in shot.sources if s.is_local}
    for maps in discretization.maps:
        nodes = dict(maps.cut.axes) | {
            a: np.array([v]) for a, v in maps.cut.plane.items() if a in discretization.grid.axes
        }
        close = 0
        for position in sources:
            nearest = [np.abs(v - position[AXES.index(a)]).min() for a, v in nodes.items()]
            close += bool(np.linalg.norm(nearest) < least)
        if close:
            yield (
                f"maps {maps.name}: {close} of the sources within {CLOSE_POINTS:g} points, where "
                "the grid's source is not yet a point: peaks nearer than that are wrong"
            )


def _at_the_surface(discretization: Discretization) -> WarningLines:
    """Name sources and receivers of pressure or stress on a fluid's free surface."""
    if discretization.scenario.boundaries.top != "free_surface":
        return
    # The ground has a z of its own in each place.
    level = f" (z = {discretization.grid.origin[2]:g} m)" if discretization.vertical is None else ""
    sources = {s.name: s for shot in discretization.shots for s in shot.sources}
    for source in sources.values():
        if source.kind in ("pressure", "volume_rate", "explosion") and _on_water(
            discretization, np.array([source.position])
        ):
            yield (
                f"source {source.name}: less than half a spacing under the free surface"
                f"{level}, where pressure vanishes: it hardly radiates; move it down"
            )
    for group in discretization.groups:
        on = group.count_where(partial(_on_water, discretization))
        # The stress in a fluid is its pressure.
        for quantity in {"pressure", "stress"}.intersection(group.quantities) if on else ():
            yield (
                f"receivers {group.name}: {on} record {quantity} less than half a spacing under "
                f"the free surface{level}, where it vanishes: move them down"
            )


def _on_water(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m lie on a free surface, under which is a fluid."""
    x, y, z = positions.T
    on = z - discretization.grid.origin[2] < 0.5 * discretization.grid.spacing[2]
    if "vs" in discretization.earth.needs:
        on &= (
            discretization.earth.sample(z, y if discretization.grid.dimensions == 3 else None, x)[
                "vs"
            ]
            == 0.0
        )
    return on


POSITIONS: tuple[Callable[[Discretization], WarningLines], ...] = (
    _ends, _moved, _edges, _repeated_sources, _close_receivers, _above_sources, _surface_strains,
    _close_maps, near_maps, _at_the_surface,
)  # fmt: skip
