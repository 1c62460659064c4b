"""What media err by that change gradually within cells, as told and as it is found."""

import copy

import numpy as np
import pytest

import solver
from seismo.runs.prediction.resolution import gradient_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

SPACING = 10.0
TOP, BOTTOM = 600.0, 1800.0  # vs in m/s over 40 cells


def document(spacing=SPACING, model=None):
    gradient = {"type": "gradient", "z_top": 50.0, "z_bottom": 450.0, "rho": 2000.0,
                "vs": {"top": TOP, "bottom": BOTTOM}}  # fmt: skip
    return {
        "physics": "elastic_sh", "precision": "float64",
        "grid": {"extent": {"x": 800.0, "z": 500.0}, "spacing": spacing, "order": 8},
        "time": {"duration": 0.9}, "boundaries": {"layer": {"points": 20}},
        "model": [model or gradient],
        "sources": [{"type": "force", "force": {"y": 1e9}, "position": {"x": 200.0, "z": 200.0},
                     "wavelet": {"type": "ricker", "frequency": 3.0}}],
        "receivers": [solver.points([{"x": 600.0, "z": 200.0}], quantities=["velocity"])],
    }  # fmt: skip


def told(*arguments, **changes):
    return gradient_error(discretize(from_dict(document(*arguments, **changes))))


def test_it_is_the_square_of_the_change_in_a_cell():
    """Along a level path the phase is 2 pi f L g^2 / 12 c; f of the spectrum is 3 to 4 Hz."""
    speed = TOP + (BOTTOM - TOP) * 150.0 / 400.0
    change = np.log1p(0.5 * 30.0 / speed) - np.log1p(-0.5 * 30.0 / speed)
    delay = 400.0 * change**2 / 12.0 / speed
    assert 2.5 < told() / (2.0 * np.pi * delay) < 4.5
    assert told(2.0 * SPACING) == pytest.approx(4.0 * told(), rel=0.02)


@pytest.mark.parametrize(
    "model",
    [
        {"type": "uniform", "vs": 600.0, "rho": 2000.0},
        {"type": "layers", "layers": [
            {"top": -1e5, "vs": 600.0, "rho": 2000.0}, {"top": 203.0, "vs": 900.0, "rho": 2000.0},
        ]},
        {"type": "layers", "layers": [
            {"top": -1e5, "vs": 0.0, "rho": 1000.0}, {"top": 103.0, "vs": 900.0, "rho": 2000.0},
        ]},
    ],
)  # fmt: skip
def test_rock_of_one_kind_and_contacts_have_none(model):
    assert told(model=model) == 0.0


def test_it_is_found():
    """Against a grid three times finer."""
    found = []
    for spacing in (SPACING, SPACING / 3.0):
        case = copy.deepcopy(document(spacing))
        case["boundaries"]["layer"] = {"points": round(200.0 / spacing), "damping": 0.0}
        case["time"]["step"] = 9e-4
        (traces,) = solver.records(solver.simulate(case)).values()
        found.append(traces[0])
    error = np.linalg.norm(found[0] - found[1]) / np.linalg.norm(found[1])
    assert 0.5 * error < told() < 3.0 * error
