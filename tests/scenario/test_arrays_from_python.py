"""Models and wavelets as arrays in scenarios from Python: the same waves as of files."""

import copy

import numpy as np
import pytest
import xarray

import seismo
from seismo.errors import ScenarioError
from seismo.scenario import from_dict, parse
from seismo.solver.discretize import discretize

VP = np.linspace(1500.0, 2500.0, 21)[:, None] + np.zeros(31)
PULSE = np.sin(np.linspace(0.0, 2.0 * np.pi, 101)) ** 2 * np.linspace(-1.0, 1.0, 101)
SCENARIO = {
    "physics": "acoustic",
    "grid": {"extent": {"x": 1500.0, "z": 1000.0}, "spacing": 50.0},
    "time": {"duration": 0.4},
    "model": [{"type": "array", "vp": VP}],
    "sources": [{"type": "pressure", "position": {"x": 750.0, "z": 500.0},
                 "wavelet": {"type": "array", "samples": PULSE, "interval": 2e-3}}],
    "receivers": [{"type": "points", "name": "r", "positions": [{"x": 1000.0, "z": 500.0}]}],
}  # fmt: skip


def with_model(**keys):
    return SCENARIO | {"model": [{"type": "array", **keys}]}


def field(**keys):
    return discretize(from_dict(with_model(**keys))).earth.model_parts[0].grids["vp"]


def test_arrays_make_the_waves_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("vp.npy", VP)
    np.savetxt("w.txt", PULSE, fmt="%.17g")
    files = copy.deepcopy(SCENARIO)
    files["model"] = [{"type": "file", "vp": {"path": "vp.npy"}}]
    files["sources"][0]["wavelet"] = {"type": "file", "path": "w.txt", "interval": 2e-3}
    with seismo.run(SCENARIO) as of_arrays, seismo.run(files) as of_files:
        ours, theirs = (np.asarray(r.traces["r"]["pressure"]) for r in (of_arrays, of_files))
        assert abs(ours).max() > 0.0
        np.testing.assert_array_equal(ours, theirs)
        again = parse(of_arrays.scenario)
    assert again == from_dict(SCENARIO), "known by its SHA-256"
    with pytest.raises(ScenarioError, match=r"model\[0\].vp: .*values are not kept"):
        seismo.check(again)
    other = from_dict(SCENARIO | {"model": [{"type": "array", "vp": VP + 1.0}]})
    assert other != again


def test_an_array_is_not_copied_and_may_not_change():
    vp = VP.copy()
    scenario = from_dict(with_model(vp=vp))
    grid = discretize(scenario).earth.model_parts[0].grids["vp"]
    assert np.shares_memory(grid.samples, vp)
    assert not grid.samples.flags.writeable
    vp[3, 4] = 1700.0
    with pytest.raises(ScenarioError, match="was changed since the scenario was made"):
        seismo.check(scenario)
    assert scenario.changed({"title": "again"}) != scenario


def test_results_of_another_array_are_not_taken_for_these(tmp_path):
    output = tmp_path / "a.h5"
    for _ in range(2):
        seismo.run(SCENARIO, output, resume=True).close()
    with pytest.raises(ScenarioError, match=r"model\[0\].vp: .* of a run with another array"):
        seismo.run(with_model(vp=VP + 1.0), output, resume=True)


def test_labels_of_xarray_count():
    z, x = 100.0 * np.arange(11), 0.1 * np.arange(16)
    values = 1.5 + 0.001 * z + x[:, None]
    labelled = xarray.DataArray(
        values, dims=("x", "depth"), coords={"depth": z, "x": ("x", x, {"units": "km"})},
        attrs={"units": "km/s"},
    )  # fmt: skip
    one = field(vp=labelled)
    assert (one.axes, one.origin, one.factor) == ("zx", (0.0, 0.0), 1e3)
    np.testing.assert_allclose(one.spacing, (100.0, 100.0))
    upwards = field(vp=labelled.isel(depth=slice(None, None, -1)))
    np.testing.assert_array_equal(upwards.samples, one.samples)
    assert upwards.origin == one.origin


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"vp": VP.T}, r"vp: .*\[31, 21\], axes zx.*are the grid's: \[21, 31\]; transpose it"),
        ({"vp": VP[1:, 1:]}, r"or its `spacing` \(grid.extent \{x: 1450, z: 950\}"),
        ({"vp": VP[None]}, r"axes zyx; a 2-D run has z and x only"),
        ({"vp": VP, "axes": "z"}, r"`axes` \(z\) has 1"),
        ({"vp": np.where(VP > 2400.0, np.nan, VP)}, "not finite, the first at index"),
        ({"vp": VP / 1e3}, "did you mean '1.5 km/s'"),
        ({"vp": VP + 1j}, "must be real numbers"),
        ({"vp": 1500.0}, "must be an array from Python"),
        ({"vp": {"path": "vp.npy"}}, "arrays come from Python; here write {type: file"),
        ({"vp": xarray.DataArray(VP, dims=("lat", "lon"))}, r"has the axes lat, lon; name them z"),
        ({"vp": xarray.DataArray(VP, dims=("z", "x"), attrs={"units": "ft/s"})}, "unit 'ft/s'"),
        ({"vp": xarray.DataArray(VP[:, 0], {"z": np.arange(21) ** 2}, ("z",))}, "evenly spaced"),
        ({"vp": xarray.DataArray(VP[:, 0], {"z": 50 * np.arange(21)}, ("z",)), "spacing": 40.0},
         r"spacing 50 m along z by its coordinates, and `spacing` says 40 m"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_array_is_said(keys, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        seismo.check(with_model(**keys))
    assert all("model[0]" in line for line in caught.value.messages)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"samples": PULSE}, "interval: missing; the samples have no times"),
        ({"samples": np.zeros(9), "interval": 0.01}, "samples: .*all values are 0"),
        ({"samples": np.ones((3, 4)), "interval": 0.01}, r"\[3, 4\]; give one axis of 2 or more"),
        (
            {"samples": np.array([0.0, np.inf, 0.0]), "interval": 0.01},
            "inf at index 1 is not finite",
        ),
    ],
)
def test_what_is_wrong_with_a_wavelet_is_said(keys, message):
    scenario = copy.deepcopy(SCENARIO)
    scenario["sources"][0]["wavelet"] = {"type": "array", **keys}
    with pytest.raises(ScenarioError, match=message):
        seismo.check(scenario)


def test_times_of_a_wavelet_count():
    times = xarray.DataArray(PULSE, {"time": 0.3 + 2e-3 * np.arange(101)}, ("time",))
    scenario = copy.deepcopy(SCENARIO)
    scenario["sources"][0]["wavelet"] = {"type": "array", "samples": times}
    source = discretize(from_dict(scenario)).shots[0].summaries[0]
    np.testing.assert_allclose(source.signal(times.time.values, 0), PULSE, atol=1e-12)
