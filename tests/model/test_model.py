"""The earth model: what each part paints, in which order, and what is refused."""

from pathlib import Path
from types import SimpleNamespace as Spec

import numpy as np
import pytest
from pydantic import TypeAdapter

from seismo.errors import ModelError
from seismo.model.build import build_earth
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.extremes import extremes_of
from seismo.scenario.model_parts import ModelPart

HERE = Path()
SPACING = {"x": 10.0, "y": 10.0, "z": 10.0}


def uniform(**values):
    return Spec(type="uniform", **({"vp": None, "vs": None, "rho": None} | values))


def layer(top, vp, vs=None, rho=None, **gradients):
    slopes = {"vp_gradient": 0.0, "vs_gradient": 0.0, "rho_gradient": 0.0} | gradients
    return Spec(top=top, vp=vp, vs=vs, rho=rho, **slopes)


def layers(*given):
    return Spec(type="layers", layers=given)


def block(**keys):
    return Spec(type="block", **(dict.fromkeys(("x", "y", "z", "vp", "vs", "rho")) | keys))


def sphere(center, radius, **values):
    middle = Spec(**({"y": None} | center))
    return Spec(
        type="sphere", center=middle, radius=radius, **(dict.fromkeys(("vp", "vs", "rho")) | values)
    )


def polygon(*points, **values):
    return Spec(type="polygon", points=points, **(dict.fromkeys(("vp", "vs", "rho")) | values))


def interface(*points, **values):
    return Spec(**polygon(*points, **values).__dict__ | {"type": "interface"})


def gradient(**keys):
    return Spec(type="gradient", **(dict.fromkeys(("z_top", "z_bottom", "vp", "vs", "rho")) | keys))


def table(rows=None, path=None, interpolation="linear", attenuates=False):
    return Spec(
        type="table", rows=rows, path=path, interpolation=interpolation, attenuates=attenuates
    )


def water(depth):
    return Spec(type="water", depth=depth, vp=1500.0, rho=1000.0)


ROCK = uniform(vp=3000.0, vs=1500.0, rho=2200.0)


def test_later_parts_overwrite_and_leave_what_they_do_not_give():
    earth = build_earth([ROCK, uniform(vp=4000.0), block(z=(100.0, 200.0), vs=2000.0)], HERE)
    found = earth.sample(np.array([50.0, 100.0, 150.0, 200.0, 201.0]), None)
    assert found["vp"].tolist() == [4000.0] * 5
    assert found["vs"].tolist() == [1500.0, 2000.0, 2000.0, 2000.0, 1500.0]
    assert found["rho"].tolist() == [2200.0] * 5


def test_layers_begin_at_their_tops_and_the_first_reaches_up():
    earth = build_earth(
        [layers(layer(0.0, 2000.0), layer(100.0, 3000.0, vp_gradient=2.0))], HERE, ("vp",)
    )
    found = earth.sample(np.array([-50.0, 0.0, 99.9, 100.0, 150.0]), None)["vp"]
    assert found.tolist() == [2000.0, 2000.0, 2000.0, 3000.0, 3100.0]


def test_gradient_is_linear_between_and_constant_beyond():
    part = gradient(z_top=100.0, z_bottom=300.0, vp=Spec(top=2000.0, bottom=4000.0))
    found = build_earth([part], HERE, ("vp",)).sample(
        np.array([0.0, 100.0, 150.0, 300.0, 900.0]), None
    )
    assert found["vp"].tolist() == [2000.0, 2000.0, 2500.0, 4000.0, 4000.0]
    part = gradient(vp=Spec(top=2000.0, bottom=4000.0))
    earth = build_earth([part], HERE, ("vp",), ((0.0, 1000.0), None, (0.0, 1.0)))
    assert earth.sample(np.array([250.0, 5000.0]), None)["vp"].tolist() == [2500.0, 4000.0]


