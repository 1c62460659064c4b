"""Models in GeoModelGrids files: warped to their ground, turned, in blocks; sampled by depth."""

import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
from pyproj import Transformer

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.scenario import load
from seismo.solver.discretize import discretize

TEXT = """\
physics: elastic
grid: {extent: {x: 8 km, y: 4 km, z: 6 km}, origin: {x: -4 km, y: -2 km}, spacing: 1 km, order: 2}
boundaries: {layer: {points: 2}}
time: {duration: 0.5}
model:
  - {type: volume, path: m.h5, vp: Vp, vs: Vs, rho: density, KEYS}
sources:
  - {type: explosion, position: {x: 0, y: 0, z: 3000}, moment: 1e15,
     wavelet: {type: ricker, frequency: 0.2}}
geographic: {longitude: -122, latitude: 37.5, azimuth: 30}
"""
PLACE = type("Place", (), {"longitude": -122.0, "latitude": 37.5, "azimuth": 30.0})
TO_UTM = Transformer.from_crs("EPSG:4326", "EPSG:26910", always_xy=True)
ORIGIN = (572e3, 4134e3)
AZIMUTH = 25.0
BOTTOM = 10e3


def elevation(x, y):
    """Return what bilinear interpolation meets exactly."""
    return 500.0 + 0.02 * x - 0.01 * y


def vp(depth, y, x):
    return 4000.0 + 0.1 * depth + 0.01 * y - 0.02 * x


def write(base: Path, unit="km/s", older=False, ground=elevation, layout="vertex", **attributes):
    """Write two blocks, of 1 and 2 km, the lower one from 4 km on."""
    scale = 1e-3 if unit == "km/s" else 1.0
    names = {"x": "x_resolution", "y": "y_resolution", "z": "z_resolution"}
    if older:
        names = {"x": "resolution_horiz", "y": "resolution_horiz", "z": "resolution_vert"}
    with h5py.File(base / "m.h5", "w") as file:
        file.attrs.update(
            {"crs": "EPSG:26910", "origin_x": ORIGIN[0], "origin_y": ORIGIN[1],
             "y_azimuth": AZIMUTH, "dim_x": 48e3, "dim_y": 40e3, "dim_z": BOTTOM,
             "data_values": ["density", "Vp", "Vs"], "data_units": ["g/cm**3", unit, unit],
             "data_layout": layout} | attributes
        )  # fmt: skip
        for name, step, top, last in (("lower", 2e3, 4e3, BOTTOM), ("upper", 1e3, 0.0, 4e3)):
            x, y = np.arange(0.0, 48001.0, step), np.arange(0.0, 40001.0, step)
            z = np.arange(top, last + 1.0, step)
            speed = vp(z, y[:, None], x[:, None, None]) * scale
            values = np.stack([2.5 + 0.0 * speed, speed, 0.5 * speed], -1)
            block = file.create_dataset(f"blocks/{name}", data=values.astype("f4"), chunks=True)
            block.attrs.update(dict.fromkeys(names.values(), step) | {"z_top": -top})
        if ground:
            x, y = np.arange(0.0, 48001.0, 4e3), np.arange(0.0, 40001.0, 4e3)
            surface = file.create_dataset("surfaces/top_surface", data=ground(x[:, None], y))
            surface.attrs.update({names["x"]: 4e3, names["y"]: 4e3})


def earth(base: Path, keys="", text=TEXT):
    (base / "s.yaml").write_text(text.replace(", KEYS", keys and f", {keys}"))
    return discretize(load(base / "s.yaml")).earth


def own(x, y):
    """Return the model's own x, y of points of the grid, straight from its definition."""
    east, north = TO_UTM.transform(*Projection(PLACE).to_geographic(x, y))
    turn = np.radians(AZIMUTH)
    along_x = np.array([np.cos(turn), -np.sin(turn)])
    along_y = np.array([np.sin(turn), np.cos(turn)])
    from_origin = np.stack([east - ORIGIN[0], north - ORIGIN[1]], -1)
    return from_origin @ along_x, from_origin @ along_y


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(("unit", "ground"), [("km/s", elevation), ("m/s", None)])
def test_depths_are_below_the_ground(tmp_path: Path, unit, ground, older):
    write(tmp_path, unit, older, ground)
    z = np.array([0.0, 700.0, 3900.0, 4600.0, 6000.0])
    y, x = np.linspace(-2e3, 2e3, 5), np.linspace(-4e3, 4e3, 9)
    sampled = earth(tmp_path).sample(z[:, None, None], y[:, None], x)
    own_x, own_y = own(*np.broadcast_arrays(x, y[:, None]))
    height = ground(own_x, own_y) if ground else 0.0
    depth = z[:, None, None] * BOTTOM / (height + BOTTOM)
    expected = vp(depth, own_y, own_x)
    np.testing.assert_allclose(sampled["vp"], expected, rtol=2e-7)
    np.testing.assert_allclose(sampled["vs"], 0.5 * expected, rtol=2e-7)
    np.testing.assert_allclose(sampled["rho"], 2500.0)


