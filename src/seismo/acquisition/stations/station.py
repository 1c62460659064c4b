"""A station as files describe it: its code and its coordinates, and the numbers of a line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.reading.text import look_alike
from seismo.grid.longitude import MOST

ParsedRow = TypeVar("ParsedRow")
NumberedLines = list[tuple[int, str]]  # number in the file, text

CODE = ("network", "station", "location")
GEOGRAPHIC = ("longitude", "latitude", "depth")
_DEGREES = {"longitude": (-MOST, MOST), "latitude": (-90.0, 90.0)}
_PART = re.compile(r"[A-Za-z0-9_-]{0,16}\Z")


@dataclass(frozen=True)
class Station:
    """One station.

    Attributes:
        where: it stands, as path:line, for messages.
        code: NET.STA.LOC, NET.STA or STA; "" of a point that is no station.
        coordinates: longitude and latitude in degrees, or x and y in m on the grid's axes; with
            them either z in m on its axis, or depth in m below the ground (0 where it is left out).
        elevation: in m; NaN where the file has none.
    """

    where: str
    code: str
    coordinates: dict[str, float]
    elevation: float = math.nan
    site: str = ""  # its name, where the file has one

    @property
    def geographic(self) -> bool:
        """Whether its position is in longitude and latitude, not on the grid's axes."""
        return "longitude" in self.coordinates


@dataclass(frozen=True)
class StationList:
    """The stations of a file.

    Attributes:
        stations: in its order.
        elevations: what it calls them, as the surface is flat and they are not used; "" without.
        taken: what its numbers were taken for, and why, where it does not say; "" where it does.
        vertical: what its z or depths were taken for, and the remedy if that is wrong, likewise.
    """

    stations: list[Station]
    elevations: str = ""
    taken: str = ""
    vertical: str = ""

    @property
    def elevations_m(self) -> np.ndarray | None:
        """Elevations (station) m, NaN of those without; None where none has one but 0."""
        if not have_elevations(self.stations):
            return None
        return np.array([station.elevation for station in self.stations])


def have_elevations(stations: Iterable[Station]) -> bool:
    """Whether any has an elevation but 0, which files write where they know none."""
    return any(np.nan_to_num(station.elevation) != 0.0 for station in stations)


def from_lines(
    path: Path,
    rows: Iterable[tuple[int, ParsedRow]],
    station_of: Callable[[str, ParsedRow], Station],
) -> list[Station]:
    """Return the stations of the numbered rows of a file, whose codes, if any, differ.

    Args:
        path: the file.
        rows: numbers of lines, and what they hold.
        station_of: function(where, row), which raises ValueError.

    Raises:
        ScenarioError: with a message for each malformed line.
    """
    stations: list[Station] = []
    line_of_code: dict[str, int] = {}
    problems = []
    for number, row in rows:
        where = f"{path}:{number}"
        try:
            station = station_of(where, row)
            if station.code and line_of_code.setdefault(station.code, number) != number:
                problem = f"the code {station.code} is that of line {line_of_code[station.code]}"
                raise ValueError(f"{problem}; give each station its own")
        except ValueError as error:
            problems.append(f"{where}: {error}")
        else:
            stations.append(station)
    if problems:
        raise ScenarioError(*problems)
    return stations


def station_code(network: str, station: str, location: str = "") -> str:
    """Return NET.STA.LOC without what is empty at its ends; `.STA.LOC` has no network.

    Raises:
        ValueError: there is no station, or a part holds what a code may not.
    """
    if not station:
        raise ValueError("the station has no code; fill the column station")
    for code_part in (network, station, location):
        if not _PART.match(code_part):
            raise ValueError(
                f"the code {code_part[:20]!r} may hold letters, digits, '_' and '-' only"
            )
    if location:
        return f"{network}.{station}.{location}"
    return f"{network}.{station}" if network else station


def coordinate(name: str, text: str) -> float:
    """Return the number of a coordinate; a depth that is left empty is 0.

    Raises:
        ValueError: it is no number, or a degree beyond the earth.
    """
    if name == "depth" and not text:
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    low, high = _DEGREES.get(name, (-math.inf, math.inf))
    if not math.isfinite(value):
        unit = "degrees" if name in _DEGREES else "m"
        raise ValueError(
            f"{name} is {text[:20]!r}; {look_alike(text) or f'give a number in {unit}'}"
        )
    if not low <= value <= high:
        raise ValueError(f"{name} is {text[:20]!r}; give {low:g} to {high:g} degrees")
    return value


def refuse_y(axes: str, text: str) -> None:
    """Raise ValueError for a y that a grid along some axes does not have."""
    if "y" not in axes and coordinate("y", text or "0") != 0.0:
        raise ValueError("y: a 2-D run has none; leave it empty, or give grid.extent.y")
