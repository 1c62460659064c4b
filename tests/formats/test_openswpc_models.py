"""Layered models of OpenSWPC: lists of GMT grids with depths of the tops of layers, and rocks."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError
from seismo.runs.compatibility import identity_of, refuse_another
from seismo.scenario import load, parse
from seismo.solver.discretize import discretize

PLACE = SimpleNamespace(longitude=140.0, latitude=36.0, azimuth=30.0)
TEXT = """\
physics: elastic
grid: {extent: {x: 8 km, y: 4 km, z: 6 km}, origin: {x: -4 km, y: -2 km}, spacing: 1 km, order: 2}
boundaries: {top: free_surface, layer: {points: 2}}
time: {duration: 0.5}
model:
  - {type: volume, path: japan.lst, vp: vp, vs: vs, rho: rho, qp: qp, qs: qs}
sources:
  - {type: explosion, position: {x: 0, y: 0, z: 3000}, moment: 1e15,
     wavelet: {type: ricker, frequency: 0.2}}
geographic: {longitude: 140, latitude: 36, azimuth: 30}
"""
LIST = """\
# grd filename  rho  vp  vs  QP  QS  sw
'ground.grd'    1.80 1.70 0.50 119  70 0
"basin.grd"     2.40 4.20 2.40 680 400 0

absent.grd      2.65 5.50 3.20 680 400 0
'crust.grd'     2.80 6.40 3.80 850 500 1
"""


def tops(longitude, latitude):
    """Return the depths in m of ground, basin, absent and crust: planes, so that linear is exact.

    The basin's top crosses the ground and the crust's, the absent layer has no thickness.
    """
    east, north = longitude - 140.0, latitude - 36.0
    ground = -300.0 + 2000.0 * east
    crust = ground + 2600.0 + 9e3 * north
    return ground, ground + 500.0 + 60e3 * east, crust, crust


@pytest.fixture
def japan(tmp_path, monkeypatch):
    """Write the list and its grids, one with latitudes that fall, one of the other NetCDF."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "japan.lst").write_text(LIST)
    longitude, latitude = np.linspace(139.8, 140.2, 41), np.linspace(35.8, 36.2, 21)
    depths = tops(longitude, latitude[:, None])
    for name, plane in zip(("ground", "basin", "absent", "crust"), depths, strict=True):
        plane = np.broadcast_to(plane, (21, 41))
        axes = {"lat": latitude, "lon": longitude}
        dataset = xarray.Dataset({"z": (("lat", "lon"), plane)}, axes)
        if name == "basin":
            dataset = dataset.sortby("lat", ascending=False)
        engine = {"ground": "scipy"}.get(name, "h5netcdf")
        dataset.to_netcdf(tmp_path / f"{name}.grd", engine=engine)
    return tmp_path


def test_layers_begin_at_their_tops_below_the_ground(japan):
    lossless = discretize(parse(TEXT.replace(", qp: qp, qs: qs", ""), "s.yaml")).earth
    lossy = discretize(parse(TEXT, "s.yaml")).earth
    x, y, z = np.linspace(-3900, 3900, 7), np.linspace(-1900, 1900, 5), np.linspace(0, 5999, 40)
    z, y, x = np.meshgrid(z, y, x, indexing="ij")
    sampled = lossy.sample(z, y, x) | lossless.sample(z, y, x)
    longitude, latitude = Projection(PLACE).to_geographic(x, y)
    ground, basin, _, crust = tops(longitude, latitude)
    number = np.zeros(z.shape, int)
    number[z + ground >= np.maximum(ground, basin)] = 1
    number[z + ground >= np.maximum(np.maximum(ground, basin), crust)] = 3
    assert (basin < ground).any()
    assert (basin > crust).any()
    for name, rocks in {
        "vp": (1700, 4200, 5500, 6400), "vs": (500, 2400, 3200, 3800),
        "rho": (1800, 2400, 2650, 2800), "qp": (119, 680, 680, 850), "qs": (70, 400, 400, 500),
    }.items():  # fmt: skip
        np.testing.assert_allclose(sampled[name], np.array(rocks)[number], rtol=1e-6)


def test_of_contacts_between_points_the_share_counts(japan):
    """Nodes take the rock that they lie in; the whole region has what the file says, no more."""
    discretization = discretize(parse(TEXT.replace(", qp: qp, qs: qs", ""), "s.yaml"))
    column = discretization.earth.sample(np.linspace(0.0, 6e3, 301), np.zeros(1), 0.0)["vp"]
    assert set(np.unique(column)) == {1700.0, 4200.0, 6400.0}
    assert (
        "layer 0 to 3, latitude 35.8 to 36.2 degrees"
        in discretization.earth.model_parts[0].described()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"LIST": ("absent.grd ", "nowhere.grd")}, r"no such file as nowhere.grd, which it names"),
        ({"LIST": ("2.40 4.20", "2.40 ?")}, r"line 3: .*is no layer; expected a list of"),
        ({"LIST": ("2.65 5.50 ", "")}, r"line 5: has 4 numbers"),
        ({"TEXT": ("vs: vs", "vs: Vs")}, r"vs.variable: .*no column 'Vs'; available: rho, vp"),
        ({"TEXT": ("geographic:", "#")}, r"is placed on the earth; add the section `geographic`"),
        ({"TEXT": ("x: 8 km", "x: 80 km")}, r"is outside; give outside: nearest, or keep"),
        ({"LIST": ("5.50 3.20", "5500 3200")}, r"japan.lst: .*5.5e\+06"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(japan, change, message):
    text = TEXT.replace(*change.get("TEXT", ("", "")))
    (japan / "japan.lst").write_text(LIST.replace(*change.get("LIST", ("", ""))))
    with pytest.raises(ScenarioError, match=message) as caught:
        discretize(parse(text, "s.yaml"))
    assert "\n" not in str(caught.value)


def test_a_run_is_known_by_its_grids_too(japan):
    """It does not go on with others."""
    (japan / "s.yaml").write_text(TEXT)
    discretization = discretize(load(japan / "s.yaml"))
    backend = SimpleNamespace(name="cpu")
    before = identity_of(discretization, backend)
    (japan / "crust.grd").write_bytes((japan / "basin.grd").read_bytes())
    now = identity_of(discretization, backend)
    with pytest.raises(ScenarioError, match=r"model\[0\].path.*crust\.grd has changed since"):
        refuse_another(before, now, discretization.scenario)
