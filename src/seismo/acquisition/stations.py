"""Stations as files describe them: codes and coordinates, and tables of them in CSV.

    network, station, location, longitude, latitude, depth
    CI, PAS, 00, -118.17, 34.15, 0

The first line of a table names the columns, in any order, separated by commas or semicolons.
Required are `station` and a position: longitude and latitude in degrees (with `depth` below the
ground in m, default 0), or x, (y,) z on the grid's axes in m (in a 2-D run y may be present, empty
or 0). In place of z there may be `depth`; over topography stations with neither stand on the
ground. A station's code is NET.STA.LOC, without a location NET.STA, without a network, too, STA; it
must be unique. Of the other columns in lists of data centres, names of sites and times are ignored;
elevations are not depths: over topography they are compared with the ground.

Lists in formats of other programs are read by their folders of `seismo.formats`.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from seismo.errors import ModelError, ScenarioError
from seismo.formats import giving
from seismo.formats.reading import look_alike, read_lines
from seismo.grid.coordinates import MOST
from seismo.grid.grid import AXES
from seismo.scenario.sections.receivers import StationReceivers

ParsedRow = TypeVar("ParsedRow")
NumberedLines = list[tuple[int, str]]  # number in the file, text

CODE = ("network", "station", "location")
GEOGRAPHIC = ("longitude", "latitude", "depth")
_DEGREES = {"longitude": (-MOST, MOST), "latitude": (-90.0, 90.0)}
_PART = re.compile(r"[A-Za-z0-9_-]{0,16}\Z")
_CALLED = {  # common names of columns -> names used here
    "net": "network", "sta": "station", "code": "station", "name": "station", "id": "station",
    "loc": "location", "lon": "longitude", "long": "longitude", "lng": "longitude",
    "lat": "latitude", "easting": "x", "northing": "y",
}  # fmt: skip
_SITES = ("sitename", "site")
_UPWARDS = ("elevation", "elev", "height", "altitude")
_NOT_USED = ("sitename", "starttime", "endtime", "start", "end", "site", *_UPWARDS)
_NUMBER = re.compile(r"[-+]?\d+\.?\d*")
_PLAUSIBLE = re.compile(r"[\w .+()|-]{1,80}")  # names of columns, or a line of them
# Keys of the scenario that only lists of a format know, by its name, and their meaning.
_KEYS = {"stationxml": ("channels", "time"), "specfem": ("coordinates", "surface")}
_DESCRIPTIONS = {
    "stationxml": "StationXML",
    "specfem": "STATIONS files of SPECFEM (six columns, no header)",
}


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
    site: str = ""  # its name, if the file has it

    @property
    def geographic(self) -> bool:
        """Whether its position is in longitude and latitude, not on the grid's axes."""
        return "longitude" in self.coordinates


