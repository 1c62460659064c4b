"""Positions of a scenario on the earth and in the grid: projected, and checked to lie inside.

They are x, y, z in m where users write and read them, and x, y, s of the grid
(`seismo.grid.coordinates`) everywhere else; the same where the ground is flat.

The map projection of longitudes and latitudes is azimuthal equidistant about the grid's x = 0, y =
0 on the WGS84 ellipsoid: distances and directions from the origin (best at the source, or in the
middle of the array) are true, and others within a distance r are too long by up to r^2 / (6 R^2), R
the earth's radius: 1e-4 for 150 km, 4e-4 for 300 km (Snyder 1987, ch. 25). x points along the
scenario's azimuth at the origin (clockwise from north), y 90 degrees clockwise of x, z down.

Away from the origin north has another direction on the grid, since meridians converge. The geodesic
from the origin is a straight line on the grid, whose azimuth is known at both of its ends:

    azimuth of x at a point = azimuth of x at the origin + azimuth of the geodesic at the point
                              - its azimuth at the origin

The remaining error is due to the curvature of the earth: at both ends, the angle between a straight
line on the grid and the geodesic is half the spherical excess of their triangle with the origin.
For points at equal distances from the origin in perpendicular directions it is 0.014 degrees at
200 km, 0.02 at 238 km and 0.032 at 300 km; it is zero where either is the origin. No other
isotropic projection has a smaller error: the angles of a square about the origin are right angles
on the map, and larger on the earth by twice as much. `check` warns above 0.02 degrees, and says
whether an origin at the sources reduces the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from seismo.errors import KeyPath, ScenarioError
from seismo.grid.coordinates import VerticalCoordinate, nearest_turn
from seismo.grid.grid import AXES, Grid
from seismo.scenario.document import Scenario

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

        It is the larger angle of both ends. The waves of a run travel along the grid line.
        """
        ends = np.array([first, second], float)
        (longitude, other), (latitude, other_latitude) = self.to_geographic(*ends.T)
        out, back, _ = self._geodesics.inv(longitude, latitude, other, other_latitude)
        along = math.degrees(math.atan2(*(ends[1] - ends[0])[::-1]))
        at_ends = self.x_azimuth(*ends.T) + along - [out, back + 180.0]
        return float(np.abs((at_ends + 180.0) % 360.0 - 180.0).max())


