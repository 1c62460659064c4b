"""Gridded models whose samples are cells: each the rock of a box that ends midway to the next."""

import numpy as np
import pytest
import xarray

from seismo.model.build import build_earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average
from seismo.model.extremes import extremes_of
from seismo.runs.check.plan import make_plan
from seismo.runs.check.report import print_plan
from seismo.scenario import from_dict
from seismo.scenario.model_parts import ArrayPart
from seismo.solver.discretize import discretize

H = 10.0
UPPER = {"vp": 2000.0, "vs": 1000.0, "rho": 2000.0}
LOWER = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


def arrays(lower, **keys):
    """Return a part with LOWER rock where `lower` is true."""
    by_name = {name: np.where(lower, LOWER[name], UPPER[name]) for name in UPPER}
    return ArrayPart.model_validate({"type": "array", "interpolation": "cells", **by_name, **keys})


def earth_of(part, region, **spacing):
    clamp = tuple(region.get(axis) for axis in "zyx")
    steps = {axis: spacing.get(axis, H) for axis in region}
    return build_earth([part], ".", clamp=clamp, spacing=steps)


def layers(*tops):
    rocks = [{"top": top, **rock} for top, rock in zip((0.0, *tops), (UPPER, LOWER), strict=True)]
    return {"type": "layers", "layers": rocks}


def averages(earth, z, y, x, h, names=("rho", "c11", "c13", "c33", "c44"), **keys):
    points = GridCells(z, y, x, {"z": h, "y": h, "x": h})
    return cell_average(earth, points, names, dtype=np.float64, **keys)


@pytest.mark.parametrize("three", [False, True])
def test_samples_hold_to_midway(three):
    generator = np.random.default_rng(1)
    shape = (5, 4, 6) if three else (5, 6)
    lower = generator.random(shape) > 0.5
    region = {a: (0.0, H * (n - 1)) for a, n in zip("zyx" if three else "zx", shape, strict=True)}
    earth = earth_of(arrays(lower), region)
    places = [np.linspace(*ends, 41) for ends in region.values()]
    grids = np.meshgrid(*places, indexing="ij")
    nearest = tuple(np.floor(place / H + 0.5).astype(int) for place in grids)
    z, y, x = (grids[0], grids[1] if three else None, grids[-1])
    found = earth.sample(z, y, x)
    for name in UPPER:
        np.testing.assert_array_equal(
            found[name], np.where(lower[nearest], LOWER[name], UPPER[name])
        )


@pytest.mark.parametrize("three", [False, True])
def test_a_grid_on_the_samples_has_their_rock(three):
    """The cell about each point is that of its sample: nothing is averaged."""
    lower = np.random.default_rng(2).random((6, 5, 7) if three else (6, 7)) > 0.5
    z, x = H * np.arange(6), H * np.arange(7)
    y = H * np.arange(5) if three else None
    region = {"z": (0.0, 50.0), "x": (0.0, 60.0)} | ({"y": (0.0, 40.0)} if three else {})
    earth = earth_of(arrays(lower), region)
    found = averages(earth, z, y, x, H)
    expected = averages(earth, z, y, x, H, averaging="point")
    for name, field in expected.items():
        np.testing.assert_allclose(found[name], field, rtol=1e-12)
    low, high = (
        (z[:, None, None] + s, y[None, :, None] + s, x + s) if three
        else (z[:, None] + s, None, x + s)
        for s in (-0.5 * H, 0.5 * H)
    )  # fmt: skip
    assert not earth.uneven(low, high).any()


@pytest.mark.parametrize("h", [2.0, 5.0, 8.0, 20.0, 50.0])
def test_contacts_among_cells_are_those_of_bodies(h):
    """On any grid cells have the effective medium of the same rocks as a polygon."""
    lower = np.zeros((11, 11), bool)
    lower[4:8, 3:9] = True
    region = {"z": (0.0, 100.0), "x": (0.0, 100.0)}
    earth = earth_of(arrays(lower, spacing=H), region, z=h, x=h)
    rock = from_dict(
        scenario(
            [
                {"type": "uniform", **UPPER},
                {"type": "block", "z": [35.0, 75.0], "x": [25.0, 85.0], **LOWER},
            ]
        )
    )
    body = build_earth(rock.model, ".", clamp=((0.0, 100.0), None, (0.0, 100.0)))
    places = np.arange(0.0, 100.5, h)
    names = ("rho", "c11", "c13", "c33", "c44")
    found = averages(earth, places, None, places, h, names)
    expected = averages(body, places, None, places, h, names)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9)


def scenario(model, physics="elastic", h=H, **keys):
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 300.0, "z": 300.0}, "spacing": h, "order": 4},
        "time": {"duration": 0.1},
        "model": model,
        "sources": [{"type": "explosion", "moment": 1e9, "position": {"x": 150.0, "z": 100.0},
                     "wavelet": {"type": "ricker", "frequency": 15.0}}],
        **keys,
    }  # fmt: skip


