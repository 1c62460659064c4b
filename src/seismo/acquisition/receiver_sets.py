"""Receiver sets of a scenario as plain data: codes and positions, station lists read.

Those that move with the shots, such as the receivers of a streamer, are placed for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.locator import Coordinates, Locator, floats
from seismo.acquisition.receivers import Motion, ReceiverGroup, fibre_of, length_of
from seismo.acquisition.stations import (
    Station,
    StationFile,
    StationList,
    read_points,
    read_stations,
)
from seismo.errors import KeyPath, ModelError, ScenarioError, gathered
from seismo.grid.grid import AXES
from seismo.scenario.sections.receivers import (
    CODE,
    MOST_RECEIVERS,
    GridReceivers,
    LineReceivers,
    PointReceivers,
    StationReceivers,
    Ticks,
)

_ROUNDING = 1e-9  # of the length of a fibre
_NO_LIST = StationList([])
Placed = tuple[list[str], list[Coordinates], StationList]  # codes, positions, the list, if any


def receiver_groups(
    locate: Locator, sources: Mapping[str, Coordinates] | None
) -> list[ReceiverGroup]:
    """Return the receiver sets.

    Args:
        locate: the grid.
        sources: name of each shot -> the position of its source, which receivers may move with;
            None where these are not known, and sets that move are left out.

    Raises:
        ScenarioError: a station list is malformed, or a position lies outside the grid.
    """
    sets = [
        (number, receiver)
        for number, receiver in enumerate(locate.scenario.receivers)
        if sources is not None or not receiver.moves
    ]
    return gathered(partial(_group, locate, one, number, sources or {}) for number, one in sets)


def _group(
    locate: Locator, group: Any, number: int, sources: Mapping[str, Coordinates]
) -> ReceiverGroup:
    if group.type == "fibre":
        return _fibre(locate, group, number)
    if group.type == "stations":
        codes, positions, listed = _stations(locate, group, number)
    else:
        codes, positions, listed = _placed(locate, group, number)
    placed = ReceiverGroup(
        group.name,
        tuple(codes),
        np.array(positions),
        group.quantities,
        group.interval,
        listed.elevations,
        listed.vertical,
        listed.elevations_m,
    )
    sites = tuple(station.site for station in listed.stations)
    placed = replace(placed, sites=sites if any(sites) else ())
    return moving(locate, group, number, placed, sources) if group.moves else placed


def _placed(
    locate: Locator, group: PointReceivers | LineReceivers | GridReceivers, number: int
) -> Placed:
    key = ("receivers", number)
    if group.type == "points":
        points = gathered(
            partial(locate.coordinates, p)
            if group.moves
            else partial(locate.position, p, *key, "positions", n)
            for n, p in enumerate(group.positions)
        )
        return [p.code or CODE.format(n) for n, p in enumerate(group.positions)], points, _NO_LIST
    if group.type == "line":
        coordinates = locate.line(group.start, group.end, group.count)
    else:
        heights = group.depth if group.z is None else group.z
        ticks = [np.linspace(*_ticks(ends)) for ends in (group.x, group.y, heights)]
        coordinates = np.stack(np.meshgrid(*ticks[::-1], indexing="ij")[::-1], -1).reshape(-1, 3)
        if group.z is None:
            coordinates[:, 2] += locate.ground(coordinates[:, 0], coordinates[:, 1])
    points = [floats(p) for p in coordinates]
    if not group.moves:
        outside = np.flatnonzero(locate.are_outside(coordinates))
        if outside.size:
            others = f" (so do {outside.size} of {len(points)} receivers)" * (outside.size > 1)
            raise locate.mistakes(key, [locate.outside(points[outside[0]], {}) + others])
        points = [locate.inside(p, *key) for p in points]
    return [CODE.format(n) for n in range(len(points))], points, _NO_LIST


def _ticks(ticks: Ticks | None) -> tuple[float, float, int]:
    return (0.0, 0.0, 1) if ticks is None else (ticks[0], ticks[1], int(ticks[2]))


def _fibre(locate: Locator, group: Any, number: int) -> ReceiverGroup:
    key = ("receivers", number)
    if group.path is not None:
        path = locate.scenario.resolve(group.path)
        axes = locate.grid.axes
        listed = _listed(locate, number, lambda: read_points(path, axes))
        points = _positions(locate, number, listed)
    else:
        points = gathered(
            partial(locate.position, p, *key, "points", n) for n, p in enumerate(group.points)
        )
    line = np.array(points)
    length = length_of(line)
    if group.gauge_length > length * (1.0 + _ROUNDING):
        problem = f"{group.gauge_length:g} m are longer than the fibre, {length:.6g} m; make it "
        raise locate.scenario.mistake(*key, "gauge_length", problem=problem + "shorter")
    if length > MOST_RECEIVERS * group.spacing:
        problem = f"makes {length / group.spacing:.6g} channels, {MOST_RECEIVERS} is the limit"
        raise locate.scenario.mistake(*key, "spacing", problem=f"{problem}; take fewer")
    fibre, positions = fibre_of(line, group.spacing, group.gauge_length)
    codes = tuple(CODE.format(n) for n in range(len(positions)))
    return ReceiverGroup(
        group.name, codes, positions, group.quantities, group.interval, fibre=fibre
    )


def _stations(locate: Locator, group: StationReceivers, number: int) -> Placed:
    axes = locate.grid.axes
    on_earth = locate.projection is not None
    path = locate.scenario.resolve(group.path)
    datum = None if locate.scenario.topography is None else locate.scenario.datum
    read = partial(read_stations, StationFile(path, group, axes, on_earth, datum))
    listed = _listed(locate, number, read)
    if group.moves:
        positions = _offsets(locate, group, number, listed)
    else:
        positions = _positions(locate, number, listed)
    return [station.code for station in listed.stations], positions, listed


def _listed(locate: Locator, number: int, read: Callable[[], StationList]) -> StationList:
    """Read a list of places; what is wrong with it is told with the scenario's key."""
    key = ("receivers", number)
    try:
        return read()
    except ModelError as error:
        raise locate.mistakes((*key, *error.key), [error.problem]) from None
    except ScenarioError as error:
        raise locate.mistakes((*key, "path"), error.messages) from None


