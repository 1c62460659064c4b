"""Splines between samples."""

import numpy as np
from scipy.interpolate import make_interp_spline

from seismo.grid.spline import interpolated


def test_splines_are_those_of_scipy() -> None:
    random = np.random.default_rng(1)
    x = np.linspace(0.0, 3.0, 12) ** 1.5
    samples = random.standard_normal((12, 3)) + 1j * random.standard_normal((12, 3))
    at = np.linspace(x[0], x[-1], 100)
    wanted = make_interp_spline(x, samples, 3)(at)
    np.testing.assert_allclose(interpolated(x, samples, at), wanted, rtol=1e-12, atol=1e-12)


def test_cubics_are_met() -> None:
    """Between four samples, too, at their ends."""
    x = np.array([0.0, 1.0, 2.5, 3.0])
    at = np.linspace(0.0, 3.0, 7)
    found = interpolated(x, (x**3 - 2.0 * x)[:, None], at)
    np.testing.assert_allclose(found[:, 0], at**3 - 2.0 * at, atol=1e-12)
