"""The receiver sets of a scenario as plain data: their codes and positions, station lists read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.locator import Coordinates, Locator, floats, xyz
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.station import Station, StationList
from seismo.acquisition.stations import read_stations
from seismo.errors import ModelError, ScenarioError, gathered
from seismo.grid.grid import AXES
from seismo.scenario.receivers import CODE

Placed = tuple[list[str], list[Coordinates], str]  # codes, positions, name of elevations


def receiver_groups(locate: Locator) -> list[ReceiverGroup]:
    """Return the receiver sets.

    Raises:
        ScenarioError: a station list is malformed, or a position lies outside the grid.
    """
    sets = enumerate(locate.scenario.receivers)
    return gathered(partial(_group, locate, one, number) for number, one in sets)


def _group(locate: Locator, group: Any, number: int) -> ReceiverGroup:
    read = _stations if group.type == "stations" else _placed
    codes, positions, elevations = read(locate, group, number)
    return ReceiverGroup(
        group.name, tuple(codes), np.array(positions), group.quantities, group.interval, elevations
    )


def _placed(locate: Locator, group: Any, number: int) -> Placed:
    key = ("receivers", number)
    if group.type == "points":
        points = [locate.position(p, *key, "positions", n) for n, p in enumerate(group.positions)]
        return [p.code or CODE.format(n) for n, p in enumerate(group.positions)], points, ""
    if group.type == "line":
        coordinates = np.linspace(xyz(group.start), xyz(group.end), group.count)
    else:
        ticks = [np.linspace(*_ticks(getattr(group, a))) for a in AXES]
        coordinates = np.stack(np.meshgrid(*ticks[::-1], indexing="ij")[::-1], -1).reshape(-1, 3)
    points = [locate.inside(floats(p), *key) for p in coordinates]
    return [CODE.format(n) for n in range(len(points))], points, ""


def _ticks(ticks: Any) -> tuple[float, float, int]:
    return (0.0, 0.0, 1) if ticks is None else (ticks[0], ticks[1], int(ticks[2]))


def _stations(locate: Locator, group: Any, number: int) -> Placed:
    key = ("receivers", number)
    listed = _listed(locate, group, key)
    positions, problems = list[Coordinates](), list[str]()
    if locate.projection is None and any(station.geographic for station in listed.stations):
        problems.append("its longitudes and latitudes need the section geographic")
    for station in listed.stations if not problems else ():
        position = _position(locate, station)
        if problem := locate.outside(position, station.coordinates):
            problems.append(f"{station.where}: {station.code}: {problem}{listed.taken}")
        positions.append(position)
    if problems:
        raise locate.mistakes((*key, "path"), problems)
    return [station.code for station in listed.stations], positions, listed.elevations


def _listed(locate: Locator, group: Any, key: tuple[str | int, ...]) -> StationList:
    """Read a station list; what is wrong with it is told with the scenario's key."""
    path = locate.scenario.resolve(group.path)
    try:
        return read_stations(path, group, locate.grid.axes, locate.projection is not None)
    except ModelError as error:
        raise locate.mistakes((*key, *error.key), [error.problem]) from None
    except ScenarioError as error:
        raise locate.mistakes((*key, "path"), error.messages) from None


def _position(locate: Locator, station: Station) -> Coordinates:
    coordinates = station.coordinates
    x = coordinates.get("x", 0.0)
    y = coordinates.get("y", 0.0)
    if station.geographic:
        x, y, _ = locate.on_earth(coordinates)
    if "z" in coordinates:
        return x, y, coordinates["z"]
    return x, y, coordinates.get("depth", 0.0) + locate.grid.origin[2]
