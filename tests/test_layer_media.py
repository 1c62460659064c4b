"""The medium of absorbing layers: rock as at the edge, and the mean of a column of beds."""

import numpy as np
import pytest

import solver


@pytest.mark.parametrize("depth", [470.0, pytest.param(477.0, marks=pytest.mark.slow)])
def test_no_layer_grows_below_a_contact_at_its_edge(depth) -> None:
    """One cell above the bottom: its average, 3.3 times as stiff to shear, filled the layer."""
    soft = {"vp": 1300.0, "vs": 480.0, "rho": 1800.0}
    layers = [{"top": 0.0, **soft}, {"top": depth, "vp": 5000.0, "vs": 2500.0, "rho": 2350.0}]
    document = solver.plan(
        "elastic", 2, cells=(10, 48), steps=None,
        grid={"extent": {"x": 100.0, "z": 480.0}, "spacing": 10.0, "order": 6},
        time={"duration": 2.0}, model=[{"type": "layers", "layers": layers}],
        boundaries=solver.faces(2) | {"layer": {"points": 12}},
        sources=[{"type": "force", "position": {"x": 50.0, "z": 300.0}, "force": {"z": 1.0},
                  "wavelet": {"type": "ricker", "frequency": 4.0}}],
        receivers=[solver.points([{"x": 50.0, "z": 50.0}])],
    )  # fmt: skip
    simulation = solver.build(document)
    simulation.advance(1000)
    before = np.abs(solver.wavefield(simulation)["vx"]).max()
    simulation.advance(1000)
    assert np.abs(solver.wavefield(simulation)["vx"]).max() < before
