"""Commands of an SW4 input, and its ground: topography, refinement, and its place on the earth.

A command is a line, a name and options:

    source x=15000 y=15000 z=2000 mxy=1e18 t0=0.36 freq=16.6667 type=Gaussian   # a comment

Options are written key=value, without blanks. SW4 takes a few keys in capitals, too (Mxx, Qs); here
all are compared in small letters. The ground

    topography input=gaussian gaussianAmp=400 gaussianXc=6100 gaussianYc=5900 gaussianLx=1000 ...

is ground of the height amp exp(-((x - xc) / lx)^2 - ((y - yc) / ly)^2) above z = 0. Files of
heights (`input=grid`, `cartesian`) begin with the numbers of points, and have lines of longitude
and latitude, or x and y, and elevation. A refinement at zmax halves the spacing above it; here a
plane divides it by three.

Longitudes and latitudes are taken to the axes of the grid by SW4's own projection. With the origin
lon0, lat0 and the azimuth a of x (EW.C, GeographicProjection.C),

    north = m (lat - lat0),  east = m cos(lat) (lon - lon0),     m: metres per degree, `mlat`
    x = north cos a + east sin a,  y = -north sin a + east cos a

where `mlon` stands for m cos(lat) if it is given, and PROJ's map for both, less that of the origin,
if `proj` or another of its options is.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError, printable
from seismo.formats.converted_run import ConvertedRun, short
from seismo.formats.reading import optional_package, read_lines, shown_word

_ALIASES = {"r": "rho", "topodepth": "depth", "amp": "f0"}


@dataclass(frozen=True)
class InputCommand:
    """A command: where it stands, as file:line, its text, its name and its options."""

    where: str
    text: str
    name: str
    options: dict[str, str]

    @property
    def label(self) -> str:
        """Where it stands and how it begins, for messages."""
        return f"{self.where}: {_shortened(self.text)}"

    def label_of(self, key: str) -> str:
        """Where an option stands, for messages."""
        return f"{self.where}: {self.name} {key}={_shortened(self.options[key])}"

    def number(self, key: str, default: float | None = None) -> float:
        """Return the number of an option.

        Raises:
            ScenarioError: it is no finite number, or missing and without a default.
        """
        if key not in self.options:
            if default is None:
                raise ScenarioError(f"{self.where}: {self.name}: missing {key}=")
            return default
        text = self.options[key]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            shown = shown_word(text, of_table=True)
            raise ScenarioError(
                f"{self.where}: {self.name} {key}={shown}: is no number; write {key}= and a number"
            )
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        """Return a number above 0.

        Raises:
            ScenarioError: as `number` does, or it is not above 0.
        """
        value = self.number(key, default)
        if value <= 0.0:
            raise ScenarioError(
                f"{self.where}: {self.name} {key}={value:g}: has to be above 0; mend the input"
            )
        return value

    def has(self, *keys: str) -> bool:
        """Whether any of these options is given."""
        return any(key in self.options for key in keys)

    def beyond(self, known: Iterable[str]) -> list[str]:
        """Return the options other than these."""
        return [key for key in self.options if key not in set(known)]


def commands_of(path: Path, lines: list[tuple[int, str]]) -> list[InputCommand]:
    """Return the commands of the numbered lines of a file, in its order."""
    return [
        _command(f"{path}:{number}", line) for number, line in lines if not line.startswith("%")
    ]


def _command(where: str, line: str) -> InputCommand:
    words = line.split()
    pairs = (word.partition("=") for word in words[1:])
    options = {_ALIASES.get(key.lower(), key.lower()): text for key, _, text in pairs}
    return InputCommand(where, line, words[0], options)


def _shortened(text: str) -> str:
    words = printable(" ".join(text.split()))
    return words if len(words) <= 60 else f"{words[:57]}..."


_HILL = {"gaussianamp": 0.05, "gaussianxc": 0.5, "gaussianyc": 0.5, "gaussianlx": 0.15,
         "gaussianly": 0.15}  # fmt: skip
IN_FILES = {"grid": "degrees", "geographic": "degrees", "cartesian": "metres"}
_MODELS = ("rfile", "sfile", "gmg", "efile", "image")
_FACTOR = 3  # spacing below a plane of refinement over that above
# Rows by which a plane keeps off the top (of those below it), sources and the bottom: the solver's
# demand with differences of order 8 (`seismo.features.refinement.plane`).
_BELOW_TOP = 9
_FROM_SOURCE = 8
_ABOVE_BOTTOM = 10
_PROJECTION = {"proj": "proj", "ellps": "ellps", "datum": "datum", "lon_p": "lon_0",
               "lat_p": "lat_0", "scale": "scale"}  # fmt: skip
_METRES_PER_DEGREE = 111319.5
_ORIGIN = {"lon": -118.0, "lat": 37.0}  # SW4's, where the input has none
ToGrid = Callable[[float, float], tuple[float, float]]  # longitude, latitude -> x, y


def add_topography(
    run: ConvertedRun, commands: list[InputCommand], size: tuple[float, float, float]
) -> None:
    """Add the section `topography`, and to the grid the height of its ground above z = 0.

    Args:
        run: that is converted, which has its grid.
        commands: `topography` of the input.
        size: x, y, z of SW4's grid in m.
    """
    grid = run.sections["grid"]
    spacing = float(grid["spacing"])
    ground, highest = _ground(run, commands, size, spacing)
    if ground is not None:
        run.sections["topography"] = ground
        cell = spacing * (_FACTOR if "refinement" in grid else 1)
        depth = grid["extent"]["z"] + math.ceil(max(0.0, highest) / cell - 1e-9) * cell
        grid["extent"]["z"] = short(depth)


def _ground(
    run: ConvertedRun, commands: list[InputCommand], size: tuple[float, float, float],
    spacing: float,
) -> tuple[dict[str, Any] | None, float]:  # fmt: skip
    """Return the section `topography`, None where the ground is level, and its largest height."""
    if not commands:
        return None, 0.0
    command = commands[-1]
    style = command.options.get("input", "")
    if style == "gaussian":
        return _hill(run, command, size, spacing)
    if style in IN_FILES and command.has("file"):
        path = run.source.parent / command.options["file"]
        if path.is_file():
            return _heights(run, command, IN_FILES[style])
        reason = f"no such file as {path}: the ground is level here"
    elif style in _MODELS:
        reason = (
            f"the ground of this {style} is not read: the ground is level here, and depths of the "
            "model count from it; give its heights as topography of type file"
        )
    else:
        reason = "SW4 has no such topography: the ground is level here"
    run.leave_out(command.label, reason, alters=True)
    return None, 0.0


def _hill(
    run: ConvertedRun, command: InputCommand, size: tuple[float, float, float], spacing: float
) -> tuple[dict[str, Any] | None, float]:
    height, x0, y0, along_x, along_y = (
        command.number(key, default) for key, default in _HILL.items()
    )
    if not height:
        return None, 0.0
    if along_x == along_y:
        center = {"x": short(x0), "y": short(y0)}
        hill = {"center": center, "height": short(height), "width": short(along_x)}
        return {"type": "hills", "hills": [hill]}, height
    x, y = (np.arange(round(length / spacing) + 1) * spacing for length in size[:2])
    heights = height * np.exp(-(((x - x0) / along_x) ** 2) - ((y[:, None] - y0) / along_y) ** 2)
    stream = io.BytesIO()
    np.save(stream, heights)
    run.remark("topography", f"{command.where}: a hill of two widths, at points of the grid.")
    return {
        "type": "file", "path": run.add_side_file("ground.npy", stream.getvalue()),
        "spacing": short(spacing), "origin": {"x": 0, "y": 0}, "outside": "nearest",
    }, float(heights.max())  # fmt: skip


def _heights(
    run: ConvertedRun, command: InputCommand, coordinates: str
) -> tuple[dict[str, Any], float]:
    path = run.source.parent / command.options["file"]
    lines = read_lines(path, "expected heights of SW4: numbers of points, then x, y, elevation")
    try:
        columns, rows = (int(word) for word in lines[0][1].split())
        highest = max(float(line.split()[2]) for _, line in lines[1:])
    except (ValueError, IndexError):
        raise ScenarioError(
            f"{path}: are no heights of SW4: numbers of points, then x, y, elevation"
        ) from None
    points = [line for _, line in lines[1:]]
    if len(points) < columns * rows:
        raise ScenarioError(f"{path}: has {len(points)} points, expected {columns} x {rows}")
    name = run.add_side_file("ground.xyz", ("\n".join(points) + "\n").encode())
    section = {"type": "file", "path": name, "coordinates": coordinates, "outside": "nearest"}
    return section, highest


def refined(
    run: ConvertedRun, commands: list[InputCommand], spacing: float,
    size: tuple[float, float, float],
) -> dict[str, Any]:  # fmt: skip
    """Return the section `grid`, whose spacing at the top is that of SW4.

    Args:
        run: that is converted.
        commands: `refinement` of the input.
        spacing: of SW4's coarsest grid in m.
        size: x, y, z of it in m.
    """
    finest = spacing / 2 ** len(commands)
    below = _FACTOR * finest
    lengths = list(size)
    planes: dict[str, Any] = {}
    if commands:
        first, *others = sorted(commands, key=lambda command: command.positive("zmax"))
        rows = max(math.ceil(first.positive("zmax") / below - 1e-9), _BELOW_TOP)
        planes = {"refinement": [{"below": short(rows * below)}]}
        lengths = [math.ceil(length / below - 1e-9) * below for length in size]
        for command in others:
            reason = f"one plane is possible here: below it the spacing is {below:g} m"
            run.leave_out(command.label, reason)
    extent = {axis: short(length) for axis, length in zip("xyz", lengths, strict=True)}
    return {"extent": extent, "spacing": short(finest), **planes}


def place_plane(run: ConvertedRun, commands: list[InputCommand]) -> None:
    """Move the plane of a refinement down to where no source is near; leave it out where none is.

    Args:
        run: that is converted, which has its sources.
        commands: `refinement` of the input.
    """
    grid = run.sections["grid"]
    if "refinement" not in grid:
        return
    spacing = float(grid["spacing"])
    below = _FACTOR * spacing
    depth = float(grid["refinement"][0]["below"])
    heights = [
        source["position"].get("z", source["position"].get("depth"))
        for source in run.sections["sources"]
        if "position" in source
    ]
    while any(depth - _FROM_SOURCE * spacing < z < depth + _FROM_SOURCE * below for z in heights):
        depth += below
    if depth > float(grid["extent"]["z"]) - _ABOVE_BOTTOM * below:
        del grid["refinement"]
        reason = f"no plane is far enough from top, bottom and sources: {spacing:g} m everywhere"
        run.leave_out(commands[0].label, reason)
        return
    grid["refinement"] = [{"below": short(depth)}]
    run.remark(
        "grid",
        f"Above the plane SW4's finest spacing, below it {_FACTOR} times that; extents are whole "
        "cells of it. The plane lies at or below SW4's, away from the surface and the sources.",
    )


def origin_of(grid: InputCommand) -> tuple[float, float]:
    """Return longitude and latitude in degrees of x = 0, y = 0."""
    return grid.number("lon", _ORIGIN["lon"]), grid.number("lat", _ORIGIN["lat"])


def projection_of(grid: InputCommand) -> str:
    """Return SW4's projection as PROJ has it, "" where the input has none."""
    pairs = {name: grid.options[key] for key, name in _PROJECTION.items() if grid.has(key)}
    if not pairs:
        return ""
    longitude, latitude = origin_of(grid)
    pairs = {"proj": "utm", "lon_0": f"{longitude:.12g}"} | pairs
    pairs.setdefault("lat_0", f"{latitude:.12g}")
    if pairs["proj"] == "utm":  # whose zone is that of the central meridian
        del pairs["lon_0"], pairs["lat_0"]
        zone = math.floor((grid.number("lon_p", longitude) + 180.0) / 6.0) % 60 + 1
        pairs = {"proj": "utm", "zone": f"{zone}"} | pairs
    if not {"ellps", "datum"} & pairs.keys():
        pairs["ellps"] = "WGS84"
    return " ".join(f"+{name}={text}" for name, text in pairs.items()) + " +units=m"


