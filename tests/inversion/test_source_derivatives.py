"""Wavelets and strengths given as arrays, and derivatives by them.

Traces are linear in wavelets, and in strengths: what a call returns of a change is the derivative
along it, so that products with derivatives by traces tell whether `pullback` is its transpose.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import seismo
from seismo.acquisition.sources import PointSource
from seismo.acquisition.wavelets import SampledWavelet, natural_spline
from seismo.errors import ModelError, ScenarioError
from test_pullback import BOUNDS, PARAMETERS, SOURCES, model, scenario

STRENGTHS = {"force": "force", "moment_tensor": "moment_tensor", "explosion": "moment"}
DEFAULT = "amplitude"
INTERVAL = 2e-3  # s


def propagator(document: dict, *names: str, **options) -> seismo.Propagator:
    options = {"backend": "cpu", "wavelet_interval": INTERVAL} | options
    return seismo.Propagator(document, names, **options)


def strength_of(document: dict) -> str:
    return STRENGTHS.get(document["sources"][0]["type"], DEFAULT)


def product(one: dict, other: dict) -> float:
    return sum(float(np.sum(one[s][c] * other[s][c])) for s in one for c in one[s])


def norm(traces: dict) -> float:
    return float(np.sqrt(product(traces, traces)))


def check_transpose(document: dict, most: float = 1e-12) -> None:
    """Compare <J change, r> with <change, J^T r>, for r as large as the traces of the change."""
    strength = strength_of(document)
    wave = propagator(document, "wavelet", strength)
    random = np.random.default_rng(0)
    start = {
        name: np.abs(values).max() * random.standard_normal(values.shape)
        for name, values in wave.start.items()
    }
    changes = {
        name: np.abs(values).max() * random.standard_normal(values.shape)
        for name, values in start.items()
    }
    by_change = [wave(**start | {name: change}) for name, change in changes.items()]
    changed = {
        s: {c: sum(traces[s][c] for traces in by_change) for c in of_set}
        for s, of_set in by_change[0].items()
    }
    by_traces = {
        s: {c: np.abs(t).max() * random.standard_normal(t.shape) for c, t in of_set.items()}
        for s, of_set in changed.items()
    }
    wave(**start)
    derivative = wave.pullback(by_traces)
    slope = sum(float(np.sum(derivative[name] * changes[name])) for name in changes)
    assert wave.plan.bytes == 0
    error = abs(slope - product(changed, by_traces))
    assert error < most * norm(changed) * norm(by_traces)


@pytest.mark.parametrize(
    ("equation", "source"), [(e, s) for e, kinds in SOURCES.items() for s in kinds]
)
def test_pullback_is_the_transpose_of_sources(equation: str, source: str) -> None:
    check_transpose(scenario(equation, 2, source=source))


def test_pullback_is_the_transpose_of_sources_in_space() -> None:
    document = scenario("elastic", 3, "absorbing", source="moment_tensor")
    document["time"]["duration"] = 0.1
    del document["survey"]["shots"][1:]
    check_transpose(document)


def test_dispersion_that_stays_is_in_no_transpose() -> None:
    document = scenario("elastic", 2)
    document["time"]["dispersion_removal"] = False
    check_transpose(document)


def test_models_and_sources_have_derivatives_together() -> None:
    """Images are the same with and without the sources."""
    document = scenario("elastic", 2)
    names = PARAMETERS["elastic"]
    bounds = {n: BOUNDS[n] for n in names}
    values = model("elastic", 2)
    gradients = []
    for added in ((), ("wavelet", "force")):
        wave = propagator(document, *names, *added, bounds=bounds, snapshots=1)
        gradients.append(wave.pullback(wave(keep=True, **values)))
    for name in names:
        largest = np.abs(gradients[0][name]).max()
        assert gradients[1][name] == pytest.approx(gradients[0][name], abs=1e-12 * largest)
    assert gradients[1]["wavelet"].shape == wave.start["wavelet"].shape
    # Traces are linear in the forces: the derivative along them is the square of the traces.
    square = norm(wave(**values)) ** 2
    assert np.sum(gradients[1]["force"] * wave.start["force"]) == pytest.approx(square, rel=1e-12)


def test_segments_are_run_again_with_the_sources_of_the_call() -> None:
    """Steps of other sources were taken between a call and its pullback."""
    document = scenario("acoustic", 2)
    bounds = {"vp": BOUNDS["vp"]}
    samples = np.random.default_rng(0).standard_normal((2, 40))
    gradients = []
    for memory in (None, 2_900_000):
        wave = propagator(document, "vp", "wavelet", bounds=bounds, snapshots=1, memory=memory)
        traces = wave(keep=True, wavelet=samples[0])
        next(wave.steps(every=9, wavelet=samples[1]))
        gradients.append(wave.pullback(traces)["vp"])
        assert (wave.plan.segments > 1) == (memory is not None)
    np.testing.assert_array_equal(*gradients)


def test_other_sources_are_those_of_a_run() -> None:
    document = scenario("elastic_sh", 2)
    # These follow from the medium where they are not given.
    document["grid"]["stencil"] = "taylor"
    document["time"] = {"duration": 0.16, "step": 1e-3}
    document["boundaries"]["layer"]["damping"] = 0.0
    document["model"] = [{"type": "array", **model("elastic_sh", 2)}]
    samples = np.random.default_rng(0).standard_normal(40)

    def with_source(factor: float, force: float) -> dict:
        # The layers absorb the frequencies of the scenario's wavelet, those of all factors.
        wavelet = {"type": "array", "samples": factor * samples, "interval": INTERVAL}
        source = document["sources"][0] | {"wavelet": wavelet, "force": {"y": force}}
        return document | {"sources": [source]}

    wave = propagator(with_source(1.0, 1e9), "wavelet", "force")
    traces = wave(wavelet=np.outer([2.0, -0.5], samples), force=[[2e9], [-1e9]])
    for shot, values in enumerate([(2.0, 2e9), (-0.5, -1e9)]):
        section = seismo.Propagator(with_source(*values), backend="cpu")()["line"]["vy"][shot]
        np.testing.assert_array_equal(traces["line"]["vy"][shot], section)


def test_axes_say_whom_values_are_for() -> None:
    wave = propagator(scenario("acoustic", 2), "wavelet", "amplitude")
    one, other = np.random.default_rng(0).standard_normal((2, 50))
    alike = wave(wavelet=one, amplitude=2e3)
    by_alike = wave.pullback(alike)
    each = wave(wavelet=np.stack([one, one]), amplitude=[2e3, 2e3])
    by_each = wave.pullback(each)
    np.testing.assert_array_equal(alike["line"]["pressure"], each["line"]["pressure"])
    for name in ("wavelet", "amplitude"):
        assert by_each[name].sum(axis=0) == pytest.approx(by_alike[name], rel=1e-12)
    several = wave(wavelet=np.stack([[one, one], [other, one]]), amplitude=2e3)
    assert several["line"]["pressure"].shape == (2, *each["line"]["pressure"].shape)
    np.testing.assert_array_equal(several["line"]["pressure"][0], each["line"]["pressure"])
    by_several = wave.pullback(several)
    assert by_several["wavelet"].shape == (2, 2, 50)
    assert by_several["amplitude"].shape == (2,)
    np.testing.assert_array_equal(by_several["wavelet"][0], by_each["wavelet"])


def test_sources_of_other_types_have_no_such_strength() -> None:
    document = scenario("acoustic", 2)
    del document["survey"]
    explosion = document["sources"][0] | {"type": "explosion", "moment": 1e12, "delay": 0.01}
    del explosion["amplitude"]
    document["sources"].append(explosion)
    wave = propagator(document, "wavelet", "amplitude", "moment")
    start = wave.start
    assert start["amplitude"].tolist() == [1e3, 0.0]
    assert start["moment"].tolist() == [0.0, 1e12]
    traces = wave()
    derivative = wave.pullback(traces)
    assert derivative["amplitude"][1] == derivative["moment"][0] == 0.0
    slope = derivative["amplitude"][0] * 1e3 + derivative["moment"][1] * 1e12
    assert slope == pytest.approx(norm(traces) ** 2, rel=1e-12)
    # The scenario's own wavelets by their samples: a spline's error.
    assert wave(**start)["line"]["pressure"] == pytest.approx(
        traces["line"]["pressure"], abs=1e-3 * np.abs(traces["line"]["pressure"]).max()
    )


def test_wavelets_are_for_each_call() -> None:
    """Steps, copies and later calls know their own sources."""
    wave = propagator(scenario("acoustic", 2), "wavelet")
    own = wave()
    samples = np.sin(np.arange(30.0))
    given = wave(wavelet=samples)
    np.testing.assert_array_equal(wave()["line"]["pressure"], own["line"]["pressure"])
    again = pickle.loads(pickle.dumps(wave))(wavelet=samples)
    np.testing.assert_array_equal(again["line"]["pressure"], given["line"]["pressure"])
    *_, (_, fields) = wave.steps(every=10**6, wavelet=2.0 * samples)
    twice = fields["p"].copy()
    *_, (_, fields) = wave.steps(every=10**6, wavelet=samples)
    assert twice == pytest.approx(2.0 * fields["p"], rel=1e-12)


def test_a_misfit_inverts_for_a_wavelet() -> None:
    """Traces are linear in the wavelet: few steps of conjugate gradients find it."""
    import scipy.optimize

    from seismo.inversion.problem import Problem

    wave = propagator(scenario("acoustic", 2), "wavelet")
    samples = np.zeros(60)
    samples[5:25] = np.hanning(20) * np.sin(np.arange(20.0))
    objective = seismo.misfit(wave, wave(wavelet=samples))
    problem = Problem(objective, {"wavelet": np.zeros(60)}, scales={"wavelet": 1.0})
    result = scipy.optimize.minimize(
        problem.flat, problem.flat_start, jac=True, method="L-BFGS-B", options={"maxiter": 12}
    )
    assert result.fun < 0.02
    error = np.linalg.norm(result.x - samples) / np.linalg.norm(samples)
    assert error < 0.3


def test_refusals_of_sources_say_why() -> None:
    document = scenario("acoustic", 2)
    with pytest.raises(ScenarioError, match="bounds: wavelet is of sources, which need none"):
        propagator(document, "wavelet", bounds={"wavelet": (0.0, 1.0)})
    with pytest.raises(ScenarioError, match=r"force: is of sources of type force, and .* pressure"):
        propagator(document, "force")
    with pytest.raises(ScenarioError, match="wavelet_interval: -1 s; give a positive time"):
        propagator(document, "wavelet", wavelet_interval=-1.0)
    wave = propagator(document, "wavelet", "amplitude")
    for array in (np.zeros(1), np.zeros((3, 40)), np.zeros((1, 1, 2, 40)), 1.0):
        with pytest.raises(ModelError, match=r"wavelet: has the shape .*; give \[2, "):
            wave(wavelet=array)
    with pytest.raises(ModelError, match="amplitude: has the shape"):
        wave(amplitude=[1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"wavelet: nan at index \[3\] is not finite"):
        wave(wavelet=np.where(np.arange(9) == 3, np.nan, 1.0))
    with pytest.raises(ModelError, match="has type complex128"):
        wave(wavelet=np.zeros(9, complex))


@pytest.mark.parametrize("order", [-1, 0, 1, 2])
@pytest.mark.parametrize("count", [3, 120])
def test_signals_have_transposes(order: int, count: int) -> None:
    """Samples coarser and finer than the steps, before and behind the first."""
    random = np.random.default_rng(0)
    samples, by_signal = random.standard_normal(count), random.standard_normal(200)
    wavelet = SampledWavelet(natural_spline(0.13 / (count - 1) * np.arange(count), samples))
    source = PointSource("", "force", (0.0, 0.0, 0.0), {"x": 1.0}, wavelet, 0.013, 0)
    times = 1e-3 * (np.arange(200) + 0.5)
    signal = source.signal(times, order)
    by_samples = source.signal_transposed(by_signal, times, order)
    scale = np.linalg.norm(signal) * np.linalg.norm(by_signal)
    assert by_samples @ samples == pytest.approx(signal @ by_signal, abs=1e-12 * scale)
