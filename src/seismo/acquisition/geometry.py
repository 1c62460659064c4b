"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected to the grid, mechanisms rotated into its axes, and all
positions checked to lie inside the grid.
Receivers that move with the shots, as in a streamer, are placed for each shot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import moment_tensor
from seismo.acquisition.locator import Coordinates, Locator, floats
from seismo.acquisition.receivers import Motion, ReceiverGroup, fibre_of, length_of
from seismo.acquisition.sources import PointSource, Shot
from seismo.acquisition.spectra import kind_of, wavelet_of
from seismo.acquisition.stations import (
    Station,
    StationFile,
    StationList,
    read_points,
    read_stations,
)
from seismo.equations.framework.registry import physics_for
from seismo.errors import KeyPath, ModelError, ScenarioError, gathered
from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario
from seismo.scenario.sections.receivers import (
    CODE,
    MOST_RECEIVERS,
    GridReceivers,
    LineReceivers,
    PointReceivers,
    StationReceivers,
    Ticks,
)
from seismo.scenario.sections.sources import (
    SHOT_NAME,
    SOURCE_NAME,
    EventSource,
    Survey,
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
    return gathered(partial(_group, locate, entry, number, sources or {}) for number, entry in sets)


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
    datum = locate.scenario.datum if locate.scenario.has_topography else None
    read = partial(read_stations, StationFile(path, group, axes, on_earth, datum))
    listed = _listed(locate, number, read)
    if group.moves:
        positions = _offsets(locate, group, number, listed)
    else:
        positions = _positions(locate, number, listed)
    return [station.code for station in listed.stations], positions, listed


def _listed(locate: Locator, number: int, read: Callable[[], StationList]) -> StationList:
    """Read a list of places; errors name the scenario's key."""
    key = ("receivers", number)
    try:
        return read()
    except ModelError as error:
        raise locate.mistakes((*key, *error.key), [error.problem]) from None
    except ScenarioError as error:
        raise locate.mistakes((*key, "path"), error.messages) from None


def _positions(locate: Locator, number: int, listed: StationList) -> list[Coordinates]:
    """Return where the places of a list lie in the grid; raise ScenarioError for places outside."""
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


class Geometry:
    """Sources and receivers of a scenario in grid coordinates."""

    def __init__(
        self, scenario: Scenario, grid: Grid, topography: VerticalCoordinate | None = None
    ) -> None:
        self._scenario = scenario
        self._grid = grid
        self._physics = physics_for(scenario.equation.name, grid.dimensions, scenario.options)
        self._locate = Locator(scenario, grid, topography)

    def shots(self) -> list[Shot]:
        """Return all shots, before `with_moments`; without a survey a single shot."""
        sources = self._scenario.sources
        survey = self._scenario.survey
        if survey is None:
            points = gathered(partial(self._placed_source, s, n) for n, s in enumerate(sources))
            return [Shot(SHOT_NAME.format(0), tuple(points))]
        return [
            Shot(name, (self._source(sources[0], 0, position),))
            for name, position in self._shot_positions(survey)
        ]

    def groups(self) -> list[ReceiverGroup]:
        """Return the receiver sets."""
        return receiver_groups(self._locate, self._source_positions())

    def _source_positions(self) -> dict[str, Coordinates] | None:
        """Return the position of the only source of each shot, where receivers move with it.

        None where these cannot be placed, which `shots` tells.
        """
        if not any(group.moves for group in self._scenario.receivers):
            return {}
        try:
            return {shot.name: shot.points[0].position for shot in self.shots()}
        except ScenarioError:
            return None

    def _shot_positions(self, survey: Survey) -> list[tuple[str, Coordinates]]:
        if survey.line is not None:
            line = survey.line
            return [
                (SHOT_NAME.format(n), self._locate.inside(floats(p), "survey", "line"))
                for n, p in enumerate(self._locate.line(line.start, line.end, line.count))
            ]
        positions = gathered(
            partial(self._locate.position, shot.position, "survey", "shots", n, "position")
            for n, shot in enumerate(survey.shots)
        )
        names = (shot.name or SHOT_NAME.format(n) for n, shot in enumerate(survey.shots))
        return list(zip(names, positions, strict=True))

    def _placed_source(self, source: Any, number: int) -> Any:
        if source.type == "event":
            return self._event(source, number)
        if kind := kind_of(self._scenario, source):
            return kind.locate(self._locate, source, number)
        position = self._locate.position(source.position, "sources", number, "position")
        return self._source(source, number, position)

    def _event(self, source: EventSource, number: int) -> PointSource:
        from seismo.acquisition.events import action_of  # other sources need none

        key = ("sources", number)
        wavelet_of(self._scenario, number)  # raises the mistake in it
        try:
            action = action_of(source, self._scenario.base, self._scenario.event)
        except ModelError as error:
            raise self._locate.mistakes((*key, *error.key), [error.problem]) from None
        degrees_of_event = action.degrees | {"depth_from": source.depth_from}
        coordinates = self._locate.on_earth(degrees_of_event)
        if problem := self._locate.outside(coordinates, degrees_of_event):
            degrees = "longitude {longitude:g}, latitude {latitude:g}, depth {depth:g} m"
            event = degrees.format(**action.degrees)
            raise self._scenario.mistake(*key, "path", problem=f"its event ({event}): {problem}")
        position = self._locate.inside(coordinates, *key)
        azimuth = self._locate.azimuth(position)
        return PointSource(
            name=source.name or SOURCE_NAME.format(number),
            kind="moment_tensor",
            position=position,
            strength=moment_tensor.grid_components(moment_tensor.to_grid(action.tensor, azimuth)),
            wavelet=action.wavelet,
            delay=action.delay,
            derivative=1,
            base=self._scenario.base,
        )

    def _source(self, source: Any, number: int, position: Coordinates) -> PointSource:
        wavelet = wavelet_of(self._scenario, number)
        moment = source.type in ("explosion", "moment_tensor")
        rate = moment and source.time_function == "moment_rate"
        strength = self._strength(source, position)
        if source.type in ("moment_tensor", "force"):
            self._refuse_silent(source, number, strength)
        return PointSource(
            name=source.name or SOURCE_NAME.format(number),
            kind=source.type,
            position=position,
            strength=strength,
            wavelet=wavelet,
            delay=source.delay,
            derivative=1 if rate else 0,
            base=self._scenario.base,
        )

    def _strength(self, source: Any, position: Coordinates) -> dict[str, float]:
        if source.type == "force":
            return {a: getattr(source.force, a) for a in AXES}
        if source.type == "moment_tensor":
            return moment_tensor.grid_components(
                moment_tensor.tensor_of(source, self._locate.azimuth(position))
            )
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _refuse_silent(self, source: Any, number: int, strength: dict[str, float]) -> None:
        """Raise ScenarioError if no component of a force or moment acts in the wave equation."""
        acting = self._physics.components(source.type)
        if any(strength[name] for name in acting):
            return
        key = "force"
        remedy = f"give it along {' or '.join(acting)}"
        if source.type == "moment_tensor":
            angles = source.components is None
            key = "strike" if angles else "components"
            remedy = "change the angles" if angles else "give one of these"
            remedy += ", or use a 3-D grid (grid.extent.y)"
        raise self._scenario.mistake(
            "sources", number, key,
            problem=f"this source radiates nothing: in {self._grid.dimensions}-D, physics "
            f"{self._scenario.physics} is moved by {', '.join(acting)} (along the grid's axes), "
            f"which are zero; {remedy}",
        )  # fmt: skip
