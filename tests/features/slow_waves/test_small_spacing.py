"""Millimetres or kilometres: what is expected of slow waves, and spheres, scale with the grid."""

import pytest

from seismo.features.slow_waves.spheres import slow_wave_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize


def discretized(spacing: float, **more):
    return discretize(from_dict({
        "physics": "acoustic",
        "grid": {"extent": {"x": 60 * spacing, "z": 50 * spacing}, "spacing": spacing},
        "time": {"duration": 0.07 * spacing},
        "model": [{"type": "uniform", "vp": 2000.0, "epsilon": 0.2, "delta": 0.05, "theta": 20.0}],
        "sources": [{"type": "pressure", "position": {"x": 20 * spacing, "z": 20 * spacing},
                     "wavelet": {"type": "ricker", "frequency": 200.0 / (20 * spacing)}}],
        "receivers": [{"type": "points",
                       "positions": [{"x": 32 * spacing, "z": 28 * spacing}]}],
        **more,
    }))  # fmt: skip


@pytest.mark.parametrize("spacing", [0.01, 0.3, 1000.0])
def test_slow_waves_are_told_alike_on_any_scale(spacing):
    assert slow_wave_error(discretized(10.0)) > 0.05
    assert slow_wave_error(discretized(spacing)) == pytest.approx(
        slow_wave_error(discretized(10.0)), rel=1e-6
    )


@pytest.mark.parametrize("spacing", [0.01, 1000.0])
def test_spheres_grow_with_the_grid(spacing):
    radii = [discretized(h, isotropic_source="auto").earth.spheres.radius for h in (10.0, spacing)]
    assert radii[1] / radii[0] == pytest.approx(spacing / 10.0, rel=1e-9)
