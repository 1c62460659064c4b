"""Stations of StationXML, by ObsPy: a receiver for each network, station and location.

A channel's depth is its burial depth in m below the surface. Files of stations alone have no
locations, and no depths.
"""

from __future__ import annotations

import fnmatch
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from seismo.acquisition.stations.station import (
    Station,
    StationList,
    have_elevations,
    station_code,
)
from seismo.errors import ModelError, ScenarioError, printable
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.reading.text import LARGEST

_SHOWN = 3  # times at which a station moved, in a message


def read_station_xml(path: Path, channels: tuple[str, ...], time: str | None) -> StationList:
    """Return the stations of a file.

    Args:
        path: the file.
        channels: patterns of NET.STA.LOC.CHA, of which a channel has to match one; none: all.
        time: at which epochs of stations and channels have to be open; None: any.

    Raises:
        ScenarioError: it is no StationXML, or a station has several places.
    """
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
    """Describe that one code has several places, "" if it has one."""
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
    """Return what is chosen of a file, and since when each is so."""
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
                    yield replace(_station(path, code, channel), site=site), start


def _station(path: Path, code: tuple[str, ...], channel: Any) -> Station:
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
