"""Models in SEG-Y: the same medium whatever its numbers, scalars and order of traces."""

from pathlib import Path

import numpy as np
import pytest
import segyio

import seismo
from seismo.errors import ModelError, ScenarioError
from seismo.scenario import load
from seismo.solver.discretize import discretize

PLANE = """\
physics: acoustic
grid: {extent: {x: 300, z: 200}, spacing: 10}
time: {duration: 0.2}
model:
  - {type: file, vp: {path: vp.sgy, KEYS}}
sources:
  - {type: pressure, position: {x: 150, z: 100}, wavelet: {type: ricker, frequency: 10}}
"""
CUBE = PLANE.replace("x: 300, z: 200", "x: 300, y: 120, z: 200").replace(
    "x: 150, z", "x: 150, y: 60, z"
)


def linear(z, y, x):
    """Interpolation is exact for what is linear along each axis."""
    return 1500.0 + 2.0 * z + 3.0 * y + 5.0 * x


def write(path: Path, traces, positions, interval=10_000, form=5, scalar=-100, **headers):
    """Write traces (trace, sample) at positions (trace, 2) in m."""
    spec = segyio.spec()
    spec.samples = np.arange(traces.shape[1])
    spec.tracecount, spec.format = len(traces), form
    spec.endian = headers.pop("endian", "big")
    factor = {0: 1.0}.get(scalar, -scalar if scalar < 0 else 1.0 / (scalar or 1))
    with segyio.create(path, spec) as file:
        file.bin[segyio.BinField.Interval] = interval
        for n, (trace, place) in enumerate(zip(traces, positions, strict=True)):
            x, y = (round(c * factor) for c in place)
            file.header[n] = {71: scalar, 181: x, 185: y, 115: traces.shape[1], 117: interval} | {
                int(field[1:]): int(np.broadcast_to(value, len(traces))[n])
                for field, value in headers.items()
            }
            file.trace[n] = trace.astype(file.dtype)


X = np.arange(31) * 10.0


def line(base: Path, x=X, y=0.0, step=10.0, **keys):
    """Write a line whose traces lie at x, y (m) and have the values of `linear` at x."""
    z = np.arange(21) * step
    traces = linear(z, 0.0, np.asarray(x)[:, None])
    write(base / "vp.sgy", traces, np.stack(np.broadcast_arrays(x, y), 1), **keys)


def cube(base: Path, order="yx", keep=slice(None), turn=0.0, **keys):
    """Write a cube whose inlines follow each other along the first axis of an order."""
    lines = {"x": np.arange(16) * 20.0, "y": np.arange(13) * 10.0}
    first, second = (lines[axis] for axis in order)
    number = np.stack(np.meshgrid(np.arange(first.size), np.arange(second.size), indexing="ij"))
    along = {
        axis: lines[axis][numbers].ravel() for axis, numbers in zip(order, number, strict=True)
    }
    traces = linear(np.arange(21) * 10.0, along["y"][:, None], along["x"][:, None])
    c, s = np.cos(turn), np.sin(turn)
    places = np.stack([c * along["x"] - s * along["y"], s * along["x"] + c * along["y"]], 1)
    headers = {"f189": number[0].ravel()[keep] + 100, "f193": 2 * number[1].ravel()[keep] + 7}
    write(base / "vp.sgy", traces[keep], places[keep], **(headers | keys))


def earth(base: Path, text=PLANE, keys=""):
    (base / "s.yaml").write_text(text.replace(", KEYS", keys and f", {keys}"))
    return discretize(load(base / "s.yaml")).earth


def is_met(base: Path, text=PLANE, keys="", shift=0.0):
    z, y, x = np.linspace(0, 200, 33), np.linspace(0, 120, 7), np.linspace(0, 300, 17)
    found = earth(base, text, keys)
    if text is PLANE:
        sampled, expected = found.sample(z[:, None], None, x), linear(z[:, None], 0.0, x)
    else:
        axes = z[:, None, None], y[:, None], x
        sampled, expected = found.sample(*axes), linear(*axes)
    np.testing.assert_allclose(sampled["vp"], expected + shift, rtol=3e-6)  # IBM floats: 2^-21


@pytest.mark.parametrize(
    "keys",
    [
        {"form": 5}, {"form": 1}, {"interval": 10}, {"scalar": 0}, {"scalar": 10}, {"scalar": 1},
        {"endian": "little"}, {"form": 6}, {"form": 2},
    ],
    ids=str,
)  # fmt: skip
def test_one_line_whatever_its_numbers_and_scalars(tmp_path: Path, keys):
    line(tmp_path, **keys)
    is_met(tmp_path)


