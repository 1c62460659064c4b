"""Sources by themselves: the signal they drive a field with, and what no run can hold."""

from types import SimpleNamespace

import numpy as np
import pytest

import solver
from seismo.acquisition.point_source import PointSource
from seismo.equations.registry import physics_for
from seismo.errors import ScenarioError


@pytest.mark.parametrize("delay", [0.0, -0.28, -0.38, -0.5, 0.3])
def test_the_integral_of_a_wavelet_counts_what_came_before_the_run(delay):
    """That of a Ricker wavelet is tau exp(-(pi f tau)^2), tau = t - delays.

    By 4-point Gauss rule in steps of a hundredth of a period the error is far below 1e-9.
    """
    f, own = 10.0, 0.3
    wavelet = SimpleNamespace(type="ricker", frequency=f, amplitude=1.0, delay=own)
    source = PointSource("s", "pressure", (0.0, 0.0, 0.0), {"": 1.0}, wavelet, delay, 0)
    times = np.arange(600) * 1e-3
    tau = times - own - delay
    exact = tau * np.exp(-((np.pi * f * tau) ** 2))
    assert np.abs(source.signal(times, -1) - exact).max() < 2e-9


def test_a_source_beyond_the_numbers_of_the_run_is_named():
    place = {"x": 100.0, "z": 100.0}
    strong = solver.source(
        physics_for("acoustic", 2), "pressure", place, amplitude=1e60, name="big"
    )
    document = {
        "physics": "acoustic", "grid": {"extent": {"x": 200.0, "z": 200.0}, "spacing": 10.0},
        "time": {"duration": 0.1}, "model": [{"type": "uniform", "vp": 2000.0}],
        "sources": [strong],
    }  # fmt: skip
    with pytest.raises(ScenarioError, match="source big: too strong for float32 numbers"):
        solver.build(document)
    solver.build(document | {"precision": "float64"})
