"""Checks of positions: ends of the grid, layers, sources, the free surface; its place on the earth.

On the earth, depths are no z, and straight lines of the grid are none where it is large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from seismo.acquisition.locator import Projection, level_of, stretch
from seismo.grid.coordinates import nearest_turn
from seismo.grid.grid import AXES
from seismo.grid.interpolation import ON_GRID
from seismo.grid.surface_closure import MOMENT_ROWS
from seismo.runs.coordinates import true_positions
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED, near_maps
from seismo.runs.prediction.lines import WarningLines, named
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import FACES

EDGE_POINTS = 5  # sources and receivers spread over 4 points
ABOVE_POINTS = 3.0  # of an epicentre: see `_above_sources`
FORCE_ROWS = (0.25, 5.1)  # of a depth: see `_above_sources`
CLOSE_POINTS = 5.0  # from here on the grid's source is a point, to 2 % of the motion


def _ends(discretization: Discretization) -> WarningLines:
    """An extent that is no whole number of spacings ends elsewhere; a chosen one where it may."""
    is_chosen = "grid.spacing" in discretization.scenario.chosen
    faces = discretization.scenario.boundaries
    for axis in discretization.grid.axes:
        kinds = {getattr(faces, face) for face in FACES[axis]}
        if is_chosen and kinds.isdisjoint(("rigid", "periodic")):
            continue
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
    on = positions[:, 2] - discretization.grid.origin[2] < 0.5 * discretization.grid.spacing[2]
    if "vs" in discretization.earth.needs:
        medium = discretization.earth.at(positions, discretization.grid.dimensions)
        on &= medium["vs"] == 0.0
    return on


def _at_rest(discretization: Discretization) -> WarningLines:
    """Name receivers in a fluid that stays at rest."""
    physics = discretization.scenario.physics
    for group in discretization.groups:
        if count := group.count_where(discretization.rests):
            receivers = named(discretization, group, discretization.rests, count)
            yield (
                f"receivers {group.name}: {receivers} in a fluid (vs = 0), where {physics} waves "
                "do not travel: they record 0; move them into rock"
            )


POSITIONS: tuple[Callable[[Discretization], WarningLines], ...] = (
    _ends, _moved, _edges, _repeated_sources, _close_receivers, _above_sources, _surface_strains,
    _close_maps, near_maps, _at_the_surface, _at_rest,
)  # fmt: skip


MOST_DISTANCE = 300e3  # m from the origin: lengths are true to 4e-4
MOST_ANGLE = 0.02  # degrees between a straight line on the grid and the geodesic
_FARTHEST = 2000  # places of which all pairs are looked at


def depths(discretization: Discretization) -> WarningLines:
    """Yield a line where depths below longitude and latitude are not z."""
    ground = discretization.scenario.ground
    if discretization.scenario.has_topography:  # whoever gives it knows of both
        return
    if discretization.scenario.geographic and ground != 0.0:
        yield (
            "geographic: depths of sources, stations and files on the earth count from the free "
            f"surface, z = {ground:.6g} m, as layers, bodies and maps do not: they go by z"
        )


def depths_over_ground(discretization: Discretization) -> WarningLines:
    """Yield lines of sources whose depths count from different levels, where nothing says so."""
    if discretization.ground is None or discretization.scenario.survey is not None:
        return
    datum = discretization.scenario.datum
    for k, (source, section) in enumerate(
        zip(discretization.shots[0].summaries, discretization.scenario.sources, strict=True)
    ):
        key = f"sources[{k}]"
        counted: Any = section
        if section.type not in ("event", "finite_fault"):
            key += ".position"
            counted = getattr(section, "position", None)
            if not hasattr(counted, "longitude") or counted.depth is None:
                continue
        x, y, _ = source.position
        height = datum - float(discretization.ground.ground(y, x))
        if counted.depth_from is None and abs(height) > discretization.grid.spacing[2]:
            z = float(true_positions(discretization, np.array([source.position]))[0, 2])
            yield (
                f"{key}: depths count from the ground, which is {abs(height):.5g} m "
                f"{'above' if height > 0.0 else 'below'} the datum (height 0) there, so that "
                f"{source.name} is at z = {z:.6g} m; catalogues often count from sea level: write "
                f"depth_from: datum, by which it is at z = {z + height:.6g} m, or depth_from: "
                "ground"
            )


def off_the_plane(discretization: Discretization) -> WarningLines:
    """Yield a line where places on the earth lie beside the plane of a 2-D run."""
    if discretization.scenario.geographic is None or discretization.grid.dimensions == 3:
        return
    aside = {s.name: abs(s.position[1]) for shot in discretization.shots for s in shot.sources}
    aside |= {
        group.name: float(np.abs(group.all_positions[:, 1]).max())
        for group in discretization.groups
    }
    name, most = max(aside.items(), key=lambda entry: entry[1])
    if most > 0.5 * discretization.grid.spacing[0]:
        yield (
            f"geographic: {name} lies up to {most:.4g} m beside the plane of this 2-D run, y = 0, "
            "and is moved into it along y; turn the plane (azimuth) to its sources and receivers, "
            "or run it in 3-D"
        )


def directions(discretization: Discretization) -> WarningLines:
    """Yield a line where sources and receivers lie too far out for a plane."""
    if discretization.scenario.geographic is None:
        return
    sources = _farthest([s.position for shot in discretization.shots for s in shot.sources])
    receivers = _farthest(
        [position for group in discretization.groups for position in group.all_positions]
    )
    distance = float(np.hypot(*np.concatenate([sources, receivers]).T).max())
    projection = Projection(discretization.scenario.geographic)
    angle = _largest_angle(projection, sources, receivers)
    if distance > MOST_DISTANCE or angle > MOST_ANGLE:
        yield (
            f"geographic: sources and receivers lie up to {distance / 1e3:.0f} km from its "
            f"longitude and latitude; on a flat grid directions from one to the other are off by "
            f"up to {angle:.2g} degrees, and lengths by {100 * stretch(distance):.2g} %: "
            f"{_better(projection, sources, receivers, angle)}"
        )


def _better(
    projection: Projection, sources: np.ndarray, receivers: np.ndarray, angle: float
) -> str:
    """Describe whether an origin at the sources turns directions less."""
    if angle <= MOST_ANGLE:
        return "put its longitude and latitude nearer to them"
    centre = 0.5 * (sources.min(axis=0) + sources.max(axis=0))
    longitude, latitude = map(float, projection.to_geographic(*centre))
    longitude = float(nearest_turn(longitude, 0.0))
    there = Projection(SimpleNamespace(longitude=longitude, latitude=latitude, azimuth=0.0))
    moved = (
        np.stack(there.to_grid(*projection.to_geographic(*positions.T)), axis=1)
        for positions in (sources, receivers)
    )
    less = _largest_angle(there, *moved)
    if less > 0.5 * angle:
        return "no origin holds places so far apart in all directions much better"
    return (
        f"put its longitude and latitude at the sources, {longitude:.5g} and {latitude:.5g} "
        f"degrees, where directions are off by {less:.2f} degrees at most"
    )


def _farthest(positions: list) -> np.ndarray:
    """Return the x, y (place, 2) m of the positions farthest from the origin."""
    points = np.unique(np.array(positions).reshape(-1, 3)[:, :2], axis=0)
    return points[np.argsort(-np.hypot(*points.T))[:_FARTHEST]]


def _largest_angle(projection: Projection, sources: np.ndarray, receivers: np.ndarray) -> float:
    """Return the largest angle in degrees between lines on the grid and geodesics.

    It is half the spherical excess of a triangle with the origin, and largest where its area is.
    """
    area = np.abs(
        np.outer(sources[:, 0], receivers[:, 1]) - np.outer(sources[:, 1], receivers[:, 0])
    )
    if not area.any():
        return 0.0
    source, receiver = np.unravel_index(area.argmax(), area.shape)
    return projection.line_error(sources[source], receivers[receiver])