@dataclass(frozen=True)
class StationList:
    """The stations of a file.

    Attributes:
        stations: in its order.
        elevations: their name in it, as the surface is flat and they are not used; "" without.
        taken: the reading of its numbers, and why, where it does not say; "" where it does.
        vertical: the reading of its z or depths, and the remedy if that is wrong, likewise.
    """

    stations: list[Station]
    elevations: str = ""
    taken: str = ""
    vertical: str = ""

    @property
    def elevations_m(self) -> np.ndarray | None:
        """Elevations (station) m, NaN of stations without; None where all are 0."""
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
        rows: numbers of lines, and their cells.
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
    """Return NET.STA.LOC without empty parts at its ends; `.STA.LOC` has no network.

    Raises:
        ValueError: there is no station, or a part holds a character that codes may not.
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
    """Raise ValueError for a y that a grid along given axes does not have."""
    if "y" not in axes and coordinate("y", text or "0") != 0.0:
        raise ValueError("y: a 2-D run has none; leave it empty, or give grid.extent.y")


def expected_columns(axes: str, coded: bool = True) -> str:
    """Return the columns of a table, for messages; rows may be `coded`, as stations are."""
    codes = f"{', '.join(CODE)} and " if coded else ""
    level = ", ".join(axes)
    return f"expected the columns {codes}{', '.join(GEOGRAPHIC)}, or {level} (or depth)"


def read_table(
    path: Path, lines: NumberedLines, axes: str, coded: bool = True, on_ground: bool = False
) -> StationList:
    """Return the stations, or points, of a table.

    Args:
        path: the file.
        lines: its lines, with their numbers.
        axes: of the grid, "xz" or "xyz".
        coded: whether it has codes, as stations do.
        on_ground: whether stations without z and depth stand on the ground.

    Raises:
        ScenarioError: a line is malformed, with a message for each of them.
    """
    expected = expected_columns(axes, coded)
    kind = "station" if coded else "point"
    if len(lines) < 2 and "|" not in (lines[0][1] if lines else ""):
        raise ModelError(f"{path} lists no {kind}; {expected}, and a line for each", "path")
    header, *rows = _rows([line for _, line in lines])
    needed = _needed_position(header, axes, on_ground) + CODE[1:2] * coded
    _check_header(header, f"{path}:{lines[0][0]}", expected, needed)
    numbers = (number for number, _ in lines[1:])
    stations = from_lines(
        path, zip(numbers, rows, strict=True), lambda where, row: _station(where, header, row, axes)
    )
    upwards = next((f"the column {name}" for name in header if name in _UPWARDS), "")
    return StationList(stations, upwards)


def _rows(lines: list[str]) -> list[list[str]]:
    """Return the names of the columns in lower case, and the lines split into them."""
    delimiter = ";" if ";" in lines[0] else ","
    header, *station_lines = (
        [
            word.strip()
            for word in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
        ]
        for line in lines
    )
    return [[name.lower() for name in header], *station_lines]


def _is_used(name: str) -> bool:
    return name.replace("_", "").replace(" ", "") not in _NOT_USED


def _needed_position(header: list[str], axes: str, on_ground: bool) -> tuple[str, ...]:
    """Return the columns that the position of a station needs."""
    if "longitude" in header or not {"x", "z"} & set(header):
        return GEOGRAPHIC[:2]
    return tuple(axes.replace("z", "") if on_ground or "depth" in header else axes)


def _check_header(header: list[str], where: str, expected: str, needed: tuple[str, ...]) -> None:
    known = (*CODE, *(GEOGRAPHIC if "longitude" in needed else (*AXES, "depth")))
    unknown = [name or "(no name)" for name in header if name not in known and _is_used(name)]
    if unknown and not _is_table(header):
        raise ModelError(f"{where}: is not the header of a station list; {expected}", "path")
    if unknown:
        problem = f"unknown column {', '.join(unknown)}{_renamed(unknown, header, known)}"
        problem += f"; {expected}; names of sites, times and elevations are ignored, remove other "
        problem += "columns"
        if any(_NUMBER.fullmatch(name) for name in header):
            problem = f"the first line must name the columns; {expected}"
        elif len(header) == 1:
            problem = f"one column, {header[0]!r}; {expected}, between commas or semicolons"
        raise ModelError(f"{where}: {problem}", "path")
    missing = [name for name in known if name in needed and name not in header]
    used = [name for name in header if _is_used(name)]
    if missing or len(set(used)) < len(used):
        problem = f"missing column {', '.join(missing)}" if missing else "a column occurs twice"
        raise ModelError(f"{where}: {problem}; {expected}", "path")
    if {"z", "depth"} <= set(header):
        raise ModelError(f"{where}: the columns z and depth say one thing: leave one out", "path")


def _is_table(header: list[str]) -> bool:
    """Whether a line looks like a station list; lines of other files are not quoted in messages."""
    words = [word for name in header for word in re.split(r"[|\s]+", name)]
    numbers = sum(bool(_NUMBER.fullmatch(word)) for word in words)
    known_names = {*CODE, *GEOGRAPHIC, *AXES, *_CALLED, *_NOT_USED}.intersection(words)
    plausible = all(_PLAUSIBLE.fullmatch(name) for name in header if name)
    return plausible and (bool(known_names) or numbers > 1)


def _renamed(unknown: list[str], header: list[str], known: tuple[str, ...]) -> str:
    """Return the hint to rename unknown columns, "" without hint."""
    standard = {name: _CALLED[name] for name in unknown if name in _CALLED}
    standard = {
        name: standard_name
        for name, standard_name in standard.items()
        if standard_name in known and standard_name not in header
    }
    return f"; write {', '.join(standard.values())} for {', '.join(standard)}" if standard else ""


def _station(where: str, header: list[str], row: list[str], axes: str) -> Station:
    """Read a line; raises ValueError."""
    if len(row) != len(header):
        raise ValueError(f"{len(row)} values, expected {len(header)}: {', '.join(header)}")
    by_column = {name: text for name, text in zip(header, row, strict=True) if _is_used(name)}
    network, station, location = (by_column.pop(name, "") for name in CODE)
    if "y" not in axes:
        refuse_y(axes, by_column.pop("y", ""))
    code = station_code(network, station, location) if "station" in header else ""
    coordinates = {name: coordinate(name, text) for name, text in by_column.items()}
    texts = (text for name, text in zip(header, row, strict=True) if name in _UPWARDS)
    elevation = next((float(text) for text in texts if _NUMBER.fullmatch(text)), math.nan)
    site = next((text for name, text in zip(header, row, strict=True) if name in _SITES), "")
    return Station(where, code, coordinates, elevation, site)


@dataclass(frozen=True)
class StationFile:
    """A list of stations that is to be read.

    Attributes:
        path: the file.
        group: the receiver set of the scenario.
        axes: of the grid, "xz" or "xyz".
        on_earth: whether the grid has a place there.
        datum: z in m of height 0 over topography, on which stations without z and depth stand;
            None where the ground is flat.
    """

    path: Path
    group: StationReceivers
    axes: str
    on_earth: bool
    datum: float | None

    @cached_property
    def lines(self) -> NumberedLines:
        """Its lines, with their numbers.

        Raises:
            ModelError: it is no text, or missing.
        """
        expected = f"{expected_columns(self.axes)}, or StationXML, STATIONS, or rec lines"
        return read_lines(self.path, expected)


def read_stations(file: StationFile) -> StationList:
    """Read a list of stations, in the format of the file.

    Raises:
        ScenarioError: the file is missing or malformed, with a message for each malformed line, or
            the scenario has a key that its format does not.
    """
    pending = giving("stations")
    while pending:
        known = pending.pop(0)
        if known["is_stations"](file):
            _refuse(file, *(further.name for further in pending))
            stations: StationList = known["stations"](file)
            return stations
        _refuse(file, known.name)
    return read_table(file.path, file.lines, file.axes, on_ground=file.datum is not None)


def read_points(path: Path, axes: str) -> StationList:
    """Read a table of points, which have no codes, for a grid along given axes.

    Raises:
        ScenarioError: the file is missing or malformed, with a message for each malformed line.
    """
    return read_table(path, read_lines(path, expected_columns(axes, False)), axes, False)


def _refuse(file: StationFile, *formats: str) -> None:
    """Raise ModelError for a key that only other formats know."""
    for name in formats:
        for key in _KEYS.get(name, ()):
            if getattr(file.group, key) not in (None, ()):
                raise ModelError(
                    f"is for {_DESCRIPTIONS[name]}, and {file.path} is none; leave it out", key
                )
