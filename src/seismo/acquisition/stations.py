"""Station lists: CSV files that name stations and say where they are.

    network, station, location, longitude, latitude, depth
    CI, PAS, 00, -118.17, 34.15, 0

The first line names the columns, in any order; commas separate them, or semicolons. `station` and
the place are needed: longitude and latitude in degrees (with `depth` below the surface in m, 0
where it is left out), or x, (y,) z on the grid's axes in m (of a 2-D run y may be there, empty or
0). A station's code is NET.STA.LOC, or STA where there is neither network nor location, and stands
once. Of the columns that lists of data centres have besides, names of sites, times and elevations
are passed over: a surface that is flat has no elevation, and elevations are not depths.
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
_CALLED = {  # what columns are called elsewhere
    "net": "network", "sta": "station", "code": "station", "name": "station", "id": "station",
    "loc": "location", "lon": "longitude", "long": "longitude", "lng": "longitude",
    "lat": "latitude", "easting": "x", "northing": "y",
}  # fmt: skip
_UPWARDS = ("elevation", "elev", "height", "altitude")
_NOT_USED = ("sitename", "starttime", "endtime", "start", "end", "site", *_UPWARDS)
_SPECFEM = re.compile(r"\S+\s+\S+(\s+[-+.0-9eEdD]+){4}")
_DEGREES = {"longitude": (-180.0, 360.0), "latitude": (-90.0, 90.0)}
_PLAUSIBLE = re.compile(r"[\w .+()|-]{1,80}")  # names of columns, or a line of them
_PART = re.compile(r"[A-Za-z0-9_-]{0,16}\Z")


@dataclass(frozen=True)
class Station:
    """A line of a list: its code, and its place by the names of the columns."""

    line: int
    code: str
    place: dict[str, float]

    @property
    def geographic(self) -> bool:
        """Whether its place is on the earth, not on the grid's axes."""
        return "longitude" in self.place


def read_stations(path: Path, axes: str) -> list[Station]:
    """Read a station list.

    Args:
        path: the file.
        axes: of the grid, "xz" or "xyz".

    Raises:
        ScenarioError: the file is missing, or malformed: a message for each line that is.
    """
    expected = f"expected the columns {', '.join(CODE)} and {', '.join(GEOGRAPHIC)}"
    expected += f", or {', '.join(axes)}"
    lines = read_lines(path, expected)
    top = lines[0][1] if lines else ""
    of_specfem = _SPECFEM.fullmatch(top)
    if len(lines) < 2 and not of_specfem and "|" not in top:
        raise ModelError(f"{path} holds no station; {expected}, and a line for each", "path")
    if of_specfem:
        raise ModelError(
            f"{path}:{lines[0][0]}: {top[:40]!r} is a line of a STATIONS file of SPECFEM; "
            "put the first line 'station, network, latitude, longitude, elevation, depth' before "
            "it, and commas between its values",
            "path",
        )
    header, *rows = _rows([line for _, line in lines])
    _check_header(header, axes, f"{path}:{lines[0][0]}", expected)
    stations: list[Station] = []
    first: dict[str, int] = {}
    problems = []
    for (number, _), row in zip(lines[1:], rows, strict=True):
        try:
            station = _station(number, header, row, axes)
            if first.setdefault(station.code, number) != number:
                again = f"the code {station.code} is that of line {first[station.code]}"
                raise ValueError(f"{again}; give each station its own")
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
        else:
            stations.append(station)
    if problems:
        raise ScenarioError(*problems)
    return stations


def elevations(path: Path) -> str:
    """Name the column of a list, read before, that says how high stations are, if there is one."""
    (header,) = _rows([read_lines(path, "")[0][1]])
    return next((name for name in header if name in _UPWARDS), "")


def _rows(lines: list[str]) -> list[list[str]]:
    """Separate the columns; their names are in small letters."""
    mark = ";" if ";" in lines[0] else ","
    header, *rest = (
        [word.strip() for word in next(csv.reader([line], delimiter=mark, skipinitialspace=True))]
        for line in lines
    )
    return [[name.lower() for name in header], *rest]


def _is_used(name: str) -> bool:
    return name.replace("_", "").replace(" ", "") not in _NOT_USED


def _check_header(header: list[str], axes: str, where: str, expected: str) -> None:
    geographic = "longitude" in header or not {"x", "z"} & set(header)
    known = (*CODE, *(GEOGRAPHIC if geographic else AXES))
    wanted = {"station", *(GEOGRAPHIC[:2] if geographic else axes)}
    unknown = [name or "(no name)" for name in header if name not in known and _is_used(name)]
    if unknown and not _is_table(header):
        raise ModelError(f"{where}: names no columns of a station list; {expected}", "path")
    if unknown:
        problem = f"unknown column {', '.join(unknown)}{_renamed(unknown, header, known)}"
        problem += f"; {expected}; names of sites, times and elevations are passed over, take "
        problem += "other columns out"
        if len(header) == 1:
            problem = f"one column, {header[0]!r}; {expected}, between commas or semicolons"
        if "|" in header[0]:
            problem += ", not |, and the first line without #"
        raise ModelError(f"{where}: {problem}", "path")
    missing = [name for name in known if name in wanted and name not in header]
    used = [name for name in header if _is_used(name)]
    if missing or len(set(used)) < len(used):
        problem = f"there is no column {', '.join(missing)}" if missing else "a column stands twice"
        raise ModelError(f"{where}: {problem}; {expected}", "path")


def _is_table(header: list[str]) -> bool:
    """Whether a line seems to be of a list of stations: of any other file nothing is shown."""
    words = [word for name in header for word in re.split(r"[|\s]+", name)]
    numbers = sum(bool(re.fullmatch(r"[-+]?\d+\.?\d*", word)) for word in words)
    named = {*CODE, *GEOGRAPHIC, *AXES, *_CALLED, *_NOT_USED}.intersection(words)
    plausible = all(_PLAUSIBLE.fullmatch(name) for name in header if name)
    return plausible and (bool(named) or numbers > 1)


def _renamed(unknown: list[str], header: list[str], known: tuple[str, ...]) -> str:
    """Describe what unknown columns are called here."""
    right = {name: _CALLED[name] for name in unknown if name in _CALLED}
    right = {name: meant for name, meant in right.items() if meant in known and meant not in header}
    return f"; write {', '.join(right.values())} for {', '.join(right)}" if right else ""


def _station(line: int, header: list[str], row: list[str], axes: str) -> Station:
    """Read one line; raises ValueError."""
    if len(row) != len(header):
        raise ValueError(f"{len(row)} values, the first line names {len(header)} columns")
    named = {name: text for name, text in zip(header, row, strict=True) if _is_used(name)}
    parts = [named.pop(name, "") for name in CODE]
    if "y" not in axes and _number("y", named.pop("y", "") or "0") != 0.0:
        raise ValueError("y: a 2-D run has none; leave it empty, or give grid.extent.y")
    if not parts[1]:
        raise ValueError("the station has no code; fill the column station")
    for part in parts:
        if not _PART.match(part):
            raise ValueError(f"the code {part[:20]!r} may hold letters, digits, '_' and '-' only")
    code = ".".join(parts) if parts[0] or parts[2] else parts[1]
    return Station(line, code, {name: _number(name, t) for name, t in named.items()})


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