def test_tables_linear_constant_and_with_a_jump(tmp_path: Path):
    rows = [
        [0.0, 2000.0, 1000.0, 2000.0],
        [100.0, 3000.0, 1500.0, 2100.0],
        [100.0, 5000.0, 2800.0, 2700.0],
    ]
    z = np.array([0.0, 50.0, 99.999999, 100.0, 400.0])
    found = build_earth([table(rows)], HERE).sample(z, None)
    assert np.allclose(found["vp"], [2000.0, 2500.0, 3000.0, 5000.0, 5000.0])
    found = build_earth([table(rows, interpolation="constant")], HERE).sample(z, None)
    assert found["vs"].tolist() == [1000.0, 1000.0, 1000.0, 2800.0, 2800.0]
    (tmp_path / "t.csv").write_text(
        "# a comment\nrho, depth; vp vs\n"
        "2000, 0, 2000, 1000\n2100 100 3000 1500\n2700 100 5000 2800\n"
    )
    again = build_earth([table(path="t.csv")], tmp_path).sample(z, None)
    for name, values in build_earth([table(rows)], HERE).sample(z, None).items():
        assert np.array_equal(again[name], values)


@pytest.mark.parametrize("turned", [False, True], ids=["one way", "the other"])
def test_a_polygon_has_its_corners_and_its_area(turned):
    """An L of 3/4 of 80 m x 80 m; its notch, and what lies beside it, are the surroundings'."""
    corners = [(10.0, 10.0), (90.0, 10.0), (90.0, 50.0), (50.0, 50.0), (50.0, 90.0), (10.0, 90.0)]
    earth = build_earth([ROCK, polygon(*corners[:: -1 if turned else 1], vp=4000.0)], HERE)
    z, x = np.arange(100.0)[:, None] + 0.5, np.arange(100.0)[None] + 0.5
    inside = earth.sample(z, None, x)["vp"] == 4000.0
    expected = (x > 10) & (x < 90) & (z > 10) & (z < 90) & ((x < 50) | (z < 50))
    assert np.array_equal(inside, expected)
    assert np.all(earth.sample(z, None, x)["vs"] == 1500.0)
    deep = earth.sample(z[:, None], np.zeros((1, 3, 1)), x[None])["vp"]
    assert np.array_equal(deep == 4000.0, np.repeat(expected[:, None], 3, 1))


def test_interfaces_are_straight_between_their_points_flat_beyond_and_pinch_out():
    parts = [ROCK, interface((10.0, 30.0), (60.0, 80.0), vp=4000.0),
             interface((0.0, 50.0), (1.0, 50.0), vp=5000.0)]  # fmt: skip
    earth = build_earth(parts, HERE)
    z, x = np.arange(0.25, 100.0)[:, None], np.arange(100.0)[None]
    top = np.interp(x, [10.0, 60.0], [30.0, 80.0])
    expected = np.where(z >= 50.0, 5000.0, np.where(z >= top, 4000.0, 3000.0))
    assert np.array_equal(earth.sample(z, None, x)["vp"], expected)
    assert not earth.layered


def test_the_edges_of_polygons_are_found_in_the_cells_that_they_cross():
    """A cell of one value has its value at all of 21 x 21 points; the others are a subset."""
    earth = build_earth([ROCK, polygon((13.0, 21.0), (83.0, 37.0), (31.0, 88.0), vp=4000.0)], HERE)
    low = np.arange(0.0, 100.0, 10.0)
    uneven = earth.uneven(
        (low[:, None], None, low[None]), (low[:, None] + 10, None, low[None] + 10)
    )
    fine = (low[:, None] + np.linspace(0.0, 10.0, 21)).ravel()
    values = earth.sample(fine[:, None], None, fine[None])["vp"].reshape(10, 21, 10, 21)
    mixed = np.ptp(values, axis=(1, 3)) > 0.0
    assert mixed.sum() > 15
    assert not (mixed & ~uneven).any()
    assert (uneven & ~mixed).sum() <= 3  # corners that are cut by less than half a metre


