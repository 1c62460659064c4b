"""What absorbing layers send back that damp the fields, as told and as it is found."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import solver
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import sent_back
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.medium.cpml import outward, profile, strength

FORCE = {"type": "force", "force": {"x": 0.6, "z": 1.0}}
EXPLOSION = {"type": "explosion", "moment": 1e9}
# Source, quantity, wavelet, top, damping (None for the run's own), error of the worst receiver.
CASES = [
    (FORCE, "velocity", "ricker", "free_surface", None, 0.00004),
    (FORCE, "displacement", "gaussian_derivative", "absorbing", None, 0.00059),
    (EXPLOSION, "displacement", "gaussian_derivative", "free_surface", None, 0.000174),
    (EXPLOSION, "acceleration", "ricker", "absorbing", None, 0.000047),
    (FORCE, "velocity", "ricker", "free_surface", 0.0075, 0.00233),
    (FORCE, "displacement", "gaussian_derivative", "absorbing", 0.0075, 0.01748),
    (EXPLOSION, "displacement", "gaussian_derivative", "free_surface", 0.0075, 0.00728),
]
EVEN_FOUND = 0.0031  # of an explosion in even rock, damping 0.015
CASE_NAMES = ("source", "quantity", "wavelet", "top", "damping", "found")


def document(
    source: dict, quantity: str, wavelet: str, top: str, damping: float | None = None
) -> dict:
    """Give a bed between rocks 1.5 times as fast, 5 points in the shortest wavelength."""
    rocks = [{"vp": 1500.0, "vs": 800.0, "rho": 2000.0}, {"vp": 1000.0, "vs": 530.0, "rho": 1900.0}]
    tops = (-1e6, 200.0, 350.0)
    h = 10.0
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 900.0, "z": 600.0}, "spacing": h, "order": 8},
        "time": {"duration": 1.5},
        "boundaries": {"top": top, "layer": {} if damping is None else {"damping": damping}},
        "model": [{"type": "layers", "layers": [
            {"top": z, **rocks[n % 2]} for n, z in enumerate(tops)]}],
        "sources": [{**source, "position": {"x": 333.0, "z": 275.0},
                     "wavelet": {"type": wavelet, "frequency": 4.0}}],
        "receivers": [solver.points([{"x": 600.0, "z": 275.0}, {"x": 210.0, "z": 120.0}],
                                    quantities=[quantity])],
    }  # fmt: skip


@pytest.mark.parametrize(CASE_NAMES, CASES)
def test_check_says_what_comes_back_beside_a_bed(
    source, quantity, wavelet, top, damping, found
) -> None:
    discretization = discretize(from_dict(document(source, quantity, wavelet, top, damping)))
    assert discretization.field_damping.late > 0.0
    assert 0.4 * found < sent_back(discretization) < 3.0 * found


@pytest.mark.slow
@pytest.mark.parametrize(CASE_NAMES, CASES)
def test_it_is_found(source, quantity, wavelet, top, damping, found) -> None:
    case = document(source, quantity, wavelet, top, damping)
    assert found_error(case) == pytest.approx(found, rel=0.1)


def found_error(case: dict) -> float:
    """Return the error of finished traces, against matched layers that are far away."""
    top = case["boundaries"]["top"]
    wide = copy.deepcopy(case)
    wide["boundaries"]["layer"] = {"points": 30, "damping": 0.0}
    low = 0.0 if top == "free_surface" else 900.0
    wide["grid"] |= {"origin": {"x": -900.0, "z": -low}, "extent": {"x": 2700.0, "z": 1500.0 + low}}
    near, far = (solver.traces(solver.simulate(one)) for one in (case, wide))
    errors = sum(((near[c] - far[c]) ** 2).sum(axis=-1) for c in far)
    energies = sum((far[c] ** 2).sum(axis=-1) for c in far)
    return float(np.sqrt((errors / energies).max()))


def even() -> dict:
    """Put an explosion in even rock, whose waves meet layers upright."""
    case = document(EXPLOSION, "velocity", "ricker", "absorbing", 0.015)
    return case | {"model": [{"type": "uniform", "vp": 1500.0, "vs": 800.0, "rho": 2000.0}]}


def test_upright_waves_keep_their_impedance_in_layers_that_damp() -> None:
    """Velocity and stress fall alike: no more comes back than what an incidence makes of it.

    Told to a factor of 2.5: rays of a source within a wavelength of the layers, P waves as scalars.
    """
    told = sent_back(discretize(from_dict(even())))
    assert EVEN_FOUND / 2.5 < told < 2.5 * EVEN_FOUND


@pytest.mark.slow
def test_what_upright_waves_send_back_is_found() -> None:
    assert found_error(even()) == pytest.approx(EVEN_FOUND, rel=0.1)


def test_it_is_told_in_three_dimensions_and_falls_with_the_points_of_a_layer() -> None:
    case = document(FORCE, "velocity", "ricker", "absorbing")
    case["grid"]["extent"]["y"] = 400.0
    for place in (case["sources"][0]["position"], *case["receivers"][0]["positions"]):
        place["y"] = 150.0
    discretization = discretize(from_dict(case))
    assert 0.0 < sent_back(discretization, 24) < 0.5 * sent_back(discretization)


@pytest.mark.parametrize("finer", [1, 2])
def test_layers_are_the_same_from_inside_out(finer: int) -> None:
    discretization = discretize(from_dict(document(FORCE, "velocity", "ricker", "absorbing")))
    layer = replace(strength(discretization, 0.01), damping=0.01)
    width = discretization.grid.low[0]
    rows = outward(
        layer, width, discretization.grid.spacing[AXES.index("x")], discretization.clock.dt, finer
    )
    whole = profile(discretization.grid, "x", layer, discretization.clock.dt, finer)
    rows[0] *= rows[1] < 0.0  # of no effect where a = 0
    np.testing.assert_allclose(rows, whole[:, -width:], rtol=1e-12)
    nodes = [0, 1, 2, 6]
    np.testing.assert_allclose(rows[nodes], whole[nodes, :width][:, ::-1], rtol=1e-12)
    halves = [3, 4, 5, 7]
    np.testing.assert_allclose(rows[halves, :-1], whole[halves, : width - 1][:, ::-1], rtol=1e-12)


def test_it_is_told_of_sh_waves() -> None:
    """Whose earth has a single velocity: more than of layers that do not damp the fields."""
    case = document({"type": "force", "force": {"y": 1.0}}, "velocity", "ricker", "absorbing", 0.02)
    matched = copy.deepcopy(case)
    matched["boundaries"]["layer"]["damping"] = 0.0
    damped, plain = (
        sent_back(discretize(from_dict(each | {"physics": "elastic_sh"})))
        for each in (case, matched)
    )
    assert 0.1 > damped > 2.0 * plain
