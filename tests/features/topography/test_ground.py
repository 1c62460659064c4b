"""The ground of a scenario: what describes it, where things stand on it, and what is refused.

Heights, depths and positions are compared with the formulas of the hills themselves. Filters: the
response 1 - (1 - exp(-(k sigma)^2 / 2))^4 of the module `seismo.features.topography.shape`.
"""

import math

import h5py
import numpy as np
import pytest

import seismo
from seismo.errors import ScenarioError, ScenarioWarning
from seismo.features.topography.checks import ground_facts
from seismo.features.topography.ground import ground_of
from seismo.output.figures.section import (
    chosen_section,
    on_even_rows,
    sections,
    source_position,
    surface_of,
)
from seismo.output.figures.style import length_unit
from seismo.output.paraview import write_side_files
from seismo.runs.coordinates import true_positions
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.contacts.near_contacts import near_receivers
from seismo.runs.preview import preview
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

H = 50.0
HILL = {"center": {"x": 1500.0}, "height": 200.0, "width": 500.0}
LAYERS = [
    {"top": -1000.0, "vp": 3000.0, "vs": 1700.0, "rho": 2300.0},
    {"top": 150.0, "vp": 4000.0, "vs": 2300.0, "rho": 2500.0},
]
ROCK = {"type": "uniform", "vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


def data(**changes):
    """Return a small P-SV run over a hill, with some sections changed; None leaves one out."""
    sections = {
        "physics": "elastic",
        "grid": {"extent": {"x": 3000.0, "z": 2500.0}, "spacing": H},
        "time": {"duration": 0.3},
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "topography": {"type": "hills", "hills": [HILL]},
        "model": [{"type": "layers", "layers": LAYERS}],
        "sources": [
            {
                "type": "force", "position": {"x": 1500.0, "depth": 200.0},
                "force": {"z": 1e9}, "wavelet": {"type": "ricker", "frequency": 4.0},
            }
        ],
        "receivers": [
            {"type": "line", "start": {"x": 500.0}, "end": {"x": 2500.0}, "count": 9},
        ],
    } | changes  # fmt: skip
    return {name: section for name, section in sections.items() if section is not None}


def solid(**changes):
    """Return a small 3-D run over a hill."""
    hill = HILL | {"center": {"x": 800.0, "y": 700.0}, "width": 350.0}
    source = data()["sources"][0] | {"position": {"x": 800.0, "y": 700.0, "depth": 300.0}}
    return data(
        grid={"extent": {"x": 1600.0, "y": 1400.0, "z": 2500.0}, "spacing": H},
        topography={"type": "hills", "hills": [hill]},
        sources=[source],
        receivers=[{"type": "points", "positions": [{"x": 600.0, "y": 600.0}]}],
        **changes,
    )


def hill(x):
    """Return z in m of the ground of `HILL`."""
    return -200.0 * np.exp(-(((x - 1500.0) / 500.0) ** 2))


def test_the_first_row_lies_below_the_summit():
    discretization = discretize(seismo.load(data()))
    ground = ground_of(discretization.scenario)
    assert ground.highest == pytest.approx(-200.0, abs=1e-6)
    assert not ground.smoothing.any()
    level = discretization.grid.origin[2]
    assert (level - ground.highest) / H == pytest.approx(1.0, abs=1e-9)  # 30 m, in whole rows
    bottom = discretization.grid.limits("z")[1]
    assert bottom == pytest.approx(ground.highest + 2500.0, abs=1e-6)
    assert discretization.vertical.depth == pytest.approx(1200.0, rel=0.01)  # 6 reliefs
    least, most = discretization.vertical.heights
    assert least == pytest.approx(1.0 - 3.0 * 150.0 / 1200.0, abs=2e-3)
    assert most == pytest.approx(1.0 + 3.0 * 50.0 / 1200.0, abs=2e-3)


def test_what_has_neither_z_nor_depth_stands_on_the_ground():
    discretization = discretize(seismo.load(data()))
    (group,) = discretization.groups
    assert (group.coordinates[:, 2] == discretization.grid.origin[2]).all()
    x, _, z = true_positions(discretization, group.coordinates).T
    assert z == pytest.approx(hill(x), abs=1e-3)


@pytest.mark.parametrize("z", [-190.0, -55.5, 0.0, 333.0, 900.0, 1500.0])
def test_z_and_depth_are_the_same_place(z):
    x = 1432.0
    below = z - hill(x)
    points = [{"x": x, "z": z}, {"x": x, "depth": float(below)}]
    receivers = [{"type": "points", "positions": points}]
    discretization = discretize(seismo.load(data(receivers=receivers)))
    by_z, by_depth = discretization.groups[0].coordinates
    assert by_z == pytest.approx(by_depth, abs=1e-3)
    (true,) = true_positions(discretization, by_z[None])
    assert true[2] == pytest.approx(z, abs=1e-9)
    if z >= discretization.vertical.flat_from:
        assert by_z[2] == pytest.approx(z, abs=1e-9)


def test_depths_count_from_a_flat_surface_too():
    receivers = [{"type": "points", "positions": [{"x": 1e3, "depth": 120.0}]}]
    grid = data()["grid"] | {"origin": {"z": -300.0}}
    flat = data(topography=None, receivers=receivers, grid=grid)
    discretization = discretize(seismo.load(flat))
    assert discretization.groups[0].coordinates[0, 2] == -180.0


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "hills", "hills": [HILL | {"height": 0.0}]},
        {"type": "plane", "dip": 0.0, "through": {"x": 700.0, "z": 0.0}},
        {"type": "file", "path": "flat.npy"},
    ],
    ids=lambda shape: shape["type"],
)
def test_flat_ground_gives_the_bits_of_none(shape, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("flat.npy", np.zeros(61))
    kept = {"model": [ROCK], "receivers": [{"type": "points", "positions": [{"x": 1e3, "z": 0.0}]}]}
    flat = discretize(seismo.load(data(topography=shape, **kept)))
    assert flat.vertical is None
    with (
        seismo.run(data(topography=shape, **kept), backend="cpu") as on_it,
        seismo.run(data(topography=None, **kept), backend="cpu") as without,
    ):
        assert on_it.ground is None
        assert on_it.traces_hash == without.traces_hash


def test_ground_becomes_level_towards_layers():
    slope = [{"center": {"x": 0.0}, "height": 300.0, "width": 1000.0}]
    topography = discretize(
        seismo.load(data(topography={"type": "hills", "hills": slope}))
    ).vertical
    x = np.linspace(-500.0, 600.0, 1101)
    steep = topography.surface(None, x, along="x")
    assert (steep[x < 0.0] == 0.0).all()
    assert np.abs(steep[x == 0.0]).max() < 1e-3 * steep.max()
    assert np.abs(np.diff(steep)).max() < 2e-3 * steep.max() * 5.0  # no kink
    z = topography.ground(None, x)
    inside = x >= 500.0  # ten points
    assert z[inside] == pytest.approx(-300.0 * np.exp(-((x[inside] / 1000.0) ** 2)), abs=1e-2)


@pytest.mark.parametrize("points", [2.5, 3.0, 4.0, 8.0, 16.0, 32.0])
def test_what_is_too_short_for_the_grid_is_smoothed_off(points, tmp_path):
    number = 2.0 * np.pi / (points * H)
    x = np.arange(0.0, 3000.1, 5.0)  # ten times as fine as the grid
    np.save(tmp_path / "waves.npy", 20.0 * np.cos(number * (x - 1500.0)))
    file = {"type": "file", "path": str(tmp_path / "waves.npy"), "spacing": 5.0}
    ground = ground_of(seismo.load(data(topography=file, grid=data()["grid"] | {"order": 4})))
    middle = np.abs(ground.x - 1500.0) < 500.0
    # 20 (response) cos: its amplitude by least squares.
    wave = np.cos(number * (ground.x[middle] - 1500.0))
    left = -(wave @ ground.z[middle]) / (wave @ wave)
    kept = 1.0 - (1.0 - math.exp(-((number * 1.5 * H) ** 2) / 2.0)) ** 4
    assert left / 20.0 == pytest.approx(kept, abs=0.02)
    if points >= 16.0:
        assert kept > 0.999


def write(kind, path, x, y, heights):
    """Write heights (y, x) m to a file, and return the section that reads it."""
    section = {"type": "file", "path": path.name}
    if kind == "npy":
        np.save(path, heights)
        section |= {"spacing": float(x[1] - x[0]), "origin": {"x": float(x[0]), "y": float(y[0])}}
    elif kind == "xyz":
        rows = [(a, b, heights[k, n]) for k, b in enumerate(y) for n, a in enumerate(x)]
        np.savetxt(path, rows, header="x y height")
    elif kind == "netcdf":
        import xarray

        axes = {"y": y[::-1], "x": x}
        array = xarray.DataArray(heights[::-1], axes, ("y", "x"), attrs={"units": "m"})
        xarray.Dataset({"z": array}).to_netcdf(path, engine="h5netcdf")
    else:
        rasterio = pytest.importorskip("rasterio")
        step = x[1] - x[0]
        corner = rasterio.Affine(step, 0.0, x[0] - step / 2, 0.0, -step, y[-1] + step / 2)
        profile = {"driver": "GTiff", "dtype": "float64", "count": 1, "width": x.size,
                   "height": y.size, "transform": corner}  # fmt: skip
        with rasterio.open(path, "w", **profile) as image:
            image.write(heights[::-1], 1)
    return section


@pytest.mark.parametrize(
    ("kind", "suffix"), [("npy", ".npy"), ("xyz", ".xyz"), ("netcdf", ".nc"), ("geotiff", ".tif")]
)
def test_files_of_all_formats_give_the_same_ground(kind, suffix, tmp_path):
    x = np.arange(-200.0, 1901.0, 100.0)  # half as fine as the grid
    y = np.arange(-300.0, 1701.0, 100.0)
    heights = (
        150.0 * np.exp(-(((x - 800.0) / 500.0) ** 2) - ((y[:, None] - 700.0) / 450.0) ** 2) + 20.0
    )
    section = write(kind, tmp_path / f"dem{suffix}", x, y, heights)
    (tmp_path / "run.yaml").write_text(
        seismo.load(solid()).changed({"topography": section}).to_yaml(), encoding="utf-8"
    )
    scenario = seismo.load(tmp_path / "run.yaml")
    ground = ground_of(scenario)
    inner = np.ix_(slice_of(ground.y), slice_of(ground.x))
    exact = (
        -150.0
        * np.exp(-(((ground.x - 800.0) / 500.0) ** 2) - ((ground.y[:, None] - 700.0) / 450.0) ** 2)
        - 20.0
    )
    # The spline through points of 100 m: 5/384 h^4 f'''' = 0.04 m.
    assert ground.z[inner] == pytest.approx(exact[inner], abs=0.1)
    assert ground.spacing == pytest.approx(100.0)


def slice_of(nodes):
    """Return the numbers of nodes that are not beside a layer."""
    return np.arange(11, nodes.size - 11)


def test_heights_by_longitude_and_latitude_are_projected(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("pyproj")
    from seismo.acquisition.locator import Projection

    longitude = np.arange(237.90, 238.05, 0.001)  # east of Greenwich, beyond 180 degrees
    latitude = np.arange(46.15, 46.25, 0.001)
    heights = 1000.0 + 3000.0 * (longitude - 237.97) + 5000.0 * (latitude[:, None] - 46.2)
    axes = {"lat": latitude, "lon": longitude}
    array = xarray.DataArray(heights, axes, ("lat", "lon"), name="z", attrs={"units": "m"})
    array.to_netcdf(tmp_path / "dem.grd", engine="scipy")
    geographic = {"longitude": -122.03, "latitude": 46.2, "azimuth": 30.0}
    section = {"type": "file", "path": "dem.grd"}
    changes = {"topography": section, "geographic": geographic}
    (tmp_path / "run.yaml").write_text(
        seismo.load(solid()).changed(changes).to_yaml(), encoding="utf-8"
    )
    scenario = seismo.load(tmp_path / "run.yaml")
    ground = ground_of(scenario)
    east, north = Projection(scenario.geographic).to_geographic(
        ground.x[None, 15], ground.y[13, None]
    )
    exact = -(1000.0 + 3000.0 * (east + 122.03) + 5000.0 * (north - 46.2))
    assert ground.z[13, 15] == pytest.approx(float(exact[0]), abs=1e-2)


def test_rows_grow_under_a_hill() -> None:
    """By the velocities where points stand, among curved rows, too; waves do not notice."""
    soft = {
        "type": "gradient", "relative_to": "ground", "z_top": 0.0, "z_bottom": 1800.0,
        "vp": {"top": 2200.0, "bottom": 5500.0}, "vs": {"top": 1200.0, "bottom": 3000.0},
        "rho": {"top": 2000.0, "bottom": 2500.0},
    }  # fmt: skip
    rock = ROCK | {"vp": 5500.0, "vs": 3000.0, "rho": 2500.0}
    source = data()["sources"][0] | {"wavelet": {"type": "ricker", "frequency": 1.5}}
    source["position"] = {"x": 1500.0, "depth": 1800.0}
    hill = {"type": "hills", "hills": [HILL | {"height": 360.0, "width": 800.0}]}
    found = {}
    for name, along_z in (("even", H), ("grown", "auto")):
        grid = {"extent": {"x": 3000.0, "z": 3500.0}, "spacing": {"x": H, "z": along_z}, "order": 8}
        document = data(
            grid=grid, model=[rock, soft], sources=[source], topography=hill,
            time={"duration": 1.5},
        )  # fmt: skip
        with seismo.run(document, backend="cpu") as results:
            (traces,) = results.traces.values()
            found[name] = np.asarray(traces["vz"])
    discretization = discretize(seismo.load(document))
    grid = discretization.grid
    assert grid.heights(discretization.vertical.rows) > 1.1
    assert grid.points[2] < 0.85 * (3500.0 / H + 9)
    bottom = float(grid.coordinate("z", grid.points[2] - 9))
    assert bottom == pytest.approx(3500.0 - 360.0, abs=0.01)
    apart = np.abs(found["grown"] - found["even"]).max()
    assert 1e-6 < apart / np.abs(found["even"]).max() < 5e-3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"boundaries": {"top": "absorbing"}}, "topography is that of a free surface: set top"),
        ({"topography": {"type": "hills", "hills": [HILL | {"height": 420.0, "width": 160.0}]}},
         "degrees steep at"),
        ({"topography": {"type": "plane", "dip": 70.0, "through": {"x": 0, "z": 0}}}, "60"),
        ({"topography": {"type": "plane", "dip": 5.0, "azimuth": 90.0,
                         "through": {"x": 0, "z": 0}}}, "dips along x alone"),
        ({"topography": {"type": "file", "path": "none.npy"}}, "no such file"),
        ({"topography": {"type": "file", "path": "dem.asc"}}, "topography.format: missing"),
        ({"grid": data()["grid"] | {"origin": {"z": -100.0}}}, "lies below the highest ground"),
        ({"grid": {"extent": {"x": 3000.0, "z": 1200.0}, "spacing": H}}, "use 1399 m"),
        ({"boundaries": {"top": "free_surface", "x_min": "periodic", "x_max": "periodic"},
          "topography": {"type": "plane", "dip": 5.0, "through": {"x": 0, "z": 0}}},
         "periodic needs ground that is level beside it"),
        ({"model": [ROCK, {"type": "block", "x": [1000.0, 2000.0], "z": [-500.0, 50.0],
                           "vp": 1500.0, "vs": 0.0, "rho": 1000.0}]}, "there is a fluid at"),
        ({"receivers": [{"type": "points", "positions": [{"x": 1500.0, "z": -230.0}]}]},
         "lies 30 m above the ground, which has z = -200 m"),
        ({"receivers": [{"type": "points", "positions": [{"x": 1e3, "z": 0.0, "depth": 1.0}]}]},
         "says what z says"),
        ({"receivers": [{"type": "line", "start": {"x": 1e3, "z": 0.0}, "end": {"x": 2e3},
                         "count": 3}]}, "give both z"),
        ({"sources": [data()["sources"][0] | {"position": {"x": 1e3}}]}, "missing: give z, or"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_topography_is_refused(changes, words):
    with pytest.raises(ScenarioError) as caught:
        discretize(seismo.load(data(**changes)))
    assert words in str(caught.value)


def test_periodic_sides_are_as_far_apart_as_curved_rows_read():
    place = {"x": 1500.0, "y": 4.0 * H}
    document = data(
        grid={"extent": {"x": 3000.0, "y": 9.0 * H, "z": 2500.0}, "spacing": H, "order": 16},
        boundaries={"top": "free_surface", "layer": {"points": 8}}
        | dict.fromkeys(("y_min", "y_max"), "periodic"),
        topography={"type": "plane", "dip": 1.0, "through": {**place, "z": 0.0}},
        sources=[data()["sources"][0] | {"position": {**place, "depth": 200.0}}],
        receivers=[{"type": "points", "positions": [place]}],
    )
    with pytest.raises(ScenarioError, match=r"has 9 points, .* periodic face need 11"):
        discretize(seismo.load(document))


def test_planes_among_curved_rows_are_refused():
    for plane, words in (({"z": 100.0}, "use depth: 0 m"), ({"depth": 80.0}, "is no row")):
        maps = [{"quantities": ["pgv"], "plane": plane}]
        with pytest.raises(ScenarioError, match=words):
            discretize(seismo.load(solid(output={"maps": maps})))
    maps = [{"quantities": ["pgv"], "plane": {"depth": 0.0}, "name": "a"},
            {"quantities": ["pgv"], "plane": {"z": 1100.0}, "name": "b"}]  # fmt: skip
    discretization = discretize(seismo.load(solid(output={"maps": maps})))
    assert discretization.maps[0].cut.plane["z"] == pytest.approx(discretization.grid.origin[2])
    assert discretization.maps[1].cut.plane["z"] == pytest.approx(1100.0, abs=H / 2.0)


def test_planes_among_curved_rows_are_told_together():
    maps = [{"quantities": ["pgv"], "plane": {"z": z}, "name": f"z{z}"} for z in (100.0, 200.0)]
    with pytest.raises(ScenarioError) as refusal:
        discretize(seismo.load(solid(output={"maps": maps})))
    assert len(refusal.value.messages) == 2
    # The plane that is named suits.
    flat_from = float(refusal.value.messages[0].split("ground, z: ")[1].split(" m")[0])
    maps = [{"quantities": ["pgv"], "plane": {"z": flat_from}}]
    assert discretize(seismo.load(solid(output={"maps": maps}))).maps


@pytest.mark.parametrize("beyond", [1, 2])
def test_receivers_of_a_line_outside_a_grid_are_counted(beyond):
    top = -190.0 - 25.0 * beyond
    start, end = ({"x": 1500.0, "z": z} for z in (top, top + 100.0))
    lines = [{"type": "line", "start": start, "end": end, "count": 5}]
    with pytest.raises(ScenarioError, match="above the ground") as refusal:
        discretize(seismo.load(data(receivers=lines)))
    assert ("so do 2 of 5 receivers" in str(refusal.value)) == (beyond == 2)


def test_a_volume_that_reaches_the_ground_is_cut_along_it(tmp_path):
    """Not at the z of its highest point."""
    maps = [{"quantities": ["pgv"], "box": {"depth": [0.0, 100.0]}, "name": "upper"}]
    with seismo.run(solid(output={"maps": maps}), tmp_path / "a.h5", backend="cpu") as results:
        axes = results.maps["upper"].axes
        through = surface_of(results, axes)
        section = chosen_section(axes, through, "z", ground=results.ground)
        assert results.ground.is_on({"z": section.position})
        values = results.maps["upper"].values_of("pgv")[0]
        cut = section.oriented(values[section.index(axes)], axes)
        assert not np.isnan(cut).any()


def test_a_hill_outside_the_region_is_told():
    hills = {"type": "hills", "hills": [{"center": {"x": 1e6}, "height": 90.0, "width": 300.0}]}
    (line,) = ground_facts(discretize(seismo.load(data(topography=hills))))
    assert "level in all of the region" in line[1]


def test_the_earth_is_that_at_the_z_of_points():
    discretization = discretize(seismo.load(data()))
    flat = discretize(seismo.load(data(topography=None, receivers=[]))).earth
    s = np.linspace(discretization.grid.origin[2], 900.0, 57)[:, None]
    x = np.linspace(100.0, 2900.0, 41)[None]
    z = discretization.vertical.z(s, None, x)
    sampled = discretization.earth.sample(s, None, x)["vp"]
    assert (sampled == flat.sample(np.where(z < 0.0, 0.0, z), None, x)["vp"]).all()
    assert not discretization.earth.layered
    # Boxes that the contact at z = 150 m crosses, and no others, are uneven.
    low = (s - 20.0, None, x - 20.0)
    high = (s + 20.0, None, x + 20.0)
    tops = discretization.vertical.z(np.maximum(s - 20.0, discretization.grid.origin[2]), None, x)
    bottoms = discretization.vertical.z(s + 20.0, None, x)
    uneven = discretization.earth.uneven(low, high)
    assert uneven[(tops < 149.0) & (bottoms > 151.0)].all()
    assert not uneven[(bottoms < 130.0) | (tops > 170.0)].any()


@pytest.mark.usefixtures("no_remedies")
def test_one_rock_under_a_hill_is_checked():
    report = seismo.check(data(model=[ROCK]))
    assert "expected trace error" in str(report)
    (rock,) = report.layers
    assert rock.z == pytest.approx((-200.0, report.discretization.grid.limits("z")[1]), abs=0.3)


@pytest.mark.parametrize("scenario", [data, solid])
@pytest.mark.usefixtures("no_remedies")
def test_check_lists_media_by_the_z_at_which_they_occur(scenario):
    """The contact at z = 150 m, among curved rows, is told to the distance of two of them."""
    plan = seismo.check(scenario(model=[{"type": "layers", "layers": LAYERS}]))
    above, below = plan.layers
    assert above.z[0] == pytest.approx(-200.0, abs=0.3)
    assert 150.0 - H < above.z[1] < 150.0 <= below.z[0] < 150.0 + H
    assert below.z[1] == plan.discretization.grid.limits("z")[1]
    assert "z (m)" in str(plan)


def test_parts_may_follow_the_ground():
    followed = [{"type": "layers", "relative_to": "ground", "layers": [
        LAYERS[0] | {"top": 0.0}, LAYERS[1]]}]  # fmt: skip
    discretization = discretize(seismo.load(data(model=followed)))
    x = np.linspace(600.0, 2400.0, 37)
    for depth, vp in ((1.0, 3000.0), (149.0, 3000.0), (151.0, 4000.0), (400.0, 4000.0)):
        s = discretization.vertical.s(discretization.vertical.ground(None, x) + depth, None, x)
        assert (discretization.earth.sample(s, None, x)["vp"] == vp).all()
    grid = data()["grid"] | {"origin": {"z": -300.0}}
    flat = data(model=followed, topography=None, receivers=[], grid=grid)
    earth = discretize(seismo.load(flat)).earth
    z = np.array([-290.0, -151.0, -149.0])
    assert earth.sample(z, None, np.zeros(3))["vp"].tolist() == [3000.0, 3000.0, 4000.0]


def test_results_have_true_z_depth_and_elevation(tmp_path):
    maps = [{"quantities": ["pgv"], "plane": {"depth": 0.0}, "name": "ground"}]
    maps += [{"quantities": ["pgv", "vz"], "box": {"y": [700.0, 710.0]}, "name": "column"}]
    snapshots = [{"fields": ["vz"], "interval": 0.1, "plane": {"y": 700.0}}]
    short = solid(time={"duration": 0.1}, output={"maps": maps, "snapshots": snapshots})
    with seismo.run(short, backend="cpu") as results:
        # Rows are no depths of points, and only fields stand between nodes.
        column = results.to_xarray()["maps/column"]
        assert "standard_name" not in column["z"].attrs
        assert column["z"].attrs["long_name"].startswith("s, the z that rows have")
        assert column["z_true"].attrs["positive"] == "down"
        assert column["vz"].attrs["half_cell"] == "z"
        assert "half_cell" not in column["pgv"].attrs
        assert results.maps["ground"].described_plane == ["on the ground"]
        z = results.maps["ground"].z_true
        axes = results.maps["ground"].axes
        exact = -200.0 * np.exp(
            -(((axes["x"] - 800.0) / 350.0) ** 2) - ((axes["y"][:, None] - 700.0) / 350.0) ** 2
        )
        inner = np.ix_(slice_of(axes["y"]), slice_of(axes["x"]))
        assert z[inner] == pytest.approx(exact[inner], abs=0.3)  # a hill of seven spacings
        section = results.snapshots["wavefield"]
        row = list(section.axes["z"]).index(section.axes["z"].max())
        assert section.z_true[row] == pytest.approx(section.axes["z"][row])
        middle = int(np.abs(axes["x"] - 800.0).argmin())
        assert section.z_true[0, middle] == pytest.approx(-200.0, abs=0.3)
        (source,) = results.sources
        assert source["depth"] == pytest.approx(300.0)
        assert source["z"] == pytest.approx(100.0, abs=0.3)
        traces = results.traces["receivers"]
        height = 200.0 * math.exp(-(200.0**2 + 100.0**2) / 350.0**2)
        assert traces.coordinate("depth", 0) == pytest.approx([0.0], abs=1e-9)
        assert traces.coordinate("elevation", 0) == pytest.approx([height], abs=0.3)
        assert traces.heights(0) == pytest.approx([height], abs=0.3)
        assert "and are flat below z =" in results.info()
        for kind in ("peaks", "snapshot", "model"):
            results.plot(kind)
        for across in "yxz":
            results.plot("peaks", maps="column", section=across)
        with pytest.warns(ScenarioWarning, match=r"rows nearest to z = 105 m are drawn: rows fol"):
            figure = results.plot("peaks", maps="column", section="z:105 m")
        assert "rows nearest to z = 105 m" in figure.get_suptitle()
        with pytest.raises(ScenarioError, match="use --format xdmf"):
            write_side_files(results)
        files = {path.name: path for path in write_side_files(results, "xdmf")}
        name = next(name for name in files if name.endswith("ground-points.h5"))
        with h5py.File(files[name]) as file:
            points = file["points"][...]
        assert points.shape == (1, *z.shape, 3)
        assert points[0, ..., 2] == pytest.approx(-z, rel=1e-6, abs=1e-4)
        mesh = files[name.replace("-points.h5", ".xdmf")].read_text()
        assert "3DSMesh" in mesh
        assert f"{name}:/points" in mesh


def test_maps_of_one_z_have_the_rows_nearest_to_it_and_nothing_above_the_ground():
    """Between rows that follow the ground, of which each has points on both sides of it."""
    above = {"top": -1000.0, "vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
    layers = [{"type": "layers", "layers": [above, LAYERS[1] | {"top": -20.0}]}]
    document = solid(model=layers)
    document["sources"][0]["position"] = {"x": 800.0, "y": 700.0, "z": -90.0}
    with preview(document) as results:
        axes = results.model.axes
        through = source_position(results, None)
        *_, level_map = sections(axes, through, results.ground)
        assert level_map.title() == "rows nearest to z = -90 m"
        vp = level_map.oriented(results.model.values_of("vp", level_map.index(axes)), axes)
        ground = results.ground.at(axes["y"], axes["x"][:, None])
        assert vp.shape == ground.shape
        np.testing.assert_array_equal(np.isnan(vp), ground > -90.0)
        assert 30 < np.count_nonzero(vp == 3000.0) == np.count_nonzero(ground < -90.0)
        # Below the contact all is the other rock.
        below = chosen_section(axes, through, "z:40", ground=results.ground)
        vp = below.oriented(results.model.values_of("vp", below.index(axes)), axes)
        assert (vp[ground < 0.0] == 4000.0).all()
        assert np.isnan(vp[ground > 40.0]).all()
        with pytest.raises(ScenarioError, match="z is from -1"):
            chosen_section(axes, through, "z:-300", ground=results.ground)
        results.plot("model")


def test_sections_over_topography_are_drawn_where_points_stand():
    """Rows of the image are even in z: what is linear in z stays so, a model keeps its cells."""
    with seismo.run(data(), backend="cpu") as results:
        axes = results.model.axes
        section = chosen_section(axes, {}, None, ground=results.ground)
        z = section.z(axes)
        smooth = on_even_rows(section, z, axes)
        assert len(section.row_cache) == 1
        np.testing.assert_array_equal(on_even_rows(section, z, axes), smooth)
        cells = on_even_rows(section, z, axes, is_smooth=False)
        _, corners = section.corners(axes)
        even = np.linspace(corners.min(), corners.max(), 2 * len(smooth) + 1)[1::2, None]
        inside = (z[0] <= even) & (even <= z[-1])
        np.testing.assert_allclose(smooth[inside], (even + 0.0 * z[0])[inside], atol=1e-9)
        np.testing.assert_array_equal(
            smooth[even < z[0]], np.broadcast_to(z[0], smooth.shape)[even < z[0]]
        )
        nearest = np.abs(even[:, None] - z).min(axis=1)
        np.testing.assert_allclose(np.abs(cells - even), nearest, atol=1e-9)
        assert len(even) > 2 * len(z)


def assert_cells_fill(panel, maps):
    """Cells fill the panel and are a spacing wide; those of one row as high, half on the ground."""
    scale, _ = length_unit(*maps.axes.values())
    (image,) = panel.images
    assert image.get_array().shape[1] == maps.z_true.shape[1]
    path, _ = image.get_clip_path().get_transformed_path_and_affine()
    # The ground, or the ends of the first cells, and those of the last, back.
    top, bottom = np.split(path.vertices / scale, 2)
    np.testing.assert_allclose(np.diff(top[:, 0]), H, rtol=1e-6)
    np.testing.assert_allclose(top[:, 0], bottom[::-1, 0])
    heights = bottom[::-1, 1] - top[:, 1]
    assert (heights > 0.0).all()
    if len(maps.z_true) == 1:
        height = 0.5 * H if maps.ground.is_on({"z": maps.axes["z"][0]}) else H
        np.testing.assert_allclose(heights, height, rtol=1e-6)
    z = np.stack([top[:, 1], bottom[:, 1]])
    assert np.array(image.get_extent()) / scale == pytest.approx(
        (top[0, 0], top[-1, 0], z.min(), z.max())
    )
    assert np.array(panel.get_xlim()) / scale == pytest.approx(top[[0, -1], 0])
    assert panel.get_ylim()[0] / scale == pytest.approx(z.max())
    assert panel.get_ylim()[1] / scale < z.min()


@pytest.mark.parametrize("topography", [data()["topography"], None], ids=["hill", "flat"])
@pytest.mark.usefixtures("no_remedies")
def test_maps_of_a_2d_run_are_lines_and_boxes_go_by_depth(topography):
    """The line on the ground is the first row of the map of all; a box below it its first rows."""
    maps = [{"quantities": ["pgv", "pga"], "name": "all"},
            {"quantities": ["pgv", "pga"], "name": "ground", "plane": {"depth": 0.0}},
            {"quantities": ["pgv"], "name": "upper", "box": {"depth": [0.0, 2.0 * H]}},
            {"quantities": ["pgv"], "name": "well", "plane": {"x": 1500.0}},
            {"quantities": ["pgv"], "name": "row", "box": {"depth": [0.0, 5.0]}},
            {"quantities": ["pgv"], "name": "lower_row", "box": {"z": [100.0, 110.0]}},
            {"quantities": ["pgv"], "name": "column", "box": {"x": [1000.0, 1010.0]}}]  # fmt: skip
    receivers = [{"type": "points", "positions": [{"x": 900.0, "depth": 0.0}]}]
    document = data(topography=topography, output={"maps": maps}, receivers=receivers)
    facts = str(seismo.check(document))
    assert ("upper: its first row is 0 m and the last" in facts) == (topography is not None)
    with seismo.run(document, backend="cpu") as results:
        every = results.maps["all"]
        for name in ("pgv", "pga"):
            line = results.maps["ground"].values_of(name)
            np.testing.assert_array_equal(line, every.values_of(name)[:, 0])
        assert line.any()
        upper = results.maps["upper"]
        np.testing.assert_array_equal(upper.values_of("pgv"), every.values_of("pgv")[:, :3])
        column = list(every.axes["x"]).index(1500.0)
        well = results.maps["well"].values_of("pgv")
        np.testing.assert_array_equal(well, every.values_of("pgv")[..., column])
        # A curve for each quantity, over x or beside z.
        ground_figure = results.plot("peaks", maps="ground")
        assert [panel.get_xlabel() for panel in ground_figure.axes] == ["x (km)"] * 2
        curve = ground_figure.axes[0].lines[0].get_ydata()
        np.testing.assert_allclose(curve, results.maps["ground"].values_of("pga")[0], rtol=1e-6)
        (panel,) = results.plot("peaks", maps="well", scale="log").axes
        assert panel.yaxis_inverted()
        assert panel.get_xscale() == "log"
        assert [text.get_text() for text in ground_figure.legends[0].texts] == ["source"]
        for option in ({"section": "x"}, {"clip": 90.0}, {"coast": True}):
            message = f"^{next(iter(option))}: maps ground lie on a line along x .* leave it out$"
            with pytest.raises(ScenarioError, match=message):
                results.plot("peaks", maps="ground", **option)
        for name in ("upper", "row", "lower_row", "column"):
            figure = results.plot("peaks", maps=name)
            if topography is not None:
                assert_cells_fill(figure.axes[0], results.maps[name])
        assert "ground: 1 shot, 61 points (x)" in results.info()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"box": {"depth": [-10.0, 20.0]}}, "begins 10 m above the ground"),
        ({"box": {"depth": [0.0, 20.0], "z": [0.0, 20.0]}}, "has both 'z' and 'depth'"),
        ({"box": {"depth": [10.0, 20.0]}}, r"box.depth.* holds no point of the grid"),
        ({"plane": {"y": 0.0}}, "a 2-D run has no y"),
        ({"box": {"depth": [0.0, 5e3]}}, "box.depth.* and the grid ends at"),
        ({"plane": {"x": 0.0}, "box": {"x": [0.0, 9.0]}}, "the plane has one x: leave it out"),
    ],
)
def test_boxes_and_lines_that_do_not_do_are_refused(entry, message):
    document = data(output={"maps": [{"quantities": ["pgv"]} | entry]})
    with pytest.raises(ScenarioError, match=message):
        discretize(seismo.load(document))


