"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected here, mechanisms turned into the grid's axes, station lists
read, and everything checked to lie inside the region.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo import mechanisms
from seismo.errors import ScenarioError
from seismo.geographic import Projection
from seismo.grid import AXES, Grid
from seismo.receivers import ReceiverGroup
from seismo.sources import PointSource

_MOMENT_KEYS = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))


@dataclass(frozen=True)
class Shot:
    """One shot: its name and the sources that act in it."""

    name: str
    sources: tuple[PointSource, ...]


class Geometry:
    """Place sources and receivers of a scenario on its grid."""

    def __init__(self, scenario: Any, grid: Grid) -> None:
        self._scenario, self._grid = scenario, grid
        place = scenario.geographic
        self._projection = Projection(place) if place is not None else None
        self._azimuth = place.azimuth if place is not None else 0.0

    def shots(self) -> list[Shot]:
        """Give all shots; a scenario without a survey has one."""
        sources = self._scenario.sources
        if self._scenario.survey is None:
            points = tuple(
                self._source(s, n, self._position(s.position, f"sources[{n}].position"))
                for n, s in enumerate(sources)
            )
            return [Shot("shot_000", points)]
        return [
            Shot(name, (self._source(sources[0], 0, position),))
            for name, position in self._shot_positions()
        ]

    def groups(self) -> list[ReceiverGroup]:
        """Give the receiver sets."""
        return [
            self._group(group, f"receivers[{n}]")
            for n, group in enumerate(self._scenario.receivers)
        ]

    def _shot_positions(self) -> list[tuple[str, tuple[float, float, float]]]:
        survey = self._scenario.survey
        if survey.line is not None:
            first, last = np.array(_xyz(survey.line.start)), np.array(_xyz(survey.line.end))
            positions = np.linspace(first, last, survey.line.count)
            names = [f"shot_{n:03d}" for n in range(len(positions))]
            return [
                (name, self._inside(_floats(p), "survey.line"))
                for name, p in zip(names, positions, strict=True)
            ]
        return [
            (
                shot.name or f"shot_{n:03d}",
                self._position(shot.position, f"survey.shots[{n}].position"),
            )
            for n, shot in enumerate(survey.shots)
        ]

    def _source(self, source: Any, number: int, position) -> PointSource:
        moment = source.type in ("explosion", "moment_tensor")
        rate = moment and source.time_function == "moment_rate"
        return PointSource(
            name=source.name or f"source_{number:03d}",
            kind=source.type,
            position=position,
            strength=self._strength(source),
            wavelet=source.wavelet,
            delay=source.delay,
            derivative=1 if rate else 0,
            base=self._scenario.base,
        )

    def _strength(self, source: Any) -> dict[str, float]:
        if source.type == "force":
            return {a: getattr(source.force, a) for a in AXES}
        if source.type == "moment_tensor":
            tensor = mechanisms.tensor_of(source, self._azimuth)
            return {name: float(tensor[i, j]) for name, i, j in _MOMENT_KEYS}
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _group(self, group: Any, key: str) -> ReceiverGroup:
        if group.type == "stations":
            codes, positions = self._stations(group, key)
        else:
            codes, positions = self._placed(group, key)
        return ReceiverGroup(
            group.name, tuple(codes), np.array(positions), group.quantities, group.interval
        )

    def _placed(self, group: Any, key: str):
        if group.type == "points":
            points = [
                self._position(p, f"{key}.positions[{n}]") for n, p in enumerate(group.positions)
            ]
            codes = [p.code or f"R{n:04d}" for n, p in enumerate(group.positions)]
            return codes, points
        if group.type == "line":
            places = np.linspace(_xyz(group.start), _xyz(group.end), group.count)
        else:
            ticks = [np.linspace(*_ticks(getattr(group, a))) for a in AXES]
            places = np.stack(np.meshgrid(*ticks[::-1], indexing="ij")[::-1], -1).reshape(-1, 3)
        points = [self._inside(_floats(p), key) for p in places]
        return [f"R{n:04d}" for n in range(len(points))], points

    def _stations(self, group: Any, key: str):
        path = self._scenario.resolve(group.path)
        try:
            rows = list(csv.DictReader(path.read_text().splitlines()))
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"{key}.path: cannot read {path}: {error}") from error
        if not rows:
            raise ScenarioError(
                f"{key}.path: {path} holds no station; give a header and a row each"
            )
        codes, points = [], []
        for number, row in enumerate(rows, 2):
            codes.append(".".join((row.get(k) or "").strip() for k in _CODE_KEYS))
            points.append(self._station_position(row, f"{key}: {path.name}:{number}"))
        return codes, points

    def _station_position(self, row: dict, key: str) -> tuple[float, float, float]:
        def number(name: str, default: str | None = None) -> float:
            text = row.get(name) or default
            try:
                return float(text or "")
            except ValueError:
                raise ScenarioError(f"{key}: {name} is {text!r}; give a number") from None

        if row.get("x"):
            return self._inside((number("x"), number("y", "0"), number("z", "0")), key)
        x, y = self._project(number("longitude"), number("latitude"), key)
        return self._inside((x, y, number("depth", "0")), key)

    def _position(self, position: Any, key: str) -> tuple[float, float, float]:
        if hasattr(position, "longitude"):
            x, y = self._project(position.longitude, position.latitude, key)
            return self._inside((x, y, position.depth + self._grid.origin[2]), key)
        return self._inside(_xyz(position), key)

    def _project(self, longitude: float, latitude: float, key: str) -> tuple[float, float]:
        if self._projection is None:
            raise ScenarioError(
                f"{key}: longitude and latitude need a section `geographic`, where x = y = 0 lies"
            )
        x, y = self._projection.to_grid(longitude, latitude)
        return float(x), float(y)

    def _inside(self, position, key: str) -> tuple[float, float, float]:
        for axis, value in zip(AXES, position, strict=True):
            if axis not in self._grid.axes:
                continue
            low, high = self._grid.limits(axis)
            slack = 1e-6 * self._grid.spacing[AXES.index(axis)]
            if not low - slack <= value <= high + slack:
                raise ScenarioError(
                    f"{key}: {axis} = {value:.6g} m lies outside the region "
                    f"({low:.6g} to {high:.6g} m); move it or enlarge grid.extent"
                )
        return position


_CODE_KEYS = ("network", "station", "location")


def _floats(position) -> tuple[float, float, float]:
    x, y, z = (float(p) for p in position)
    return x, y, z


def _xyz(position: Any) -> tuple[float, float, float]:
    return position.x, position.y or 0.0, position.z


def _ticks(ticks) -> tuple[float, float, int]:
    return (0.0, 0.0, 1) if ticks is None else (ticks[0], ticks[1], int(ticks[2]))