def _positions(locate: Locator, number: int, listed: StationList) -> list[Coordinates]:
    """Return where the places of a list lie in the grid; raise ScenarioError for those outside."""
    positions = list[Coordinates]()
    problems = list[str]()
    if locate.projection is None and any(station.geographic for station in listed.stations):
        problems.append("its longitudes and latitudes need the section geographic")
    for station in listed.stations if not problems else ():
        coordinates = _coordinates(locate, station)
        if problem := locate.outside(coordinates, station.coordinates):
            code = f"{station.code}: " if station.code else ""
            problems.append(f"{station.where}: {code}{problem}{listed.taken}")
        positions.append(coordinates)
    if problems:
        raise locate.mistakes(("receivers", number, "path"), problems)
    return [floats(p) for p in locate.on_grid(np.array(positions))]


def _offsets(
    locate: Locator, group: StationReceivers, number: int, listed: StationList
) -> list[Coordinates]:
    """Return offsets from a source that a list has; raise ScenarioError where it has degrees."""
    if any(station.geographic for station in listed.stations):
        problem = (
            "has longitudes and latitudes, where relative_to: source needs offsets x, (y,) z in "
            "m; write these, or leave relative_to out"
        )
        raise locate.mistakes(("receivers", number, "path"), [problem])
    ground = 0.0 if group.relative_depth else float(locate.ground(0.0, 0.0))
    every = [station.coordinates for station in listed.stations]
    return [
        (at.get("x", 0.0), at.get("y", 0.0), at["z"] if "z" in at else at["depth"] + ground)
        for at in every
    ]


