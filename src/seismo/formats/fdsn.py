"""Formats of the FDSN: stations in StationXML or text of web services, events in QuakeML.

*StationXML*, by ObsPy: a receiver for each network, station and location. A channel's depth is its
burial depth in m below the surface. Files of stations alone have no locations, and no depths.

*Text* has columns between | (fdsnws-station, "text").

    #Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime
    #Network|Station|Location|Channel|Latitude|Longitude|Elevation|Depth|Azimuth|...    of channels

Without the first line columns are as the services have them, by their number. Depths are burial
depths in m. Lines of other times and channels of a place are read once.

*QuakeML*, by ObsPy: the preferred moment tensor, or the angles of a nodal plane.
"""

from __future__ import annotations

import fnmatch
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from seismo.acquisition.events import CatalogueEvent, EventOrigin, EventProblem
from seismo.acquisition.moment_tensor import double_couple, from_components, moment_of
from seismo.acquisition.stations import (
    NumberedLines,
    Station,
    StationFile,
    StationList,
    coordinate,
    from_lines,
    have_elevations,
    station_code,
)
from seismo.errors import ModelError, ScenarioError, printable
from seismo.formats.reading import LARGEST, begins_as_station_xml, optional_package

_SHOWN = 3  # times at which a station moved, in a message
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


def is_station_xml(file: StationFile) -> bool:
    """Whether a file begins as StationXML does."""
    return begins_as_station_xml(file.path)


def read_station_xml(file: StationFile) -> StationList:
    """Return the stations of a file.

    Its `channels` are patterns of NET.STA.LOC.CHA, of which a channel has to match one (all without
    any); epochs of stations and channels have to be open at its `time`, if given.

    Raises:
        ScenarioError: it is no StationXML, or a station has several places.
    """
    path = file.path
    channels: tuple[str, ...] = file.group.channels
    time: str | None = file.group.time
    epochs = list(_epochs(path, channels, time))
    if not epochs:
        chosen = ", ".join([*channels, *([time] if time else [])])
        raise ModelError(f"{path} lists no station{chosen and f' of {chosen}'}", "path")
    by_code: dict[str, list[tuple[Station, str]]] = {}
    for station, start in epochs:
        by_code.setdefault(station.code, []).append((station, start))
    moved = [_moved(each) for each in by_code.values()]
    if problems := [problem for problem in moved if problem]:
        raise ScenarioError(*problems)
    stations = [each[0][0] for each in by_code.values()]
    return StationList(stations, "the elevation" if have_elevations(stations) else "")


def _moved(epochs: list[tuple[Station, str]]) -> str:
    """Describe that a code has several places, "" if it has one."""
    start_of = {tuple(station.coordinates.items()): start for station, start in epochs[::-1]}
    if len(start_of) == 1:
        return ""
    first = epochs[0][0]
    starts = sorted(set(start_of.values()))[:_SHOWN]
    return (
        f"{first.where}: {first.code} has {len(start_of)} places, from "
        f"{', '.join(starts)} on: choose by time, or by channels"
    )


def _epochs(
    path: Path, channels: tuple[str, ...], time: str | None
) -> Iterator[tuple[Station, str]]:
    """Return the chosen stations or channels of a file, and their start times."""
    inventory = _inventory(path)
    if time is not None:
        inventory = inventory.select(time=_obspy(path).UTCDateTime(time))
    for network in inventory:
        for station in network:
            for channel in station.channels or ([] if channels else [station]):
                location = getattr(channel, "location_code", "") or ""
                name = ".".join((network.code, station.code, location, channel.code))
                if not channels or any(fnmatch.fnmatchcase(name, c) for c in channels):
                    start = str(channel.start_date or station.start_date)
                    code = (network.code, station.code, location)
                    site = printable((station.site and station.site.name) or "")
                    yield replace(_station_of_channel(path, code, channel), site=site), start


def _station_of_channel(path: Path, code: tuple[str, ...], channel: Any) -> Station:
    try:
        named = station_code(*code)
    except ValueError as error:
        raise ModelError(f"{path}: {error}", "path") from None
    depth = float(getattr(channel, "depth", None) or 0.0)
    degrees = {"longitude": float(channel.longitude), "latitude": float(channel.latitude)}
    elevation = math.nan if channel.elevation is None else float(channel.elevation)
    return Station(str(path), named, degrees | {"depth": depth}, elevation)


def _obspy(path: Path) -> Any:
    return optional_package("obspy", "seismology", f"{path}: StationXML")


