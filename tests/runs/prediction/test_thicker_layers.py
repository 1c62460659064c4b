"""The grid and the layers that `check` names keep to the accuracy once they are given."""

import re

import pytest

import seismo
from seismo.runs.prediction.remedy import least_points

BASIN = {
    "physics": "elastic",
    "boundaries": {"top": "free_surface"},
    "time": {"duration": 6.0},
    "model": [
        {"type": "layers", "layers": [
            {"top": 0.0, "vp": 3000.0, "vs": 1700.0, "rho": 2300.0},
            {"top": 500.0, "vp": 4500.0, "vs": 2600.0, "rho": 2600.0}]},
        {"type": "polygon", "vp": 1500.0, "vs": 500.0, "rho": 1900.0,
         "points": [[700.0, 0.0], [900.0, 200.0], [1300.0, 200.0], [1500.0, 0.0]]},
    ],
    "sources": [{"type": "moment_tensor", "position": {"x": 500.0, "z": 700.0}, "strike": 90.0,
                 "dip": 45.0, "rake": 90.0, "moment": 1e13,
                 "wavelet": {"type": "ricker", "frequency": 2.0}}],
    "receivers": [{"type": "line", "start": {"x": 200.0, "z": 0.0}, "end": {"x": 1800.0, "z": 0.0},
                   "count": 5}],
}  # fmt: skip
PLAIN = {"extent": {"x": 2000.0, "z": 1000.0}, "spacing": 20.0, "accuracy": 0.025}
FINE = {"extent": {"x": 2000.0, "z": 1000.0}, "spacing": 5.0, "accuracy": 0.01}
REFINED = {"extent": {"x": 1995.0, "z": 990.0}, "spacing": 5.0, "accuracy": 0.1,
           "refinement": [{"below": 300.0}]}  # fmt: skip


@pytest.mark.parametrize(
    "grid",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(FINE, id="fine", marks=pytest.mark.slow),
        pytest.param(REFINED, id="refined", marks=pytest.mark.slow),
    ],
)
def test_what_is_printed_keeps_to_the_accuracy(grid):
    """Layers of as many points are thinner on a finer grid: both are named together, and once."""
    plan = seismo.check(BASIN | {"grid": grid})
    assert plan.expected.error > 1.3 * grid["accuracy"]
    said = [
        line for line in [plan.remedy, *plan.warnings] if f"for {grid['accuracy']:.0%}"[:-1] in line
    ]
    (line,) = said
    assert not any(line.startswith("boundaries.layer.points") for line in plan.warnings)
    spacing = re.search(r"use a grid.spacing of about (\S+) m", line)
    points = re.search(r"raise boundaries.layer.points to (\d+)", line)
    assert points
    given = grid | ({"spacing": float(spacing[1])} if spacing else {})
    layer = {"layer": {"points": int(points[1])}}
    document = BASIN | {"grid": given, "boundaries": BASIN["boundaries"] | layer}
    mended = seismo.check(document)
    assert mended.expected.error <= 1.3 * grid["accuracy"]
    assert not any("boundaries.layer.points" in line for line in mended.warnings)


@pytest.mark.parametrize(("wanted", "points"), [(0.5, 10), (0.05, 20), (0.011, 91), (1e-4, 500)])
def test_the_fewest_points_are_found(wanted, points):
    """Those of an error of 1 / points; within a fiftieth, and the most where none do."""
    found, error = least_points(lambda n: 1.0 / n, wanted, 10)
    assert points <= found <= points + points // 50
    assert error == 1.0 / found
