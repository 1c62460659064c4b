"""What absorbing layers send back of waves along their faces, as told and as it is found."""

import math

import numpy as np
import pytest

import solver
from seismo.exact import acoustic, metrics
from seismo.runs.prediction.accuracy import expected_error
from seismo.runs.prediction.layer_reflections import GRAZING, grazing_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

VELOCITY = 2000.0


def document(
    points: float = 6.0, layer: int = 12, order: int = 8, physics: str = "acoustic",
    away: float = 400.0, along: float = 4800.0,
) -> dict:  # fmt: skip
    """Put source and receiver so far [m] from the layer at the top, 2 to 20 Hz."""
    h = VELOCITY / 25.0 / points
    width, depth = (math.ceil(length / h) * h for length in (along + 1600.0, away + 3500.0))
    rock = {"type": "uniform", "vp": VELOCITY}
    if physics == "acoustic_variable_density":
        rock["rho"] = 1000.0
    wavelet = {"type": "ormsby", "corners": [1.0, 2.0, 20.0, 25.0]}
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": width, "z": depth}, "spacing": h, "order": order},
        "time": {"duration": along / VELOCITY + 3.5},
        "boundaries": {"layer": {"points": layer}},
        "model": [rock],
        "sources": [{"type": "pressure", "position": {"x": 800.0, "z": away}, "wavelet": wavelet}],
        "receivers": [solver.points([{"x": 800.0 + along, "z": away}], quantities=["pressure"])],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "found"),
    [({}, 0.0176), ({"layer": 24}, 0.00143), ({"layer": 40}, 0.00091),
     ({"order": 12, "points": 3.6}, 0.0099), ({"away": 100.0}, 0.091),
     ({"physics": "acoustic_variable_density"}, 0.0051),
     ({"physics": "acoustic_variable_density", "layer": 24}, 0.00071)],
    ids=str,
)  # fmt: skip
def test_long_paths_along_a_face_err_as_is_told(changes: dict, found: float) -> None:
    """Errors that were found against the exact solution of a whole space."""
    error = grazing_error(discretize(from_dict(document(**changes))))
    assert 0.5 * found < error < 2.0 * found


@pytest.mark.slow
def test_it_is_found() -> None:
    case = document()
    simulation = solver.simulate(case)
    exact = acoustic.pressure(
        np.array([[4800.0, 0.0]]), solver.wavelet(simulation), simulation.dt, VELOCITY
    )
    found = metrics.relative_l2(solver.traces(simulation)["pressure"][0], exact[0])
    assert 0.5 * found < expected_error(simulation.discretization).error < 2.0 * found


def test_it_is_a_cause_of_its_own_that_steep_waves_lack() -> None:
    causes = dict(expected_error(discretize(from_dict(document()))).causes)
    assert causes[GRAZING] == max(causes.values())
    near = discretize(from_dict(document(along=300.0)))
    assert dict(expected_error(near).causes)[GRAZING] == 0.0


def test_in_three_dimensions_it_is_told_of_each_face() -> None:
    case = document(along=2400.0, physics="acoustic_variable_density")
    case["grid"]["spacing"] = 20.0
    case["grid"]["extent"] = {"x": 4000.0, "y": 300.0, "z": 800.0}
    case["sources"][0]["position"] |= {"y": 100.0, "z": 400.0}
    case["receivers"][0]["positions"][0] |= {"y": 100.0, "z": 400.0}
    beside = grazing_error(discretize(from_dict(case)))
    case["grid"]["extent"]["y"] = 800.0
    for ends in (case["sources"][0]["position"], case["receivers"][0]["positions"][0]):
        ends["y"] = 400.0
    assert grazing_error(discretize(from_dict(case))) < 0.5 * beside
