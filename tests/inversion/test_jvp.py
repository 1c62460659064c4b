"""Linearised runs: the transpose of `pullback`, and the first order of differences of runs."""

from __future__ import annotations

import numpy as np
import pytest

import seismo
from seismo.backends.gpu.backend import GpuBackend
from seismo.errors import ModelError, ScenarioError
from simulated_card import simulated
from solver import slow_but
from test_pullback import BOUNDS, MIDDLE, PARAMETERS, away_from_layers, model, scenario
from test_source_derivatives import norm, product, propagator, strength_of


def wave_of(document: dict, **options) -> seismo.Propagator:
    """Return a propagator whose parameters are those of the model and the sources."""
    names = PARAMETERS[document["physics"]]
    bounds = {name: BOUNDS[name] for name in names}
    added = ("wavelet", strength_of(document))
    return propagator(document, *names, *added, bounds=bounds, snapshots=1, **options)


def changes_of(document: dict, start: dict, seed: int = 1) -> dict[str, np.ndarray]:
    """Return random changes of all parameters, of the model away from layers."""
    random = np.random.default_rng(seed)
    dimensions = len(document["grid"]["extent"])
    margin = document["grid"]["order"] // 2 + 1
    inside = away_from_layers(dimensions, document["boundaries"]["top"], margin)
    return {
        name: (MIDDLE[name] * inside if name in MIDDLE else 0.1 * np.abs(array).max())
        * random.uniform(-1.0, 1.0, array.shape)
        for name, array in start.items()
    }


def difference(one: dict, other: dict, factor: float = 1.0) -> dict:
    return {s: {c: one[s][c] - factor * other[s][c] for c in one[s]} for s in one}


def random_residuals(traces: dict) -> dict:
    random = np.random.default_rng(2)
    return {
        s: {c: np.abs(t).max() * random.standard_normal(t.shape) for c, t in of_set.items()}
        for s, of_set in traces.items()
    }


def check(document: dict, most: float = 1e-12, differs: float = 1e-6) -> None:
    """Compare <J change, r> with <change, J^T r>, and J change with a central difference."""
    wave = wave_of(document)
    start = wave.start | model(document["physics"], len(document["grid"]["extent"]))
    changes = changes_of(document, start)
    wave(keep=True, **start)
    changed = wave.jvp(**changes)
    residuals = random_residuals(changed)
    derivative = wave.pullback(residuals)
    slope = sum(float(np.sum(derivative[name] * changes[name])) for name in changes)
    assert abs(slope - product(changed, residuals)) < most * norm(changed) * norm(residuals)
    step = 1e-5
    above, below = (
        wave(**{name: start[name] + h * changes[name] for name in start}) for h in (step, -step)
    )
    central = {
        s: {c: (above[s][c] - below[s][c]) / (2.0 * step) for c in of_set}
        for s, of_set in above.items()
    }
    assert norm(difference(central, changed)) < differs * norm(changed)


@pytest.mark.parametrize(
    ("equation", "top"),
    [
        *((equation, "free_surface") for equation in PARAMETERS),
        ("elastic", "absorbing"),
        *(
            pytest.param(equation, "absorbing", marks=pytest.mark.slow)
            for equation in PARAMETERS
            if equation != "elastic"
        ),
    ],
)
def test_change_of_traces_is_that_of_runs(equation: str, top: str) -> None:
    check(scenario(equation, 2, top))


@pytest.mark.parametrize(
    "equation",
    slow_but({"acoustic_variable_density"}, [e for e in PARAMETERS if e != "elastic_sh"]),
)
def test_change_of_traces_is_that_of_runs_in_space(equation: str) -> None:
    document = scenario(equation, 3)
    document["time"]["duration"] = 0.1
    del document["survey"]["shots"][1:]
    check(document)


@pytest.mark.parametrize("equation", ["acoustic_variable_density", "elastic"])
def test_averages_over_cells_change_with_their_nodes(equation: str) -> None:
    check(scenario(equation, 2, averaging="effective"))


@pytest.mark.parametrize("source", ["force", "moment_tensor", "volume_rate"])
def test_sources_act_on_a_free_surface(source: str) -> None:
    document = scenario("elastic", 2, source=source)
    for shot in document["survey"]["shots"]:
        shot["position"]["z"] = 5.0
    check(document)


@pytest.mark.parametrize(
    ("equation", "order"),
    [("acoustic", 8), ("acoustic_variable_density", 6), ("elastic", 2), ("elastic_sh", 8)],
)
def test_orders_have_their_transposes(equation: str, order: int) -> None:
    document = scenario(equation, 2)
    document["grid"]["order"] = order
    check(document)