def test_depths_count_from_the_free_surface(tmp_path: Path):
    write(tmp_path)
    text = TEXT.replace("y: -2 km}", "y: -2 km, z: -1 km}")
    text = text.replace("boundaries: {", "boundaries: {top: free_surface, ")
    own_x, own_y = own(0.0, 0.0)
    depth = 3e3 * BOTTOM / (elevation(own_x, own_y) + BOTTOM)
    sampled = earth(tmp_path, text=text).sample(np.array(2e3), np.array(0.0), 0.0)["vp"]
    assert sampled == pytest.approx(vp(depth, own_y, own_x), rel=2e-7)


def test_a_part_of_the_grid_sees_the_same_bits(tmp_path: Path):
    write(tmp_path)
    z, y, x = np.linspace(0, 6e3, 7), np.linspace(-2e3, 2e3, 11), np.linspace(-4e3, 4e3, 21)
    sampled = earth(tmp_path).sample(z[:, None, None], y[:, None], x)["vp"]
    for rows in (slice(0, 1), slice(4, 9)):
        again = earth(tmp_path).sample(z[3:6, None, None], y[rows, None], x)["vp"]
        np.testing.assert_array_equal(again, sampled[3:6, rows])


def test_water_without_shear_waves_is_asked_for(tmp_path: Path):
    write(tmp_path)
    with h5py.File(tmp_path / "m.h5", "a") as file:
        file["blocks/upper"][:, :, :2, 2] = -1e20
    refused(tmp_path, r"m\.h5 has no vs at z = 0 m, .*; give missing: column")
    filled = earth(tmp_path, "missing: column").sample(np.array(0.0), np.array(0.0), 0.0)
    own_x, own_y = own(0.0, 0.0)
    assert filled["vs"] == pytest.approx(0.5 * vp(2e3, own_y, own_x), rel=1e-6)


