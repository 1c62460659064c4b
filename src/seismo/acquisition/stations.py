"""Station lists: CSV and STATIONS files with codes and positions of stations.

    network, station, location, longitude, latitude, depth
    CI, PAS, 00, -118.17, 34.15, 0

The first line names the columns, in any order, separated by commas or semicolons. Required are
`station` and a position: longitude and latitude in degrees (with `depth` below the surface in m,
default 0), or x, (y,) z on the grid's axes in m (in a 2-D run y may be present, empty or 0). A
station's code is NET.STA.LOC, without a location NET.STA, without a network, too, STA; it must be
unique. Of the other columns in lists of data centres, names of sites, times and elevations are
ignored: the surface is flat, and elevations are not depths.

STATIONS files of SPECFEM3D are read as they are: lines of station, network, latitude, longitude,
elevation and burial depth in m between blanks, without a header (manual, "The STATIONS file").
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from seismo.errors import ModelError, ScenarioError
from seismo.grid.grid import AXES
from seismo.scenario.text_files import look_alike, read_lines

CODE = ("network", "station", "location")
GEOGRAPHIC = ("longitude", "latitude", "depth")
_CALLED = {  # common names of columns -> names used here
    "net": "network", "sta": "station", "code": "station", "name": "station", "id": "station",
    "loc": "location", "lon": "longitude", "long": "longitude", "lng": "longitude",
    "lat": "latitude", "easting": "x", "northing": "y",
}  # fmt: skip
_UPWARDS = ("elevation", "elev", "height", "altitude")
_NOT_USED = ("sitename", "starttime", "endtime", "start", "end", "site", *_UPWARDS)
_SPECFEM = re.compile(r"\S+\s+\S+(\s+[-+.0-9eEdD]+){4}")
_SPECFEM_HEADER = ["station", "network", "latitude", "longitude", "elevation", "depth"]
_DEGREES = {"longitude": (-180.0, 360.0), "latitude": (-90.0, 90.0)}
_PLAUSIBLE = re.compile(r"[\w .+()|-]{1,80}")  # names of columns, or a line of them
_PART = re.compile(r"[A-Za-z0-9_-]{0,16}\Z")


@dataclass(frozen=True)
class Station:
    """One station: line in the file, code, and coordinates by the names of the columns."""

    line: int
    code: str
    coordinates: dict[str, float]

    @property
    def geographic(self) -> bool:
        """Whether its position is in longitude and latitude, not on the grid's axes."""
        return "longitude" in self.coordinates


def read_stations(path: Path, axes: str) -> list[Station]:
    """Read a station list.

    Args:
        path: the file.
        axes: of the grid, "xz" or "xyz".

    Raises:
        ScenarioError: the file is missing or malformed, with a message for each malformed line.
    """
    expected = f"expected the columns {', '.join(CODE)} and {', '.join(GEOGRAPHIC)}"
    expected += f", or {', '.join(axes)}"
    lines = read_lines(path, expected)
    first_line = lines[0][1] if lines else ""
    of_specfem = bool(_SPECFEM.fullmatch(first_line))
    if len(lines) < 2 and not of_specfem and "|" not in first_line:
        raise ModelError(f"{path} lists no station; {expected}, and a line for each", "path")
    header, *station_lines = _rows([line for _, line in lines])
    _check_header(header, axes, f"{path}:{lines[0][0]}", expected)
    numbers = [number for number, _ in (lines if of_specfem else lines[1:])]
    stations: list[Station] = []
    line_of_code: dict[str, int] = {}
    problems = []
    for number, row in zip(numbers, station_lines, strict=True):
        try:
            station = _station(number, header, row, axes)
            if line_of_code.setdefault(station.code, number) != number:
                problem = f"the code {station.code} is that of line {line_of_code[station.code]}"
                raise ValueError(f"{problem}; give each station its own")
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
        else:
            stations.append(station)
    if problems:
        raise ScenarioError(*problems)
    return stations


