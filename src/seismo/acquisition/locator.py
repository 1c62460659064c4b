"""Positions of a scenario in the grid: projected, and checked to lie inside.

They are x, y, z in m where users write and read them, and x, y, s of the grid
(`seismo.grid.coordinates`) everywhere else; the same where the ground is flat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from seismo.acquisition.projection import Projection
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario

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
        # What stands on the ground is on the first row, whatever rounds.
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
        """Return the ends in m of the grid along an axis, and what rounding may add."""
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
        """Return the error of several problems at one key."""
        errors = [self.scenario.mistake(*key, problem=problem) for problem in problems]
        return ScenarioError(*(message for error in errors for message in error.messages))


def level_of(scenario: Scenario, grid: Grid) -> float:
    """Return z in m of ground that is flat, over topography that of the first row of the grid."""
    return scenario.ground if scenario.topography is None else grid.origin[2]


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
