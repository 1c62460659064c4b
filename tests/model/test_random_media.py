"""Random media: von Karman's covariance and spectrum, and one medium for every cut."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import kv

import seismo
from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.formats.reading import arrays as array_files
from seismo.model.random_medium import covariance, gaussian_field
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

SCENARIO = {
    "physics": "elastic",
    "grid": {"extent": {"x": 900.0, "y": 300.0, "z": 600.0}, "spacing": 30.0, "order": 4},
    "time": {"duration": 0.3},
    "model": [
        {"type": "uniform", "vp": 3000.0, "vs": 1700.0, "rho": 2300.0},
        {"type": "random", "hurst": 0.3, "correlation": {"x": 120.0, "y": 90.0, "z": 60.0},
         "std": "5 %", "properties": {"vp": 1.0, "vs": 1.0, "rho": 0.8}, "seed": 7},
    ],
    "sources": [{"type": "explosion", "position": {"x": 300.0, "y": 150.0, "z": 300.0},
                 "moment": 1e12, "wavelet": {"type": "ricker", "frequency": 8.0}}],
    "receivers": [{"type": "points", "name": "r",
                   "positions": [{"x": 700.0, "y": 100.0, "z": 200.0}]}],
}  # fmt: skip


PRESSURE = SCENARIO["sources"][0] | {"type": "pressure"}
del PRESSURE["moment"]


def changed(**keys):
    return SCENARIO | {"model": [SCENARIO["model"][0], SCENARIO["model"][1] | keys]}


@pytest.mark.parametrize("hurst", [0.05, 0.3, 0.5, 1.0])
def test_the_covariance_is_von_karmans(hurst):
    r = np.concatenate([[0.0], np.geomspace(1e-5, 50.0, 300)])
    exact = np.ones_like(r)
    exact[1:] = 2.0 ** (1.0 - hurst) / math.gamma(hurst) * r[1:] ** hurst * kv(hurst, r[1:])
    np.testing.assert_allclose(covariance(r, hurst), exact, atol=1e-5)
    np.testing.assert_allclose(covariance(r, 0.5), np.exp(-r), atol=1e-5)


@pytest.mark.parametrize(("dimensions", "hurst"), [(2, 0.1), (2, 0.5), (2, 0.9), (3, 0.3)])
def test_the_spectrum_is_von_karmans(dimensions, hurst):
    """Rings of n pairs of waves scatter by 1 / sqrt(n); shorter waves fold in by some per cent."""
    counts = [400, 300] if dimensions == 2 else [64, 50, 60]
    spacing = [0.1, 0.05] if dimensions == 2 else [0.25, 0.2, 0.15]
    field = gaussian_field(counts, spacing, hurst, 3, periodic=True)
    power = np.abs(np.fft.fftn(field)) ** 2 * np.prod(spacing) / np.prod(counts)
    axes = [2.0 * np.pi * np.fft.fftfreq(n, h) for n, h in zip(counts, spacing, strict=True)]
    kappa = np.sqrt(sum(np.ix_(*(k**2 for k in axes)), start=np.zeros(()))).ravel()
    amplitude = (2.0 * math.sqrt(math.pi)) ** dimensions * math.gamma(hurst + dimensions / 2)
    law = amplitude / math.gamma(hurst) / (1.0 + kappa**2) ** (hurst + dimensions / 2)
    edges = np.geomspace(0.5, 5.0, 8)
    ring = np.digitize(kappa, edges)
    pairs = 0.5 * np.bincount(ring, minlength=edges.size + 1)[1:-1]
    ratio = np.bincount(ring, power.ravel() / law, edges.size + 1)[1:-1] / (2.0 * pairs)
    assert (np.abs(ratio - 1.0) < 3.5 / np.sqrt(pairs) + 0.03).all()
    wrong = (1.0 + kappa**2) ** 0.2  # the test tells H from H - 0.2
    ratio = np.bincount(ring, power.ravel() / law * wrong, edges.size + 1)[1:-1] / (2.0 * pairs)
    assert not (np.abs(ratio - 1.0) < 3.5 / np.sqrt(pairs) + 0.03).all()


def test_standard_deviation_and_correlation_lengths():
    """Of 1e6 points with about 1e4 independent patches: 1 % of the variance, 0.02 of C."""
    h = [0.05, 0.2]
    field = gaussian_field([1400, 500], h, 0.4, 11).astype(float)
    assert field.std() == pytest.approx(1.0, abs=0.03)
    assert field.mean() == pytest.approx(0.0, abs=0.05)
    for axis in (0, 1):
        for lag in (5, 10, 20):
            first = field.take(range(lag, field.shape[axis]), axis)
            last = field.take(range(field.shape[axis] - lag), axis)
            expected = float(covariance(np.array(lag * h[axis]), 0.4))
            assert (first * last).mean() == pytest.approx(expected, abs=0.04)


def test_a_long_correlation_length_makes_layers():
    """Far beyond the grid: it is nearly constant along x, of full variance along z."""
    field = gaussian_field([2000, 60], [0.1, 1e-4], 0.5, 5)
    expected = math.sqrt(2.0 * (1.0 - math.exp(-59e-4)))
    assert (field[:, -1] - field[:, 0]).std() == pytest.approx(expected, rel=0.15)
    assert field.std() == pytest.approx(1.0, abs=0.15)


def test_what_lies_below_is_perturbed_alike():
    earth = discretize(from_dict(SCENARIO)).earth
    z, y, x = (np.arange(n) * 30.0 for n in (21, 11, 31))
    sampled = earth.sample(z[:, None, None], y[:, None], x)
    xi = sampled["vp"] / 3000.0 - 1.0
    assert abs(xi).max() <= 0.15 * (1 + 1e-6)
    np.testing.assert_allclose(sampled["vs"], 1700.0 * (1.0 + xi), rtol=1e-12)
    np.testing.assert_allclose(sampled["rho"], 2300.0 * (1.0 + 0.8 * xi), rtol=1e-12)
    field = gaussian_field([21, 11, 31], [0.5, 1 / 3, 0.25], 0.3, 7)
    np.testing.assert_allclose(xi, 0.05 * field.clip(-3, 3), atol=1e-12)
    half = earth.sample(np.array(15.0), np.array(0.0), np.array(0.0))["vp"]
    assert half == pytest.approx(0.5 * (sampled["vp"][0, 0, 0] + sampled["vp"][1, 0, 0]))


def test_a_list_a_seed_and_a_spacing_of_its_own():
    z, y, x = (np.arange(n) * 30.0 for n in (21, 11, 31))
    axes = z[:, None, None], y[:, None], x

    def vp(**keys):
        return discretize(from_dict(changed(**keys))).earth.sample(*axes)

    assert not (vp(seed=8)["vp"] == vp()["vp"]).any()
    listed = vp(properties=["vp", "rho"])
    np.testing.assert_array_equal(listed["vs"], 1700.0)
    np.testing.assert_array_equal(listed["vp"], vp()["vp"])
    own = vp(spacing=60.0, correlation=180.0)
    fine = changed(spacing=60.0, correlation=180.0)
    fine |= {"grid": fine["grid"] | {"spacing": 20.0}}
    again = discretize(from_dict(fine)).earth.sample(*axes)
    np.testing.assert_allclose(own["vp"], again["vp"], rtol=1e-12)
    np.testing.assert_allclose(own["vp"][1], 0.5 * (own["vp"][0] + own["vp"][2]), rtol=1e-14)


def test_parts_after_it_and_fluids_stay_as_they_are():
    water = {"type": "water", "depth": 100.0}
    scenario = SCENARIO | {"model": [*SCENARIO["model"], water]}
    sampled = discretize(from_dict(scenario)).earth.sample(
        np.array([50.0, 200.0])[:, None, None], np.zeros((1, 1)), np.zeros(1)
    )
    assert (sampled["vp"][0], sampled["vs"][0]) == (1500.0, 0.0)
    assert sampled["vp"][1] != 3000.0


@pytest.mark.usefixtures("no_remedies")
def test_check_describes_it():
    said = " ".join(str(seismo.check(SCENARIO)).split())
    assert "random of vp, vs, rho: 4." in said


def test_every_cut_runs_in_the_same_medium(tmp_path: Path):
    traces = []
    for cut in ([1, 1], [2, 3]):
        scenario = changed(properties=["vp"]) | {"physics": "acoustic", "sources": [PRESSURE]}
        scenario |= {"grid": SCENARIO["grid"] | {"decomposition": cut}}
        with seismo.run(scenario, tmp_path / f"{cut[0]}.h5") as results:
            traces.append(np.asarray(results.traces["r"]["pressure"]))
    assert abs(traces[0]).max() > 0.0
    np.testing.assert_array_equal(*traces)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"std": 0.4}, r"model\[1\]\.std: 0\.4: must be a number, above 0, below 0\.333"),
        ({"std": 0.2, "properties": {"vp": 2.0}}, r"vp would vary by 3 x 0\.2 x 2 and reach 0"),
        ({"properties": {"vp": 0.0}}, r"perturbs nothing: give properties"),
        ({"properties": ["vp", "q"]}, r"model\[1\]\.properties\.q: unknown key"),
        ({"hurst": 1.5}, r"model\[1\]\.hurst: 1\.5: must be"),
        ({"seed": -1}, r"model\[1\]\.seed: -1: must be"),
        ({"correlation": {"x": 120.0, "z": 60.0}}, r"model\[1\]\.correlation\.y"),
        ({"correlation": 0.3}, r"correlation.*: 0.3 m is less .* drawn at; did you mean '0.3 km'"),
        ({"correlation": 20.0}, r"correlation.*: 20 m is less than the spacing 30 m of the points"),
        ({"std": 0.25, "properties": {"vs": 1.2}}, r"properties\.vs: .*vp/vs is 1\.\d+ at z = "),
    ],
    ids=str,
)
def test_what_no_medium_is(keys, message):
    with pytest.raises(ScenarioError, match=message):
        discretize(from_dict(changed(**keys)))


def test_what_waves_do_not_feel_is_refused():
    scenario = changed(properties=["vs"]) | {"physics": "acoustic", "sources": [PRESSURE]}
    with pytest.raises(ScenarioError, match=r"properties: .* perturbs vs alone, which the waves"):
        discretize(from_dict(scenario))
    stiffness = {"c11": 2e10, "c33": 1.8e10, "c44": 5e9, "c66": 6e9, "c13": 7e9}
    rock = {"type": "block", "z": [400.0, 500.0], "rho": 2300.0, **stiffness}
    scenario = SCENARIO | {"model": [SCENARIO["model"][0], rock, SCENARIO["model"][1]]}
    with pytest.raises(ScenarioError, match=r"model\[2\]\.properties: .*by elastic constants"):
        discretize(from_dict(scenario))


def test_there_is_a_medium_to_perturb():
    """What stands behind a random medium would replace it."""
    scenario = SCENARIO | {"model": SCENARIO["model"][::-1]}
    with pytest.raises(ScenarioError, match=r"model\[0\]\.type: .*there are none: move it below"):
        from_dict(scenario)


def test_a_plane_has_no_y():
    keys = {k: v for k, v in SCENARIO.items() if k != "receivers"}
    keys["grid"] = {"extent": {"x": 900.0, "z": 600.0}, "spacing": 30.0}
    keys["sources"] = [SCENARIO["sources"][0] | {"position": {"x": 300.0, "z": 300.0}}]
    with pytest.raises(ScenarioError, match=r"model\[1\]\.correlation\.y"):
        from_dict(keys)
    part = SCENARIO["model"][1] | {"correlation": 90.0}
    assert discretize(from_dict(keys | {"model": [SCENARIO["model"][0], part]}))


def test_what_does_not_fit_the_memory_is_said(monkeypatch):
    monkeypatch.setattr(array_files.machine, "available_memory", lambda: 10**5)
    with pytest.raises(InsufficientMemoryError, match=r"a random medium: needs .* GB of memory"):
        gaussian_field([100, 100], [0.1, 0.1], 0.5, 1)


def test_what_a_later_part_replaces_is_refused():
    rock, perturbed = SCENARIO["model"]
    later = {"type": "array", "vp": np.full((2, 2, 2), 2600.0), "spacing": 5000.0}
    with pytest.raises(
        ScenarioError, match=r"model\[1\]\.properties: .*perturbs vp, which model\[2\]"
    ):
        discretize(from_dict(SCENARIO | {"model": [rock, perturbed, later]}))
