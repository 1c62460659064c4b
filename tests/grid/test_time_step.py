"""The clock: the exact limit, steps that fit intervals, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seismo.errors import ScenarioError
from seismo.exact import scheme
from seismo.grid import coefficients
from seismo.grid.time_step import choose_clock, common_interval, kinder_interval, stability_limit
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


@pytest.mark.parametrize(
    ("interval", "last"), [(4e-3, 3.0), (0.1, 4.3), (1 / 30, 1.0), (1.23456789012e-5, None)]
)
def test_times_of_an_interval_do_not_depend_on_the_step(interval, last) -> None:
    """Multiples are rounded once; before, the 750th of 4 ms was 3.0000000000000004 s."""
    axes = []
    for limit in (2.3e-3, 1.7e-3, 7.1e-4, 3.3e-4):
        clock = choose_clock(5.0, min(limit, interval), 0.9, None, [interval])
        every = clock.steps_between(interval)
        axes.append(clock.times(np.arange(0, clock.steps + 1, every)[:1000], interval))
    for axis in axes[1:]:
        shared = min(len(axis), len(axes[0]))
        np.testing.assert_array_equal(axis[:shared], axes[0][:shared])
    assert last is None or last in axes[0]
    np.testing.assert_allclose(axes[0], np.arange(len(axes[0])) * interval, rtol=1e-9)


@pytest.mark.parametrize("order", [2, 4, 8, 16])
def test_limit_is_von_neumann_s(order: int) -> None:
    """The same from `exact.scheme`; order 2 in one dimension is the Courant number 1."""
    spacing = np.array([10.0, 7.0, 12.0])
    symbol = coefficients.largest_symbol(coefficients.staggered(order))
    found = stability_limit(3000.0, [(symbol, h) for h in spacing])
    wanted = scheme.stability_limit(3000.0, spacing, scheme.taylor_coefficients(order))
    assert found == pytest.approx(wanted, rel=1e-9)
    assert stability_limit(2000.0, [(2.0, 10.0)]) == pytest.approx(10.0 / 2000.0)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 1000))
def test_common_interval_divides_all(counts: list[int], tick: int) -> None:
    """It is the greatest common divisor, in microseconds."""
    intervals = [n * tick * 1e-6 for n in counts]
    assert common_interval(intervals) == pytest.approx(math.gcd(*counts) * tick * 1e-6, rel=1e-9)


def test_no_interval_leaves_the_step_alone() -> None:
    assert common_interval([]) is None
    clock = choose_clock(1.0, 2e-3, 0.9, None, [])
    assert clock.dt == 0.9 * 2e-3
    assert clock.steps == math.ceil(1.0 / 1.8e-3)
    assert clock.steps_between(None) == 1


@given(
    st.floats(1e-4, 5e-3), st.floats(0.1, 1.0), st.lists(st.integers(1, 50), min_size=1, max_size=3)
)
def test_chosen_step_fits_every_interval(limit: float, courant: float, counts: list[int]) -> None:
    """Never above what was asked, a whole number of steps in each interval, half of it or more."""
    intervals = [n * 1e-3 for n in counts]
    clock = choose_clock(1.0, limit, courant, None, intervals)
    assert clock.dt <= courant * limit * (1 + 1e-8)
    shared = common_interval(intervals)
    assert clock.dt > 0.5 * min(courant * limit, shared) * (1 - 1e-9)
    for interval in intervals:
        count = interval / clock.dt
        assert abs(count - round(count)) < 1e-6
        assert clock.steps_between(interval) == round(count)
    assert clock.steps * clock.dt >= 1.0 - 1e-5 * clock.dt


def test_unstable_step_is_refused_with_the_limit() -> None:
    with pytest.raises(ScenarioError, match=r"exceeds .* 1\.24 ms; .* 1\.116 ms"):
        choose_clock(1.0, 1.24e-3, 0.9, 2e-3, [])
    with pytest.raises(ScenarioError, match=r"leave it out to choose 1 ms"):
        choose_clock(1.0, 1.24e-3, 0.9, 2e-3, [2e-3, 3e-3])
    assert choose_clock(1.0, 1.24e-3, 0.9, 1.24e-3, []).dt == 1.24e-3


def test_step_that_misses_an_interval_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"does not divide the output interval 2\.5 ms"):
        choose_clock(1.0, 2e-3, 0.9, 1e-3, [2.5e-3])
    with pytest.raises(ScenarioError, match=r"interval 2\.5 ms; leave it out, or use 0\.5 ms"):
        choose_clock(1.0, 2e-3, 0.9, 1e-3, [3e-3, 2.5e-3])
    assert choose_clock(1.0, 2e-3, 0.9, 1e-3, [2e-3]).steps == 1000


def test_an_interval_that_no_step_fits_is_named_by_its_key() -> None:
    uniform = {"type": "uniform", "vp": 2000}
    source = {"type": "pressure", "position": {"x": 100, "z": 100}}
    scenario = from_dict(
        {
            "physics": "acoustic", "model": [uniform], "time": {"duration": 1},
            "grid": {"extent": {"x": 400, "z": 300}, "spacing": 10},
            "sources": [source | {"wavelet": {"type": "ricker", "frequency": 10}}],
            "output": {"snapshots": [{"fields": ["p"], "interval": 0.1},
                                     {"fields": ["p"], "interval": 0.0037777, "name": "odd"}]},
        }
    )  # fmt: skip
    message = r"output.snapshots\[1\].interval: 0.0037777: the output intervals .*common divisor"
    with pytest.raises(ScenarioError, match=message):
        discretize(scenario)


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 1000), (1.0000001, 1001), (1e-9, 1)])
def test_steps_reach_the_duration(duration: float, steps: int) -> None:
    """And no step more because 1.0 / 0.001 is not 1000 in binary."""
    assert choose_clock(duration, 2e-3, 0.9, 1e-3, []).steps == steps


def test_thirds_and_tenths_have_a_common_step() -> None:
    """1/30 s and 1/100 s are both multiples of 1/300 s, though neither binary number tells."""
    assert common_interval([1 / 30, 0.01]) == pytest.approx(1 / 300, rel=1e-12)
    assert common_interval([0.03333333333, 0.01]) == pytest.approx(1 / 300, rel=1e-9)


@pytest.mark.parametrize("intervals", [[0.01, 0.033333], [1e-12], [5e-6]])
def test_intervals_that_would_need_tiny_steps_are_refused(intervals: list[float]) -> None:
    with pytest.raises(ScenarioError, match=r"far below the stable step 0\.9 ms; use multiples"):
        choose_clock(1.0, 1e-3, 0.9, None, intervals)


@pytest.mark.parametrize(("intervals", "change"), [
    ([0.007, 0.25], (0.25, 0.28, 0.007)), ([0.02, 0.123], (0.123, 0.12, 0.02 / 3)),
    ([0.01], (0.01, 0.0096, 0.0096)), ([0.2, 0.2, 0.0331], (0.0331, 0.032, 0.008)),
])  # fmt: skip
def test_a_near_interval_that_leaves_a_longer_step_is_found(intervals, change) -> None:
    """Steps up to 9.6 ms: the next interval of two digits with about the longest step."""
    found = kinder_interval(9.6e-3, intervals)
    assert found == pytest.approx(change)
    others = [i for i in intervals if i != found[0]]
    assert choose_clock(1.0, 9.6e-3, 1.0, None, [found[1], *others]).dt == pytest.approx(found[2])


@pytest.mark.parametrize("intervals", [[], [0.018], [0.007], [0.02, 0.25e-3], [0.25, 0.05]])
def test_intervals_are_left_alone_where_none_near_them_is_better(intervals) -> None:
    assert kinder_interval(9.6e-3, intervals) is None
