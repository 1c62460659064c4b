"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected to the grid, mechanisms rotated into its axes, station lists
read, and all positions checked to lie inside the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import moment_tensor
from seismo.acquisition.event_files import action_of
from seismo.acquisition.finite_fault import (
    PlacedFault,
    read_rupture,
    unit_tensors,
)
from seismo.acquisition.point_source import PointSource
from seismo.acquisition.projection import Projection
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.rupture import Rupture
from seismo.acquisition.shots import Shot
from seismo.acquisition.source_frequencies import wavelet_of
from seismo.acquisition.stations import Station, read_stations
from seismo.equations.registry import physics_for
from seismo.errors import KeyPath, ModelError, ScenarioError, gathered
from seismo.grid.grid import AXES, Grid
from seismo.scenario.receivers import CODE
from seismo.scenario.sources import SHOT_NAME, SOURCE_NAME

_MOST_NAMED = 5  # subfaults outside the grid, in a message
Coordinates = tuple[float, float, float]  # x, y, z in m
Degrees = Mapping[str, float]  # longitude and latitude in degrees, optionally depth in m


class Geometry:
    """Sources and receivers of a scenario in grid coordinates."""

    def __init__(self, scenario: Any, grid: Grid) -> None:
        self._scenario = scenario
        self._grid = grid
        self._physics = physics_for(scenario.equation.name, grid.dimensions, scenario.options)
        geographic = scenario.geographic
        self._projection = Projection(geographic) if geographic is not None else None

    def shots(self) -> list[Shot]:
        """Return all shots, with faults as they are (`with_subfaults`); without a survey one."""
        sources = self._scenario.sources
        if self._scenario.survey is None:
            points = gathered(partial(self._placed_source, s, n) for n, s in enumerate(sources))
            return [Shot(SHOT_NAME.format(0), tuple(points))]
        return [
            Shot(name, (self._source(sources[0], 0, position),))
            for name, position in self._shot_positions()
        ]

    def groups(self) -> list[ReceiverGroup]:
        """Return the receiver sets."""
        receivers = self._scenario.receivers
        return gathered(partial(self._group, group, n) for n, group in enumerate(receivers))

    def _shot_positions(self) -> list[tuple[str, Coordinates]]:
        survey = self._scenario.survey
        if survey.line is not None:
            first = np.array(_xyz(survey.line.start))
            last = np.array(_xyz(survey.line.end))
            positions = np.linspace(first, last, survey.line.count)
            return [
                (SHOT_NAME.format(n), self._inside(_floats(p), "survey", "line"))
                for n, p in enumerate(positions)
            ]
        return [
            (
                shot.name or SHOT_NAME.format(n),
                self._position(shot.position, "survey", "shots", n, "position"),
            )
            for n, shot in enumerate(survey.shots)
        ]

    def _placed_source(self, source: Any, number: int) -> Any:
        if source.type == "event":
            return self._event(source, number)
        if source.type == "finite_fault":
            return self._fault(source, number)
        position = self._position(source.position, "sources", number, "position")
        return self._source(source, number, position)

    def _event(self, source: Any, number: int) -> PointSource:
        key = ("sources", number)
        wavelet_of(self._scenario, number)  # raises what is wrong with it
        try:
            action = action_of(source, self._scenario.base, self._scenario.event)
        except ModelError as error:
            raise self._mistakes((*key, *error.key), [error.problem]) from None
        position = self._on_earth(action.degrees)
        if problem := self._outside(position, action.degrees):
            degrees = "longitude {longitude:g}, latitude {latitude:g}, depth {depth:g} m"
            event = degrees.format(**action.degrees)
            raise self._scenario.mistake(*key, "path", problem=f"its event ({event}): {problem}")
        azimuth = self._azimuth(position)
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

    def _fault(self, source: Any, number: int) -> PlacedFault:
        wavelet_of(self._scenario, number)  # raises what is wrong with the file
        rupture = read_rupture(source, self._scenario.base)
        assert self._projection is not None  # the rules of the scenario
        slips = rupture.slips
        x, y = self._projection.to_grid(
            np.array([s.longitude for s in slips]), np.array([s.latitude for s in slips])
        )
        z = np.array([s.depth for s in slips]) + self._grid.origin[2]
        positions = np.stack([x, y, z], axis=1)
        self._refuse_outside(rupture, positions, number)
        event = self._scenario.event
        return PlacedFault(
            rupture, source, source.name or SOURCE_NAME.format(number), positions,
            unit_tensors(rupture, self._projection.x_azimuth(x, y)),
            source.delay + (event.at if event else 0.0),
        )  # fmt: skip

    def _refuse_outside(self, rupture: Rupture, positions: np.ndarray, number: int) -> None:
        """Raise ScenarioError with the first subfaults that lie outside the grid."""
        outside: dict[int, str] = {}
        for slip, position in zip(rupture.slips, positions.tolist(), strict=True):
            degrees = {"longitude": slip.longitude, "latitude": slip.latitude, "depth": slip.depth}
            if self._beyond(position):
                problem = self._outside(position, degrees)
                if slip.depth < 0.0:
                    problem = f"lies {-slip.depth:g} m above the surface; move it down"
                outside[slip.subfault] = f"{slip.where}: subfault {slip.subfault + 1}: {problem}"
        if outside:
            problems = list(outside.values())[:_MOST_NAMED]
            if len(outside) > _MOST_NAMED:
                problems.append(f"so do {len(outside)} of {rupture.count} subfaults in all")
            raise self._mistakes(("sources", number, "path"), problems)

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
                moment_tensor.tensor_of(source, self._azimuth(position))
            )
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _azimuth(self, position: Coordinates) -> float:
        """Return the azimuth of x: north of a mechanism is that at its source."""
        if self._projection is None:
            return 0.0
        return float(self._projection.x_azimuth(position[0], position[1]))

    def _refuse_silent(self, source: Any, number: int, strength: dict[str, float]) -> None:
        """Raise ScenarioError if no component of a force or moment acts in the wave equation."""
        acting = self._physics.components(source.type)
        if any(strength[name] for name in acting):
            return
        key, remedy = "force", f"give it along {' or '.join(acting)}"
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

    def _group(self, group: Any, number: int) -> ReceiverGroup:
        read = self._stations if group.type == "stations" else self._placed
        codes, positions = read(group, number)
        return ReceiverGroup(
            group.name, tuple(codes), np.array(positions), group.quantities, group.interval
        )

    def _placed(self, group: Any, number: int) -> tuple[list[str], list[Coordinates]]:
        key = ("receivers", number)
        if group.type == "points":
            points = [
                self._position(p, *key, "positions", n) for n, p in enumerate(group.positions)
            ]
            codes = [p.code or CODE.format(n) for n, p in enumerate(group.positions)]
            return codes, points
        if group.type == "line":
            coordinates = np.linspace(_xyz(group.start), _xyz(group.end), group.count)
        else:
            ticks = [np.linspace(*_ticks(getattr(group, a))) for a in AXES]
            coordinates = np.stack(np.meshgrid(*ticks[::-1], indexing="ij")[::-1], -1).reshape(
                -1, 3
            )
        points = [self._inside(_floats(p), *key) for p in coordinates]
        return [CODE.format(n) for n in range(len(points))], points

    def _stations(self, group: Any, number: int) -> tuple[list[str], list[Coordinates]]:
        key = ("receivers", number, "path")
        path = self._scenario.resolve(group.path)
        positions = []
        problems = []
        try:
            stations = read_stations(path, self._grid.axes)
        except ModelError as error:
            raise self._mistakes(key, [error.problem]) from None
        except ScenarioError as error:
            raise self._mistakes(key, error.messages) from None
        if self._projection is None and any(station.geographic for station in stations):
            raise self._mistakes(key, ["its longitudes and latitudes need the section geographic"])
        for station in stations:
            position = self._coordinates_of(station)
            problem = self._outside(position, station.coordinates)
            problems += [f"{path}:{station.line}: {station.code}: {problem}"] if problem else []
            positions.append(position)
        if problems:
            raise self._mistakes(key, problems)
        return [station.code for station in stations], positions

    def _coordinates_of(self, station: Station) -> Coordinates:
        coordinates = station.coordinates
        if not station.geographic:
            return coordinates["x"], coordinates.get("y", 0.0), coordinates["z"]
        return self._on_earth(coordinates)

    def _position(self, position: Any, *key: str | int) -> Coordinates:
        if hasattr(position, "longitude"):
            degrees = position.model_dump()
            return self._inside(self._on_earth(degrees), *key, degrees=degrees)
        return self._inside(_xyz(position), *key)

    def _on_earth(self, degrees: Degrees) -> Coordinates:
        assert self._projection is not None  # the rules of the scenario, and `_stations`
        x, y = self._projection.to_grid(degrees["longitude"], degrees["latitude"])
        return float(x), float(y), degrees.get("depth", 0.0) + self._grid.origin[2]

    def _inside(
        self, position: Coordinates, *key: str | int, degrees: Degrees | None = None
    ) -> Coordinates:
        if problem := self._outside(position, degrees or {}):
            raise self._scenario.mistake(*key, problem=problem)
        return position

    def _outside(self, position: Coordinates, degrees: Degrees) -> str:
        """Describe where a position lies outside the grid, "" if inside.

        Where another reading of its degrees lies inside, the message names that.
        """
        problem = self._beyond(position)
        for reading, longitude, latitude in _otherwise(degrees) if problem else ():
            alternative = {**degrees, "longitude": longitude, "latitude": latitude}
            if not self._beyond(self._on_earth(alternative)):
                return f"{problem}; with {reading} it lies inside"
        return problem

    def _beyond(self, position: Coordinates) -> str:
        for axis in self._grid.axes:
            a = AXES.index(axis)
            low, high = self._grid.limits(axis)
            tolerance = 1e-6 * self._grid.spacing[a]
            if not low - tolerance <= position[a] <= high + tolerance:
                return (
                    f"{axis} = {position[a]:.6g} m lies outside the grid ({low:.6g} to "
                    f"{high:.6g} m); move it or enlarge grid.extent"
                )
        return ""

    def _mistakes(self, key: KeyPath, problems: Iterable[str]) -> ScenarioError:
        """Return the error of several problems at one key."""
        errors = [self._scenario.mistake(*key, problem=problem) for problem in problems]
        return ScenarioError(*(message for error in errors for message in error.messages))


def _otherwise(degrees: Degrees) -> Iterator[tuple[str, float, float]]:
    """Yield other readings of degrees: a description, longitude and latitude."""
    longitude = degrees.get("longitude", math.inf)
    latitude = degrees.get("latitude", math.inf)
    if abs(longitude) <= 90.0:
        yield "longitude and latitude exchanged", latitude, longitude
    if abs(longitude) <= 180.0:
        yield "a longitude of the opposite sign (west is negative)", -longitude, latitude
        yield "a latitude of the opposite sign (south is negative)", longitude, -latitude


def _floats(position) -> Coordinates:
    x, y, z = (float(p) for p in position)
    return x, y, z


def _xyz(position: Any) -> Coordinates:
    return position.x, position.y or 0.0, position.z


def _ticks(ticks) -> tuple[float, float, int]:
    return (0.0, 0.0, 1) if ticks is None else (ticks[0], ticks[1], int(ticks[2]))
