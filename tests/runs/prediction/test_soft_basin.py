"""The benchmark of a soft basin: its grids, and how its traces are compared."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import soft_basin

import seismo
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


def test_the_refined_grid_has_less_to_do() -> None:
    """Its plane lies in the soft layers, so that rows above it do not hold rock's short steps."""
    problem = soft_basin.Problem(1.0, 6000.0)
    assert problem.spacing == 37.5
    assert 450.0 < problem.plane < soft_basin.SOFT
    refined, even = (discretize(from_dict(problem.scenario(n))) for n in (True, False))
    assert refined.clock.dt > 2.0 * even.clock.dt
    assert refined.points * refined.total_steps < even.points * even.total_steps / 25.0


def test_layers_are_as_thick_on_both_grids() -> None:
    problem = soft_basin.Problem(1.0)
    thick = []
    for refined in (True, False):
        discretization = discretize(from_dict(problem.scenario(refined)))
        thick.append(discretization.grid.low[0] * discretization.grid.spacing[0])
    assert thick == [2700.0, 2700.0]


def test_traces_are_compared_at_the_times_of_the_exact_ones() -> None:
    """Traces of another step are interpolated, and compared by station."""
    times, others = np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 201)
    stations = np.array([1.1, 1.02, 1.0])[:, None, None] * np.tile(others, (1, 3, 3, 1))
    traces = soft_basin.at_times(times, others, stations)
    wanted = np.tile(times, (3, 3, 1))
    assert soft_basin.errors(traces, wanted) == pytest.approx([0.1, 0.02, 0.0])


def test_a_section_has_the_same_rows() -> None:
    """In 2-D the errors are those of the same layers, spacing and plane."""
    section = soft_basin.Problem(1.0, 6000.0, axes="xz").scenario(True)
    discretization = discretize(from_dict(section))
    assert discretization.grid.axes == "xz"
    space = soft_basin.Problem(1.0, 6000.0).scenario(True)
    assert discretize(from_dict(space)).grid.points[2] == discretization.grid.points[2]


@pytest.mark.slow
def test_it_is_told_what_the_layers_of_the_shipped_basin_send_back() -> None:
    """Found is the worst trace, against a region 84 km wider on all sides, layers of 60 points."""
    scenario = Path(__file__).parents[3] / "scenarios" / "soft_basin.yaml"
    assert 0.5 < seismo.check(scenario).expected.error / 0.139 < 3.0