def test_blocks_and_spheres_in_two_and_three_dimensions():
    parts = [ROCK, block(x=(0.0, 10.0), y=(0.0, 10.0), z=(0.0, 10.0), vp=3100.0)]
    parts.append(sphere({"x": 50.0, "y": 50.0, "z": 50.0}, 10.0, vp=3200.0))
    earth = build_earth(parts, HERE)
    axis = np.arange(0.0, 101.0, 5.0)
    vp = earth.sample(axis[:, None, None], axis[None, :, None], axis)["vp"]
    assert vp.shape == (21, 21, 21)
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    ball = (x - 50) ** 2 + (y - 50) ** 2 + (z - 50) ** 2 <= 100
    box = (x <= 10) & (y <= 10) & (z <= 10)
    assert np.array_equal(vp, np.where(ball, 3200.0, np.where(box, 3100.0, 3000.0)))
    flat = earth.sample(axis[:, None], None, axis)["vp"]  # in 2-D y plays no part
    assert np.array_equal(flat == 3200.0, (x - 50)[0] ** 2 + (z - 50)[:, 0] ** 2 <= 100)
    assert not earth.layered


def test_water_lies_above_the_sea_bed():
    found = build_earth([ROCK, water(100.0)], HERE).sample(np.array([0.0, 99.9, 100.0]), None)
    assert found["vp"].tolist() == [1500.0, 1500.0, 3000.0]
    assert found["vs"].tolist() == [0.0, 0.0, 1500.0]
    assert found["rho"].tolist() == [1000.0, 1000.0, 2200.0]


def test_the_edge_of_the_interior_goes_on_in_the_absorbing_layers():
    # A block that ends with the region must not end there for a wave that leaves it.
    clamp = ((0.0, 100.0), None, (0.0, 200.0))
    earth = build_earth([ROCK, block(x=(150.0, 200.0), vp=4000.0)], HERE, clamp=clamp)
    found = earth.sample(np.array([[50.0]]), None, np.array([[-80.0, 149.0, 200.0, 280.0]]))
    assert found["vp"].tolist() == [[3000.0, 3000.0, 4000.0, 4000.0]]


def test_extremes_leave_fluids_out_of_the_slowest_shear():
    axis = np.arange(0.0, 301.0, 10.0)
    for lateral in ([], [block(x=(0.0, 50.0), z=(200.0, 250.0), vs=1700.0)]):
        earth = build_earth([ROCK, water(100.0), *lateral], HERE)
        found = extremes_of(earth, GridCells(axis, axis[:5], axis, SPACING))
        assert (found.vp_min, found.vp_max) == (1500.0, 3000.0)
        assert (found.vs_min, found.vs_max) == (1500.0, 1700.0 if lateral else 1500.0)
        assert (found.rho_min, found.rho_max) == (1000.0, 2200.0)
        assert found.fluid
        assert found.ratio_min == pytest.approx(3000.0 / found.vs_max)
    assert not extremes_of(build_earth([ROCK], HERE), GridCells(axis, None, axis, SPACING)).fluid
    fluid = build_earth([uniform(vp=1500.0)], HERE, ("vp",))
    assert extremes_of(fluid, GridCells(axis, None, axis, SPACING)).vs_max == 0.0


BED = layers(layer(0.0, 2000.0), layer(102.0, 5000.0), layer(107.0, 2000.0))
BODY = block(x=(102.0, 107.0), z=(102.0, 107.0), vp=5000.0)


@pytest.mark.parametrize("parts", [[BED], [uniform(vp=2000.0), BODY]])
def test_what_lies_between_the_nodes_counts(parts):
    """An effective medium holds a part of it; values at the points do not."""
    axis = np.arange(0.0, 301.0, 10.0)
    earth = build_earth(parts, HERE, ("vp",))
    assert extremes_of(earth, GridCells(axis, None, axis, SPACING)).vp_max == 5000.0
    assert extremes_of(earth, GridCells(axis, None, axis, SPACING), cells=False).vp_max == 2000.0
    wide = build_earth([uniform(vp=5000.0), uniform(vp=2000.0)], HERE, ("vp",))
    assert extremes_of(wide, GridCells(axis, None, axis, SPACING)).vp_max == 2000.0


