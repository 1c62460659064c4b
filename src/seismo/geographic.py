"""Longitude and latitude to metres on the grid and back, about the scenario's origin.

The projection is azimuthal equidistant about the grid's x = 0, y = 0 on the WGS84 ellipsoid:
distances and directions from the origin (where one puts the source, or the middle of the array) are
true; across a grid of 200 km all others are true to 1e-4. x points along the scenario's azimuth
(clockwise from north), y 90 degrees clockwise of x, z down.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from seismo.errors import ScenarioError


class Projection:
    """The map between longitude, latitude (degrees) and grid x, y (metres)."""

    def __init__(self, geographic: Any) -> None:
        """Build it from an object with ``longitude``, ``latitude`` and ``azimuth`` in degrees.

        Raises:
            ScenarioError: pyproj is not installed.
        """
        self._project = _projector(float(geographic.longitude), float(geographic.latitude))
        angle = math.radians(float(geographic.azimuth))
        self._cosine, self._sine = math.cos(angle), math.sin(angle)

    def to_grid(self, longitude: Any, latitude: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y in m of longitudes and latitudes in degrees (numbers or equal arrays)."""
        east, north = self._project(np.asarray(longitude, float), np.asarray(latitude, float))
        east, north = np.asarray(east), np.asarray(north)
        return north * self._cosine + east * self._sine, east * self._cosine - north * self._sine

    def to_geographic(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return longitudes and latitudes in degrees of x and y in m (numbers or equal arrays)."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        north = x * self._cosine - y * self._sine
        east = x * self._sine + y * self._cosine
        longitude, latitude = self._project(east, north, inverse=True)
        return np.asarray(longitude), np.asarray(latitude)


def _projector(longitude: float, latitude: float) -> Any:
    try:
        import pyproj
    except ImportError:
        raise ScenarioError(
            "geographic: longitudes and latitudes need the package pyproj; "
            "run `pip install 'seismo[geo]'`, or give positions as x, y, z in metres"
        ) from None
    return pyproj.Proj(proj="aeqd", lon_0=longitude, lat_0=latitude, ellps="WGS84", units="m")
