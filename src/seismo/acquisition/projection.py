"""Map projection: longitude and latitude to grid coordinates in metres and back.

The projection is azimuthal equidistant about the grid's x = 0, y = 0 on the WGS84 ellipsoid:
distances and directions from the origin (best at the source, or in the middle of the array) are
true, and others within a distance r are too long by up to r^2 / (6 R^2), R the earth's radius: 1e-4
for 150 km, 4e-4 for 300 km (Snyder 1987, ch. 25). x points along the scenario's azimuth at the
origin (clockwise from north), y 90 degrees clockwise of x, z down.

Away from the origin north has another direction on the grid, since meridians converge. The geodesic
from the origin is a straight line on the grid, whose azimuth is known at both of its ends:

    azimuth of x at a point = azimuth of x at the origin + azimuth of the geodesic at the point
                              - its azimuth at the origin

The remaining error is due to the curvature of the earth: at both ends, the angle between a straight
line on the grid and the geodesic is half the spherical excess of their triangle with the origin.
For points at equal distances from the origin in perpendicular directions it is 0.014 degrees at
200 km, 0.02 at 238 km and 0.032 at 300 km; it is zero where one of them is the origin. No other
isotropic projection has a smaller error: the angles of a square about the origin are right angles
on the map, and larger on the earth by twice as much. `check` warns above 0.02 degrees, and says
whether an origin at the sources reduces the error.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.grid.coordinates import nearest_turn

_ELLIPSOID = "WGS84"
_EARTH_RADIUS = 6.371e6  # m, mean


def definition_of(longitude: float, latitude: float) -> str:
    """Return PROJ's definition of the projection about a place (degrees), to east and north."""
    return (
        f"+proj=aeqd +lat_0={latitude!r} +lon_0={float(nearest_turn(longitude, 0.0))!r} "
        f"+datum={_ELLIPSOID} +units=m +no_defs"
    )


class Projection:
    """The map between longitude, latitude (degrees) and grid x, y (metres).

    Attributes:
        ground: z in m of the ground, from which depths count.
    """

    def __init__(self, geographic: Any, ground: float = 0.0) -> None:
        """Build it from an object with ``longitude``, ``latitude`` and ``azimuth`` in degrees.

        Raises:
            ScenarioError: pyproj is not installed.
        """
        self.ground = ground
        self._origin = float(nearest_turn(geographic.longitude, 0.0)), float(geographic.latitude)
        self._azimuth = float(geographic.azimuth)
        pyproj = _pyproj()
        longitude, latitude = self._origin
        self._project = pyproj.Proj(definition_of(longitude, latitude))
        self._geodesics = pyproj.Geod(ellps=_ELLIPSOID)

    def to_grid(self, longitude: Any, latitude: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y in m of longitudes and latitudes in degrees (numbers or equal arrays)."""
        near_origin = nearest_turn(longitude, self._origin[0])
        east, north = self._project(near_origin, np.asarray(latitude, float))
        return north_east(np.asarray(north), np.asarray(east), -self._azimuth)

    def to_geographic(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return longitudes and latitudes in degrees of x and y in m (numbers or equal arrays).

        Longitudes are within half a turn of the origin's: they do not jump at the date line.
        """
        north, east = north_east(np.asarray(x, float), np.asarray(y, float), self._azimuth)
        longitude, latitude = self._project(east, north, inverse=True)
        return nearest_turn(longitude, self._origin[0]), np.asarray(latitude)

    def x_azimuth(self, x: Any, y: Any) -> np.ndarray:
        """Return the direction of +x, in degrees clockwise from north there, at x and y in m."""
        longitude, latitude = np.atleast_1d(*self.to_geographic(x, y))
        origin = (np.full_like(longitude, degrees) for degrees in self._origin)
        start, back, _ = self._geodesics.inv(*origin, longitude, latitude)
        return (self._azimuth + back + 180.0 - start).reshape(np.shape(x)) % 360.0

    def line_error(self, first: Any, second: Any) -> float:
        """Return the angle in degrees between grid line and geodesic at two points (x, y) m.

        It is the larger of those at both ends. The waves of a run travel along the grid line.
        """
        ends = np.array([first, second], float)
        (longitude, other), (latitude, other_latitude) = self.to_geographic(*ends.T)
        out, back, _ = self._geodesics.inv(longitude, latitude, other, other_latitude)
        along = math.degrees(math.atan2(*(ends[1] - ends[0])[::-1]))
        at_ends = self.x_azimuth(*ends.T) + along - [out, back + 180.0]
        return float(np.abs((at_ends + 180.0) % 360.0 - 180.0).max())


def north_east(along_x: Any, along_y: Any, x_azimuth: Any) -> tuple[Any, Any]:
    """Return the north and east components of vectors, from those along x and y.

    Args:
        along_x: components along x, as (shot, receiver, time) of traces.
        along_y: components along y, 90 degrees clockwise of x.
        x_azimuth: direction of +x in degrees clockwise from north; of traces with an axis for time
            after that of receivers, (receiver, 1).
    """
    cosine = np.cos(np.radians(x_azimuth))
    sine = np.sin(np.radians(x_azimuth))
    return along_x * cosine - along_y * sine, along_x * sine + along_y * cosine


def stretch(distance: float) -> float:
    """Return the relative excess of lengths perpendicular to the radius, at a distance in m."""
    return (distance / _EARTH_RADIUS) ** 2 / 6.0


def _pyproj() -> Any:
    try:
        import pyproj
    except ImportError:
        raise ScenarioError(
            "geographic: longitudes and latitudes need the package pyproj; "
            "run `pip install 'seismo[geo]'`, or give positions as x, y, z in metres"
        ) from None
    return pyproj
