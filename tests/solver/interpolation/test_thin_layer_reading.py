"""Motion along a free surface on a soft layer of one cell, against exact solutions."""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

H = 10.0  # m
SOFT = {"vp": 800.0, "vs": 250.0, "rho": 1800.0}
MEDIUM = {"vp": 1200.0, "vs": 600.0, "rho": 1900.0}
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
PUSH = {"x": 1e9, "z": 2e9}


def document(upper: dict, bed: float, depth: float, force: dict, places) -> dict:
    """Put a force under a soft layer, 10 points in the shortest wavelength of the layer."""
    frequency = upper["vs"] / (25.0 * H)
    layers = [{"top": 0.0, **upper}, {"top": bed, **ROCK}]
    return {
        "physics": "elastic",
        "precision": "float64",
        "grid": {"extent": {"x": 800.0, "z": 450.0}, "origin": {"x": -400.0, "z": 0.0},
                 "spacing": H, "order": 8},
        "time": {"duration": 3.0 / frequency + 300.0 / upper["vs"]},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"type": "force", "position": {"x": 0.0, "z": depth}, "force": force,
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": [solver.points([dict(zip("xz", p, strict=True)) for p in places],
                                    quantities=["velocity"])],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("upper", "cells", "bar"),
    [
        (MEDIUM, 1.0, 0.007),  # 0.9 % with the row of the surface alone
        (MEDIUM, 0.6, 0.007),  # 1.1 %
        (SOFT, 1.0, 0.018),  # 5 %
    ],
)
def test_motion_on_a_thin_layer_is_right(upper: dict, cells: float, bar: float) -> None:
    places = [(60.0, 0.0), (150.0, 0.0)]
    simulation = solver.simulate(document(upper, cells * H, 200.0, PUSH, places))
    depths = (0.0, cells * H)
    assert max(flat_layers.errors(simulation, (upper, ROCK), depths, each=True)) < bar


def test_motion_within_a_thin_layer_is_right() -> None:
    """Half a cell deep, where the rows of even media read 9 %, and what `check` says of it."""
    given = document(SOFT, H, 200.0, PUSH, [(60.0, 5.0), (150.0, 5.0)])
    error = max(flat_layers.errors(solver.simulate(given), (SOFT, ROCK), (0.0, H), each=True))
    assert error < 0.012
    # Reading the rows is part of what contacts err by.
    assert error < expected_error(discretize(from_dict(given))).error < 3.1 * error


def test_a_horizontal_force_on_a_thin_layer_is_right() -> None:
    """It acts on the points that read motion; on the row of the surface it errs by 1.3 %."""
    given = document(MEDIUM, H, 0.0, {"x": 1e9}, [(60.0, 200.0), (150.0, 200.0)])
    simulation = solver.simulate(given)
    assert max(flat_layers.errors(simulation, (MEDIUM, ROCK), (0.0, H))) < 0.005


def test_weights_read_lines_exactly() -> None:
    discretization = discretize(from_dict(document(MEDIUM, H, 200.0, PUSH, [(60.0, 0.0)])))
    for place in (0.0, 0.4, 1.0, 2.3):
        rows, weights = discretization.interpolation.thin_layer.weights(place)
        assert np.allclose([weights.sum(), weights @ rows], [1.0, place], atol=1e-9)
