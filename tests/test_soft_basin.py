"""The benchmark of a soft basin: its grids, and how its traces are compared."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="exact solutions need the validation extra")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import soft_basin

from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


def test_the_refined_grid_has_less_to_do() -> None:
    """Its plane lies in the soft layers, so that rows above it do not hold rock's short steps."""
    problem = soft_basin.Problem(1.0, 6000.0)
    assert problem.spacing == 37.5
    assert 450.0 < problem.plane < soft_basin.SOFT
    refined, even = (discretize(from_dict(problem.scenario(n))) for n in (True, False))
    assert refined.clock.dt > 2.0 * even.clock.dt
    assert refined.points * refined.total_steps < even.points * even.total_steps / 15.0


def test_traces_are_compared_at_the_times_of_the_refined_grid(monkeypatch) -> None:
    """Traces of another step are interpolated; each result has its own error."""
    times, others = np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 201)
    problem = soft_basin.Problem(1.0, 6000.0)
    monkeypatch.setattr(soft_basin.Problem, "exact", lambda *_: np.tile(times, (3, 3, 1)))
    even, refined = (soft_basin.Result(name, 1, 1, [1.0], [1.0]) for name in ("even", "refined"))
    soft_basin.compare(
        problem, (even, (others, np.tile(1.1 * others, (3, 3, 1)))),
        (refined, (times, np.tile(1.02 * times, (3, 3, 1)))),
    )  # fmt: skip
    assert even.errors == pytest.approx([0.1] * 3)
    assert refined.errors == pytest.approx([0.02] * 3)
    assert refined.apart == pytest.approx([0.08 / 1.1] * 3)