def refused(base: Path, message: str, keys="", text=TEXT):
    with pytest.raises(ScenarioError, match=message) as caught:
        earth(base, keys, text)
    assert all(line.isprintable() for line in str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("written", "keys", "message"),
    [
        ({"crs": "EPSG:4326"}, "", r"EPSG:4326 counts in degree; only reference systems in metres"),
        ({"crs": "\x1b[2J"}, "", r"is no reference system that PROJ knows"),
        ({"origin_x": 5e5, "y_azimuth": 0.0}, "", r"is outside; give outside: nearest"),
        ({"origin_x": np.nan}, "", r"its attribute origin_x is nan"),
        ({"data_values": ["a", "b", "c"]}, "", r"has no values 'Vp'; available: a, b, c"),
        ({"data_units": ["g/cm**3"]}, "", r"names 3 values and 1 units"),
        ({"data_units": ["g/cm3", "m/s", "m/s"]}, "", r"too slow .*give its units \(m/s or km/s\)"),
        ({"layout": "cell"}, "", r"has values of cells"),
        ({"ground": lambda x, y: -11e3 + 0.0 * x + 0.0 * y}, "", r"its ground lies below its bott"),
        ({}, "crs: EPSG:26910", r"crs: .*says it itself; leave it out"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(tmp_path: Path, written, keys, message):
    write(tmp_path, **written)
    refused(tmp_path, message, keys)


def test_a_ground_that_does_not_reach_over_the_model_is_refused(tmp_path: Path):
    """By resolutions in km all points would lie over one corner, and depths be those below it."""
    write(tmp_path)
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        file["surfaces/top_surface"].attrs["x_resolution"] = 4.0
    refused(tmp_path, r"ground has 13 points 4 m apart along x, and the model 48000 m; check x_res")


def moved(base: Path, **attributes):
    """Move the lower block, from 4 to 10 km, by its attributes."""
    write(base)
    with h5py.File(base / "m.h5", "r+") as file:
        file["blocks/lower"].attrs.update(attributes)


def test_gaps_between_blocks_are_refused_where_the_grid_has_them(tmp_path: Path):
    moved(tmp_path, z_top=-5.5e3)
    refused(tmp_path, r"/upper ends at a depth of 4000 m and /blocks/lower begins at 5500 m: betw.*"
            r", 1500 m, are no values; check z_top")  # fmt: skip
    refused(tmp_path, r"begins at 5500 m", "outside: nearest, missing: column")
    above = earth(tmp_path, text=TEXT.replace("z: 6 km", "z: 3.5 km").replace("3000}", "2000}"))
    own_x, own_y = own(0.0, 0.0)
    depth = 3e3 * BOTTOM / (elevation(own_x, own_y) + BOTTOM)
    sampled = above.sample(np.array(3e3), np.array(0.0), 0.0)["vp"]
    assert sampled == pytest.approx(vp(depth, own_y, own_x), rel=2e-7)


def test_the_upper_of_overlapping_blocks_counts_as_in_the_format(tmp_path: Path):
    """Its query takes the first block, from the top, that has the depth."""
    moved(tmp_path, z_top=-2e3)
    own_x, own_y = own(0.0, 0.0)
    scale = BOTTOM / (elevation(own_x, own_y) + BOTTOM)
    sampled = earth(tmp_path).sample(np.array([3e3, 5e3]), np.array(0.0), 0.0)["vp"]
    expected = [vp(3e3 * scale, own_y, own_x), vp(5e3 * scale + 2e3, own_y, own_x)]
    np.testing.assert_allclose(sampled, expected, rtol=2e-7)
    moved(tmp_path, z_top=0.0)
    refused(tmp_path, r"both begin at a depth of 0 m, and which of them counts is not known")


def test_where_blocks_end_is_the_end_of_the_model(tmp_path: Path):
    """The last block ends at 4.3 km of 10, and one half a cell after 4.8 km of 48."""
    moved(tmp_path, z_resolution=1e2, z_top=-4e3)
    refused(tmp_path, r"depth 0 to 4300 m.* is outside; give outside: nearest")
    moved(tmp_path, x_resolution=2e2)
    refused(tmp_path, r"x 0 to 4900 m.* is outside; give outside: nearest")


def test_strings_without_an_end_are_refused(tmp_path: Path):
    """The HDF5 library would look at the empty space of a collection again and again."""
    write(tmp_path)
    path = tmp_path / "m.h5"
    data = bytearray(path.read_bytes())
    start = at = data.index(b"GCOL")
    (length,) = struct.unpack_from("<Q", data, at + 8)
    at += 16
    # Numbered objects, of 8 bytes or a multiple, then number 0: what is left.
    while struct.unpack_from("<H", data, at)[0]:
        (size,) = struct.unpack_from("<Q", data, at + 8)
        at += 16 + -(-size // 8) * 8
    assert at < start + length
    struct.pack_into("<Q", data, at + 8, 0)
    path.write_bytes(data)
    refused(tmp_path, r"m\.h5 is damaged: a string in it has no length")


def test_other_files_are_no_models(tmp_path: Path):
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["vp"] = np.full((3, 4), 2000.0)
    refused(tmp_path, r"has no attribute origin_x of /")
    write(tmp_path)
    with h5py.File(tmp_path / "m.h5", "a") as file:
        del file["blocks/upper"].attrs["z_resolution"]
    refused(tmp_path, r"/blocks/upper has no z_resolution; of files with uneven points none is")
    with h5py.File(tmp_path / "m.h5", "a") as file:
        del file["blocks/upper"]
        file["blocks/upper"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(tmp_path, r"is a link in .*m\.h5, which is not followed")
    text = TEXT[: TEXT.index("geographic")]
    write(tmp_path)
    refused(tmp_path, r"placed on the earth; add the section `geographic`", text=text)
    sound = (tmp_path / "m.h5").read_bytes()
    (tmp_path / "m.h5").write_bytes(sound[: len(sound) // 2])
    refused(tmp_path, r"m\.h5 is cut short|cannot be read")
    chosen = np.random.default_rng(8)
    for _ in range(15):
        damaged = bytearray(sound)
        for byte in chosen.integers(8, 6000, size=4):
            damaged[byte] = chosen.integers(256)
        (tmp_path / "m.h5").write_bytes(damaged)
        message = ""
        try:
            earth(tmp_path)
        except ScenarioError as error:
            message = str(error)
        assert not message or message.isprintable()
