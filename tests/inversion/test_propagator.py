"""Many models by a propagator: the traces of a run of each; refusals; other processes."""

import json
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import seismo
from seismo.errors import ModelError, ScenarioError

VALUES = {"vp": (1800.0, 3000.0), "vs": (800.0, 1500.0), "rho": (1900.0, 2500.0)}
NEEDS = {
    "acoustic": ("vp",),
    "acoustic_variable_density": ("vp", "rho"),
    "elastic": ("vp", "vs", "rho"),
    "elastic_sh": ("vs", "rho"),
}
KINDS = {"acoustic": "pressure", "acoustic_variable_density": "volume_rate"}
SHAPES = {2: (25, 31), 3: (21, 17, 23)}


def scenario(equation: str, dimensions: int, **keys):
    """Return a run of a uniform medium whose order, differences and time step are given."""
    axes = "xz" if dimensions == 2 else "xyz"
    extent = dict(zip("zx" if dimensions == 2 else "zyx", SHAPES[dimensions], strict=True))
    place = dict.fromkeys(axes, 100.0)
    source = {"type": KINDS.get(equation, "force"), "position": place,
              "wavelet": {"type": "ricker", "frequency": 15.0}}  # fmt: skip
    if source["type"] == "force":
        source["force"] = {"y" if equation == "elastic_sh" else "z": 1e9}
    quantity = "pressure" if equation in KINDS else "velocity"
    return {
        "physics": equation,
        "averaging": "point",
        "grid": {"extent": {a: 10.0 * (extent[a] - 1) for a in axes}, "spacing": 10.0,
                 "order": 4, "stencil": "taylor"},
        "time": {"duration": 0.2, "step": 0.8e-3},
        "boundaries": {"top": "free_surface", "layer": {"points": 8, "damping": 0.0}},
        "model": [{"type": "uniform", **{name: VALUES[name][0] for name in NEEDS[equation]}}],
        "sources": [source],
        "survey": {"shots": [{"position": place | {"x": x}} for x in (60.0, 100.0, 140.0)],
                   "batch": 2},
        "receivers": [
            {"type": "points", "name": "fine", "quantities": [quantity],
             "positions": [place | {"x": x} for x in (40.0, 155.0)]},
            {"type": "points", "name": "coarse", "quantities": [quantity], "interval": 4e-3,
             "positions": [place | {"x": x, "z": 137.0} for x in (40.0, 123.0, 155.0)]},
        ],
    } | keys  # fmt: skip


