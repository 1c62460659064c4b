"""Where the points of a grid are in a file's own horizontal coordinates.

    x, y  ->  longitude, latitude  ->  coordinates of a reference system  ->  own axes, turned

Every point of the grid is placed by itself: nothing is resampled on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading import optional_package
from seismo.formats.reading.arrays import brief
from seismo.grid.coordinates import nearest_turn

_EDGE = 257  # points along each edge of a region, whose extremes are looked for
_PLANE = 33  # and along each axis of its inside

Across = tuple[np.ndarray, ...]  # coordinates along a file's horizontal axes, second one last


@dataclass(frozen=True)
class Placement:
    """The map from x, y of the grid (m) to a file's horizontal coordinates.

    Attributes:
        projection: of the scenario (`to_geographic`), None where the file's x, y are the grid's.
        crs: reference system of the file's coordinates; "" are longitude and latitude.
        origin: of the file's own axes in it.
        azimuth: of the file's own y, degrees clockwise from the y of the reference system.
    """

    projection: Any = None
    crs: str = ""
    origin: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 0.0

    @property
    def ground(self) -> float:
        """Z in m of the ground, from which a file's depths count; 0 where its z is the grid's."""
        return 0.0 if self.projection is None else float(self.projection.ground)

    def coordinates(self, y: np.ndarray | None, x: np.ndarray) -> Across:
        """Return the second and the first horizontal coordinate (latitude or y, longitude or x)."""
        across = np.zeros(()) if y is None else np.asarray(y, float)
        if self.projection is None:
            return across, np.asarray(x, float)
        x, across = np.broadcast_arrays(x, across)
        first, second = self.projection.to_geographic(x, across)
        if not self.crs:
            return second, first
        east, north = self._transformer.transform(nearest_turn(first, 0.0), second)
        east = np.asarray(east) - self.origin[0]
        north = np.asarray(north) - self.origin[1]
        cosine = math.cos(math.radians(self.azimuth))
        sine = math.sin(math.radians(self.azimuth))
        return east * sine + north * cosine, east * cosine - north * sine

    def reach(self, region: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the extremes of a region's coordinates, in the order of `coordinates`."""
        along = {axis: np.linspace(*region[axis], _EDGE) for axis in "yx" if axis in region}
        inside = {axis: np.linspace(*region[axis], _PLANE) for axis in along}
        if "y" not in region:
            pieces = [self.coordinates(None, along["x"])]
        else:
            y = region["y"]
            x = along["x"]
            pieces = [self.coordinates(np.full(_EDGE, edge), x) for edge in y]
            pieces += [self.coordinates(along["y"], np.full(_EDGE, edge)) for edge in region["x"]]
            pieces.append(self.coordinates(inside["y"][:, None], inside["x"]))
        return [
            (min(float(p[n].min()) for p in pieces), max(float(p[n].max()) for p in pieces))
            for n in (0, 1)
        ]

    def reference(self, longitude: float, latitude: float) -> tuple[float, float]:
        """Return the coordinates of a place in the reference system."""
        east, north = self._transformer.transform(nearest_turn(longitude, 0.0), latitude)
        return float(east), float(north)

    @cached_property
    def _transformer(self) -> Any:
        return transformer_to(self.crs)


def transformer_to(crs: str) -> Any:
    """Return PROJ's transformer from longitude and latitude to x and y of a reference system.

    Raises:
        ModelError: PROJ does not know it, or it does not count in metres.
        ScenarioError: pyproj is not installed.
    """
    pyproj = optional_package("pyproj", "geo", f"the reference system {crs}")
    try:
        system = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError:
        raise ModelError(
            f"{brief(crs)} is no reference system that PROJ knows; write EPSG:32610, say",
            "crs",
        ) from None
    units = {axis.unit_name for axis in system.axis_info[:2]}
    if units != {"metre"}:
        raise ModelError(
            f"{brief(crs)} counts in {' and '.join(sorted(units)) or 'nothing'}; only "
            "reference systems in metres are read",
            "crs",
        )
    return pyproj.Transformer.from_crs("EPSG:4326", system, always_xy=True)


def on_the_earth(projection: Callable[[], Any] | None, path: Any, crs: str = "") -> Placement:
    """Return the placement of a file that is placed on the earth.

    Raises:
        ModelError: the scenario's grid is not.
    """
    if projection is None:
        raise ModelError(
            f"{path} is placed on the earth; add the section `geographic`: longitude, latitude of "
            "the grid's x = 0, y = 0",
            "path",
        )
    return Placement(projection(), crs)
