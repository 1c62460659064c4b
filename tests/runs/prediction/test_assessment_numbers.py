"""The expected error is a number wherever waves arrive with next to nothing, without a warning."""

import numpy as np
import pytest

from seismo.features.loss.checks import fit_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


@pytest.mark.parametrize("physics", ["acoustic", "elastic"])
def test_strong_loss_over_hundreds_of_wavelengths(physics):
    """Of a triangle, whose spectrum goes on for ever: exp(-w d / 2 Q v) is 0, and its ratio inf."""
    rock = {"vp": 2500.0, "qp": 10.0}
    if physics == "elastic":
        rock |= {"vs": 1200.0, "rho": 2100.0, "qs": 5.0}
    kind = "explosion" if physics == "elastic" else "pressure"
    scenario = {
        "physics": physics,
        "grid": {"extent": {"x": 100e3, "z": 5e3}, "spacing": 250.0},
        "time": {"duration": 20.0},
        "model": [{"type": "uniform", **rock}],
        "sources": [{"type": kind, "position": {"x": 3e3, "z": 2e3},
                     "wavelet": {"type": "triangle", "rise": 0.05}}],
        "receivers": [{"type": "points", "positions": [{"x": 99e3, "z": 2e3}]}],
    }  # fmt: skip
    error = fit_error(discretize(from_dict(scenario)))
    assert np.isfinite(error)
    assert error > 0.0
