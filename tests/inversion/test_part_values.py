"""Values of parts of the scenario's model as parameters: traces and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import seismo
from seismo.errors import ModelError, ScenarioError
from seismo.inversion.problem import Problem
from test_jvp import difference, random_residuals
from test_pullback import scenario
from test_source_derivatives import norm, product

MODEL = [
    {
        "type": "layers",
        "layers": [
            {"top": 0.0, "vp": 2000.0, "vs": 1000.0, "rho": 1900.0},
            {"top": 120.0, "vp": 2400.0, "vs": 1300.0, "rho": 2100.0},
        ],
    },
    {"type": "sphere", "center": {"x": 200.0, "z": 150.0}, "radius": 60.0, "vs": 900.0},
    {"type": "block", "x": [80.0, 150.0], "z": [220.0, 310.0], "vp": 2700.0},
]
BODIES = {"model[1].vs": (700.0, 1200.0), "model[2].vp": (2500.0, 3000.0)}
LAYERS = {"model[0].layers[1].vp": (2200.0, 2600.0), "model[0].layers[0].rho": (1700.0, 2100.0)}


def document(**keys) -> dict:
    return scenario("elastic", 2) | {"model": MODEL} | keys


def propagator(bounds: dict, *further: str, **keys) -> seismo.Propagator:
    return seismo.Propagator(
        document(**keys), (*bounds, *further), bounds, backend="cpu", snapshots=1
    )


@pytest.fixture(scope="module")
def bodies() -> seismo.Propagator:
    return propagator(BODIES, "wavelet")


@pytest.mark.parametrize("averaging", ["point", pytest.param("effective", marks=pytest.mark.slow)])
def test_derivatives_are_those_of_runs(bodies, averaging: str) -> None:
    wave = bodies if averaging == "point" else propagator(BODIES, averaging=averaging)
    start = {path: wave.start[path] * 1.01 for path in BODIES}
    changes = {"model[1].vs": 20.0, "model[2].vp": -30.0}
    wave(keep=True, **start)
    changed = wave.jvp(**changes)
    residuals = random_residuals(changed)
    derivative = wave.pullback(residuals)
    slope = sum(float(derivative[path] * change) for path, change in changes.items())
    assert abs(slope - product(changed, residuals)) < 1e-12 * norm(changed) * norm(residuals)
    for path, change in changes.items():
        above, below = (wave(**start | {path: start[path] + n * 1e-3 * change}) for n in (1, -1))
        central = product(difference(above, below), residuals) / 2e-3
        assert derivative[path].shape == ()
        assert central == pytest.approx(float(derivative[path]) * change, rel=1e-6)


def test_traces_are_those_of_the_same_arrays() -> None:
    """Parts over others hide them; derivatives are sums over the nodes of a part."""
    bounds = LAYERS | BODIES
    wave = propagator(bounds)
    names = ("vp", "vs", "rho")
    arrays = propagator({"vp": (2000.0, 3000.0), "vs": (700.0, 1300.0), "rho": (1700.0, 2100.0)})
    model = {name: arrays.start[name].copy() for name in names}
    parts = {path: model[path[-2:].strip(".")] == value for path, value in wave.start.items()
             if path in BODIES}  # fmt: skip
    layer = model["vp"] == 2400.0
    model["vp"][layer] = 2350.0
    model["vs"][parts["model[1].vs"]] = 950.0
    expected = arrays(keep=True, **model)
    traces = wave(keep=True, **{"model[0].layers[1].vp": 2350.0, "model[1].vs": 950.0})
    # Time steps suit other bounds.
    assert arrays.discretization.clock.dt == wave.discretization.clock.dt
    assert norm(difference(traces, expected)) == 0.0
    derivative = wave.pullback(traces)
    by_arrays = arrays.pullback(expected)
    assert derivative["model[0].layers[1].vp"] == pytest.approx(by_arrays["vp"][layer].sum())
    assert derivative["model[1].vs"] == pytest.approx(by_arrays["vs"][parts["model[1].vs"]].sum())


def test_an_end_of_a_gradient_acts_in_proportion_to_depth() -> None:
    gradient = {
        "type": "gradient", "z_top": 60.0, "z_bottom": 160.0, "vs": 1200.0, "rho": 2000.0,
        "vp": {"top": 2000.0, "bottom": 2600.0},
    }  # fmt: skip
    wave = propagator({"model[0].vp.top": (1800.0, 2200.0)}, model=[gradient])
    traces = wave(keep=True)
    derivative = wave.pullback(traces)["model[0].vp.top"]
    arrays = propagator({"vp": (1800.0, 2600.0)}, model=[gradient])
    arrays(keep=True)
    by_arrays = arrays.pullback(traces)["vp"]
    depth = 10.0 * np.arange(len(by_arrays))
    share = np.clip((160.0 - depth) / 100.0, 0.0, 1.0)[:, None]
    assert arrays.discretization.clock.dt == wave.discretization.clock.dt
    assert derivative == pytest.approx(float((share * by_arrays).sum()), rel=1e-9)


def test_several_values_have_traces_and_derivatives_each(bodies) -> None:
    values = {"model[1].vs": np.array([880.0, 920.0])}
    traces = bodies(**values)
    derivative = bodies.pullback(traces)["model[1].vs"]
    assert derivative.shape == (2,)
    alone = bodies(**{"model[1].vs": 920.0})
    assert norm(difference({"line": {c: t[1] for c, t in traces["line"].items()}}, alone)) == 0.0
    assert bodies.pullback(alone)["model[1].vs"] == derivative[1]


def test_an_optimiser_finds_a_value(bodies) -> None:
    observed = bodies(**{"model[1].vs": 940.0})
    objective = seismo.misfit(bodies, observed)
    bounds = {"model[1].vs": BODIES["model[1].vs"]}
    problem = Problem(objective, {"model[1].vs": bodies.start["model[1].vs"]}, bounds=bounds)
    result = scipy.optimize.minimize(
        problem.flat, problem.flat_start, jac=True, method="L-BFGS-B", bounds=problem.flat_bounds,
        options={"maxiter": 8},
    )  # fmt: skip
    assert problem.unflatten(result.x)["model[1].vs"] == pytest.approx(940.0, rel=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (["model[0].layers[1].top"], "top is no parameter of elastic .*places and shapes"),
        (["model[5].vp"], "has no such number; name one, such as"),
        (["model[0].vp"], "has no such number"),
        (["vs", "model[1].vs"], "vs is there at all nodes, too; leave either out"),
    ],
)
def test_other_values_are_refused(parameters: list[str], message: str) -> None:
    bounds = dict.fromkeys(parameters, (100.0, 2000.0))
    with pytest.raises(ScenarioError, match=message):
        seismo.Propagator(document(), parameters, bounds)


def test_wrong_values_are_refused(bodies) -> None:
    with pytest.raises(ModelError, match=r"2000\.0 is not within 700 and 1200"):
        bodies(**{"model[1].vs": 2000.0})
    with pytest.raises(ModelError, match="give a number"):
        bodies(**{"model[1].vs": np.zeros((3, 4))})