def elevations(path: Path) -> str:
    """Return the name of a list's column of elevations, "" without one."""
    header, *_ = _rows([read_lines(path, "")[0][1]])
    return next((name for name in header if name in _UPWARDS), "")


def _rows(lines: list[str]) -> list[list[str]]:
    """Return the names of the columns in lower case, and the lines split into them."""
    if _SPECFEM.fullmatch(lines[0]):
        return [_SPECFEM_HEADER, *map(str.split, lines)]
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


def _check_header(header: list[str], axes: str, where: str, expected: str) -> None:
    geographic = "longitude" in header or not {"x", "z"} & set(header)
    known = (*CODE, *(GEOGRAPHIC if geographic else AXES))
    required = {"station", *(GEOGRAPHIC[:2] if geographic else axes)}
    unknown = [name or "(no name)" for name in header if name not in known and _is_used(name)]
    if unknown and not _is_table(header):
        raise ModelError(f"{where}: is not the header of a station list; {expected}", "path")
    if unknown:
        problem = f"unknown column {', '.join(unknown)}{_renamed(unknown, header, known)}"
        problem += f"; {expected}; names of sites, times and elevations are ignored, remove other "
        problem += "columns"
        if len(header) == 1:
            problem = f"one column, {header[0]!r}; {expected}, between commas or semicolons"
        if "|" in header[0]:
            problem += ", not |, and the first line without #"
        raise ModelError(f"{where}: {problem}", "path")
    missing = [name for name in known if name in required and name not in header]
    used = [name for name in header if _is_used(name)]
    if missing or len(set(used)) < len(used):
        problem = f"missing column {', '.join(missing)}" if missing else "a column occurs twice"
        raise ModelError(f"{where}: {problem}; {expected}", "path")


def _is_table(header: list[str]) -> bool:
    """Whether a line looks like a station list; lines of other files are not quoted in messages."""
    words = [word for name in header for word in re.split(r"[|\s]+", name)]
    numbers = sum(bool(re.fullmatch(r"[-+]?\d+\.?\d*", word)) for word in words)
    known_names = {*CODE, *GEOGRAPHIC, *AXES, *_CALLED, *_NOT_USED}.intersection(words)
    plausible = all(_PLAUSIBLE.fullmatch(name) for name in header if name)
    return plausible and (bool(known_names) or numbers > 1)


def _renamed(unknown: list[str], header: list[str], known: tuple[str, ...]) -> str:
    """Return the hint to rename unknown columns, "" without one."""
    standard = {name: _CALLED[name] for name in unknown if name in _CALLED}
    standard = {
        name: standard_name
        for name, standard_name in standard.items()
        if standard_name in known and standard_name not in header
    }
    return f"; write {', '.join(standard.values())} for {', '.join(standard)}" if standard else ""


def _station(line: int, header: list[str], row: list[str], axes: str) -> Station:
    """Read one line; raises ValueError."""
    if len(row) != len(header):
        raise ValueError(f"{len(row)} values, expected {len(header)}: {', '.join(header)}")
    by_column = {name: text for name, text in zip(header, row, strict=True) if _is_used(name)}
    code_parts = [by_column.pop(name, "") for name in CODE]
    if "y" not in axes and _number("y", by_column.pop("y", "") or "0") != 0.0:
        raise ValueError("y: a 2-D run has none; leave it empty, or give grid.extent.y")
    if not code_parts[1]:
        raise ValueError("the station has no code; fill the column station")
    for code_part in code_parts:
        if not _PART.match(code_part):
            raise ValueError(
                f"the code {code_part[:20]!r} may hold letters, digits, '_' and '-' only"
            )
    code = _code(*code_parts)
    return Station(line, code, {name: _number(name, t) for name, t in by_column.items()})


def _code(network: str, station: str, location: str) -> str:
    """Return NET.STA.LOC without what is empty at its ends; `.STA.LOC` has no network."""
    if location:
        return f"{network}.{station}.{location}"
    return f"{network}.{station}" if network else station


def _number(name: str, text: str) -> float:
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
