"""Text files of SPECFEM: parameters, CMTSOLUTION and STATIONS.

*Parameters* are lines NAME = value, lines of sources name: value. Numbers may be Fortran's (1.d0,
.true.). `#` starts a comment.

*CMTSOLUTION*, the text of the GCMT catalogue, too: an event or several, in dyn cm.

    PDE 2008 07 29 18 42 15.71 33.9530 -117.7610 14.7 5.4 5.4 GREATER LOS ANGELES AREA
    event name:     14383980
    time shift:     1.5            s from the time above, of the hypocentre, to the centroid
    half duration:  1.2
    latitude: ..., longitude: ..., depth: ... km, of the centroid
    Mrr: ... Mtt, Mpp, Mrt, Mrp, Mtp

SPECFEM writes latorUTM and longorUTM where the place may be in metres (north, east) of a map
projection, which the file does not name. A single word after the tensor names a file with a time
function (USE_EXTERNAL_SOURCE_FILE), which is not read. Numbers may have Fortran's exponents
(1.0d23). Read here, and not by ObsPy, for lines in messages.

*STATIONS*: lines of six columns between blanks, without a header.

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

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from seismo.acquisition.events import CatalogueEvent, EventOrigin, EventProblem
from seismo.acquisition.moment_tensor import from_components
from seismo.acquisition.stations import (
    Station,
    StationFile,
    StationList,
    coordinate,
    from_lines,
    have_elevations,
    station_code,
)
from seismo.errors import ModelError, ScenarioError
from seismo.formats.reading import is_xml, read_lines, shown_word

_EXPECTED = "expected a text file of SPECFEM"


@dataclass(frozen=True)
class ParameterFile:
    """Texts of a file by name, and their lines.

    Attributes:
        path: of the file.
        texts: by name, in capitals.
        lines: numbers of the lines, by name.
        rows: all lines without comments, with their numbers.
    """

    path: Path
    texts: dict[str, str]
    lines: dict[str, int]
    rows: list[tuple[int, str]]

    def where(self, name: str) -> str:
        """Return file, line and text of a parameter, for messages."""
        return f"{self.path}:{self.lines[name]}: {name} = {self.texts[name]}"

    def has(self, name: str) -> bool:
        """Whether it has a parameter."""
        return name in self.texts

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number.

        Raises:
            ScenarioError: it is missing without a default, or no finite number.
        """
        if name not in self.texts:
            if default is None:
                raise ScenarioError(f"{self.path}: missing {name}; add it")
            return default
        return fortran_number(self.texts[name], self.where(name))

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a logical of Fortran.

        Raises:
            ScenarioError: it is neither .true. nor .false.
        """
        if name not in self.texts:
            return default
        word = self.texts[name].strip(".").lower()
        if word not in ("true", "t", "false", "f"):
            raise ScenarioError(f"{self.where(name)}: is neither .true. nor .false.")
        return word in ("true", "t")


def read_parameters(path: Path) -> ParameterFile:
    """Read a file of parameters, NAME = value.

    Raises:
        ModelError: the file is missing, or no text.
    """
    return _parameters(path, read_lines(path, _EXPECTED), "=")


def read_sources(path: Path) -> list[ParameterFile]:
    """Read the sources of a CMTSOLUTION or FORCESOLUTION, name: value; each begins with a title.

    Raises:
        ModelError: the file is missing, or no text.
        ScenarioError: it has no title.
    """
    lines = read_lines(path, _EXPECTED)
    # A single word is the file of an external source time function.
    starts = [n for n, (_, line) in enumerate(lines) if ":" not in line and len(line.split()) > 1]
    if not starts:
        raise ScenarioError(f"{path}: has no line without ':', which each source begins with")
    ends = [*starts[1:], len(lines)]
    return [_parameters(path, lines[a:b], ":") for a, b in zip(starts, ends, strict=True)]


def _parameters(path: Path, rows: list[tuple[int, str]], separator: str) -> ParameterFile:
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in rows:
        name, mark, text = line.partition(separator)
        if mark:
            name = name.strip().upper()
            texts.setdefault(name, text.strip())
            lines.setdefault(name, number)
    return ParameterFile(path, texts, lines, rows)


def fortran_number(text: str, where: str) -> float:
    """Return a number such as 1.d0.

    Raises:
        ScenarioError: it is no finite number.
    """
    try:
        value = float(text.split()[0].lower().replace("d", "e"))
    except (ValueError, IndexError):
        value = math.nan
    if not math.isfinite(value):
        raise ScenarioError(f"{where}: {shown_word(text, of_table=True)} is no number; write one")
    return value


_DYN_CM = 1e-7  # N m
_EXPECTED_EVENTS = "expected CMTSOLUTION (as SPECFEM and the GCMT catalogue write it) or QuakeML"
_NUMBER = r"([-+]?[0-9.]+)"
_FIRST = re.compile(
    r"\s*[A-Za-z_]*\s*([0-9]{4})\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)"
    + rf"\s+{_NUMBER}" * 4
    + r"(?:\s|$)(.*)"
)
_TENSOR = ("rr", "tt", "pp", "rt", "rp", "tp")
_OF_SPECFEM = {"latorutm": "latitude", "longorutm": "longitude"}
_KEYS = ("timeshift", "halfduration", "latitude", "longitude", "depth", *(f"m{c}" for c in _TENSOR))

Line = tuple[int, str]


def may_be_events(path: Path) -> bool:
    """Whether a file may have events: all that are no XML may."""
    return not is_xml(path)


def read_cmtsolution(path: Path) -> list[CatalogueEvent | EventProblem]:
    """Return the events of a file; an event without a moment is refused when it is chosen.

    Raises:
        ModelError: a line is missing or malformed, with its number.
    """
    lines = read_lines(path, _EXPECTED_EVENTS)
    # A single word is the file of SPECFEM's external source time function.
    starts = [n for n, (_, line) in enumerate(lines) if ":" not in line and " " in line.strip()]
    if not lines or starts[:1] != [0]:
        raise ModelError(
            f"{path}: does not begin with a date and hypocentre; {_EXPECTED_EVENTS}", "path"
        )
    blocks = [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    return [_event(path, block) for block in blocks]


def _event(path: Path, block: list[Line]) -> CatalogueEvent | EventProblem:
    number, first = block[0]
    hypocentre = _hypocentre(path, number, first)
    name = ""
    numbers = dict[str, float]()
    for line_number, line in block[1:]:
        key, _, text = line.partition(":")
        key = key.replace(" ", "").lower()
        key = _OF_SPECFEM.get(key, key)
        if key == "eventname":
            name = text.strip()
        elif key in _KEYS:
            numbers[key] = _number(path, line_number, text)
    if missing := [key for key in _KEYS if key not in numbers]:
        raise ModelError(f"{path}:{number}: the event lacks {', '.join(missing)}", "path")
    tensor = SimpleNamespace(**{c: _DYN_CM * numbers[f"m{c}"] for c in _TENSOR})
    if not any(vars(tensor).values()):
        return EventProblem(name, ModelError(f"{path}:{number}: the moment tensor is zero", "path"))
    centroid = EventOrigin(
        numbers["longitude"], numbers["latitude"], 1e3 * numbers["depth"],
        hypocentre.time + timedelta(seconds=numbers["timeshift"]),
    )  # fmt: skip
    half_duration = numbers["halfduration"] if numbers["halfduration"] > 0.0 else None
    return CatalogueEvent(
        name, from_components(tensor, "gcmt"), hypocentre, centroid, half_duration,
        _magnitude(first),
    )  # fmt: skip


def _hypocentre(path: Path, number: int, line: str) -> EventOrigin:
    match = _FIRST.match(line)
    try:
        if match is None:
            raise ValueError("a date and hypocentre")
        year, month, day, hour, minute = (int(text) for text in match.groups()[:5])
        second, latitude, longitude, depth = (float(text) for text in match.groups()[5:9])
        time = datetime(year, month, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)
    except ValueError as error:
        raise ModelError(f"{path}:{number}: is no {error}; {_EXPECTED_EVENTS}", "path") from None
    return EventOrigin(longitude, latitude, 1e3 * depth, time)


def _magnitude(line: str) -> float | None:
    """Return the largest of body and surface wave magnitude, which are 0 where unknown."""
    match = _FIRST.match(line)
    words = match.groups()[-1].split()[:2] if match else []
    sizes = [float(word) for word in words if re.fullmatch(r"[0-9]{1,2}(\.[0-9]*)?", word)]
    return max(sizes, default=0.0) or None


def _number(path: Path, number: int, text: str) -> float:
    word = text.split()[0] if text.split() else ""
    try:
        size = float(re.sub(r"(?<=[0-9.])[dD](?=[-+0-9])", "e", word))
    except ValueError:
        size = math.nan
    if not math.isfinite(size):
        shown = shown_word(word, True)
        raise ModelError(f"{path}:{number}: {shown} is no number; {_EXPECTED_EVENTS}", "path")
    return size


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
    """Whether the first line of a file is a line of a STATIONS file."""
    lines = file.lines
    return bool(lines and _LINE.fullmatch(lines[0][1]))


def read_specfem(file: StationFile) -> StationList:
    """Return the stations of a file.

    Raises:
        ScenarioError: a line is malformed, or the file is ambiguous.
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
    """Return the assumed meaning of numbers, and the remedy if that is wrong."""
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
    """Read a line; raises ValueError."""
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
    """Whether all places in m would be valid in degrees."""
    positions = [(s.coordinates["x"], s.coordinates["y"]) for s in stations]
    return all(-180.0 <= x <= 360.0 and -90.0 <= y <= 90.0 for x, y in positions)