def test_positions_of_sources_count_where_bins_have_none(tmp_path: Path):
    x = np.arange(31) * 10.0
    line(tmp_path, scalar=-10, f181=0, f73=10 * x)
    is_met(tmp_path)


def test_traces_from_right_to_left(tmp_path: Path):
    line(tmp_path, x=X[::-1])
    is_met(tmp_path)


@pytest.mark.parametrize(("delay", "scalar"), [(20, 0), (2, 10), (200, -10), (20, 7)])
def test_depths_of_first_samples_have_a_scalar(tmp_path: Path, delay, scalar):
    """By revision 1 that of bytes 215 and 216; what is none of its numbers is something else."""
    line(tmp_path, f109=delay, f215=scalar)
    found = earth(tmp_path).sample(np.array([50.0]), None, np.array([100.0]))["vp"]
    assert found == pytest.approx(linear(50.0 - 20.0, 0.0, 100.0), rel=1e-6)


def test_samples_that_begin_deeper_and_keys_that_say_otherwise(tmp_path: Path):
    line(tmp_path, f109=-100)  # 100 m higher: the value of z is that of z + 100
    earth_ = earth(tmp_path)
    assert earth_.sample(np.array(0.0), None, np.array(0.0))["vp"] == linear(100.0, 0.0, 0.0)
    keys = "origin: {z: 0}"
    is_met(tmp_path, keys=keys)


@pytest.mark.parametrize("order", ["yx", "xy"])
def test_a_cube_whatever_its_inlines_follow_each_other_along(tmp_path: Path, order):
    cube(tmp_path, order, scalar=-10)
    is_met(tmp_path, CUBE)
    is_met(tmp_path, CUBE, f"axes: {order}z")
    cube(tmp_path, order, form=1, f181=0, f185=0)
    is_met(tmp_path, CUBE, f"axes: {order}z, spacing: {{x: 20, y: 10}}")


def test_a_cube_that_shares_an_edge_with_the_grid_is_not_the_grids_model(tmp_path: Path):
    """Turned by 180 degrees it ends where the grid begins, and all of that would be its edge."""
    cube(tmp_path, turn=np.pi)
    message = r"covers y = -120 to 0 m, nothing but the edge of the grid's 0 to 120 m; give `origin"
    with pytest.raises(ModelError, match=message):
        earth(tmp_path, CUBE)


def test_a_turned_cube_has_its_own_axes(tmp_path: Path):
    cube(tmp_path, turn=np.radians(30.0), scalar=-1000)
    is_met(tmp_path, CUBE, "axes: yxz, origin: {x: 0, y: 0}")
    refused(tmp_path, r"vp\.origin: missing: .* lies at 120 degrees to", CUBE, "axes: yxz")
    refused(tmp_path, r"vp\.axes: missing: .* a cube that lies at 120 degrees", CUBE)


def test_an_oblique_line_counts_along_itself(tmp_path: Path):
    s = np.arange(31) * 10.0
    z = np.arange(21) * 10.0
    places = 5e5 + np.stack([0.6 * s, 0.8 * s], 1)
    write(tmp_path / "vp.sgy", linear(z, 0.0, s[:, None]), places, scalar=-1000)
    is_met(tmp_path, keys="origin: {x: 0}")
    refused(tmp_path, r"origin: missing: .*vp\.sgy lies at 53\.1 degrees to the axis x; give")
    line(tmp_path, x=5e5 + np.arange(31) * 10.0, scalar=1)
    refused(tmp_path, r"covers x = 500000 to 500300 m, nothing of the grid's 0 to 300 m; give")


def test_only_the_traces_of_the_region_are_kept(tmp_path: Path):
    x = np.arange(-4000.0, 4001.0, 10.0)
    text = PLANE.replace("x: 300,", "x: 290,").replace("extent", "origin: {x: 10}, extent")
    (tmp_path / "s.yaml").write_text(text.replace(", KEYS", ""))
    traces = np.where(x[:, None] < 0.0, 0.1, linear(np.arange(21) * 10.0, 0.0, x[:, None]))
    write(tmp_path / "vp.sgy", traces, np.stack([x, 0 * x], 1))  # no rock, but outside
    grid = discretize(load(tmp_path / "s.yaml")).earth.model_parts[0].grids["vp"]
    assert grid.samples.shape == (21, 32)
    assert grid.reach("x") == (0.0, 310.0)