def _inventory(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path} is larger than {LARGEST >> 20} MB", "path")
    obspy = _obspy(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return obspy.read_inventory(str(path), format="STATIONXML")
    except Exception as error:  # of any kind, as files may hold anything
        problem = printable(str(error).partition("\n")[0][:200])
        raise ModelError(f"{path}: not read as StationXML: {problem}", "path") from None


def is_fdsn(file: StationFile) -> bool:
    """Whether the first line of a file has columns of FDSN web services."""
    lines = file.lines
    return bool(lines) and lines[0][1].count("|") >= len(_NEEDED) - 1


def read_fdsn(file: StationFile) -> StationList:
    """Return the stations of a file.

    Raises:
        ScenarioError: a line is malformed, with a message for each of them.
    """
    path = file.path
    lines = file.lines
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
    """Yield lines, except repeated stations at the same place."""
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
    """Read a line; raises ValueError."""
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


_TENSOR = ("rr", "tt", "pp", "rt", "rp", "tp")


def read_quakeml(path: Path) -> list[CatalogueEvent | EventProblem]:
    """Return the events of a file; missing data of an event are reported when it is chosen.

    Raises:
        ModelError: it is no QuakeML.
        ScenarioError: ObsPy is not installed.
    """
    obspy = optional_package("obspy", "seismology", f"{path}: QuakeML")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            events = obspy.read_events(str(path), format="QUAKEML")
    except Exception as error:  # of any kind, as files may hold anything
        problem = printable(str(error).partition("\n")[0][:200])
        raise ModelError(f"{path}: not read as QuakeML: {problem}", "path") from None
    return [_described(path, event) for event in events]


def _described(path: Path, event: Any) -> CatalogueEvent | EventProblem:
    name = printable(event.resource_id.id if event.resource_id else "")
    try:
        return _event(path, name, event)
    except ModelError as problem:
        return EventProblem(name, problem)


def _event(path: Path, name: str, event: Any) -> CatalogueEvent:
    mechanism = event.preferred_focal_mechanism() or next(iter(event.focal_mechanisms), None)
    if mechanism is None:
        raise ModelError(f"{path}: event {name} has no focal mechanism", "path")
    moment_tensor = mechanism.moment_tensor
    hypocentre, centroid = _origins(event, mechanism)
    if hypocentre is centroid is None:
        raise ModelError(
            f"{path}: event {name} has no origin with longitude, latitude, depth and time", "path"
        )
    function = moment_tensor and moment_tensor.source_time_function
    duration = function.duration if function and function.duration else None
    return CatalogueEvent(
        name, _tensor(path, name, event, mechanism), hypocentre, centroid,
        duration / 2.0 if duration else None, _magnitude(event),
    )  # fmt: skip


def _tensor(path: Path, name: str, event: Any, mechanism: Any) -> np.ndarray:
    """Return the moment tensor (3, 3) N m in north, east, down."""
    moment_tensor = mechanism.moment_tensor
    if moment_tensor is not None and moment_tensor.tensor is not None:
        components = {c: getattr(moment_tensor.tensor, f"m_{c}") for c in _TENSOR}
        if None not in components.values() and any(components.values()):
            return from_components(SimpleNamespace(**components), "gcmt")
    planes = mechanism.nodal_planes
    plane = planes and (planes.nodal_plane_1 or planes.nodal_plane_2)
    moment = moment_tensor.scalar_moment if moment_tensor else None
    magnitude = _magnitude(event)
    if not moment and magnitude is not None:
        moment = moment_of(magnitude)
    if not plane or not moment:
        raise ModelError(
            f"{path}: event {name} has no moment tensor, nor a nodal plane with scalar moment or "
            "Mw; give its angles as a source of type moment_tensor",
            "path",
        )
    return double_couple(plane.strike, plane.dip, plane.rake, moment)


def _magnitude(event: Any) -> float | None:
    """Return the moment magnitude, if the preferred magnitude is a moment magnitude."""
    magnitude = event.preferred_magnitude() or next(iter(event.magnitudes), None)
    if magnitude is None or not (magnitude.magnitude_type or "").lower().startswith("mw"):
        return None
    return float(magnitude.mag)


def _origins(event: Any, mechanism: Any) -> tuple[EventOrigin | None, EventOrigin | None]:
    """Return hypocentre and centroid, as far as they are known.

    The centroid is the origin that the moment tensor was derived at; without it the event's last of
    that type, the preferred origin last of all. So is the hypocentre of all other origins.
    """
    moment_tensor = mechanism.moment_tensor
    derived = moment_tensor.derived_origin_id if moment_tensor else None
    derives = centroid = hypocentre = None
    preferred = event.preferred_origin()
    for origin in [*event.origins, *([preferred] if preferred else [])]:
        if None in (origin.longitude, origin.latitude, origin.depth, origin.time):
            continue
        time = origin.time.datetime.replace(tzinfo=UTC)
        described = EventOrigin(origin.longitude, origin.latitude, origin.depth, time)
        if derived is not None and origin.resource_id == derived:
            derives = described
        elif origin.origin_type == "centroid":
            centroid = described
        else:
            hypocentre = described
    return hypocentre, derives or centroid
