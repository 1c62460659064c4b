"""Models in sfiles of SW4: grids between curved interfaces, sampled by depth below ground."""

from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from pyproj import Transformer

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.scenario import load
from seismo.solver.discretize import discretize

PROJ = "+proj=tmerc +datum=WGS84 +units=m +lon_0=-123 +lat_0=35"
TEXT = f"""\
physics: elastic
grid: {{extent: {{x: 8 km, y: 4 km, z: 6 km}}, origin: {{x: -4 km, y: -2 km}}, spacing: 1 km, order: 2}}
boundaries: {{layer: {{points: 2}}}}
time: {{duration: 0.5}}
model:
  - {{type: volume, path: m.sfile, vp: Cp, vs: Cs, rho: Rho, crs: "{PROJ}", KEYS}}
sources:
  - {{type: explosion, position: {{x: 0, y: 0, z: 3000}}, moment: 1e15,
     wavelet: {{type: ricker, frequency: 0.2}}}}
geographic: {{longitude: -122, latitude: 37.5, azimuth: 30}}
"""  # noqa: E501
PLACE = SimpleNamespace(longitude=-122.0, latitude=37.5, azimuth=30.0)
ORIGIN = (-122.25, 37.35)
AZIMUTH = 20.0


def interfaces(x, y):
    """Return depths (positive down) of the ground, an inner interface and the bottom."""
    ground = -400.0 - 0.01 * x + 0.02 * y
    return ground, ground + 3000.0 + 0.03 * x, 9000.0 + 0.0 * (x + y)


def vp(grid, share, x, y):
    return 3000.0 + 1500.0 * grid + 900.0 * share + 0.01 * x - 0.02 * y


def write(base: Path, **attributes):
    """Write two grids of 1 and 2 km, with interfaces at the points of the grid above them."""
    with h5py.File(base / "m.sfile", "w") as file:
        name = "Origin longitude, latitude, azimuth"
        file.attrs.update({name: [*ORIGIN, AZIMUTH], "ngrids": np.int32(2)} | attributes)
        for number, (step, levels) in enumerate(((1e3, 5), (2e3, 4))):
            x, y = np.arange(0.0, 40001.0, step), np.arange(0.0, 36001.0, step)
            share = np.linspace(0.0, 1.0, levels)
            speed = vp(number, share, x[:, None, None], y[:, None])
            group = file.create_group(f"Material_model/grid_{number}")
            group.attrs["Horizontal grid size"] = step
            for variable, values in (("Cp", speed), ("Cs", 0.5 * speed), ("Rho", 0 * speed + 2500)):
                group[variable] = values.astype("f4")
            if number == 0:
                file["Z_interfaces/z_values_0"] = interfaces(x[:, None], y)[0]
            file[f"Z_interfaces/z_values_{number + 1}"] = interfaces(x[:, None], y)[number + 1]


def earth(base: Path, keys="", text=TEXT):
    (base / "s.yaml").write_text(text.replace(", KEYS", keys and f", {keys}"))
    return discretize(load(base / "s.yaml")).earth


def own(x, y):
    """Return the file's x (along the azimuth) and y of points of the grid."""
    to_map = Transformer.from_crs("EPSG:4326", PROJ, always_xy=True)
    east, north = to_map.transform(*Projection(PLACE).to_geographic(x, y))
    first = to_map.transform(*ORIGIN)
    away = np.stack([east - first[0], north - first[1]], -1)
    turn = np.radians(AZIMUTH)
    return away @ [np.sin(turn), np.cos(turn)], away @ [np.cos(turn), -np.sin(turn)]


def test_points_lie_between_the_interfaces(tmp_path: Path):
    write(tmp_path)
    z = np.array([0.0, 700.0, 2500.0, 4600.0, 6000.0])[:, None, None]
    y, x = np.linspace(-2e3, 2e3, 5), np.linspace(-4e3, 4e3, 9)
    sampled = earth(tmp_path).sample(z, y[:, None], x)
    own_x, own_y = own(*np.broadcast_arrays(x, y[:, None]))
    top, middle, bottom = interfaces(own_x, own_y)
    depth = z + top
    upper = vp(0, (depth - top) / (middle - top), own_x, own_y)
    lower = vp(1, (depth - middle) / (bottom - middle), own_x, own_y)
    expected = np.where(depth < middle, upper, lower)
    np.testing.assert_allclose(sampled["vp"], expected, rtol=3e-7)
    np.testing.assert_allclose(sampled["vs"], 0.5 * expected, rtol=3e-7)
    np.testing.assert_allclose(sampled["rho"], 2500.0)


def test_depths_count_from_the_free_surface(tmp_path: Path):
    write(tmp_path)
    text = TEXT.replace("y: -2 km}", "y: -2 km, z: -1 km}")
    text = text.replace("boundaries: {", "boundaries: {top: free_surface, ")
    sampled = earth(tmp_path, "", text).sample(np.array(0.0), np.array(0.0), 0.0)["vp"]
    below = earth(tmp_path).sample(np.array(1e3), np.array(0.0), 0.0)["vp"]
    assert sampled == pytest.approx(below, rel=1e-12)


def refused(base: Path, message: str, keys="", text=TEXT):
    with pytest.raises(ScenarioError, match=message) as caught:
        earth(base, keys, text)
    assert all(line.isprintable() for line in str(caught.value).splitlines())


def test_what_does_not_fit_is_named(tmp_path: Path):
    write(tmp_path)
    refused(tmp_path, r"crs: missing: .* does not say its map projection", "", TEXT.replace(
        f'crs: "{PROJ}", ', ""))  # fmt: skip
    refused(tmp_path, r"is outside; give outside", "", TEXT.replace("z: 6 km", "z: 12 km"))
    refused(tmp_path, r"qp: 'Qp': no such dataset|no such dataset in .*m\.sfile", "qp: Qp")
    with h5py.File(tmp_path / "m.sfile", "a") as file:
        file["Material_model/grid_0/Cs"][:, :, 0] = -999.0
    refused(tmp_path, r"has no vs at z = 0 m, .*give missing: column")
    filled = earth(tmp_path, "missing: column").sample(np.array(0.0), np.array(0.0), 0.0)["vs"]
    assert filled == pytest.approx(0.5 * vp(0, 0.25, *own(0.0, 0.0)), rel=1e-6)
    with h5py.File(tmp_path / "m.sfile", "a") as file:
        file["Z_interfaces/z_values_1"][3, 4] = -5000.0
    refused(tmp_path, r"its interface 1 is not below interface 0 everywhere")
    write(tmp_path, ngrids=0)
    refused(tmp_path, r"has 0 grids; 1 to 100 are read")
    write(tmp_path, ngrids=3)
    refused(tmp_path, r"no such dataset in")
    with h5py.File(tmp_path / "m.sfile", "w") as file:
        file["vp"] = np.full((3, 4), 2000.0)
    refused(tmp_path, r"has no attribute 'Origin longitude, latitude, azimuth'; is it an sfile\?")
