"""Longitudes and latitudes of an SW4 input on the axes of its grid, by SW4's own projection.

With the origin lon0, lat0 and the azimuth a of x (EW.C, GeographicProjection.C),

    north = m (lat - lat0),  east = m cos(lat) (lon - lon0),     m: metres per degree, `mlat`
    x = north cos a + east sin a,  y = -north sin a + east cos a

where `mlon` stands for m cos(lat) if it is given, and PROJ's map for both, less that of the origin,
if `proj` or another of its options is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from seismo.errors import ScenarioError
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.sw4.commands import InputCommand

_PROJECTION = {"proj": "proj", "ellps": "ellps", "datum": "datum", "lon_p": "lon_0",
               "lat_p": "lat_0", "scale": "scale"}  # fmt: skip
_METRES_PER_DEGREE = 111319.5
_ORIGIN = {"lon": -118.0, "lat": 37.0}  # SW4's, where the input has none

ToGrid = Callable[[float, float], tuple[float, float]]  # longitude, latitude -> x, y


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
