"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected here, mechanisms turned into the grid's axes, station lists
read, and everything checked to lie inside the region.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import moment_tensor, wavelets
from seismo.acquisition.point_source import PointSource
from seismo.acquisition.projection import Projection
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.stations import Station, read_stations
from seismo.errors import ModelError, ScenarioError, gathered
from seismo.grid.grid import AXES, Grid
from seismo.scenario.receivers import CODE
from seismo.scenario.sources import SHOT_NAME, SOURCE_NAME

_MOMENT_KEYS = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
Place = tuple[float, float, float]  # x, y, z in m
Key = tuple[str | int, ...]
Degrees = Mapping[str, float]  # longitude, latitude in degrees, and depth in m or not


@dataclass(frozen=True)
class Shot:
    """One shot: its name and the sources that act in it."""

    name: str
    sources: tuple[PointSource, ...]


@dataclass(frozen=True)
class Share:
    """One of several nearly equal shares of a survey's shots, counted from 1: "2/4"."""

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Share:
        """Read a share such as "2/4".

        Raises:
            ScenarioError: it is none.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of:
            above = f"{number} is more than {of}; " if number > of else ""
            raise ScenarioError(
                f"--shots {text}: {above}give a share of the shots, such as 2/4, the second of four"
            )
        return Share(number, of)

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"{self.number}/{self.of}"

    def take(self, shots: list[Shot]) -> list[Shot]:
        """Return the shots of this share, in order.

        Raises:
            ScenarioError: there are fewer shots than shares.
        """
        if self.of > len(shots):
            raise ScenarioError(f"--shots {self}: the scenario has {len(shots)}; use fewer shares")
        first, last = (len(shots) * n // self.of for n in (self.number - 1, self.number))
        return shots[first:last]


class Geometry:
    """Place sources and receivers of a scenario on its grid."""

    def __init__(self, scenario: Any, grid: Grid) -> None:
        self._scenario, self._grid = scenario, grid
        place = scenario.geographic
        self._projection = Projection(place) if place is not None else None

    def shots(self) -> list[Shot]:
        """Return all shots; a scenario without a survey has one."""
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

    def _shot_positions(self) -> list[tuple[str, Place]]:
        survey = self._scenario.survey
        if survey.line is not None:
            first, last = np.array(_xyz(survey.line.start)), np.array(_xyz(survey.line.end))
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

    def _placed_source(self, source: Any, number: int) -> PointSource:
        position = self._position(source.position, "sources", number, "position")
        return self._source(source, number, position)

    def _source(self, source: Any, number: int, position: Place) -> PointSource:
        try:
            wavelets.shape_of(source.wavelet, self._scenario.base)
        except ModelError as error:
            key = ("sources", number, "wavelet", *error.key)
            raise self._mistakes(key, [error.problem]) from None
        moment = source.type in ("explosion", "moment_tensor")
        rate = moment and source.time_function == "moment_rate"
        return PointSource(
            name=source.name or SOURCE_NAME.format(number),
            kind=source.type,
            position=position,
            strength=self._strength(source, position),
            wavelet=source.wavelet,
            delay=source.delay,
            derivative=1 if rate else 0,
            base=self._scenario.base,
        )

    def _strength(self, source: Any, position: Place) -> dict[str, float]:
        if source.type == "force":
            return {a: getattr(source.force, a) for a in AXES}
        if source.type == "moment_tensor":
            # North of a mechanism is that of its own place, not of the grid's origin.
            here = self._projection
            azimuth = float(here.x_azimuth(position[0], position[1])) if here is not None else 0.0
            tensor = moment_tensor.tensor_of(source, azimuth)
            return {name: float(tensor[i, j]) for name, i, j in _MOMENT_KEYS}
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _group(self, group: Any, number: int) -> ReceiverGroup:
        read = self._stations if group.type == "stations" else self._placed
        codes, positions = read(group, number)
        return ReceiverGroup(
            group.name, tuple(codes), np.array(positions), group.quantities, group.interval
        )

    def _placed(self, group: Any, number: int) -> tuple[list[str], list[Place]]:
        key = ("receivers", number)
        if group.type == "points":
            points = [
                self._position(p, *key, "positions", n) for n, p in enumerate(group.positions)
            ]
            codes = [p.code or CODE.format(n) for n, p in enumerate(group.positions)]
            return codes, points
        if group.type == "line":
            places = np.linspace(_xyz(group.start), _xyz(group.end), group.count)
        else:
            ticks = [np.linspace(*_ticks(getattr(group, a))) for a in AXES]
            places = np.stack(np.meshgrid(*ticks[::-1], indexing="ij")[::-1], -1).reshape(-1, 3)
        points = [self._inside(_floats(p), *key) for p in places]
        return [CODE.format(n) for n in range(len(points))], points

    def _stations(self, group: Any, number: int) -> tuple[list[str], list[Place]]:
        key, path = ("receivers", number, "path"), self._scenario.resolve(group.path)
        places, problems = [], []
        try:
            stations = read_stations(path, self._grid.axes)
        except ModelError as error:
            raise self._mistakes(key, [error.problem]) from None
        except ScenarioError as error:
            raise self._mistakes(key, error.messages) from None
        if self._projection is None and any(station.geographic for station in stations):
            raise self._mistakes(key, ["its longitudes and latitudes need the section geographic"])
        for station in stations:
            place = self._place(station)
            problem = self._outside(place, station.place)
            problems += [f"{path}:{station.line}: {station.code}: {problem}"] if problem else []
            places.append(place)
        if problems:
            raise self._mistakes(key, problems)
        return [station.code for station in stations], places

    def _place(self, station: Station) -> Place:
        place = station.place
        if not station.geographic:
            return place["x"], place.get("y", 0.0), place["z"]
        return self._on_earth(place)

    def _position(self, position: Any, *key: str | int) -> Place:
        if hasattr(position, "longitude"):
            degrees = position.model_dump()
            return self._inside(self._on_earth(degrees), *key, degrees=degrees)
        return self._inside(_xyz(position), *key)

    def _on_earth(self, degrees: Degrees) -> Place:
        assert self._projection is not None  # the rules of the scenario, and `_stations`
        x, y = self._projection.to_grid(degrees["longitude"], degrees["latitude"])
        return float(x), float(y), degrees.get("depth", 0.0) + self._grid.origin[2]

    def _inside(self, place: Place, *key: str | int, degrees: Degrees | None = None) -> Place:
        if problem := self._outside(place, degrees or {}):
            raise self._scenario.mistake(*key, problem=problem)
        return place

    def _outside(self, place: Place, degrees: Degrees) -> str:
        """Describe where a place lies outside the grid, and how else its degrees may be meant.

        Nothing where it is inside.
        """
        problem = self._beyond(place)
        for how, longitude, latitude in _otherwise(degrees) if problem else ():
            other = {**degrees, "longitude": longitude, "latitude": latitude}
            if not self._beyond(self._on_earth(other)):
                return f"{problem}; with {how} it lies inside"
        return problem

    def _beyond(self, place: Place) -> str:
        for axis in self._grid.axes:
            a = AXES.index(axis)
            low, high = self._grid.limits(axis)
            slack = 1e-6 * self._grid.spacing[a]
            if not low - slack <= place[a] <= high + slack:
                return (
                    f"{axis} = {place[a]:.6g} m lies outside the grid ({low:.6g} to {high:.6g} m); "
                    "move it or enlarge grid.extent"
                )
        return ""

    def _mistakes(self, key: Key, problems: Iterable[str]) -> ScenarioError:
        """Return the error of several problems at one key."""
        errors = [self._scenario.mistake(*key, problem=problem) for problem in problems]
        return ScenarioError(*(message for error in errors for message in error.messages))


def _otherwise(degrees: Degrees) -> Iterator[tuple[str, float, float]]:
    """Return the longitudes and latitudes that degrees written in another way stand for."""
    longitude, latitude = degrees.get("longitude", math.inf), degrees.get("latitude", math.inf)
    if abs(longitude) <= 90.0:
        yield "longitude and latitude exchanged", latitude, longitude
    if abs(longitude) <= 180.0:
        yield "a longitude of the opposite sign (west is negative)", -longitude, latitude
        yield "a latitude of the opposite sign (south is negative)", longitude, -latitude


def _floats(position) -> Place:
    x, y, z = (float(p) for p in position)
    return x, y, z


def _xyz(position: Any) -> Place:
    return position.x, position.y or 0.0, position.z


def _ticks(ticks) -> tuple[float, float, int]:
    return (0.0, 0.0, 1) if ticks is None else (ticks[0], ticks[1], int(ticks[2]))