def test_positions_over_topography_are_0_where_that_is_meant():
    """As deep below the ground as that lies above z = 0."""
    x = np.linspace(1200.0, 1800.0, 25)
    depths = -discretize(seismo.load(data())).vertical.ground(None, x)
    places = [
        {"x": a, "depth": depth} for a, depth in zip(x.tolist(), depths.tolist(), strict=True)
    ]
    receivers = [{"type": "points", "positions": places}]
    source = data()["sources"][0] | {"position": places[6]}
    with preview(data(receivers=receivers, sources=[source])) as results:
        assert results.traces["receivers"].z.tolist() == [0.0] * x.size
        assert results.traces["receivers"].column("depth") == pytest.approx(depths, abs=1e-9)
        assert f"at x {x[6]:g}, z 0 m" in results.info()


def test_check_tells_what_ground_and_contacts_below_it_err():
    """A summit 2.8 cells above a contact; steep ground errs by more than level ground."""
    below = ROCK | {"type": "block", "z": [-60.0, 5000.0]}
    hard = [ROCK | {"vp": 4500.0, "vs": 2600.0}, below]
    receivers = [{"type": "points", "positions": [{"x": 1500.0, "depth": 0.0}]}]
    capped = discretize(seismo.load(data(model=hard, receivers=receivers)))
    assert near_receivers(capped)[0].error > 0.05
    even = discretize(seismo.load(data(model=[ROCK], receivers=receivers)))
    assert near_receivers(even)[0].error == 0.0
    steep = [{"center": {"x": 1500.0}, "height": 200.0, "width": 250.0}]
    steeper = data(model=[ROCK], receivers=receivers, topography={"type": "hills", "hills": steep})
    share = [
        dict(expected_error(discretization).causes)["the free surface"]
        for discretization in (even, discretize(seismo.load(steeper)))
    ]
    assert share[1] > 1.3 * share[0] > 0.0


