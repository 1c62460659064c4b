"""Models in NetCDF files: sampled at the place of every point, whatever the file's conventions."""

from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import xarray

import seismo
from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.scenario import load
from seismo.solver.discretize import discretize

TEXT = """\
physics: acoustic
grid: {extent: {x: 60 km, y: 52 km, z: 20 km}, origin: {x: -30 km, y: -20 km}, spacing: 4 km}
time: {duration: 1}
model:
  - {type: volume, path: m.nc, vp: vp, KEYS}
sources:
  - {type: pressure, position: {x: 0, y: 0, z: 5000}, wavelet: {type: ricker, frequency: 0.2}}
geographic: {longitude: -122, latitude: 44, azimuth: 30}
"""
FLAT = TEXT.replace("geographic: {longitude: -122, latitude: 44, azimuth: 30}\n", "")
PLANE = FLAT.replace("y: 52 km, ", "").replace("y: -20 km", "").replace("y: 0, ", "")
LON = np.linspace(-122.8, -121.2, 33)
LAT = np.linspace(43.2, 44.8, 17)
PLACE = SimpleNamespace(longitude=-122.0, latitude=44.0, azimuth=30.0)
DEPTH = np.array([0.0, 1.0, 3.0, 4.0, 10.0, 30.0])  # km


def earth_like(depth, lat, lon):
    """Interpolation is exact for what is linear along depth, latitude, longitude (m/s)."""
    return 5000.0 + 20.0 * depth + 300.0 * (lat - 44.0) - 200.0 * (lon + 122.0)


def dataset(unit="km.s-1", **attributes):
    """Return a model with the attributes of the IRIS Earth Model Collaboration."""
    values = earth_like(DEPTH[:, None, None], LAT[:, None], LON)
    values = values / {"km.s-1": 1e3}.get(unit, 1.0)
    attributes = {"units": unit, "missing_value": np.float32(99999.0)} | attributes
    return xarray.Dataset(
        {"vp": (("depth", "latitude", "longitude"), values.astype("f4"), attributes)},
        {
            "depth": ("depth", DEPTH, {"units": "kilometer ", "positive": "down "}),
            "latitude": ("latitude", LAT, {"units": "degrees_north"}),
            "longitude": ("longitude", LON, {"units": "degrees_east"}),
        },
    )


def metres(three=True):
    """Return a model in metres, upwards."""
    z, y, x = np.arange(0.0, 25e3, 4e3), np.arange(-24e3, 36e3, 3e3), np.arange(-40e3, 41e3, 8e3)
    axes = ("z", "y", "x") if three else ("z", "x")
    values = 5000.0 + 0.02 * z[:, None, None] + 0.01 * y[:, None] * three - 0.03 * x
    coords = {"z": ("z", -z, {"positive": "up"}), "y": y, "x": x}
    return xarray.Dataset(
        {"vp": (axes, values if three else values[:, 0])}, {axis: coords[axis] for axis in axes}
    )


def write(base: Path, data, engine="h5netcdf"):
    data.to_netcdf(base / "m.nc", engine=engine)


def earth(base: Path, text=TEXT, keys=""):
    (base / "s.yaml").write_text(text.replace(", KEYS", keys and f", {keys}"))
    return discretize(load(base / "s.yaml")).earth


