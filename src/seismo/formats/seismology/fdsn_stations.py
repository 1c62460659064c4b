"""Lists of stations as text of FDSN web services: columns between | (fdsnws-station, "text").

    #Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime
    #Network|Station|Location|Channel|Latitude|Longitude|Elevation|Depth|Azimuth|...    of channels

Without the first line columns are those of the services, by their number. Depths are burial depths
in m. Lines of other times and channels of a place are read once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from seismo.acquisition.stations.station import (
    NumberedLines,
    Station,
    StationList,
    coordinate,
    from_lines,
    have_elevations,
    station_code,
)
from seismo.errors import ModelError

_STATIONS = [
    "network", "station", "latitude", "longitude", "elevation", "sitename", "starttime", "endtime",
]  # fmt: skip
_CHANNELS = [
    "network", "station", "location", "channel", "latitude", "longitude", "elevation", "depth",
    "azimuth", "dip", "sensordescription", "scale", "scalefreq", "scaleunits", "samplerate",
    "starttime", "endtime",
]  # fmt: skip
_NEEDED = _STATIONS[:4]
_LONGEST = 1000  # characters of the line of names


def is_fdsn(lines: NumberedLines) -> bool:
    """Whether the first of some numbered lines has columns of FDSN web services."""
    return bool(lines) and lines[0][1].count("|") >= len(_NEEDED) - 1


def read_fdsn(path: Path, lines: NumberedLines) -> StationList:
    """Return the stations of a file.

    Raises:
        ScenarioError: a line is malformed, with a message for each of them.
    """
    columns, rows = _columns(path, lines)
    if missing := [name for name in _NEEDED if name not in columns]:
        raise ModelError(
            f"{path}:{lines[0][0]}: {len(columns)} columns between |, missing "
            f"{', '.join(missing)}; expected text of FDSN web services: "
            "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime",
            "path",
        )
    stations = from_lines(
        path, _once(columns, rows), lambda where, line: _station(where, columns, line)
    )
    return StationList(stations, "the column Elevation" if have_elevations(stations) else "")


def _columns(path: Path, lines: NumberedLines) -> tuple[list[str], NumberedLines]:
    """Return the names of the columns, and the lines of stations."""
    with path.open(encoding="utf-8-sig") as stream:
        first = stream.readline(_LONGEST).lstrip("# \t")
    names = [word.lower() for word in _words(first)]
    if "network" in names:
        return names, [line for line in lines if _words(line[1]) != _words(first)]
    count = len(_words(lines[0][1]))
    known = {len(columns): columns for columns in (_STATIONS, _CHANNELS)}
    return known.get(count, [""] * count), lines


def _words(line: str) -> list[str]:
    return [word.strip() for word in line.split("|")]


def _once(columns: list[str], rows: NumberedLines) -> Iterator[tuple[int, str]]:
    """Yield lines but for those whose station and place were there before."""
    kept = [
        columns.index(name)
        for name in ("network", "station", "location", "latitude", "longitude", "depth")
        if name in columns
    ]
    seen = set()
    for number, line in rows:
        words = _words(line)
        key = tuple(words[n] for n in kept) if len(words) == len(columns) else (number,)
        if key not in seen:
            yield number, line
        seen.add(key)


def _station(where: str, columns: list[str], line: str) -> Station:
    """Read one line; raises ValueError."""
    words = _words(line)
    if len(words) != len(columns):
        raise ValueError(f"{len(words)} values between |, expected {len(columns)}")
    by_column = dict(zip(columns, words, strict=True))
    names = ("longitude", "latitude", *(("depth",) if "depth" in by_column else ()))
    coordinates = {name: coordinate(name, by_column[name]) for name in names}
    location = by_column.get("location", "").replace("--", "")
    code = station_code(by_column["network"], by_column["station"], location)
    elevation = by_column.get("elevation", "")
    return Station(
        where,
        code,
        coordinates,
        coordinate("elevation", elevation) if elevation else math.nan,
        by_column.get("sitename", ""),
    )