def test_a_file_of_another_place_and_gaps_are_refused(tmp_path):
    heights = np.full((5, 5), 100.0)
    np.save(tmp_path / "heights.npy", heights)
    file = {"type": "file", "path": "heights.npy", "spacing": 400.0}
    document = solid() | {"topography": file | {"origin": {"x": 9000.0, "y": 0.0}}}
    document["topography"]["outside"] = "nearest"
    with pytest.raises(ScenarioError, match="take another file, or check origin, spacing, crs"):
        ground_of(from_dict(document, tmp_path))
    heights[2, 2] = -9999.0
    np.save(tmp_path / "heights.npy", heights)
    with pytest.raises(ScenarioError, match="has no height at y 800, x 800"):
        ground_of(from_dict(solid() | {"topography": file}, tmp_path))


def test_heights_that_are_depths_are_turned_and_two_for_a_point_refused(tmp_path):
    xarray = pytest.importorskip("xarray")
    axis = np.arange(0.0, 2001.0, 400.0)
    rows, columns = np.meshgrid(axis, axis, indexing="ij")
    heights = 1e-5 * (rows + columns) ** 2
    attributes = {"units": "m", "positive": "down"}
    depths = xarray.DataArray(-heights, {"y": axis, "x": axis}, ("y", "x"), attrs=attributes)
    depths.to_dataset(name="depth").to_netcdf(tmp_path / "depths.nc", engine="h5netcdf")
    table = np.stack([columns.ravel(), rows.ravel(), heights.ravel()], axis=1)
    np.savetxt(tmp_path / "heights.txt", table)
    np.savetxt(tmp_path / "twice.txt", np.concatenate([table, table[:1] + 9.0 * np.eye(3)[2]]))
    table[7, 2] = np.nan
    np.savetxt(tmp_path / "gap.txt", table)
    with pytest.raises(ScenarioError, match=r"gap\.txt has no height at y 400, x 400"):
        ground_of(
            from_dict(solid() | {"topography": {"type": "file", "path": "gap.txt"}}, tmp_path)
        )
    turned, read = (
        ground_of(from_dict(solid() | {"topography": {"type": "file", "path": path}}, tmp_path)).z
        for path in ("depths.nc", "heights.txt")
    )
    np.testing.assert_allclose(turned, read, atol=1e-9)
    with pytest.raises(ScenarioError, match=r"twice\.txt:1: another line has another height there"):
        ground_of(
            from_dict(solid() | {"topography": {"type": "file", "path": "twice.txt"}}, tmp_path)
        )