def test_a_file_finer_than_the_grid_may_be_faster_between_the_nodes(tmp_path: Path):
    """One fast point in a file of 2.5 m, met by the samples 1.25 m from it (linear: a quarter)."""
    values = np.full((121, 121), 2000.0, np.float32)
    values[42, 42] = 6000.0
    np.save(tmp_path / "vp.npy", values)
    step = {"x": 2.5, "z": 2.5}
    part = {"type": "file", "vp": {"path": "vp.npy", "spacing": step, "origin": {"x": 0, "z": 0}}}
    earth = build_earth([TypeAdapter(ModelPart).validate_python(part)], tmp_path, ("vp",))
    axis = np.arange(0.0, 301.0, 10.0)
    assert extremes_of(earth, GridCells(axis, None, axis, SPACING), cells=False).vp_max == 2000.0
    assert extremes_of(earth, GridCells(axis, None, axis, SPACING)).vp_max == pytest.approx(3000.0)


GIVEN = ("vp", "vs", "rho")
WATER, ROCK_BELOW = (1500.0, 0.0, 1000.0), (2400.0, 1000.0, 2100.0)


def from_files(folder: Path, width: float, *names: str) -> Earth:
    """Read files of points 5 m apart, 100 m deep."""
    files = {name: {"path": f"{name}.npy"} for name in names}
    part = TypeAdapter(ModelPart).validate_python({"type": "file", **files})
    limits, spacing = ((0.0, 100.0), None, (0.0, width)), dict.fromkeys("xz", 5.0)
    return build_earth([part], folder, names, limits, spacing)


def save_sea_bed(folder: Path, bed: float, across: int) -> None:
    """Write files of water above a depth and rock below."""
    z = np.arange(0.0, 101.0, 5.0)
    for name, above, below in zip(GIVEN, WATER, ROCK_BELOW, strict=True):
        values = np.where(z < bed, above, below)
        np.save(folder / f"{name}.npy", np.repeat(values[:, None], across, 1).squeeze())


@pytest.mark.parametrize("across", [1, 4])
def test_nothing_lies_between_the_water_and_the_rock_of_a_file(tmp_path: Path, across):
    """The bed is half way: linear values are a slow mud, in which no grid has enough points."""
    save_sea_bed(tmp_path, 50.0, across)
    earth = from_files(tmp_path, 5.0 * across, *GIVEN)
    z = np.array([44.0, 47.4, 47.6, 50.0, 55.0])
    found = earth.sample(z[:, None], None, np.array([[2.0, 7.0]]))
    for name, above, below in zip(GIVEN, WATER, ROCK_BELOW, strict=True):
        assert (found[name] == np.where(z < 47.5, above, below)[:, None]).all()
    assert earth.layered


def test_a_sloping_bed_of_a_file_has_steps(tmp_path: Path):
    """Nowhere in its cells is anything between fluid and solid."""
    save_sea_bed(tmp_path, 50.0, 4)
    vs = np.load(tmp_path / "vs.npy")
    vs[9, 2:] = 1000.0  # from x = 10 m on the rock begins one point higher
    np.save(tmp_path / "vs.npy", vs)
    earth = from_files(tmp_path, 15.0, *GIVEN)
    found = earth.sample(np.linspace(0, 100, 201)[:, None], None, np.linspace(0, 15, 31))["vs"]
    assert set(np.unique(found)) == {0.0, 1000.0}
    assert not earth.layered


