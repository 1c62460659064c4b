"""Longitudes of any turn: the same place whether it is written -179, 181 or 541 degrees."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from seismo.acquisition.locator import Projection
from seismo.acquisition.stations import coordinate
from seismo.errors import ModelError, ScenarioError
from seismo.features.topography.height_files import read_heights
from seismo.features.topography.section import FileTopography
from seismo.grid.coordinates import (
    centred_longitudes,
    nearest_turn,
    unwrapped,
)
from seismo.model.volume import Placement
from seismo.scenario import load
from seismo.solver.discretize import discretize

TURNS = [-1, 0, 1]  # of 360 degrees
TEXT = """\
physics: acoustic
grid: {extent: {x: 16 km, y: 24 km, z: 8 km}, origin: {x: -8 km, y: -12 km}, spacing: 2 km}
time: {duration: 1}
model:
  - {type: volume, path: PATH, vp: vp KEYS}
sources:
  - {type: pressure, position: {x: 0, y: 0, z: 5000}, wavelet: {type: ricker, frequency: 0.2}}
geographic: {longitude: REFERENCE, latitude: 51.5, azimuth: 0}
"""
Y = np.linspace(-12e3, 12e3, 13)[:, None]
X = np.linspace(-8e3, 8e3, 5)
LATITUDES = np.linspace(51.0, 52.0, 11)


def speeds(longitude, meridian):
    """Return m/s that grow with longitude beside a meridian."""
    return 4000.0 + 1000.0 * nearest_turn(longitude, meridian) - 1000.0 * meridian


def write_netcdf(path: Path, longitudes, vp, name="vp", **attributes):
    """Write values (longitude) at all latitudes, and depths of velocities."""
    axes = {"latitude": LATITUDES, "longitude": longitudes}
    array = xarray.DataArray(
        np.broadcast_to(vp, (11, len(longitudes))), axes, tuple(axes), name, attributes
    )
    if name == "vp":
        array = array.expand_dims(depth=[0.0, 9000.0])
        array["depth"].attrs["units"] = "m"
        array.attrs["units"] = "m/s"
    array.to_netcdf(path, engine="scipy")


def earth(base: Path, reference, path="m.nc", keys=""):
    text = TEXT.replace("REFERENCE", repr(reference)).replace("PATH", path)
    (base / "s.yaml").write_text(text.replace(" KEYS", keys and f", {keys}"))
    return discretize(load(base / "s.yaml")).earth


def places(reference):
    """Return longitudes of the points Y, X of a grid at a reference."""
    place = SimpleNamespace(longitude=reference, latitude=51.5, azimuth=0.0)
    return Projection(place).to_geographic(*np.broadcast_arrays(X, Y))[0]


def is_met(base: Path, reference, meridian, **options):
    found = earth(base, reference, **options).sample(np.zeros((1, 1, 1)), Y, X)["vp"]
    expected = speeds(places(reference), meridian)
    # Between points 0.02 degrees apart values are linear; the file has double precision.
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)


def ticks(meridian, convention):
    """Return longitudes of two degrees about a meridian, as files write them."""
    rising = meridian + np.linspace(-1.0, 1.0, 101)
    return {
        "east": rising,
        "west": rising - 360.0,
        "turned": rising + 360.0,
        "jump": nearest_turn(rising, 0.0),
        "positive": rising % 360.0,
        "falling": nearest_turn(rising, 0.0)[::-1],
    }[convention]


CONVENTIONS = ("east", "west", "turned", "jump", "positive", "falling")


@pytest.mark.parametrize(
    ("meridian", "convention"),
    [
        *((180.0, convention) for convention in CONVENTIONS),
        *((0.0, convention) for convention in ("jump", "positive")),
        *(
            pytest.param(0.0, convention, marks=pytest.mark.slow)
            for convention in ("east", "west", "turned", "falling")
        ),
    ],
)
def test_models_that_cross_a_meridian(tmp_path: Path, meridian, convention):
    longitudes = ticks(meridian, convention)
    write_netcdf(tmp_path / "m.nc", longitudes, speeds(longitudes, meridian))
    for reference in (meridian, meridian - 360.0, meridian - 0.02, meridian - 359.98):
        is_met(tmp_path, reference, meridian)


@pytest.mark.parametrize(
    ("first", "is_closed", "meridian"),
    [
        # Every day closed models across the first meridian, open ones across the date line.
        pytest.param(*case, marks=[] if case[1] == (case[2] == 0.0) else [pytest.mark.slow])
        for case in product((0.0, -180.0, -90.0, 0.5), (False, True), (0.0, 180.0))
    ],
)
def test_models_around_the_earth(tmp_path: Path, first, is_closed, meridian):
    longitudes = np.arange(first, first + 360.0 + 0.5 * is_closed, 1.0)
    write_netcdf(tmp_path / "m.nc", longitudes, speeds(longitudes, meridian))
    is_met(tmp_path, meridian - 0.02, meridian)
    write_netcdf(tmp_path / "m.nc", longitudes[::-1], speeds(longitudes, meridian)[::-1])
    is_met(tmp_path, meridian + 0.01, meridian)


@pytest.mark.parametrize("end", [180.05, -179.95])
@pytest.mark.parametrize("reference", [180.0, -180.0, 179.98, -179.98])
def test_what_a_model_does_not_reach_is_refused(tmp_path: Path, end, reference):
    longitudes = np.linspace(end - 2.0, end, 101)
    write_netcdf(tmp_path / "m.nc", longitudes, speeds(longitudes, 180.0))
    with pytest.raises(ScenarioError, match=r"longitude .* is outside; give outside: nearest"):
        earth(tmp_path, reference).sample(np.zeros((1, 1, 1)), Y, X)
    model = earth(tmp_path, reference, keys="outside: nearest")
    found = model.sample(np.zeros((1, 1, 1)), Y, X)["vp"][0]
    # The outermost value goes on.
    expected = speeds(np.minimum(nearest_turn(places(reference), 180.0), 180.05), 180.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("convention", ["east", "west", "jump", "positive"])
def test_tops_of_layers(tmp_path: Path, convention):
    (tmp_path / "m.lst").write_text("'top.grd' 2 4 2 100 50 0\n'low.grd' 2 5 3 100 50 0\n")
    longitudes = ticks(180.0, convention)
    for name, depth in (
        ("top", 0.0),
        ("low", 1000.0 + 2000.0 * (nearest_turn(longitudes, 180.0) - 180.0)),
    ):
        write_netcdf(tmp_path / f"{name}.grd", longitudes, depth, "z")
    for reference in (179.97, -179.97):
        model = earth(tmp_path, reference, "m.lst")
        expected = 1000.0 + 2000.0 * (nearest_turn(places(reference), 180.0) - 180.0)
        z = np.linspace(500.0, 1500.0, 101)[:, None, None]
        found = model.sample(z, Y, X)["vp"]
        np.testing.assert_allclose(found, np.where(z >= expected, 5000.0, 4000.0), rtol=1e-12)


def heights_file(base: Path, kind, longitudes):
    heights = 100.0 + 500.0 * (nearest_turn(longitudes, 180.0) - 180.0)
    if kind == "netcdf":
        write_netcdf(base / "dem.nc", longitudes, heights, "z", units="m")
        return FileTopography(type="file", path="dem.nc")
    if kind == "text":
        rows = [(n, b, h) for b in LATITUDES for n, h in zip(longitudes, heights, strict=True)]
        np.savetxt(base / "dem.xyz", rows)
        return FileTopography(type="file", path="dem.xyz")
    rasterio = pytest.importorskip("rasterio")
    corner = rasterio.Affine(0.02, 0.0, longitudes[0] - 0.01, 0.0, -0.1, 52.05)
    profile = {"driver": "GTiff", "dtype": "float64", "count": 1, "width": longitudes.size,
               "height": 11, "transform": corner, "crs": "EPSG:4326"}  # fmt: skip
    with rasterio.open(base / "dem.tif", "w", **profile) as image:
        image.write(np.broadcast_to(heights, (11, longitudes.size)), 1)
    return FileTopography(type="file", path="dem.tif")


@pytest.mark.parametrize("kind", ["netcdf", "text", "geotiff"])
@pytest.mark.parametrize("convention", ["east", "west", "jump", "positive"])
def test_heights(tmp_path: Path, kind, convention):
    longitudes = ticks(180.0, convention)
    if kind == "geotiff":
        longitudes = ticks(180.0, "west" if convention in ("west", "jump") else "east")
    section = heights_file(tmp_path, kind, longitudes)
    region = {"x": (-8e3, 8e3), "y": (-12e3, 12e3)}
    for reference in (180.0, -180.0, 179.98, -179.98):
        place = SimpleNamespace(longitude=reference, latitude=51.5, azimuth=0.0)
        heights = read_heights(section, tmp_path, region, {}, lambda p=place: Projection(p))
        expected = 100.0 + 500.0 * (nearest_turn(places(reference), 180.0) - 180.0)
        np.testing.assert_allclose(heights.on_grid(Y[:, 0], X), expected, atol=1e-6)
    away = SimpleNamespace(longitude=-179.0, latitude=51.5, azimuth=0.0)
    with pytest.raises(ModelError, match=r"reaches from longitude .* and the grid from"):
        read_heights(section, tmp_path, region, {}, lambda: Projection(away))


@pytest.mark.parametrize("turns", TURNS)
def test_places(turns):
    """Positions, references and origins of files with a reference system are of any turn."""
    place = SimpleNamespace(longitude=179.9, latitude=51.5, azimuth=20.0)
    projection = Projection(place)
    turned = Projection(SimpleNamespace(**vars(place) | {"longitude": 179.9 + 360.0 * turns}))
    # 360 degrees cost 1e-13 degrees of rounding, which is 1e-8 m.
    expected = projection.to_grid(-179.95, 51.4)
    assert turned.to_grid(-179.95 + 360.0 * turns, 51.4) == pytest.approx(expected, abs=1e-7)
    longitude = turned.to_geographic(np.linspace(-30e3, 30e3, 7), np.linspace(-20e3, 40e3, 7))[0]
    assert np.ptp(longitude) < 2.0
    placement = Placement(turned, "EPSG:32601")
    expected = Placement(projection, "EPSG:32601").reference(-179.95, 51.4)
    found = placement.reference(-179.95 + 360.0 * turns, 51.4)
    assert found == pytest.approx(expected, abs=1e-6)
    across = placement.coordinates(np.zeros(()), np.linspace(0.0, 30e3, 7))
    assert np.abs(np.diff(across, 2)).max() < 1.0


def test_stations_and_their_limits():
    assert coordinate("longitude", "541") == 541.0
    with pytest.raises(ValueError, match="-720 to 720 degrees"):
        coordinate("longitude", "721")


def test_axes_of_longitudes():
    turned = nearest_turn([-180.0, 180.0, 541.0, -541.0], 0.0)
    np.testing.assert_array_equal(turned, [-180.0, -180.0, -179.0, 179.0])
    np.testing.assert_array_equal(
        nearest_turn([-179.0, 181.0, 541.0], 170.0), [181.0, 181.0, 181.0]
    )
    np.testing.assert_array_equal(unwrapped(np.array([179.0, -180.0, -179.0])), [179, 180, 181])
    np.testing.assert_array_equal(unwrapped(np.array([0.0, 200.0])), [0.0, 200.0])
    longitudes, numbers = centred_longitudes(np.array([0.0, 90.0, 180.0, 270.0, 360.0]), 10.0)
    np.testing.assert_array_equal(longitudes, [-180.0, -90.0, 0.0, 90.0, 180.0, 270.0])
    np.testing.assert_array_equal(numbers, [2, 3, 0, 1, 2, 3])
    longitudes, numbers = centred_longitudes(np.array([100.0, 200.0, 300.0]), -90.0)
    np.testing.assert_array_equal(longitudes, [-260.0, -160.0, -60.0])
    np.testing.assert_array_equal(numbers, [0, 1, 2])