def refused(base: Path, message: str, text=PLANE, keys=""):
    with pytest.raises(ScenarioError, match=message) as caught:
        earth(base, text, keys)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("written", "keys", "message"),
    [
        ({"interval": 500}, "", r"spacing: missing: .* interval 500, which may mean 500 m or 0.5"),
        ({"interval": 0}, "", r"spacing: missing: .* may mean nothing; give `spacing: \{z: 10 m"),
        ({"f181": 0}, "", r"spacing: missing: the traces have no positions .* `spacing: \{x: ..."),
        ({}, "spacing: {x: 20}", r"10 m apart along x by their positions, and `spacing` says 20 m"),
        ({}, "axes: zx", r"has traces down z; give axes: xz"),
        ({}, "shape: [21, 31]", r"vp\.shape: \[21, 31\]: .*vp.sgy has shape \[31, 21\]"),
        ({}, "units: km/s", r"too fast .*; check `units`"),
        ({"f109": np.arange(31)}, "", r"begin at depths from 0 to 30 m"),
        ({"binary": {3255: 2}}, "", r"does not count in m by its headers; give `spacing` and"),
        ({"f89": 3}, "", r"does not count in m"),
        ({"x": X + 4.0 * (np.arange(31) == 7)}, "",
         r"trace 8 at x = 74 m, y = 0 m lies 4 m beside the even grid"),
        ({"x": np.arange(31) ** 1.5}, "", r"beside the even grid"),
        ({"binary": {3225: 1}}, "", r"taken for IEEE floats they are 1500 to 3400; .* write 5"),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_line_leaves_open_or_contradicts(tmp_path: Path, written, keys, message):
    binary = written.pop("binary", {})
    line(tmp_path, **written)
    raw = bytearray((tmp_path / "vp.sgy").read_bytes())
    for byte, value in binary.items():
        raw[byte - 1 : byte + 1] = value.to_bytes(2, "big")
    (tmp_path / "vp.sgy").write_bytes(raw)
    refused(tmp_path, message, keys=keys)


@pytest.mark.usefixtures("no_remedies")
def test_ibm_floats_said_to_be_ieee_are_told(tmp_path: Path):
    """They are no rock, but possible: 189 to 427 m/s."""
    line(tmp_path, form=1)
    raw = bytearray((tmp_path / "vp.sgy").read_bytes())
    raw[3224:3226] = (5).to_bytes(2, "big")
    (tmp_path / "vp.sgy").write_bytes(raw)
    (tmp_path / "s.yaml").write_text(PLANE.replace(", KEYS", ""))
    said = str(seismo.check(load(tmp_path / "s.yaml")))
    assert "taken for IBM floats they are 1500 to 3400; if that is meant" in " ".join(said.split())


def test_keys_fill_what_headers_lack(tmp_path: Path):
    line(tmp_path, interval=500, f181=0)
    is_met(tmp_path, keys="spacing: 10 m")
    line(tmp_path, f89=3)
    is_met(tmp_path, keys="spacing: 10 m, origin: {x: 0, z: 0}")
    line(tmp_path, f181=np.arange(31), scalar=0)  # numbers for positions
    is_met(tmp_path, keys="spacing: 10 m, origin: {x: 0}")


def test_cubes_with_gaps_and_doubles(tmp_path: Path):
    cube(tmp_path, keep=np.arange(207))
    refused(tmp_path, r"has 207 traces, and a cube of its 13 inlines and 16 crosslines", CUBE)
    cube(tmp_path, f193=np.repeat([7, 8], 104))
    refused(tmp_path, r"has 208 traces, and a cube of its 13 inlines and 2 cross", CUBE)
    cube(tmp_path)
    refused(tmp_path, r"vp\.sgy is a cube, but the grid is 2-D", PLANE)


def test_damaged_files_end_in_one_line(tmp_path: Path):
    line(tmp_path)
    whole = (tmp_path / "vp.sgy").read_bytes()
    (tmp_path / "vp.sgy").write_bytes(whole[:-3])
    refused(tmp_path, r"bytes, which are no whole traces of 21 samples")
    (tmp_path / "vp.sgy").write_bytes(b"no seismic data\n" * 400)
    refused(tmp_path, r"vp\.path: 'vp.sgy': .*vp.sgy is not a SEG-Y file: \d+ is no number format")
    (tmp_path / "vp.sgy").write_bytes(b"short")
    refused(tmp_path, r"is not a SEG-Y file; check `format`")
    chosen = np.random.default_rng(4)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in (*chosen.integers(3200, 3600, 2), *chosen.integers(3600, len(whole), 4)):
            damaged[place] = chosen.integers(256)
        (tmp_path / "vp.sgy").write_bytes(damaged)
        message = ""
        try:
            earth(tmp_path)
        except (ModelError, ScenarioError) as error:
            message = str(error)
        assert not message or message.isprintable()
