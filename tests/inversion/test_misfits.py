"""Misfits: values that are known, derivatives against central differences."""

from functools import partial

import numpy as np
import pytest

from quadratic_propagator import QuadraticPropagator, random_models
from seismo.inversion.misfits import KINDS, misfit
from seismo.inversion.transport import squared_distance, transport

STEP = 1e-5  # of central differences
OPTIONS = {"huber": {"threshold": 0.3}}


def pulses(times, width=3.0, count=60):
    """Return Ricker pulses (trace, sample) at times in samples."""
    squares = ((np.arange(count) - np.asarray(times, float)[:, None]) / width) ** 2
    return (1.0 - 2.0 * squares) * np.exp(-squares)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_derivatives(kind):
    """Central differences err by the square of their step and by rounding over it."""
    random = np.random.default_rng(7)
    observed = pulses([20.0, 31.5, 40.0])
    predicted = 0.8 * pulses([22.3, 29.0, 44.0]) + 0.05 * random.standard_normal((3, 60))
    assert_derivative(partial(KINDS[kind], **OPTIONS.get(kind, {})), predicted, observed)


def assert_derivative(compare, predicted, observed):
    random = np.random.default_rng(8)
    _, adjoint = compare(predicted, observed)
    for _ in range(5):
        direction = random.standard_normal(predicted.shape)
        ahead = compare(predicted + STEP * direction, observed)[0]
        behind = compare(predicted - STEP * direction, observed)[0]
        slope = (ahead - behind) / (2 * STEP)
        assert slope == pytest.approx(np.vdot(adjoint, direction), rel=1e-6)


def test_transport_of_amplitudes_that_are_far_too_large():
    """Where the predicted trace is below zero there is no mass at all."""
    predicted = 1e3 * pulses([22.3, 29.0]) * np.cos(np.arange(60) / 4)
    assert_derivative(transport, predicted, pulses([20.0, 31.5]))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_equal_traces_are_at_the_minimum(kind):
    observed = np.concatenate([pulses([20.0, 31.5]), np.zeros((1, 60))])
    value, adjoint = KINDS[kind](observed, observed, **OPTIONS.get(kind, {}))
    assert value == pytest.approx(0.0, abs=1e-12)
    assert np.abs(adjoint).max() < 1e-12


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_silent_traces_have_finite_derivatives(kind):
    signal = pulses([20.0])
    for predicted, observed in ((signal, 0.0 * signal), (0.0 * signal, signal)):
        value, adjoint = KINDS[kind](predicted, observed, **OPTIONS.get(kind, {}))
        assert np.isfinite(value)
        assert np.isfinite(adjoint).all()


def test_huber_counts_outliers_linearly():
    observed = np.zeros((1, 2))
    predicted = np.array([[0.2, -5.0]])
    value, adjoint = KINDS["huber"](predicted, observed, threshold=0.5)
    assert value == pytest.approx(0.5 * 0.2**2 + 0.5 * (5.0 - 0.25))
    assert adjoint == pytest.approx(np.array([[0.2, -0.5]]))


def test_envelopes_do_not_see_the_phase():
    time = np.arange(400) - 200.0
    bell = np.exp(-((time / 40.0) ** 2))
    cosine = (bell * np.cos(0.5 * time))[None]
    sine = (bell * np.sin(0.5 * time))[None]
    value, _ = KINDS["envelope"](cosine, sine)
    assert value < 1e-6 * KINDS["l2"](cosine, sine)[0]


def test_correlation_does_not_see_amplitudes():
    observed = pulses([20.0, 31.5])
    value, adjoint = KINDS["correlation"](np.array([[3.0], [0.1]]) * observed, observed)
    assert value == pytest.approx(0.0, abs=1e-12)
    assert np.abs(adjoint).max() < 1e-12
    assert KINDS["correlation"](-observed, observed)[0] == pytest.approx(4.0)


def test_transport_of_a_shifted_density_is_the_squared_shift():
    """Away from the ends, mass that moves by 7 samples costs 49; it is convex in the shift."""
    bell = np.exp(-(((np.arange(200) - 60.0) / 8.0) ** 2))
    assert squared_distance(bell, np.roll(bell, 7))[0] == pytest.approx(49.0, rel=1e-9)
    assert squared_distance(bell, 3.0 * np.roll(bell, 40))[0] == pytest.approx(1600.0, rel=1e-9)


