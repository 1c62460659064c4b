"""What media err by that change gradually within cells, as told and as it is found."""

import copy

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import solver
from seismo.runs.prediction.accuracy import expected_error
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


def under_a_surface(quantity: str, finer: int = 1) -> dict:
    """Put a force into rock that softens upwards, and receivers on the free surface above it."""
    ends = {"vp": (1860.0, 5190.0), "vs": (1100.0, 3000.0), "rho": (2030.0, 2600.0)}
    gradient = {
        name: dict(zip(("top", "bottom"), pair, strict=True)) for name, pair in ends.items()
    }
    margin = 500.0 * (finer > 1)
    spacing = 16.0 / finer
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 1664.0 + 2.0 * margin, "z": 992.0 + margin}, "spacing": spacing,
                 "origin": {"x": -margin}, "order": 8},
        "time": {"duration": 1.3},
        "boundaries": {"top": "free_surface", "layer": {"points": 12 * finer, "damping": 0.0}},
        "model": [{"type": "gradient", "z_top": 128.0, "z_bottom": 864.0, **gradient}],
        "sources": [{"type": "force", "force": {"x": 1e9}, "position": {"x": 480.0, "z": 648.0},
                     "wavelet": {"type": "gaussian_derivative", "frequency": 5.4}}],
        "receivers": [solver.points([{"x": x, "z": 0.0} for x in (1120.0, 1480.0)],
                                    quantities=[quantity])],
    }  # fmt: skip


SURFACE_CASES = [("strain", 0.0082), ("velocity", 0.0054)]


@pytest.mark.parametrize(("quantity", "found"), SURFACE_CASES)
def test_a_free_surface_errs_as_told_where_rock_softens_upwards(quantity, found) -> None:
    """Waves come steeper, and of other strains, than in the rock at the surface alone."""
    error = expected_error(discretize(from_dict(under_a_surface(quantity)))).error
    assert 0.6 < error / found < 1.7


@pytest.mark.slow
@pytest.mark.parametrize(("quantity", "found"), SURFACE_CASES)
def test_the_error_of_that_surface_is_found(quantity, found) -> None:
    """Against a grid three times finer, in a wider region."""
    run, finer = (solver.simulate(under_a_surface(quantity, n)) for n in (1, 3))
    known = solver.times(run) <= solver.times(finer)[-1]
    squares = np.zeros((2, 2))
    for name, trace in solver.traces(run).items():
        spline = CubicSpline(solver.times(finer), solver.traces(finer)[name], axis=-1)
        wanted = spline(solver.times(run)[known])
        squares += [((trace[:, known] - wanted) ** 2).sum(-1), (wanted**2).sum(-1)]
    assert np.sqrt((squares[0] / squares[1]).max()) == pytest.approx(found, rel=0.1)