def is_met(base: Path, text=TEXT, keys="", rtol=2e-7):
    z, y, x = np.linspace(0, 2e4, 9), np.linspace(-2e4, 3e4, 11), np.linspace(-3e4, 3e4, 13)
    sampled = earth(base, text, keys).sample(z[:, None, None], y[:, None], x)["vp"]
    lon, lat = Projection(PLACE).to_geographic(*np.broadcast_arrays(x, y[:, None]))
    expected = earth_like(z[:, None, None] / 1e3, lat, lon)
    if text is FLAT:
        expected = 5000.0 + 0.02 * z[:, None, None] + 0.01 * y[:, None] - 0.03 * x
    np.testing.assert_allclose(sampled, expected, rtol=rtol)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: dataset("m/s"),
        lambda data: data.transpose("longitude", "depth", "latitude"),
        lambda data: data.isel(latitude=slice(None, None, -1), depth=slice(None, None, -1)),
        lambda data: data.rename(longitude="lon", latitude="lat", depth="z"),
        lambda data: data.assign_coords(longitude=data.longitude % 360.0),
        lambda data: data.assign_coords(
            depth=("depth", -1e3 * DEPTH, {"units": "m", "positive": "up"})
        ),
        lambda data: data.expand_dims(time=1),
    ],
    ids=["emc", "si", "order", "falling", "short", "east", "up", "time"],
)
def test_a_model_on_the_earth_whatever_its_conventions(tmp_path: Path, change):
    write(tmp_path, change(dataset()))
    is_met(tmp_path)


def test_classic_files_and_files_in_metres(tmp_path: Path):
    write(tmp_path, dataset(), "scipy")
    is_met(tmp_path)
    write(tmp_path, metres())
    is_met(tmp_path, FLAT)
    write(tmp_path, metres().transpose("x", "y", "z"), "scipy")
    is_met(tmp_path, FLAT)
    write(tmp_path, metres(three=False))
    plane = earth(tmp_path, PLANE)
    z, x = np.linspace(0, 2e4, 9)[:, None], np.linspace(-3e4, 3e4, 13)
    np.testing.assert_allclose(plane.sample(z, None, x)["vp"], 5000.0 + 0.02 * z - 0.03 * x)


def test_a_plane_through_a_model_on_the_earth(tmp_path: Path):
    write(tmp_path, dataset())
    text = TEXT.replace("y: 52 km, ", "").replace(", y: -20 km", "").replace("y: 0, ", "")
    line = earth(tmp_path, text).sample(np.full((1, 1), 3000.0), None, np.linspace(-3e4, 3e4, 13))
    across = earth(tmp_path).sample(
        np.full((1, 1, 1), 3000.0), np.zeros((1, 1)), np.linspace(-3e4, 3e4, 13)
    )
    np.testing.assert_allclose(line["vp"].ravel(), across["vp"].ravel(), rtol=1e-15)


def test_a_reference_system_of_its_own(tmp_path: Path):
    """x, y of UTM zone 10: the model is linear in them."""
    pyproj = pytest.importorskip("pyproj")
    y, x = np.arange(-50e3, 51e3, 10e3) + 4872e3, np.arange(-50e3, 51e3, 10e3) + 580e3
    values = 5000.0 + 0.01 * (y[:, None] - 4872e3) - 0.02 * (x - 580e3) + 0.0 * DEPTH[:, None, None]
    coords = {"depth": ("depth", DEPTH, {"units": "km"}), "y": y, "x": x}
    write(tmp_path, xarray.Dataset({"vp": (("depth", "y", "x"), values)}, coords))
    sampled = earth(tmp_path, keys="crs: EPSG:32610")
    lon, lat = Projection(PLACE).to_geographic(np.array(20e3), np.array(-15e3))
    east, north = pyproj.Transformer.from_crs(4326, 32610, always_xy=True).transform(lon, lat)
    found = sampled.sample(np.array(0.0), np.array(-15e3), np.array(20e3))["vp"]
    expected = 5000.0 + 0.01 * (north - 4872e3) - 0.02 * (east - 580e3)
    assert found == pytest.approx(expected, rel=1e-9)
    refused(tmp_path, r"crs: 'EPSG:0': .* no reference system that PROJ", keys="crs: EPSG:0")


