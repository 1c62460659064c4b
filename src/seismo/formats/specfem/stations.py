"""STATIONS files of SPECFEM: lines of six columns between blanks, without a header.

    SPECFEM3D, degrees:    station network latitude longitude elevation burial
    SPECFEM3D, Cartesian:  station network y x elevation burial
    SPECFEM2D:             station network x z elevation burial

Elevation and burial depth are in m; z of SPECFEM2D points up, and its burial depth is not used.
SPECFEM3D counts burial depths down from the ground above the station, whatever the elevation; with
USE_SOURCES_RECEIVERS_Z in its Par_file the last column is z, which points up (SPECFEM3D manual,
"The STATIONS file"; `locate_receivers` of both). A file does not say which it is: `coordinates` of
the scenario does, or that the grid has a place on the earth; and `surface`, that it has z.
"""

from __future__ import annotations

import re
from pathlib import Path

from seismo.acquisition.stations import (
    Station,
    StationFile,
    StationList,
    coordinate,
    from_lines,
    have_elevations,
    station_code,
)
from seismo.errors import ModelError

_LINE = re.compile(r"\S+\s+\S+(\s+[-+.0-9eEdD]+){4}")
_COLUMNS = {
    "degrees": ("latitude", "longitude", "elevation", "depth"),
    "metres": ("y", "x", "elevation", "depth"),
    "metres in 2-D": ("x", "z", "elevation", "burial"),
}
_UPWARDS = (
    "the last column of STATIONS is taken for z upwards, as `surface` is given; leave it out for "
    "depths below the ground"
)
_DEPTHS = (
    "the last column of STATIONS is taken for depths below the ground; with `surface`, such as "
    "0 m, it is taken for z upwards, as with USE_SOURCES_RECEIVERS_Z of SPECFEM3D"
)


def is_specfem(file: StationFile) -> bool:
    """Whether the first line of a file is one of a STATIONS file."""
    lines = file.lines
    return bool(lines and _LINE.fullmatch(lines[0][1]))


def read_specfem(file: StationFile) -> StationList:
    """Return the stations of a file.

    Raises:
        ScenarioError: a line is malformed, or the file may be meant in more than one way.
    """
    path = file.path
    group = file.group
    on_earth = file.on_earth
    kind: str = group.coordinates or ("degrees" if on_earth else "metres")
    taken = "" if group.coordinates else _taken(kind, on_earth)
    if kind == "metres" and "y" not in file.axes:
        kind = "metres in 2-D"
    _check_surface(path, group.surface, kind)

    def station_of(where: str, line: str) -> Station:
        try:
            return _station(where, line, kind, group.surface, file.datum)
        except ValueError as error:
            raise ValueError(f"{error}{taken}") from None

    stations = from_lines(path, file.lines, station_of)
    if kind == "metres" and taken and _may_be_degrees(stations):
        raise ModelError(
            f"missing: the numbers of {path} may be degrees, or metres: give degrees (with the "
            "section geographic) or metres",
            "coordinates",
        )
    depths = [station.coordinates.get("depth", 0.0) for station in stations]
    vertical = _DEPTHS if group.surface is None and any(depths) else ""
    if group.surface is not None and kind != "metres in 2-D":
        vertical = _UPWARDS
    if vertical and (vertical == _UPWARDS or min(depths) < 0.0):
        taken += f"; {vertical}"
    elevations = "the elevation" if have_elevations(stations) else ""
    return StationList(stations, elevations, taken, vertical)


def _taken(kind: str, on_earth: bool) -> str:
    """Return what numbers were taken for, and the remedy if that is wrong."""
    has, other = ("has the", "metres") if on_earth else ("has no", "degrees")
    return (
        f"; its numbers are taken for {kind}, as the scenario {has} section geographic: "
        f"coordinates: {other} takes them for {other}"
    )


def _check_surface(path: Path, surface: float | None, kind: str) -> None:
    """Raise ModelError where the z of the surface is missing."""
    if surface is None and kind == "metres in 2-D":
        problem = f"missing: z of {path}, a STATIONS file of SPECFEM2D, points up; give the z "
        raise ModelError(problem + "that the ground of the grid has there", "surface")


def _station(
    where: str, line: str, kind: str, surface: float | None, datum: float | None
) -> Station:
    """Read one line; raises ValueError."""
    words = line.split()
    columns = _COLUMNS[kind]
    if surface is not None and "z" not in columns:
        columns = (*columns[:3], "z")
    if len(words) != 6:
        raise ValueError(f"{len(words)} values, expected 6: station, network, {', '.join(columns)}")
    named = dict(zip(columns, map(_without_d, words[2:]), strict=True))
    coordinates = {name: coordinate(name, text) for name, text in named.items()}
    elevation = coordinates.pop("elevation")
    coordinates.pop("burial", None)
    if surface is not None:
        below = surface - coordinates.pop("z")
        # Depths count from level ground, over topography from height 0.
        coordinates |= {"depth": below} if datum is None else {"z": datum + below}
    return Station(where, station_code(words[1], words[0]), coordinates, elevation)


def _without_d(text: str) -> str:
    """Return a number of Fortran, such as 1.0d3, as others write it."""
    return text.lower().replace("d", "e")


def _may_be_degrees(stations: list[Station]) -> bool:
    """Whether all places in m would be some on the earth, in degrees."""
    positions = [(s.coordinates["x"], s.coordinates["y"]) for s in stations]
    return all(-180.0 <= x <= 360.0 and -90.0 <= y <= 90.0 for x, y in positions)