@pytest.mark.parametrize("equation", slow_but({"acoustic", "elastic"}, PARAMETERS))
def test_transpose_in_float32(equation: str) -> None:
    check(scenario(equation, 2) | {"precision": "float32"}, 1e-5, np.inf)


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_float32_errs_by_its_rounding(equation: str) -> None:
    """Changes of changes of a field, of second order in time, are small differences."""
    document = scenario(equation, 2)
    changed = []
    for precision in ("float64", "float32"):
        wave = wave_of(document | {"precision": precision})
        start = wave.start | model(equation, 2)
        wave(**start)
        changed.append(wave.jvp(**changes_of(document, start)))
    assert norm(difference(changed[1], changed[0])) < 3e-5 * norm(changed[0])


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_subdomains_and_batches_give_the_same_change(equation: str) -> None:
    document = scenario(equation, 2)
    changed = []
    for count, batch in ((1, 2), (2, 1)):
        grid = document["grid"] | {"decomposition": [count, 1]}
        survey = document["survey"] | {"batch": batch}
        wave = wave_of(document | {"grid": grid, "survey": survey})
        start = wave.start | model(equation, 2)
        wave(**start)
        changed.append(wave.jvp(**changes_of(document, start)))
    assert norm(difference(*changed)) < 1e-12 * norm(changed[0])


def test_simulated_card_gives_the_derivatives_of_the_processor(monkeypatch) -> None:
    """The kernels of a GPU, compiled for the processor."""
    document = scenario("elastic", 2)
    document["time"]["duration"] = 0.04
    document["sources"][0]["wavelet"]["frequency"] = 60.0
    processor = wave_of(document)
    monkeypatch.setattr("seismo.inversion.propagator.choose", lambda *_: SimulatedChoice())
    check_same(document, processor, wave_of(document))


def check_same(document: dict, *waves) -> None:
    """Compare changes of traces, and derivatives, of two propagators."""
    changed = []
    derivatives = []
    for wave in waves:
        start = wave.start | model(document["physics"], len(document["grid"]["extent"]))
        wave(keep=True, **start)
        changed.append(wave.jvp(**changes_of(document, start)))
        derivatives.append(wave.pullback(random_residuals(changed[0])))
    assert norm(difference(*changed)) < 1e-10 * norm(changed[0])
    for name, derivative in derivatives[0].items():
        largest = np.abs(derivative).max()
        assert derivatives[1][name] == pytest.approx(derivative, abs=1e-10 * largest)


class SimulatedChoice:
    """The choice of a GPU that is simulated."""

    def make(self, precision: str) -> GpuBackend:
        return simulated(precision)


@pytest.mark.gpu
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("equation", PARAMETERS)
def test_card_gives_the_change_of_the_processor(equation: str, dimensions: int) -> None:
    if (equation, dimensions) == ("elastic_sh", 3):
        pytest.skip("SH waves are in a plane")
    document = scenario(equation, dimensions)
    check_same(document, wave_of(document, backend="cpu"), wave_of(document, backend="gpu"))


@pytest.mark.parametrize("equation", ["acoustic", "elastic"])
def test_remainders_are_of_first_and_second_order(equation: str) -> None:
    """Taylor's theorem over four decades of changes."""
    document = scenario(equation, 2)
    wave = wave_of(document)
    start = wave.start | model(equation, 2)
    changes = {n: c for n, c in changes_of(document, start).items() if n in MIDDLE}
    traces = wave(**start)
    changed = wave.jvp(**changes)
    steps = 10.0 ** np.arange(-2, -7, -1)
    remainders = []
    for step in steps:
        moved = wave(**start | {name: start[name] + step * changes[name] for name in changes})
        first = difference(moved, traces)
        remainders.append([norm(first), norm(difference(first, changed, step))])
    slopes = -np.diff(np.log10(remainders), axis=0)
    assert slopes[:, 0] == pytest.approx(1.0, abs=0.05)
    # Rounding ends the second order.
    assert slopes[:3, 1] == pytest.approx(2.0, abs=0.05)


def test_several_models_have_a_change_each() -> None:
    document = scenario("acoustic", 2)
    wave = propagator(document, "vp", bounds={"vp": BOUNDS["vp"]})
    several = np.stack([model("acoustic", 2, seed)["vp"] for seed in (0, 1)])
    changes = np.stack([changes_of(document, {"vp": several[0]}, s)["vp"] for s in (0, 1)])
    wave(vp=several)
    changed = wave.jvp(vp=changes)["line"]["pressure"]
    for number in (0, 1):
        wave(vp=several[number])
        alone = wave.jvp(vp=changes[number])["line"]["pressure"]
        np.testing.assert_array_equal(changed[number], alone)


def test_refusals_of_changes_say_why() -> None:
    document = scenario("acoustic", 2)
    wave = propagator(document, "vp", bounds={"vp": BOUNDS["vp"]})
    vp = model("acoustic", 2)["vp"]
    with pytest.raises(ScenarioError, match="jvp: call the propagator with a model first"):
        wave.jvp(vp=vp)
    wave(vp=vp)
    with pytest.raises(ScenarioError, match="rho: is none of the propagator's parameters"):
        wave.jvp(rho=vp)
    with pytest.raises(ModelError, match=r"vp: has the shape \[3\]"):
        wave.jvp(vp=np.zeros(3))
    with pytest.raises(ModelError, match=r"vp: nan at node \[0, 0\] is not finite"):
        wave.jvp(vp=np.full_like(vp, np.nan))
    with pytest.raises(ScenarioError, match=r"changes of 2 models, .* a single one; give as many"):
        wave.jvp(vp=np.stack([vp, vp]))
    still = wave.jvp()["line"]["pressure"]
    assert not still.any()