def to_grid_of(grid: InputCommand) -> ToGrid:
    """Return SW4's map from longitude and latitude to x and y of its grid in m.

    Raises:
        ScenarioError: an option is no number, or pyproj is not installed where it is needed.
    """
    longitude0, latitude0 = origin_of(grid)
    azimuth = math.radians(grid.number("az", 0.0))
    projected = _projected(grid) if projection_of(grid) else _plain(grid)
    east0, north0 = projected(longitude0, latitude0)

    def to_grid(longitude: float, latitude: float) -> tuple[float, float]:
        east, north = projected(longitude, latitude)
        east, north = east - east0, north - north0
        x = north * math.cos(azimuth) + east * math.sin(azimuth)
        return x, east * math.cos(azimuth) - north * math.sin(azimuth)

    return to_grid


def _projected(grid: InputCommand) -> ToGrid:
    pyproj = optional_package("pyproj", "geo", "the projection of an SW4 input")
    try:
        proj: Any = pyproj.Proj(projection_of(grid))
    except pyproj.exceptions.CRSError:
        raise ScenarioError(
            f"{grid.label}: PROJ knows no such projection as {projection_of(grid)}"
        ) from None
    return lambda longitude, latitude: proj(longitude, latitude)


def _plain(grid: InputCommand) -> ToGrid:
    longitude0, _ = origin_of(grid)
    per_degree = grid.positive("mlat", _METRES_PER_DEGREE)
    if grid.has("mlon"):
        along_east = grid.positive("mlon")
        return lambda longitude, latitude: (
            along_east * (longitude - longitude0),
            per_degree * latitude,
        )
    return lambda longitude, latitude: (
        per_degree * math.cos(math.radians(latitude)) * (longitude - longitude0),
        per_degree * latitude,
    )