def test_rock_beside_water_stays_linear(tmp_path: Path):
    """At scattered points, whose weights add up to 1 but for rounding."""
    z, x = np.arange(0.0, 101.0, 5.0)[:, None], np.arange(0.0, 51.0, 5.0)
    np.save(tmp_path / "vs.npy", np.where(z < 50.0, 0.0, 500.0 + 3.0 * z + x))
    earth = from_files(tmp_path, 50.0, "vs")
    random = np.random.default_rng(2)
    z, x = random.uniform(50.0, 100.0, 1000), random.uniform(0.0, 50.0, 1000)
    assert earth.sample(z, None, x)["vs"] == pytest.approx(500.0 + 3.0 * z + x, rel=1e-12)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([uniform(vp=3000.0, rho=2000.0)], "no part gives vs everywhere"),
        ([ROCK, uniform(vs=2700.0)], r"model\[1\]\.vs: vp/vs is 1\.111 at z = 0 m, x = 0 m"),
        (
            [layers(layer(0.0, 3e3, 1e3, 2e3), layer(4.0, 3e3, 2.7e3, 2e3))],
            r"model\[0\]\.layers\[1\]\.vs: vp/vs is 1\.111 at z = 5 m",
        ),
        (
            [uniform(vp=1000.0, vs=1800.0, rho=2000.0)],
            r"model\[0\]\.vs: vp/vs is 0\.556 at z = 0 m, x = 0 m; vs is larger than vp: are they "
            r"exchanged\?",
        ),
        ([ROCK, block(z=(4.0, 6.0), vp=1100.0)], r"model\[1\]\.vp: vp/vs is"),
        (
            [table(rows=[(0.0, 3e3, 1e3, 2e3), (4.0, 3e3, 2.7e3, 2e3)], interpolation="linear")],
            r"model\[0\]\.rows\[1\]: vp/vs is",
        ),
        (
            [ROCK, block(z=(4.0, 6.0), vp=-1.0)],
            r"model\[1\]\.vp: vp is -1 at z = 5 m, x = 0 m; must be above 0",
        ),
        ([ROCK, block(z=(4.0, 6.0), rho=0.0)], r"model\[1\]\.rho: rho is 0 at z = 5 m"),
        (
            [layers(layer(5.0, 1e3), layer(5.0, 2e3))],
            r"model\[0\]\.layers\[1\]\.top: 5 m is not below",
        ),
        ([layers(layer(0.0, 1e3, 500.0, 2e3), layer(5.0, 2e3))], r"layers\[1\]\.vs: missing"),
        ([gradient(vp=Spec(top=1e3, bottom=2e3))], r"model\[0\]: a gradient needs z_top"),
        ([gradient(z_top=1.0, z_bottom=0.0, vp=Spec(top=1e3, bottom=2e3))], "not below z_top"),
        ([table(path="none.csv")], r"no such file as none\.csv; expected rows of z, vp, vs, rho"),
    ],
)
def test_mistakes_are_named_in_one_line(parts, message):
    with pytest.raises(ModelError, match=message) as caught:
        build_earth(parts, HERE).sample(np.array([[0.0], [5.0]]), None, np.array([0.0, 1.0]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 2\n", ":1: 3 columns"),
        ("0 1 2 x\n", ":1: 'x' is not a number"),
        ("z vp vs q\n0 1 2 3\n", ":1: columns z, vp, vs, q"),
        ("0 200 20 30\n-1 200 20 30\n", ":2: depth -1 lies above"),
        ("0 2000 900 2100\n9 3.5 2 2300\n", r":2: vp: 3.5 m/s is .* did you mean '3.5 km/s'\?"),
        ("0 2000 1.1 2100\n", ":1: vs: 1.1 m/s is too slow for S waves"),
        ("0 2000 900 2.1\n", r":1: rho: 2.1 kg/m3 is too light .* did you mean '2.1 g/cm3'\?"),
        ("0 2000 900 2.1e6\n", ":1: rho: 2.1e\\+06 kg/m3 is no density"),
        ("0 1 2 nan\n", ":1: 'nan' is not a number"),
        ("# nothing\n", "has no rows"),
    ],
)
def test_a_malformed_table_is_refused(tmp_path: Path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ModelError, match=message):
        build_earth([table(path="t.csv")], tmp_path)


LOSSY_ROWS = [
    [0.0, 2000.0, 1000.0, 2000.0, 80.0, 40.0],
    [100.0, 3000.0, 1500.0, 2100.0, 160.0, 60.0],
    [100.0, 5000.0, 2800.0, 2700.0, np.inf, np.inf],
]


