"""What matched absorbing layers send back, as told and as it is found."""

import copy

import numpy as np
import pytest

import solver
from seismo.runs.prediction.accuracy import sent_back
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

FORCE = {"type": "force", "force": {"x": 0.6, "z": 1.0}}
ACROSS = {"type": "force", "force": {"y": 1.0}}
EXPLOSION = {"type": "explosion", "moment": 1e9}
SHEAR = {"type": "moment_tensor", "components": {"xz": 1e9}}
PRESSURE = {"type": "pressure", "amplitude": 1.0}
# Equation, source, what is recorded, wavelet, points of the layers, duration in s, and the error of
# the worst receiver. Long waves come back from the outer end of a layer, late.
CASES = [
    ("elastic", FORCE, "velocity", "ricker", 12, 1.4, 7.27e-5),
    ("elastic", EXPLOSION, "displacement", "gaussian_derivative", 12, 1.4, 3.65e-4),
    ("elastic", EXPLOSION, "displacement", "gaussian_derivative", 12, 4.0, 2.19e-2),
    ("elastic", SHEAR, "displacement", "gaussian_derivative", 8, 1.4, 1.11e-3),
    ("elastic", SHEAR, "displacement", "gaussian_derivative", 8, 3.0, 1.08e-2),
    ("elastic_sh", ACROSS, "velocity", "ricker", 12, 1.4, 3.39e-5),
    ("acoustic", PRESSURE, "pressure", "ricker", 12, 1.4, 6.60e-4),
    ("acoustic_variable_density", EXPLOSION, "pressure", "gaussian_derivative", 8, 1.4, 2.35e-4),
]
# The same under a free surface, of a shallow source.
SHALLOW = [
    ("elastic", FORCE, "velocity", "ricker", 6, 1.4, 1.01e-2),
    ("elastic", EXPLOSION, "velocity", "ricker", 8, 1.4, 1.14e-3),
    ("elastic_sh", ACROSS, "velocity", "ricker", 6, 1.4, 8.77e-4),
    ("acoustic", PRESSURE, "pressure", "ricker", 6, 1.4, 1.66e-3),
]


def document(
    physics: str, source: dict, quantity: str, wavelet: str, points: int, duration: float
) -> dict:
    """Give one rock, 5 points in the shortest wavelength."""
    rock = {"vp": 1500.0, "vs": 800.0, "rho": 2000.0}
    named = {"acoustic": ("vp",), "acoustic_variable_density": ("vp", "rho"),
             "elastic_sh": ("vs", "rho")}.get(physics, rock)  # fmt: skip
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 600.0, "z": 400.0}, "spacing": 10.0, "order": 8},
        "time": {"duration": duration}, "boundaries": {"layer": {"points": points}},
        "model": [{"type": "uniform", **{name: rock[name] for name in named}}],
        "sources": [{**source, "position": {"x": 233.0, "z": 175.0},
                     "wavelet": {"type": wavelet, "frequency": 6.0}}],
        "receivers": [solver.points([{"x": 480.0, "z": 175.0}, {"x": 110.0, "z": 70.0}],
                                    quantities=[quantity])],
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_check_says_what_comes_back(case) -> None:
    """To a factor of 2 in first-order equations, and 2.5 in those whose alpha follows d."""
    *named, found = case
    discretization = discretize(from_dict(document(*named)))
    assert discretization.field_damping.late == 0.0
    factor = 2.5 if discretization.physics.differences == "second" else 2.0
    assert found / factor < sent_back(discretization) < factor * found


def shallow(*named) -> dict:
    """Put source and receivers under a free surface, these on it where it moves."""
    changed = document(*named)
    changed["boundaries"]["top"] = "free_surface"
    changed["sources"][0]["position"]["z"] = 33.0
    for position in changed["receivers"][0]["positions"]:
        position["z"] = 44.0 if changed["physics"].startswith("acoustic") else 0.0
    return changed


@pytest.mark.parametrize("case", SHALLOW)
def test_check_says_what_comes_back_under_a_free_surface(case) -> None:
    """To a factor of 2: the surface sends down what goes up, too, and weakens direct waves."""
    *named, found = case
    discretization = discretize(from_dict(shallow(*named)))
    assert 0.5 * found < sent_back(discretization) < 2.0 * found


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, *SHALLOW])
def test_it_is_found(case) -> None:
    """Against layers that are far away."""
    *named, found = case
    near = shallow(*named) if case in SHALLOW else document(*named)
    wide = copy.deepcopy(near)
    away = 800.0 if near["time"]["duration"] < 2.0 else 2400.0
    wide["boundaries"]["layer"] = {"points": 40}
    above = 0.0 if case in SHALLOW else away
    wide["grid"] |= {"origin": {"x": -away, "z": -above},
                     "extent": {"x": 600.0 + 2.0 * away, "z": 400.0 + away + above}}  # fmt: skip
    traces, exact = (solver.traces(solver.simulate(one)) for one in (near, wide))
    errors = sum(((traces[c] - exact[c]) ** 2).sum(axis=-1) for c in exact)
    energies = sum((exact[c] ** 2).sum(axis=-1) for c in exact)
    assert np.sqrt((errors / energies).max()) == pytest.approx(found, rel=0.1)


def test_it_falls_with_the_points_of_a_layer_in_three_dimensions() -> None:
    case = document("elastic", FORCE, "velocity", "ricker", 12, 1.4)
    case["grid"]["extent"]["y"] = 400.0
    for place in (case["sources"][0]["position"], *case["receivers"][0]["positions"]):
        place["y"] = 150.0
    discretization = discretize(from_dict(case))
    assert 0.0 < sent_back(discretization, 20) < 0.5 * sent_back(discretization) < 1e-4
