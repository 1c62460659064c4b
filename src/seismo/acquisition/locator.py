"""Where positions of a scenario lie in the grid: projected, and checked to lie inside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seismo.acquisition.projection import Projection
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario

Coordinates = tuple[float, float, float]  # x, y, z in m
Degrees = Mapping[str, float]  # longitude and latitude in degrees, optionally depth in m


class Locator:
    """The grid of a scenario, and its place on the earth.

    Attributes:
        scenario: the scenario.
        grid: its grid.
        ground: z in m of the ground, from which depths count.
        projection: of longitudes and latitudes, or None.
    """

    def __init__(self, scenario: Scenario, grid: Grid) -> None:
        """Take the projection from the scenario's section `geographic`."""
        self.scenario = scenario
        self.grid = grid
        geographic = scenario.geographic
        self.ground: float = scenario.ground
        self.projection = Projection(geographic) if geographic is not None else None

    def position(self, position: Any, *key: str | int) -> Coordinates:
        """Return a position of the scenario inside the grid.

        Raises:
            ScenarioError: it lies outside.
        """
        if hasattr(position, "longitude"):
            degrees = position.model_dump()
            return self.inside(self.on_earth(degrees), *key, degrees=degrees)
        return self.inside(xyz(position), *key)

    def on_earth(self, degrees: Degrees) -> Coordinates:
        """Return the place in the grid of degrees, and a depth."""
        assert self.projection is not None  # the rules of the scenario, and `_stations`
        x, y = self.projection.to_grid(degrees["longitude"], degrees["latitude"])
        return float(x), float(y), degrees.get("depth", 0.0) + self.ground

    def inside(
        self, position: Coordinates, *key: str | int, degrees: Degrees | None = None
    ) -> Coordinates:
        """Return a position that lies inside the grid; raise ScenarioError for another."""
        if problem := self.outside(position, degrees or {}):
            raise self.scenario.mistake(*key, problem=problem)
        return position

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
        """Describe where a position lies outside the grid, "" if inside."""
        for axis in self.grid.axes:
            a = AXES.index(axis)
            low, high = self.reach(axis)
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

    def mistakes(self, key: KeyPath, problems: Iterable[str]) -> ScenarioError:
        """Return the error of several problems at one key."""
        errors = [self.scenario.mistake(*key, problem=problem) for problem in problems]
        return ScenarioError(*(message for error in errors for message in error.messages))


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


def xyz(position: Any) -> Coordinates:
    """Return a position of the scenario that is in m; y of a 2-D run is 0."""
    return position.x, position.y or 0.0, position.z
