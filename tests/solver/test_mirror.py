"""A mirrored earth has mirrored waves: both ends of every axis are alike."""

import copy

import numpy as np
import pytest

from solver import simulate

LENGTHS = {"x": 300.0, "y": 240.0, "z": 260.0}
ROCK = {"type": "uniform", "vp": 2000.0, "vs": 1000.0, "rho": 2000.0}
TILTED = {"epsilon": 0.15, "delta": 0.05, "theta": 30.0}
FORCE = {"x": 1.0e9, "y": -0.7e9, "z": 0.4e9}
SOURCE = {"x": 210.0, "y": 100.0, "z": 70.0}
RECEIVERS = ({"x": 40.0, "y": 200.0, "z": 190.0}, {"x": 250.0, "y": 30.0, "z": 230.0})


def mirrored(document, axis):
    """Mirror places, forces and, in the plane of x and z, the tilt of rock."""
    other = copy.deepcopy(document)
    source = other["sources"][0]
    for place in (source["position"], *other["receivers"][0]["positions"]):
        place[axis] = LENGTHS[axis] - place[axis]
    source["force"][axis] *= -1.0
    for part in other["model"]:
        part["theta"] = -part.get("theta", 0.0)
    return other


@pytest.mark.parametrize(
    ("axes", "rock", "physics"),
    [
        pytest.param("xz", {}, "elastic", marks=pytest.mark.slow),
        ("xz", TILTED, "elastic"),
        ("xyz", {}, "elastic"),
        ("xz", {"qp": 40.0, "qs": 30.0}, "elastic"),
    ],
)
def test_layers_that_damp_fields_are_alike_at_both_ends(axes, rock, physics):
    """Each field by the damping of the place where it stands: vx half a cell along x, and so on."""

    def within(place):
        return {axis: place[axis] for axis in axes}

    document = {
        "physics": physics, "precision": "float64",
        "grid": {"extent": within(LENGTHS), "spacing": 10.0, "order": 4},
        "time": {"duration": 0.35 if axes == "xz" else 0.2},
        "boundaries": {"layer": {"points": 6, "damping": 0.1}},
        "model": [ROCK | rock],
        "sources": [{"type": "force", "force": within(FORCE), "position": within(SOURCE),
                     "wavelet": {"type": "ricker", "frequency": 9.0}}],
        "receivers": [{"type": "points", "positions": [within(place) for place in RECEIVERS]}],
    }  # fmt: skip
    whole = simulate(document).recorder
    for axis in axes:
        other = simulate(mirrored(document, axis)).recorder
        for name in axes:
            traces, mirror = (r.raw(0, "receivers", f"v{name}") for r in (whole, other))
            sign = -1.0 if name == axis else 1.0
            # Layers end on a node on one side and half a cell beyond it on the other.
            np.testing.assert_allclose(
                sign * mirror, traces, atol=1e-6 * np.abs(traces).max(), rtol=0.0
            )
