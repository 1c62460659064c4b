"""A layer's second derivative in one sum equals two steps: the flux memory, then its slope."""

import numpy as np
import pytest

from seismo.cpml import coupled
from seismo.stencils import centred, staggered


@pytest.mark.parametrize("order", [2, 4, 8, 16])
def test_one_sum_equals_two_steps(order):
    half, points, rng = order // 2, 40, np.random.default_rng(order)
    c, d = staggered(order, "taylor") / 10.0, centred(order, "taylor") / 100.0
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
