"""The projection against geodesics (Karney 2013), which pyproj solves to nanometres."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from seismo.errors import ScenarioError
from seismo.geographic import Projection

pyproj = pytest.importorskip("pyproj")

CHINO = {"longitude": -117.761, "latitude": 33.953}


def place(azimuth=0.0):
    return Projection(SimpleNamespace(azimuth=azimuth, **CHINO))


def test_the_origin_is_zero():
    x, y = place(30.0).to_grid(CHINO["longitude"], CHINO["latitude"])
    assert abs(x) < 1e-6
    assert abs(y) < 1e-6


@pytest.mark.parametrize("azimuth", [0.0, 30.0, 270.0])
def test_distance_and_direction_from_the_origin_are_true(azimuth):
    geodesic = pyproj.Geod(ellps="WGS84")
    for bearing in (0.0, 40.0, 90.0, 200.0):
        lon, lat, _ = geodesic.fwd(CHINO["longitude"], CHINO["latitude"], bearing, 80e3)
        x, y = place(azimuth).to_grid(lon, lat)
        angle = np.radians(bearing - azimuth)  # clockwise from x towards y
        assert x == pytest.approx(80e3 * np.cos(angle), abs=0.01)
        assert y == pytest.approx(80e3 * np.sin(angle), abs=0.01)


def test_back_and_forth_in_arrays():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1e5, 1e5, (2, 50))
    lon, lat = place(75.0).to_geographic(x, y)
    again = place(75.0).to_grid(lon, lat)
    assert np.allclose(again, (x, y), atol=1e-4)


def test_without_pyproj_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(ScenarioError, match=r"pip install 'seismo\[geo\]'"):
        place()