def _coordinates(locate: Locator, station: Station) -> Coordinates:
    """Return x, y, z of a station: on the ground without z and depth."""
    coordinates = station.coordinates
    x = coordinates.get("x", 0.0)
    y = coordinates.get("y", 0.0)
    if station.geographic:
        x, y, _ = locate.on_earth(coordinates)
    if "z" in coordinates:
        return x, y, coordinates["z"]
    return x, y, float(coordinates.get("depth", 0.0) + locate.ground(x, y))


def moving(
    locate: Locator, group: Any, number: int, offsets: ReceiverGroup,
    sources: Mapping[str, Coordinates],
) -> ReceiverGroup:  # fmt: skip
    """Let a set of receivers move with the shots.

    Args:
        locate: the grid.
        group: the set in the scenario.
        number: of the set there.
        offsets: the set, whose coordinates count from the source.
        sources: name of each shot -> the position of its source.

    Raises:
        ScenarioError: receivers lie outside the grid, and are not to be dropped; or all do.
    """
    axes = locate.grid.axes
    reach = [locate.reach(axis) if axis in axes else (-np.inf, np.inf) for axis in AXES]
    motion = Motion(
        {shot: np.array(position) for shot, position in sources.items()},
        np.array([float(axis in axes and axis in group.offset_axes) for axis in AXES]),
        np.array([low for low, _ in reach]),
        np.array([high for _, high in reach]),
    )
    placed = replace(offsets, motion=replace(motion, drops=True))
    key = ("receivers", number)
    _refuse_places(locate, placed, key)
    inside = {shot: int(placed.recording(shot).sum()) for shot in sources}
    outside = len(placed) * len(inside) - sum(inside.values())
    if outside and (group.outside != "drop" or not sum(inside.values())):
        remedy = "enlarge grid.extent, or move the shots"
        if group.outside != "drop":
            remedy = (
                "enlarge grid.extent, move the shots, or set outside: drop, which records NaN in "
                "their place"
            )
        problem = _outside(locate, placed, inside, outside)
        raise locate.scenario.mistake(*key, problem=f"{problem}; {remedy}")
    return placed if outside else replace(offsets, motion=motion)


def _refuse_places(locate: Locator, placed: ReceiverGroup, key: KeyPath) -> None:
    """Raise ScenarioError for coordinates that are no offsets, and outside in every shot."""
    motion = placed.motion
    assert motion is not None
    for a in np.flatnonzero(motion.axes == 0.0).tolist():
        along = placed.coordinates[:, a]
        beyond = (along < motion.low[a]) | (along > motion.high[a])
        if beyond.any():
            receiver = int(beyond.argmax())
            position = [locate.grid.limits(b)[0] if b in locate.grid.axes else 0.0 for b in AXES]
            position[a] = float(along[receiver])
            problem = f"{placed.codes[receiver]}: {locate.beyond(floats(position))}"
            raise locate.scenario.mistake(*key, problem=problem)


def _outside(
    locate: Locator, placed: ReceiverGroup, inside: Mapping[str, int], outside: int
) -> str:
    """Describe the first receiver that leaves the grid, and how many traces do."""
    shot = next(shot for shot, count in inside.items() if count < len(placed))
    receiver = int(np.flatnonzero(~placed.recording(shot))[0])
    position = placed.at(shot)[receiver]
    motion = placed.motion
    assert motion is not None
    a = int(np.flatnonzero((position < motion.low) | (position > motion.high))[0])
    low, high = locate.grid.limits(AXES[a])
    traces = len(placed) * len(inside)
    others = f", as do {outside} of {traces} traces in all" if outside > 1 else ""
    return (
        f"in {shot} receiver {placed.codes[receiver]} comes to {AXES[a]} = {position[a]:.6g} m, "
        f"outside the grid ({low:.6g} to {high:.6g} m){others}"
    )
