"""What traces err by where the ground is smoothed for the grid, or level beside layers."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import seismo
from seismo.features.topography.checks import levelling_error, smoothing_error
from seismo.runs.prediction.accuracy import expected_error
from seismo.solver.discretize import discretize

ROCK = {"type": "uniform", "vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
WIDE = {"center": {"x": 0.0}, "height": 60.0, "width": 700.0}
NARROW = [
    {"center": {"x": x}, "height": height, "width": 90.0}
    for x, height in ((-900.0, 40.0), (-400.0, -50.0), (100.0, 45.0), (500.0, -30.0))
]


def scenario(hills: list[dict], spacing: float = 50.0, half: float = 2000.0) -> seismo.Scenario:
    """Return P-SV waves of a deep source under hills, of a region so wide to both sides."""
    return seismo.load(
        {
            "physics": "elastic",
            "grid": {
                "extent": {"x": 2 * half, "z": 2500.0}, "spacing": spacing,
                "origin": {"x": -half},
            },
            "time": {"duration": 1.6},
            "boundaries": {"top": "free_surface", "layer": {"points": 12, "damping": 0.0}},
            "topography": {"type": "hills", "hills": hills},
            "model": [ROCK],
            "sources": [
                {
                    "type": "force", "position": {"x": 200.0, "z": 1500.0},
                    "force": {"x": 1e9, "z": 1e9}, "wavelet": {"type": "ricker", "frequency": 3.0},
                }
            ],
            "receivers": [
                {
                    "type": "line", "start": {"x": -900.0}, "end": {"x": 900.0}, "count": 9,
                    "quantities": ["velocity"],
                },
            ],
        }
    )  # fmt: skip


def traces(run: seismo.Scenario, folder) -> tuple[np.ndarray, np.ndarray]:
    """Return times (n) and velocities (component, receiver, n)."""
    with seismo.run(run, folder / "results.h5", backend="cpu") as results:
        (group,) = results.traces.values()
        return np.array(group.time), np.stack([group[c][0] for c in ("vx", "vz")])


def worst(runs: list[seismo.Scenario], folder) -> float:
    """Return the largest relative difference of the first run's traces from the second's."""
    (times, found), (fine_times, known) = (traces(run, folder) for run in runs)
    known = CubicSpline(fine_times, known, axis=-1)(times)
    squares = [np.sum(part**2, axis=(0, 2)) for part in (found - known, known)]
    return float(np.sqrt((squares[0] / squares[1]).max()))


def test_ground_that_the_grid_carries_costs_nothing():
    discretization = discretize(scenario([WIDE | {"width": 500.0}]))
    assert smoothing_error(discretization) == 0.0
    assert levelling_error(discretization) < 1e-3


@pytest.mark.slow
def test_hills_too_narrow_for_the_grid_err_as_told(tmp_path):
    run = scenario([WIDE, *NARROW])
    found = worst([run, scenario([WIDE, *NARROW], 12.5)], tmp_path)
    told = smoothing_error(discretize(run))
    assert 0.5 * found < told < 3.0 * found
    assert dict(expected_error(discretize(run)).causes)["ground too short for the grid"] == told


@pytest.mark.slow
def test_a_hill_at_the_side_errs_as_told(tmp_path):
    hills = [{"center": {"x": -1150.0}, "height": 80.0, "width": 250.0}]
    run = scenario(hills, half=1500.0)
    found = worst([run, scenario(hills, half=3000.0)], tmp_path)
    told = levelling_error(discretize(run))
    assert 0.5 * found < told < 5.0 * found