def models(equation: str, dimensions: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return values that vary from node to node, and reach both bounds."""
    random = np.random.default_rng(seed)
    values = {}
    for name in NEEDS[equation]:
        low, high = VALUES[name]
        share = random.random(SHAPES[dimensions])
        share.flat[:2] = 0.0, 1.0
        values[name] = low + (high - low) * share
    return values


def propagator(equation: str, dimensions: int, **keys) -> seismo.Propagator:
    bounds = {name: VALUES[name] for name in NEEDS[equation]}
    return seismo.Propagator(
        scenario(equation, dimensions, **keys), NEEDS[equation], bounds, backend="cpu"
    )


def run(equation: str, dimensions: int, values, **keys):
    """Return the traces of a run of a scenario with an array model."""
    of_arrays = scenario(equation, dimensions, **keys) | {"model": [{"type": "array", **values}]}
    with seismo.run(of_arrays, backend="cpu") as results:
        return {
            group: {name: np.array(section) for name, section in sections.items()}
            for group, sections in results.traces.items()
        }


def assert_same(traces, others) -> None:
    assert traces.keys() == others.keys()
    for group, sections in traces.items():
        for name, section in sections.items():
            assert abs(section).max() > 0.0
            np.testing.assert_array_equal(section, others[group][name])


@pytest.mark.filterwarnings("ignore::seismo.ScenarioWarning")
@pytest.mark.parametrize(
    ("equation", "dimensions"),
    [*((name, 2) for name in NEEDS), ("acoustic", 3),
     pytest.param("acoustic_variable_density", 3, marks=pytest.mark.slow),
     pytest.param("elastic", 3, marks=pytest.mark.slow)],
)  # fmt: skip
def test_traces_are_those_of_a_run_of_the_model(equation, dimensions):
    """With averages over cells, as runs have them by default, and with the values of nodes."""
    values = models(equation, dimensions)
    for averaging in ("effective", "point"):
        ours = propagator(equation, dimensions, averaging=averaging)(**values)
        assert_same(ours, run(equation, dimensions, values, averaging=averaging))


@pytest.mark.filterwarnings("ignore::seismo.ScenarioWarning")
@pytest.mark.parametrize("equation", ["acoustic_variable_density", "elastic"])
def test_values_at_points_are_those_of_cells(equation):
    values = models(equation, 2)
    ours = propagator(equation, 2)(**values)
    cells = values | {"interpolation": "cells"}
    assert_same(ours, run(equation, 2, cells, averaging="effective"))


@pytest.fixture(scope="module")
def waves() -> seismo.Propagator:
    return propagator("acoustic", 2)


@pytest.mark.filterwarnings("ignore::seismo.ScenarioWarning")
def test_models_come_and_go(waves):
    """A model leaves nothing behind: neither fields, nor sources, nor coefficients."""
    first, second = (models("acoustic", 2, seed) for seed in (0, 1))
    before = waves(**first)
    other = waves(**second)
    assert_same(waves(**first), before)
    assert_same(other, run("acoustic", 2, second))
    uniform = np.full(SHAPES[2], VALUES["vp"][0])
    assert_same(waves(), waves(vp=uniform))
    assert waves(vp=uniform)["fine"]["pressure"].dtype == np.float32


def test_several_models_have_an_axis_of_theirs(waves):
    first, second = (models("acoustic", 2, seed)["vp"] for seed in (0, 1))
    both = waves(vp=np.stack([first, second]))
    for number, vp in enumerate((first, second)):
        alone = waves(vp=vp)
        for group, sections in alone.items():
            for name, section in sections.items():
                np.testing.assert_array_equal(both[group][name][number], section)


def test_parameters_left_out_are_those_of_the_scenario():
    vp = models("acoustic_variable_density", 2)["vp"]
    both = propagator("acoustic_variable_density", 2)
    alone = seismo.Propagator(
        scenario("acoustic_variable_density", 2), ["vp"], {"vp": VALUES["vp"]}, backend="cpu"
    )
    rho = np.full(SHAPES[2], VALUES["rho"][0])
    assert_same(both(vp=vp), both(vp=vp, rho=rho))
    assert_same(alone(vp=vp), both(vp=vp))


def test_the_time_step_suits_the_bounds():
    free = scenario("acoustic", 2)
    del free["time"]["step"]
    slow, fast = (
        seismo.Propagator(free, ["vp"], {"vp": (1500.0, most)}, backend="cpu").discretization
        for most in (2000.0, 6000.0)
    )
    assert slow.clock.limit == pytest.approx(3.0 * fast.clock.limit)
    assert slow.clock.dt >= 2.5 * fast.clock.dt
    assert fast.fastest == 6000.0


def test_without_parameters_it_repeats_the_run():
    with seismo.run(scenario("acoustic", 2), backend="cpu") as results:
        theirs = np.array(results.traces["fine"]["pressure"])
    ours = seismo.Propagator(scenario("acoustic", 2), backend="cpu")()
    np.testing.assert_array_equal(ours["fine"]["pressure"], theirs)


def test_steps_show_the_fields(waves):
    values = models("acoustic", 2)
    traces = waves(**values)
    seen = []
    for step, fields in waves.steps(every=50, batch=1, **values):
        assert list(fields) == ["p"]
        assert fields["p"].shape == (1, *SHAPES[2])
        seen.append(step)
        if step == 100:
            kept = fields
            # The receiver of the first set at x = 155 m lies between the nodes 15 and 16.
            recorded = traces["fine"]["pressure"][2, 1, 100]
            near = fields["p"][0, 10, 15:17]
            assert near.min() < recorded < near.max()
    assert seen[:2] == [50, 100]
    assert seen[-1] == waves.discretization.total_steps
    with pytest.raises(ValueError, match="read-only"):
        fields["p"][0] = 0.0
    with pytest.raises(ScenarioError, match="the fields of step 100 are gone"):
        kept["p"]
    with pytest.raises(KeyError):
        fields["vx"]


@pytest.mark.parametrize(
    ("vp", "message"),
    [
        (np.zeros((3, 4)), r"vp: has the shape \[3, 4\]; give \[25, 31\], .* along z, x"),
        (np.full(SHAPES[2], 1j), "vp: has type complex128"),
        (np.full(SHAPES[2], np.nan), r"vp: nan at node \[0, 0\] is not finite"),
        (
            np.where(np.arange(31) == 7, 3200.0, 2000.0) + np.zeros(SHAPES[2]),
            r"vp: 3200 m/s at node \[0, 7\] exceeds the bound 3000 m/s",
        ),
        (np.full((2, *SHAPES[2]), 1.0), r"vp: 1 m/s at node \[0, 0, 0\] is below the bound 1800"),
    ],
)
def test_wrong_values_are_refused(waves, vp, message):
    with pytest.raises(ModelError, match=message):
        waves(vp=vp)


def test_a_chosen_grid_has_differences_for_all_models():
    """Longer steps, which a run of the scenario may take, are bounded for its own rock alone."""
    document = scenario("acoustic", 2)
    grid = {"extent": document["grid"]["extent"]}
    wave = seismo.Propagator(document | {"grid": grid}, ["vp"], {"vp": VALUES["vp"]})
    assert wave.scenario.grid.stencil == "fitted"
    assert "grid.spacing" in wave.scenario.chosen
    slow = {"vp": (300.0, VALUES["vp"][1])}
    with pytest.raises(ScenarioError, match=r"was chosen for the rock .* give a spacing of"):
        seismo.Propagator(document | {"grid": grid}, ["vp"], slow)


def test_other_parameters_are_refused_in_a_call(waves):
    with pytest.raises(ScenarioError, match=r"vs: is none of .*parameters \(vp\)"):
        waves(vs=np.zeros(SHAPES[2]))


REFUSED = [
    ({}, ["vp"], {}, "bounds: vp has none"),
    ({}, ["vp"], {"vp": (3000.0, 1500.0)}, r"bounds: vp: \(3000, 1500\); give the least value"),
    ({}, ["vp"], {"vp": (1500.0, 1e6)}, "beyond 0 to 20000 m/s"),
    ({}, ["rho"], {"rho": (1000.0, 4000.0)}, "differ 3 times or more"),
    ({}, [], {"vp": (1500.0, 3000.0)}, "bounds: vp is none of `parameters`"),
    ({}, ["rho"], {"rho": (1500.0, 3000.0)}, "rho is none of acoustic; choose from vp"),
    ({"precision": "float16"}, ["vp"], {"vp": VALUES["vp"]}, "need float32 or float64"),
    (
        {"ensemble": {"members": 2, "draw": [
            {"type": "uniform", "key": "model[0].vp", "lowest": 1900.0, "highest": 2100.0}
        ]}},
        ["vp"], {"vp": VALUES["vp"]}, "ensemble: has members, .* leave it out",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "parameters", "bounds", "message"), REFUSED)
def test_what_cannot_be_run_is_refused(keys, parameters, bounds, message):
    with pytest.raises(ScenarioError, match=message):
        seismo.Propagator(scenario("acoustic", 2, **keys), parameters, bounds)


def test_a_copy_of_another_process_is_the_same(waves):
    values = models("acoustic", 2)
    copied = pickle.loads(pickle.dumps(waves))
    assert_same(copied(**values), waves(**values))


def _peak(job) -> float:
    waves, vp = job
    return float(abs(waves(vp=vp)["fine"]["pressure"]).max())


def test_pools_of_processes_take_propagators(waves):
    every = [models("acoustic", 2, seed)["vp"] for seed in (0, 1)]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        peaks = list(pool.map(_peak, [(waves, vp) for vp in every]))
    assert peaks == [_peak((waves, vp)) for vp in every]


FORKED = """
import json, multiprocessing, sys
sys.path.insert(0, {folder!r})
import test_propagator as test

waves = test.propagator("acoustic", 2)
vp = test.models("acoustic", 2)["vp"]

def peak(job):
    return test._peak((waves, vp))

if __name__ == "__main__":
    before = peak(None)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(json.dumps([before, pool.map_async(peak, [0]).get(60)[0], peak(None)]))
"""


def test_forked_processes_go_on_with_it(tmp_path):
    (tmp_path / "forked.py").write_text(FORKED.format(folder=str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "forked.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(set(json.loads(done.stdout))) == 1
