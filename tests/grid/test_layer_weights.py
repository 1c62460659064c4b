"""Profiles of absorbing layers, and a second derivative there in one sum instead of two steps."""

import numpy as np
import pytest

from seismo.grid.coefficients import centred, staggered
from seismo.grid.grid import Grid
from seismo.solver.grid_layout import regions
from seismo.solver.medium.cpml import (
    PmlParameters,
    coupled,
    profile,
)

LAYER = PmlParameters(reflection=1e-7, kappa=1.0, alpha=30.0, power=2.0, velocity=3000.0)


def test_both_ends_of_an_axis_have_as_much_of_a_layer():
    """As many nodes as half points, mirrored; nothing in points inside, nor in their regions."""
    grid = Grid("xz", (36, 1, 30), (10.0,) * 3, (0.0,) * 3, (8, 0, 6), (8, 0, 6))
    for axis, width, points in (("x", 8, 36), ("z", 6, 30)):
        b, _, _, b_half, _, _, *kept = profile(grid, axis, LAYER, 1e-3)
        assert (np.array(kept) == 1.0).all()  # no damping was asked for
        assert np.flatnonzero(b).tolist() == [*range(width), *range(points - width, points)]
        half = [*range(width - 1), *range(points - width, points)]
        assert np.flatnonzero(b_half).tolist() == half  # the last one lies beyond the nodes
        np.testing.assert_allclose(b, b[::-1], rtol=1e-14)
        np.testing.assert_allclose(b_half[:-1], b_half[-2::-1], rtol=1e-14)
    inside = [r for r in regions(grid, 4) if not r.middle]
    assert [(r.box.lo[2], r.box.hi[2], r.spans[1]) for r in inside] == [(6, 24, (8, 28))]


@pytest.mark.parametrize("order", [2, 4, 8, 16])
def test_one_sum_equals_two_steps(order):
    half, points, rng = order // 2, 40, np.random.default_rng(order)
    c, d = staggered(order) / 10.0, centred(order) / 100.0
    profile = np.zeros((6, points))
    profile[3:5, 5:-5] = rng.random((2, points - 10))  # b and a, 0 outside the layer
    field, flux = rng.standard_normal((2, points + 8 * half))
    own = 4 * half  # places of the first point
    slope = sum(
        w
        * (
            field[own - half + m + 1 :][: points + 2 * half]
            - field[own - half - m :][: points + 2 * half]
        )
        for m, w in enumerate(c)
    )
    decay, gain = (np.pad(profile[row], half) for row in (3, 4))
    coming = decay * flux[own - half :][: points + 2 * half] + gain * slope
    second = d[0] * field[own:][:points]
    for m in range(1, half + 1):
        second += d[m] * (field[own + m :][:points] + field[own - m :][:points])
    for m, w in enumerate(c):
        second += w * (coming[half + m :][:points] - coming[half - 1 - m :][:points])
    weights = coupled(profile, c, d)
    assert weights.shape == (6 * half - 1, points)
    found = sum(
        w * field[own + k :][:points] for k, w in enumerate(weights[: 4 * half - 1], 1 - 2 * half)
    )
    found += sum(w * flux[own + m :][:points] for m, w in enumerate(weights[4 * half - 1 :], -half))
    np.testing.assert_allclose(found, second, rtol=1e-12, atol=1e-13)