def test_tables_with_quality_factors(tmp_path: Path):
    """Linear in Q between rows; lossless from a row of that depth on; alike from a file."""
    needs = ("vp", "vs", "rho", "qp", "qs")
    z = np.array([0.0, 50.0, 100.0, 400.0])
    found = build_earth([table(LOSSY_ROWS)], HERE, needs).sample(z, None)
    assert found["qp"].tolist() == [80.0, 120.0, np.inf, np.inf]
    assert found["qs"].tolist() == [40.0, 50.0, np.inf, np.inf]
    lines = [" ".join(f"{row[k]:g}" for k in (5, 4, 0, 1, 2, 3)) for row in LOSSY_ROWS]
    (tmp_path / "t.csv").write_text("\n".join(["qs qp z vp vs rho", *lines]))
    again = build_earth([table(path="t.csv", attenuates=True)], tmp_path, needs).sample(z, None)
    for name in needs:
        assert np.array_equal(again[name], found[name])


@pytest.mark.parametrize(
    ("text", "attenuates", "message"),
    [
        ("0 200 20 30 80 40\n", False, ":1: 6 columns; .* for 6 columns write attenuates: true"),
        ("z vp vs rho qp qs\n", False, ":1: columns z, .* for 6 columns write attenuates: true"),
        (
            "0 200 20 30\n",
            True,
            ":1: 4 columns; .* qp, qs .* for 4 columns write attenuates: f",
        ),
        (
            "0 2000 900 2100 80\n",
            True,
            ":1: 5 columns; expected rows of z, vp, vs, rho, qp, qs",
        ),
        ("0 2000 900 2100 80 3\n", True, ":1: qs: 3 is no S quality factor"),
        ("0 inf 900 2100 80 30\n", True, ":1: 'inf' is not a number"),
        (
            "0 2000 900 2100 80 30\n9 2000 900 2100 inf 30\n",
            True,
            "between z = 0 and 9 m a q",
        ),
    ],
)
def test_a_malformed_table_of_quality_factors_is_refused(tmp_path: Path, text, attenuates, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ModelError, match=message):
        build_earth([table(path="t.csv", attenuates=attenuates)], tmp_path)


def test_the_parts_of_a_scenario_are_understood(tmp_path: Path):
    np.save(tmp_path / "vs.npy", np.full((3, 3), 0.9))
    written = [
        {"type": "uniform", "vp": "3 km/s", "vs": 1500.0, "rho": 2200.0},
        {"type": "layers", "layers": [{"top": 0.0, "vp": 2000.0, "vs": 800.0, "rho": 2000.0}]},
        {"type": "table", "rows": [[0.0, 2000.0, 1000.0, 2000.0], [100.0, 3000.0, 1500.0, 2300.0]]},
        {"type": "gradient", "vp": {"top": 2000.0, "bottom": 3000.0}},
        {"type": "file", "vs": {"path": "vs.npy", "units": "km/s"}},
        {"type": "block", "x": [0.0, 10.0], "vp": 2500.0},
        {"type": "sphere", "center": {"x": 0.0, "z": 50.0}, "radius": 10.0, "vp": 2600.0},
        {"type": "water", "depth": 20.0},
    ]
    parts = TypeAdapter(list[ModelPart]).validate_python(written)
    earth = build_earth(
        parts, tmp_path, clamp=((0.0, 1e3), None, (0.0, 1e3)), spacing={"z": 5, "x": 5}
    )
    found = earth.sample(np.array([[0.0], [50.0], [100.0]]), None, np.array([5.0, 500.0]))
    assert found["vp"].tolist() == [[1500.0, 1500.0], [2600.0, 2050.0], [2500.0, 2100.0]]
    assert found["vs"].tolist() == [[0.0, 0.0], [900.0, 900.0], [900.0, 900.0]]
    assert np.allclose(found["rho"][:, 0], [1000.0, 2150.0, 2300.0])