def north_east(along_x: Any, along_y: Any, x_azimuth: Any) -> tuple[Any, Any]:
    """Return the north and east components of vectors, from components along x and y.

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


Coordinates = tuple[float, float, float]  # x, y, z in m
_ROUNDING = 1e-9  # of the spacing
Degrees = Mapping[str, Any]  # longitude and latitude in degrees, optionally depth or z in m


class Locator:
    """The grid of a scenario, and its place on the earth.

    Attributes:
        scenario: the scenario.
        grid: its grid.
        topography: the ground, None where it is flat.
        projection: of longitudes and latitudes, or None.
    """

    def __init__(
        self, scenario: Scenario, grid: Grid, topography: VerticalCoordinate | None = None
    ) -> None:
        """Take the projection from the scenario's section `geographic`."""
        self.scenario = scenario
        self.grid = grid
        geographic = scenario.geographic
        self.topography = topography
        self._level = level_of(scenario, grid)
        self.projection = Projection(geographic) if geographic is not None else None

    def position(self, position: Any, *key: str | int) -> Coordinates:
        """Return a position of the scenario inside the grid, on its axes.

        Raises:
            ScenarioError: it lies outside.
        """
        if hasattr(position, "longitude"):
            degrees = position.model_dump()
            return self.inside(self.on_earth(degrees), *key, degrees=degrees)
        return self.inside(self.coordinates(position), *key)

    def ground(self, x: Any, y: Any) -> Any:
        """Return z in m of the ground at x, y in m."""
        return self._level if self.topography is None else self.topography.ground(y, x)

    def top(self, x: Any, y: Any, depth_from: str | None) -> Any:
        """Return z in m from which depths count at x, y in m: of the ground, or of height 0."""
        if depth_from == "datum":
            return self.scenario.datum
        return self.ground(x, y)

    def azimuth(self, position: Coordinates) -> float:
        """Return the azimuth of x at a position: north of a mechanism is that at its source."""
        if self.projection is None:
            return 0.0
        return float(self.projection.x_azimuth(position[0], position[1]))

    def coordinates(self, position: Any) -> Coordinates:
        """Return x, y, z of a position of the scenario that is in m: on the ground without z."""
        x = position.x
        y = position.y or 0.0
        if position.z is not None:
            return x, y, position.z
        return x, y, float((position.depth or 0.0) + self.ground(x, y))

    def line(self, start: Any, end: Any, count: int) -> np.ndarray:
        """Return x, y, z (count, 3) of equally spaced positions; depths change evenly, too."""
        heights = "depth" if start.z is None else "z"
        first, last = (
            (p.x, p.y or 0.0, getattr(p, heights) or 0.0) for p in (start, end)
        )  # fmt: skip
        coordinates = np.linspace(first, last, count)
        if heights == "depth":
            coordinates[:, 2] += self.ground(coordinates[:, 0], coordinates[:, 1])
        return coordinates

    def on_grid(self, coordinates: np.ndarray) -> np.ndarray:
        """Return x, y, s (n, 3) in m from x, y, z."""
        if self.topography is None:
            return coordinates
        x, y, z = coordinates.T
        s = self.topography.s(z, y, x)
        # Positions on the ground are on the first row, whatever rounds.
        on = np.abs(s - self.topography.level) < _ROUNDING * self.grid.spacing[2]
        return np.stack([x, y, np.where(on, self.topography.level, s)], axis=1)

    def on_earth(self, degrees: Degrees) -> Coordinates:
        """Return x, y, z of degrees, and a depth, or z; on the ground without."""
        assert self.projection is not None  # the rules of the scenario, and `_stations`
        projected = self.projection.to_grid(degrees["longitude"], degrees["latitude"])
        x, y = map(float, projected)
        z = degrees.get("z")
        if z is None:
            z = (degrees.get("depth") or 0.0) + self.top(x, y, degrees.get("depth_from"))
        return x, y, float(z)

    def inside(
        self, position: Coordinates, *key: str | int, degrees: Degrees | None = None
    ) -> Coordinates:
        """Return x, y, s of x, y, z that lie inside the grid; raise ScenarioError for others."""
        if problem := self.outside(position, degrees or {}):
            raise self.scenario.mistake(*key, problem=problem)
        return floats(self.on_grid(np.array([position]))[0])

    def outside(self, position: Coordinates, degrees: Degrees) -> str:
        """Describe where a position lies outside the grid, "" if inside.

        Where another reading of its degrees lies inside, the message names that.
        """
        problem = self.beyond(position)
        for reading, longitude, latitude in _otherwise(degrees) if problem else ():
            alternative = {**degrees, "longitude": longitude, "latitude": latitude}
            if not self.beyond(self.on_earth(alternative)):
                return f"{problem}; with {reading} it lies inside"
        return problem

    def beyond(self, position: Coordinates) -> str:
        """Describe where x, y, z in m lie outside the grid, "" if inside."""
        for axis in self.grid.axes:
            a = AXES.index(axis)
            low, high = self.reach(axis)
            if axis == "z" and self.topography is not None:
                ground = float(self.ground(position[0], position[1]))
                low = ground - 1e-6 * self.grid.spacing[2]
                if position[2] < low:
                    return (
                        f"z = {position[2]:.6g} m lies {ground - position[2]:.6g} m above the "
                        f"ground, which has z = {ground:.6g} m there; move it down, or give depth"
                    )
            if not low <= position[a] <= high:
                low, high = self.grid.limits(axis)
                return (
                    f"{axis} = {position[a]:.6g} m lies outside the grid ({low:.6g} to "
                    f"{high:.6g} m); move it or enlarge grid.extent"
                )
        return ""

    def reach(self, axis: str) -> tuple[float, float]:
        """Return the ends in m of the grid along an axis, widened by rounding."""
        low, high = self.grid.limits(axis)
        tolerance = 1e-6 * self.grid.spacing[AXES.index(axis)]
        return low - tolerance, high + tolerance

    def are_outside(self, coordinates: np.ndarray) -> np.ndarray:
        """Return which x, y, z (n, 3) in m lie outside the grid (n)."""
        outside = np.zeros(len(coordinates), bool)
        for axis in self.grid.axes:
            (low, high) = self.reach(axis)
            along = coordinates[:, AXES.index(axis)]
            least = low
            if axis == "z" and self.topography is not None:
                rise = self.ground(coordinates[:, 0], coordinates[:, 1]) - self.grid.origin[2]
                least = low + rise
            outside |= ~((least <= along) & (along <= high))
        return outside

    def mistakes(self, key: KeyPath, problems: Iterable[str]) -> ScenarioError:
        """Return the error of several problems at a key."""
        errors = [self.scenario.mistake(*key, problem=problem) for problem in problems]
        return ScenarioError(*(message for error in errors for message in error.messages))


def level_of(scenario: Scenario, grid: Grid) -> float:
    """Return z in m of ground that is flat, over topography that of the first row of the grid."""
    return grid.origin[2] if scenario.has_topography else scenario.ground


def _otherwise(degrees: Degrees) -> Iterator[tuple[str, float, float]]:
    """Yield other readings of degrees: a description, longitude and latitude."""
    longitude = degrees.get("longitude", math.inf)
    latitude = degrees.get("latitude", math.inf)
    if abs(longitude) <= 90.0:
        yield "longitude and latitude exchanged", latitude, longitude
    if abs(longitude) <= 180.0:
        yield "a longitude of the opposite sign (west is negative)", -longitude, latitude
        yield "a latitude of the opposite sign (south is negative)", longitude, -latitude


def floats(position: Any) -> Coordinates:
    """Return three numbers as coordinates."""
    x, y, z = (float(p) for p in position)
    return x, y, z
