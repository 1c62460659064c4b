"""Tables of stations: CSV with codes and positions.

    network, station, location, longitude, latitude, depth
    CI, PAS, 00, -118.17, 34.15, 0

The first line names the columns, in any order, separated by commas or semicolons. Required are
`station` and a position: longitude and latitude in degrees (with `depth` below the ground in m,
default 0), or x, (y,) z on the grid's axes in m (in a 2-D run y may be present, empty or 0). In
place of z there may be `depth`; over topography stations with neither stand on the ground. A
station's code is NET.STA.LOC, without a location NET.STA, without a network, too, STA; it must be
unique. Of the other columns in lists of data centres, names of sites and times are ignored;
elevations are not depths: over topography they are compared with the ground.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

from seismo.acquisition.stations.station import (
    CODE,
    GEOGRAPHIC,
    NumberedLines,
    Station,
    StationList,
    coordinate,
    from_lines,
    refuse_y,
    station_code,
)
from seismo.errors import ModelError
from seismo.grid.grid import AXES

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


def expected_columns(axes: str, coded: bool = True) -> str:
    """Return what a table should hold, for messages; its rows may be `coded`, as stations are."""
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
        on_ground: whether those without z and depth stand on the ground.

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
    """Return the hint to rename unknown columns, "" without one."""
    standard = {name: _CALLED[name] for name in unknown if name in _CALLED}
    standard = {
        name: standard_name
        for name, standard_name in standard.items()
        if standard_name in known and standard_name not in header
    }
    return f"; write {', '.join(standard.values())} for {', '.join(standard)}" if standard else ""


def _station(where: str, header: list[str], row: list[str], axes: str) -> Station:
    """Read one line; raises ValueError."""
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
