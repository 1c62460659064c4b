"""Plane waves in earths of which one part loses energy and another does not."""

import numpy as np
import pytest

import solver
from seismo.errors import ScenarioError
from seismo.features.plane_waves.column import IncidentColumn
from seismo.scenario import from_dict
from seismo.solver.simulation import build
from test_plane_waves import HALF_SPACE, in_space, outside, scenario, traces

SOFT_ON_ROCK = (
    {"top": 0.0, "vp": 1600.0, "vs": 800.0, "rho": 1800.0},
    {"top": 150.0, "vp": 3464.0, "vs": 2000.0, "rho": 2300.0},
)
QUALITIES = {"qp": 40.0, "qs": 20.0}
INFINITE = {"qp": float("inf"), "qs": float("inf")}


@pytest.mark.parametrize(
    ("wave", "incidence", "soft", "rock"),
    [
        ("SH", 0.0, QUALITIES, {}),
        ("SV", 25.0, QUALITIES, {}),
        pytest.param("P", 40.0, {}, QUALITIES, marks=pytest.mark.slow),
        ("SH", 50.0, {}, QUALITIES),
        pytest.param("P", 40.0, {}, {"qs": 20.0}, marks=pytest.mark.slow),
        pytest.param("SV", 0.0, {}, QUALITIES, marks=pytest.mark.slow),
        pytest.param("P", 0.0, QUALITIES, INFINITE, marks=pytest.mark.slow),
        pytest.param("SV", 30.0, QUALITIES, {"qp": 1e9, "qs": 1e9}, marks=pytest.mark.slow),
        pytest.param("P", 60.0, QUALITIES, {}, marks=pytest.mark.slow),
        pytest.param("SV", 25.0, {"qp": 40.0}, {"qs": 50.0}, marks=pytest.mark.slow),
    ],
)
def test_motion_where_one_part_loses_energy_is_exact(wave, incidence, soft, rock):
    """At 10 points per shortest wavelength contacts err by some 0.5 %, dispersion by less."""
    layers = [
        layer | {q: value for q, value in loss.items() if wave != "SH" or q == "qs"}
        for layer, loss in zip(SOFT_ON_ROCK, (soft, rock), strict=True)
    ]
    loss = {"reference_frequency": 4.0, "mechanisms": 6, "band": [0.3, 20.0]}
    document = scenario(wave, incidence, layers, 7.5, 2.0, attenuation=loss)
    document["receivers"][0]["positions"][1] = {"x": 700.0, "z": 420.0}
    recorded, exact, _ = traces(document)
    error = np.linalg.norm(recorded - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert error.max() < 0.01


@pytest.mark.parametrize("wave", ["SH", pytest.param("SV", marks=pytest.mark.slow)])
def test_a_lossy_basin_in_lossless_rock_is_that_of_rock_that_hardly_loses(wave):
    """Q of 1e6 changes the motion by less than 1e-4 over some wavelengths."""
    basin = {"type": "block", "x": [500.0, 700.0], "z": [0.0, 150.0], "vp": 1600.0, "vs": 900.0,
             "rho": 1900.0, "qp": 40.0, "qs": 20.0}  # fmt: skip
    rock = {"type": "uniform", "vp": 4000.0, "vs": 2300.0, "rho": 2500.0}
    if wave == "SH":
        basin.pop("qp")
    runs = []
    for loss in ({}, {"qp": 1e6, "qs": 1e6}):
        document = scenario(wave, 20.0, HALF_SPACE, 20.0, 1.5, model=[rock | loss, basin])
        if wave == "SH":
            document["model"][0].pop("qp", None)
        document["receivers"][0]["positions"][0] = {"x": 600.0, "z": 0.0}
        document["attenuation"] = {"reference_frequency": 4.0}
        runs.append(solver.records(solver.simulate(document)))
    assert solver.difference(*runs) < 2e-4


@pytest.mark.parametrize("factor", [1e4, 1e-4, np.nan])
def test_a_wave_that_is_not_of_its_size_is_refused(factor, monkeypatch):
    fields = IncidentColumn.fields
    monkeypatch.setattr(
        IncidentColumn, "fields", lambda column, mode: factor * fields(column, mode)
    )
    with pytest.raises(ScenarioError, match=r"sources\[0\].*m/s moves the bottom of its box"):
        build(from_dict(scenario("SH", h=20.0, duration=1.0)))


@pytest.mark.slow
@pytest.mark.parametrize(("wave", "bar"), [("P", 3e-6), ("SV", 3e-5), ("SH", 3e-6)])
def test_nothing_leaves_the_box_in_space(wave, bar):
    layers = [SOFT_ON_ROCK[0] | QUALITIES, SOFT_ON_ROCK[1]]
    document = in_space(layers=layers, duration=0.7)
    document["sources"][0]["wave"] = wave
    assert outside(document) < bar
