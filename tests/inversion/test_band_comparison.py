"""Comparison of traces in a band: filters, windows, and the derivative by predicted traces."""

import math

import numpy as np
import pytest

import seismo
from seismo.inversion.misfits import comparison
from seismo.inversion.survey.settings import TraceWindow
from seismo.inversion.survey.traces import BandComparison, low_passed
from seismo.solver.discretize import discretize
from small_inversion import scenario

WINDOW = {
    "after": {"velocity": "3 km/s", "delay": "20 ms"},
    "before": {"velocity": "2 km/s", "delay": "80 ms"},
    "taper": "10 ms",
    "offsets": [0.0, "360 m"],
}


@pytest.fixture(scope="module")
def run():
    return discretize(seismo.load(scenario()))


def traces(seed: int, shots: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((shots, 7, 101))


def test_the_filter_is_its_own_transpose_and_halves_the_corner():
    first, second = traces(0), traces(1)
    forward = (low_passed(first, 2e-3, 30.0) * second).sum()
    assert forward == pytest.approx((first * low_passed(second, 2e-3, 30.0)).sum(), rel=1e-12)
    time = 2e-3 * np.arange(4001)
    for frequency, share in ((3.0, 1.0), (30.0, 0.5), (120.0, 0.0)):
        wave = np.cos(2.0 * np.pi * frequency * time)
        middle = slice(1500, 2500)  # far from the ends
        filtered = low_passed(wave, 2e-3, 30.0)[middle]
        assert filtered == pytest.approx(share * wave[middle], abs=2e-4)
    assert low_passed(first, 2e-3, math.inf) is first


@pytest.mark.parametrize("kind", ["l2", "correlation", "envelope"])
@pytest.mark.parametrize("window", [{}, WINDOW])
def test_the_derivative_agrees_with_central_differences(run, kind, window):
    observed = traces(2)
    observed[0, 3] = np.nan  # a receiver that the file lacks
    observed[:, :, 90:] = np.nan  # the record ends early
    sections = {"well": {"pressure": observed}}
    compare = BandComparison(run, sections, TraceWindow(**window), comparison(kind), 40.0)
    predicted = traces(3)
    direction = traces(4)
    value, adjoint = compare({"well": {"pressure": predicted}}, [0, 1])
    step = 1e-5
    ahead, behind = (
        compare({"well": {"pressure": predicted + s * direction}}, [0, 1])[0] for s in (step, -step)
    )
    derivative = adjoint["well"]["pressure"]
    expected = (derivative * direction).sum()
    assert (ahead - behind) / (2.0 * step) == pytest.approx(expected, rel=1e-6)
    assert value > 0.0
    assert not derivative[0, 3].any()
    assert not derivative[:, :, 90:].any()


def test_the_misfit_of_all_shots_is_the_sum_over_shots(run):
    sections = {"well": {"pressure": traces(2)}}
    compare = BandComparison(run, sections, TraceWindow(), comparison("l2"), 40.0)
    predicted = traces(3)
    whole, _ = compare({"well": {"pressure": predicted}}, [0, 1])
    single = [compare({"well": {"pressure": predicted[n : n + 1]}}, [n])[0] for n in (0, 1)]
    assert sum(single) == pytest.approx(whole, rel=1e-12)


def test_samples_outside_the_window_do_not_count(run):
    """The first receiver of the second shot lies 361 m off: beyond `offsets`."""
    observed = traces(2)
    compare = BandComparison(
        run, {"well": {"pressure": observed}}, TraceWindow(**WINDOW), comparison("l2"), math.inf
    )
    _, adjoint = compare({"well": {"pressure": observed + 1.0}}, [0, 1])
    derivative = adjoint["well"]["pressure"]
    time = 2e-3 * np.arange(101)
    source, receiver = np.array([50.0, 120.0]), np.array([350.0, 100.0])
    distance = np.linalg.norm(source - receiver)
    begin, end = 0.02 + distance / 3000.0, 0.08 + distance / 2000.0
    inside = (begin <= time) & (time <= end)
    outside = (time < begin - 0.01) | (time > end + 0.01)
    assert derivative[0, 1, inside] == pytest.approx(1.0)
    assert not derivative[0, 1, outside].any()
    assert np.hypot(300.0, 200.0) > 360.0
    assert not derivative[1, 0].any()
