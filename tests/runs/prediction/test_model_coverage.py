"""Model files that end within the region are named, or fit it if read otherwise; others are not."""

import numpy as np
import pytest

from seismo.errors import ModelError
from seismo.runs.check.plan import make_plan
from seismo.runs.prediction.checks.coverage import otherwise, uncovered
from seismo.scenario import load
from seismo.solver.discretize import discretize

SCENARIO = """\
physics: acoustic
grid: {{extent: {{x: 600 m, z: 250 m{more}}}, spacing: 10 m}}
time: {{duration: 0.1 s}}
boundaries: {{layer: {{points: 10}}}}
model:
  - type: file
    vp: {{path: vp.npy{keys}}}
{parts}
sources:
  - {{type: explosion, position: {{x: 300 m, z: 100 m{at}}},
     wavelet: {{type: ricker, frequency: 10 Hz}}}}
"""


def said(folder, shape, keys="", parts="", y=False, of=uncovered):
    np.save(folder / "vp.npy", np.full(shape, 2000.0, "f4"))
    more, at = (", y: 200 m", ", y: 100 m") if y else ("", "")
    text = SCENARIO.format(keys=keys and f", {keys}", parts=parts, more=more, at=at)
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    return list(of(discretize(load(folder / "s.yaml"))))


@pytest.mark.parametrize(
    ("shape", "keys", "words"),
    [
        ((70, 26), "", ["x = 0 to 250 m of 0 to 600 m: 58.3 % of", "transposed, give axes: xz"]),
        ((61, 26), "axes: zx", ["x = 0 to 250 m of", "transposed, give axes: xz"]),
        ((26, 61), "spacing: 0.01", ["100 % of", "in km: write {x: 10 m, z: 10 m}, which covers"]),
        ((26, 61), "spacing: 0.005", ["check its spacing and origin"]),
        ((26, 61), "axes: xz", ["x = 0 to 250 m of", "transposed, give axes: zx"]),
        (
            (14, 31),
            "",
            ["x = 0 to 300 m of 0 to 600 m and z = 0 to 130 m of 0 to 250 m: 74 %",
             "give its spacing (the grid's is taken; {x: 20 m, z: 19.23 m} fill"],
        ),
        ((26, 61), "origin: {x: 50 m}", ["x = 50 to 650 m of", "8.33 %", "origin (x = 50 m, z"]),
        ((20, 61), "spacing: {x: 10 m, z: 10 m}", ["z = 0 to 190 m", "24 %", "or extend it"]),
        ((20,), "", ["z = 0 to 190 m of 0 to 250 m: 24 %", "{z: 13.16 m} fill the region"]),
    ],
)  # fmt: skip
def test_a_file_that_ends_within_the_region_is_named(tmp_path, shape, keys, words):
    (line,) = said(tmp_path, shape, keys)
    assert line.startswith("model[0].vp (")
    assert "s.yaml:7:5)" in line
    assert all(word in line for word in words), line


def test_in_three_dimensions_the_order_of_axes_is_told(tmp_path):
    (line,) = said(tmp_path, (61, 21, 27), y=True)
    assert "x = 0 to 260 m of 0 to 600 m: 56.7 %" in line
    assert "give axes: xyz" in line
    assert said(tmp_path, (26, 21, 61), y=True) == []


@pytest.mark.parametrize(("shape", "y"), [((61, 26), False), ((61, 21, 26), True)])
def test_a_file_of_the_opposite_order_is_refused_unless_its_axes_are_given(tmp_path, shape, y):
    needed = r"\[26, 21, 61\] along zyx" if y else r"\[26, 61\] along zx"
    wanted = "xyz" if y else "xz"
    message = rf"s.yaml:7:5: model\[0\].vp.axes: .*the region needs {needed}.* give axes: {wanted} "
    with pytest.raises(ModelError, match=message):
        said(tmp_path, shape, y=y)
    assert said(tmp_path, shape, f"axes: {wanted}", y=y) == []
    assert len(said(tmp_path, shape, f"axes: {wanted[::-1]}", y=y)) == 1
    origin = "origin: {x: 500 m, y: 0 m, z: 0 m}" if y else "origin: {x: 500 m, z: 0 m}"
    assert said(tmp_path, shape, origin, y=y), "where it lies was said: warned of, not refused"


def test_check_says_how_the_axes_of_a_file_were_taken(tmp_path):
    """Nobody can tell which axis of a square file is which."""
    assert said(tmp_path, (61, 61), "axes: xz") == []
    page = str(make_plan(load(tmp_path / "s.yaml")))
    taken = "vp 61 x 61 points, the slowest axis first: x 0 to 600 m, z 0 to 600 m"
    assert f"files       {taken}\n" in page


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ((26, 61), ""),
        ((26,), ""),
        ((25, 60), ""),  # a cell less at the far edges
        ((25, 60), "origin: {x: 5 m, z: 5 m}"),  # half a cell at either edge
        ((40, 80), ""),  # a window of a larger model
        ((14, 31), "spacing: {x: 20 m, z: 20 m}"),
    ],
)
def test_a_file_that_fits_is_not_named(tmp_path, shape, keys):
    assert said(tmp_path, shape, keys) == said(tmp_path, shape, keys, of=otherwise) == []


@pytest.mark.parametrize(
    ("shape", "keys", "words"),
    [
        ((51, 121), "", ["reaches 2 times as far", "give it: {x: 5 m, z: 5 m} fill the region"]),
        ((26, 61), "spacing: 10 km", ["1e+03 times as far", "write {x: 10 m, z: 10 m}, which"]),
        ((26 * 61,), "", ["has 1586 values along z", "10 m apart (61 x 26)", "flattened"]),
    ],
)
def test_a_file_that_would_fit_if_read_otherwise_is_named(tmp_path, shape, keys, words):
    (line,) = said(tmp_path, shape, keys, of=otherwise)
    assert "s.yaml:7:5)" in line
    assert all(word in line for word in words), line
    assert said(tmp_path, shape, "spacing: 5 m", of=otherwise) == []


def test_what_later_parts_paint_over_is_not_missed(tmp_path):
    """Water over a file that begins at the sea bed; half the gap is left of a shallower one."""
    below = "origin: {z: 100 m}"
    water = "  - {type: water, depth: 100 m}"
    assert "z = 100 to 250 m of 0 to 250 m: 40 %" in said(tmp_path, (16, 61), below)[0]
    assert said(tmp_path, (16, 61), below, water) == []
    (line,) = said(tmp_path, (16, 61), below, water.replace("100", "50"))
    assert ": 20 % of the region" in line