def test_transport_of_boxes():
    """Uniform on [0, 1] and on [0, 2]: the integral of y^2 from 0 to 1."""
    value, _ = squared_distance(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert value == pytest.approx(1.0 / 3.0)


def test_transport_grows_with_the_shift_beyond_half_a_period():
    """L2 misfits stop to grow there: cycles are skipped."""
    observed = pulses([60.0], count=160)
    values = [transport(pulses([60.0 + k], count=160), observed)[0] for k in range(0, 40, 4)]
    assert np.all(np.diff(values) > 0.0)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_gradients_of_models(kind):
    propagator = QuadraticPropagator(curvature=0.2)
    observed = propagator(**random_models(1))
    weights = {"line": {"vx": 0.5, "vz": np.linspace(0.0, 1.0, 40)}, "well": 2.0}
    objective = misfit(propagator, observed, kind, weights, **OPTIONS.get(kind, {}))
    models = random_models(2)
    direction = random_models(3)
    _, gradient = objective(**models)
    ahead, behind = (
        objective(**{n: m + sign * STEP * direction[n] for n, m in models.items()})[0]
        for sign in (1.0, -1.0)
    )
    slope = sum(np.vdot(gradient[name], direction[name]) for name in models)
    assert (ahead - behind) / (2 * STEP) == pytest.approx(slope, rel=1e-6)


def test_samples_without_a_value_are_left_out():
    """Receivers that do not record are NaN, observed samples that are missing NaN or masked."""
    propagator = QuadraticPropagator()
    observed = propagator(**random_models(1))
    adjoint = {}
    propagator.pullback = adjoint.update
    predicted = propagator(**random_models(2))
    predicted["line"]["vx"][1, 2] = np.nan
    observed["line"]["vz"][0, 0, 5:9] = np.nan
    observed["well"]["pressure"] = np.ma.masked_greater(observed["well"]["pressure"], 0.0)
    propagator.__class__ = type("Fixed", (), {"__call__": lambda self, keep: predicted})
    value, _ = misfit(propagator, observed)()
    residuals = [
        np.nan_to_num(predicted["line"]["vx"] - observed["line"]["vx"]),
        np.nan_to_num(predicted["line"]["vz"] - observed["line"]["vz"]),
        np.ma.filled(predicted["well"]["pressure"] - observed["well"]["pressure"], 0.0),
    ]
    assert value == pytest.approx(0.5 * sum((r**2).sum() for r in residuals))
    for section, residual in zip(
        (adjoint["line"]["vx"], adjoint["line"]["vz"], adjoint["well"]["pressure"]),
        residuals,
        strict=True,
    ):
        assert np.array_equal(section, residual)


def test_components_that_are_not_observed_have_no_part():
    propagator = QuadraticPropagator()
    observed = propagator(**random_models(1))
    del observed["well"], observed["line"]["vx"]
    models = random_models(2)
    value, gradient = misfit(propagator, observed)(**models)
    residual = propagator(**models)["line"]["vz"] - observed["line"]["vz"]
    assert value == pytest.approx(0.5 * (residual**2).sum())
    expected = propagator.pullback({"line": {"vz": residual}})
    assert gradient["vp"] == pytest.approx(expected["vp"])


def test_a_function_is_a_misfit():
    def fourth_power(predicted, observed, factor=1.0):
        residual = predicted["well"]["pressure"] - observed["well"]["pressure"]
        return factor * (residual**4).sum(), {"well": {"pressure": 4 * factor * residual**3}}

    propagator = QuadraticPropagator()
    observed = propagator(**random_models(1))
    models = random_models(2)
    value, gradient = misfit(propagator, observed, fourth_power, factor=2.0)(**models)
    assert value > 0.0
    assert gradient["vp"].shape == models["vp"].shape
    halved = misfit(propagator, observed, fourth_power, 0.5, factor=2.0)(**models)
    assert halved[0] == pytest.approx(value / 16.0)
    assert halved[1]["rho"] == pytest.approx(gradient["rho"] / 16.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kind": "l3"}, ValueError, "kind: 'l3'; use l2, huber"),
        ({"kind": "huber"}, TypeError, "threshold"),
        ({"observed": [1.0]}, TypeError, "is a list; give traces by receiver set"),
        ({"kind": "l2", "threshold": 1.0}, TypeError, "threshold"),
        ({"weights": {"lines": 1.0}}, ValueError, "weights: lines is none of line, well"),
        ({"weights": {"line": {"vy": 1.0}}}, ValueError, "weights: vy is none of vx, vz"),
    ],
)
def test_mistakes_are_refused_before_a_run(arguments, error, message):
    propagator = QuadraticPropagator()
    observed = propagator(**random_models(1))
    with pytest.raises(error, match=message):
        misfit(propagator, **({"observed": observed} | arguments))


def test_other_traces_than_the_propagator_has_are_refused():
    propagator = QuadraticPropagator()
    models = random_models(1)
    observed = propagator(**models)
    observed["well"]["pressure"] = observed["well"]["pressure"][..., :-1]
    with pytest.raises(ValueError, match=r"observed well\.pressure: \(2, 1, 24\)"):
        misfit(propagator, observed)(**models)
    observed["well"] = {"vz": np.zeros(3)}
    with pytest.raises(ValueError, match=r"observed well\.vz: there are no"):
        misfit(propagator, observed)(**models)