@pytest.mark.parametrize("h", [10.0, 7.5])
def test_a_flat_step_is_a_contact_of_layers(h):
    """Between points of 150 and 160 m it lies at 155 m, whatever the grid is."""
    z = H * np.arange(31)
    lower = np.broadcast_to((z > 150.0)[:, None], (31, 31))
    by_name = {name: np.where(lower, LOWER[name], UPPER[name]) for name in UPPER}
    part = {"type": "array", "interpolation": "cells", "spacing": H, **by_name}
    found, expected = (
        discretize(from_dict(scenario([model], h=h))).earth for model in (part, layers(155.0))
    )
    nodes = h * np.arange(40)
    names = ("rho", "c11", "c13", "c33", "c44")
    for name in names:
        np.testing.assert_allclose(
            averages(found, nodes, None, nodes, h, names)[name],
            averages(expected, nodes, None, nodes, h, names)[name], rtol=1e-9,
        )  # fmt: skip


def test_fluids_end_midway_and_axes_are_those_of_samples():
    z = H * np.arange(31)[:, None] * np.ones(31)
    part = {
        "type": "array", "interpolation": "cells", "vp": np.where(z < 100.0, 1500.0, 3000.0),
        "vs": np.where(z < 100.0, 0.0, 1700.0), "rho": np.where(z < 100.0, 1000.0, 2300.0),
        "epsilon": np.where(z < 100.0, 0.0, 0.2), "theta": np.where(z < 200.0, 0.0, 60.0),
    }  # fmt: skip
    earth = build_earth(
        [ArrayPart.model_validate(part)], ".", ("vp", "vs", "rho", "epsilon", "theta"),
        clamp=((0.0, 300.0), None, (0.0, 300.0)), spacing={"z": H, "x": H},
    )  # fmt: skip
    depths = np.array([94.0, 96.0, 194.0, 196.0])[:, None]
    found = earth.sample(depths, None, np.array([[100.0]]))
    assert found["vs"].ravel().tolist() == [0.0, 1700.0, 1700.0, 1700.0]
    np.testing.assert_allclose(found["theta"].ravel(), [0.0, 0.0, 0.0, 60.0], atol=1e-12)


def test_files_and_volumes(tmp_path):
    z = H * np.arange(31)
    field = np.where(z[:, None] > 150.0, 3000.0, 2000.0) * np.ones(31)
    np.save(tmp_path / "vp.npy", field)
    axes = {"z": ("z", z, {"units": "m", "positive": "down"}), "x": ("x", z)}
    xarray.Dataset({"vp": (("z", "x"), field)}, axes).to_netcdf(tmp_path / "m.nc", engine="scipy")
    files = ({"type": "file", "vp": {"path": "vp.npy"}},
             {"type": "volume", "path": "m.nc", "vp": "vp"})  # fmt: skip
    source = {"type": "pressure", "position": {"x": 150.0, "z": 100.0},
              "wavelet": {"type": "ricker", "frequency": 15.0}}  # fmt: skip
    for part in files:
        for interpolation, expected in (("linear", [2400.0, 2600.0]), ("cells", [2000.0, 3000.0])):
            model = [part | {"interpolation": interpolation}]
            data = scenario(model, "acoustic", sources=[source])
            earth = discretize(from_dict(data, base=tmp_path)).earth
            found = earth.sample(np.array([[154.0], [156.0]]), None, np.array([[100.0]]))["vp"]
            np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize(("keys", "said"), [
    ({}, "between points are linear"),
    ({"interpolation": "cells"}, "each point is the rock of its cell"),
])  # fmt: skip
def test_check_says_what_samples_mean(keys, said, capsys):
    from rich.console import Console

    part = {"type": "array", **{name: np.full((31, 31), UPPER[name]) for name in UPPER}, **keys}
    print_plan(make_plan(from_dict(scenario([part]))), Console(width=200))
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("three", [False, True])
def test_extremes_have_the_rocks_of_all_cells(three):
    """A sample that no node of a coarser or shifted grid meets limits the time step as well."""
    shape = (12, 12, 12) if three else (12, 12)
    vp = np.full(shape, 2000.0)
    vp[(5,) * len(shape)] = 6000.0
    part = ArrayPart.model_validate({"type": "array", "interpolation": "cells", "vp": vp,
                                     "spacing": H})  # fmt: skip
    limits = (0.0, 110.0)
    clamp = (limits, limits if three else None, limits)
    earth = build_earth([part], ".", ("vp",), clamp=clamp)
    for h in (4.0, 7.0, 9.9, 23.0):
        nodes = np.arange(0.0, 110.0, h)
        points = GridCells(nodes, nodes if three else None, nodes, {"z": h, "y": h, "x": h})
        assert extremes_of(earth, points).vp_max == 6000.0