def refused(base: Path, message: str, text=TEXT, keys=""):
    with pytest.raises(ScenarioError, match=message) as caught:
        earth(base, text, keys)
    assert all(line.isprintable() for line in str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("change", "keys", "message"),
    [
        (lambda d: d.isel(longitude=slice(None, 20)), "",
         r"path: 'm.nc': .* longitude -122\.8 to -121\.85 degrees; z = 0 m, y = .* is outside;"),
        (lambda d: d.isel(depth=slice(1, None)), "",
         r"has vp 5 x .*: depth 1000 to 30000 m, .*; z = 0 m, y = -20000 m, .*outside: nearest"),
        (lambda d: d.where(d.depth > 2.0), "", r"\[0\].vp: .* has no vp at z = 0 m, .* column"),
        (lambda d: d.rename(vp="Vp"), "", r"\[0\].vp: 'vp': no such dataset in .*; available: Vp"),
        (lambda d: d * 1e3, "", r"m\.nc: vp: .* too fast .*; give its units \(m/s or km/s\)"),
        (lambda d: dataset("m/s") / 1e3, "", r"too slow .* give its units \(m/s or km/s\)"),
        (lambda d: dataset("percent"), "", r"has the unit 'percent' by its attributes; vp has m/s"),
        (lambda d: d.isel(depth=0), "", r"vp has the axes latitude, longitude; it needs depth"),
        (lambda d: d.assign_coords(depth=("depth", DEPTH, {"units": "hPa"})), "",
         r"its coordinates depth are in hpa; give them in m or km"),
        (lambda d: d.assign_coords(depth=("depth", DEPTH, {"units": "s"})), "outside: nearest",
         r"its coordinates depth are in s; give them in m or km"),
        (lambda d: d.assign_coords(longitude=LON[::-1] ** 2 % 3), "", "neither rise nor fall"),
        (lambda d: d.drop_vars("latitude"), "", r"no coordinates along latitude"),
        (lambda d: d.rename(depth="z").assign_coords(z=("z", DEPTH - 4, {"units": "km"})), "",
         r"positive: .*does not say where its coordinates z \(-4000 to 26000 m\) grow"),
        (lambda d: d.where(d.depth < 0.0), "", r"vp has no values where the grid is"),
        (lambda d: d, "vs: none", r"\[0\].vs: 'none': no such dataset in"),
        (lambda d: d, "crs: EPSG:4326", r"crs: .*has longitudes and latitudes; leave it out"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_its_place(tmp_path: Path, change, keys, message):
    data = change(dataset())
    data.vp.attrs.setdefault("units", "km/s") if "vp" in data and "slow" not in message else None
    write(tmp_path, data)
    refused(tmp_path, message, keys=keys)


def test_a_grid_that_is_not_on_the_earth(tmp_path: Path):
    write(tmp_path, dataset())
    refused(tmp_path, r"is placed on the earth; add the section `geographic`", FLAT)
    write(tmp_path, metres())
    refused(
        tmp_path, r"has the axes z, y, x, and the grid is 2-D; give a file of depth and x", PLANE
    )
    (tmp_path / "s.yaml").write_text(FLAT.replace("volume, path: m.nc, vp: vp", "file, vp: m.nc"))
    text = FLAT.replace("volume, path: m.nc, vp: vp", "file, vp: {path: m.nc}")
    refused(tmp_path, r"a NetCDF file; write - \{type: volume, path: m.nc, vp: NAME", text)


@pytest.mark.parametrize(("top", "face", "ground"), [
    (-2e3, "free_surface", -2e3), (2e3, "absorbing", 0.0), (-2e3, "absorbing", 0.0),
])  # fmt: skip
def test_depths_of_files_sources_and_stations_count_from_the_ground(tmp_path, top, face, ground):
    """The free surface, or z = 0: one depth is one place, whoever gives it."""
    data = dataset().assign_coords(depth=dataset().depth - 2.0)
    write(tmp_path, data)
    (tmp_path / "list.csv").write_text("station,longitude,latitude,depth\nA,-122,44,2500\n")
    text = TEXT.replace("y: -20 km}", f"y: -20 km, z: {top:g}}}")
    text = text.replace("time:", f"boundaries: {{top: {face}}}\ntime:")
    text = text.replace("{x: 0, y: 0, z: 5000}", "{longitude: -122, latitude: 44, depth: 5000}")
    (tmp_path / "s.yaml").write_text(
        text.replace(", KEYS", "") + "receivers: [{type: stations, path: list.csv}]\n"
    )
    discretization = discretize(load(tmp_path / "s.yaml"))
    sampled = discretization.earth.sample(np.array(ground + 4e3), np.array(0.0), 0.0)["vp"]
    assert sampled == pytest.approx(earth_like(6.0, 44.0, -122.0), rel=1e-6)
    assert discretization.shots[0].sources[0].position[2] == pytest.approx(ground + 5e3)
    assert discretization.groups[0].coordinates[0][2] == pytest.approx(ground + 2.5e3)


@pytest.mark.usefixtures("no_remedies")
def test_values_of_the_edge_and_of_the_parts_before(tmp_path: Path):
    cut = dataset().isel(longitude=slice(10, None), depth=slice(1, None))
    write(tmp_path, cut)
    west = {"y": np.array([[-18e3]]), "x": np.array([-28e3]), "z": np.full((1, 1, 1), 5e3)}
    _, lat = Projection(PLACE).to_geographic(-28e3, -18e3)
    edge = earth(tmp_path, keys="outside: nearest").sample(**west)["vp"]
    assert edge == pytest.approx(earth_like(5.0, lat, LON[10]), rel=1e-6)
    top = earth(tmp_path, keys="outside: nearest").sample(np.array(0.0), np.array(0.0), 0.0)["vp"]
    assert top == pytest.approx(earth_like(1.0, 44.0, -122.0))
    text = TEXT.replace("model:\n", "model:\n  - {type: uniform, vp: 4321}\n")
    kept = earth(tmp_path, text, "outside: keep")
    assert kept.sample(**west)["vp"] == 4321.0
    assert kept.sample(np.array(0.0), np.array(0.0), 0.0)["vp"] == 4321.0
    inside = kept.sample(np.array(2e3), np.array(0.0), 0.0)["vp"]
    assert inside == pytest.approx(earth_like(2.0, 44.0, -122.0))
    refused(
        tmp_path, r"missing: physics acoustic needs vp over the whole grid", keys="outside: keep"
    )
    (tmp_path / "s.yaml").write_text(TEXT.replace(", KEYS", ", outside: nearest"))
    said = " ".join(str(seismo.check(load(tmp_path / "s.yaml"))).split())
    assert "% of the region takes values of its edges" in said
    assert (
        "points: depth 1000 to 30000 m, latitude 43.2 to 44.8 degrees, longitude -122.3 to" in said
    )


def test_missing_values_are_filled_along_columns_or_kept(tmp_path: Path):
    data = dataset()
    water = (data.depth < 2.0) & (data.longitude < -122.0)
    write(tmp_path, data.where(~water, np.float32(99999.0)))
    west = {"z": np.array(0.0), "y": np.array(0.0), "x": np.array(-20e3)}
    lon, lat = Projection(PLACE).to_geographic(-20e3, 0.0)
    refused(
        tmp_path, r"has no vp at z = 0 m, .*longitude -122\.\d+ degrees\); give missing: column"
    )
    filled = earth(tmp_path, keys="missing: column").sample(**west)["vp"]
    assert filled == pytest.approx(earth_like(3.0, lat, lon), rel=1e-6)
    text = TEXT.replace("model:\n", "model:\n  - {type: uniform, vp: 4321}\n")
    assert earth(tmp_path, text, "missing: keep").sample(**west)["vp"] == 4321.0


def test_fluids_end_at_the_nearest_point(tmp_path: Path):
    data = metres()
    data["vs"] = 0.5 * data.vp.where(data.z < -8e3, 0.0)
    data["rho"] = 0.0 * data.vp + 2.5
    data.rho.attrs["units"] = "g/cm3"
    write(tmp_path, data)
    text = FLAT.replace("acoustic", "elastic").replace("vp: vp", "vp: vp, vs: vs, rho: rho")
    sampled = earth(tmp_path, text).sample(
        np.array([9e3, 11e3])[:, None, None], np.zeros((1, 1)), np.zeros(1)
    )
    assert sampled["vs"].ravel() == pytest.approx([0.0, 2620.0])
    assert sampled["vp"].ravel() == pytest.approx([5160.0, 5240.0])
    assert (sampled["rho"] == 2500.0).all()


def test_quality_factors_make_it_attenuate(tmp_path: Path):
    data = metres()
    data["q"] = 0.0 * data.vp + 50.0
    write(tmp_path, data)
    sampled = earth(tmp_path, FLAT.replace("vp: vp", "vp: vp, qp: q"))
    assert (sampled.sample(np.array(0.0), np.array(0.0), 0.0)["qp"] == 50.0).all()
    assert load(tmp_path / "s.yaml").equation.attenuates


def test_what_is_stored_elsewhere_is_not_followed(tmp_path: Path):
    write(tmp_path, dataset())
    with h5py.File(tmp_path / "m.nc", "a") as file:
        file["other"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(tmp_path, r"m\.nc: other is stored elsewhere, which is not followed")


def test_only_what_the_region_needs_is_read(tmp_path: Path):
    data = dataset()
    near = (abs(data.longitude + 122.0) < 0.7) & (abs(data.latitude - 44.0) < 0.7)
    write(tmp_path, data.where(near, np.float32(-1.0)))  # no rock, but outside
    volume = earth(tmp_path).model_parts[0]
    assert volume.blocks[0].samples["vp"].shape < (6, 17, 33)


def test_every_cut_of_a_grid_sees_the_same_bits(tmp_path: Path):
    write(tmp_path, dataset())
    whole = earth(tmp_path)
    z, y, x = np.linspace(0, 2e4, 11), np.linspace(-2e4, 3e4, 26), np.linspace(-3e4, 3e4, 31)
    sampled = whole.sample(z[:, None, None], y[:, None], x)["vp"]
    for part in (slice(0, 1), slice(3, 9), slice(25, 26)):
        again = earth(tmp_path).sample(z[2:5, None, None], y[part, None], x)["vp"]
        np.testing.assert_array_equal(again, sampled[2:5, part])


def test_a_file_that_changed_is_another_run(tmp_path: Path):
    write(tmp_path, dataset())
    text = TEXT.replace("x: 60 km, y: 52 km, z: 20 km", "x: 20 km, y: 20 km, z: 20 km")
    text = text.replace("x: -30 km, y: -20 km", "x: -10 km, y: -10 km").replace(", KEYS", "")
    text = text.replace("duration: 1", "duration: 0.5")
    (tmp_path / "s.yaml").write_text(text)
    seismo.run(tmp_path / "s.yaml", tmp_path / "a.h5").close()
    write(tmp_path, dataset() * 1.01)
    with pytest.raises(ScenarioError, match=r"with files that have changed since"):
        seismo.run(tmp_path / "s.yaml", tmp_path / "a.h5", resume=True)


def test_damaged_files_end_in_one_line(tmp_path: Path):
    chosen = np.random.default_rng(5)
    write(tmp_path, dataset())
    sound = (tmp_path / "m.nc").read_bytes()
    for _ in range(30):
        damaged = bytearray(
            sound[: chosen.integers(4, len(sound)) if chosen.random() < 0.3 else None]
        )
        for place in chosen.integers(4, min(len(damaged), 3000) + 1, size=4):
            damaged[place % len(damaged)] = chosen.integers(256)
        (tmp_path / "m.nc").write_bytes(damaged)
        message = ""
        try:
            earth(tmp_path)
        except ScenarioError as error:
            message = str(error)
        assert not message or message.isprintable()
    (tmp_path / "m.nc").write_text("depth,vp\n")
    refused(tmp_path, r"path: 'm.nc': .*m\.nc is not a NetCDF file; check `format`")
