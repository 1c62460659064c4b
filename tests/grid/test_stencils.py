"""Difference coefficients and the free-surface closure against their defining equations."""

import math

import numpy as np
import pytest

from seismo.exact import scheme
from seismo.grid import coefficients

TOLERANCES = (0.0, 1e-3, 2e-5)


@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_taylor_staggered_is_the_closed_form(order: int) -> None:
    """Fornberg (1988) by products of odd squares, to rounding."""
    found = coefficients.staggered(order)
    np.testing.assert_allclose(found, scheme.taylor_coefficients(order), rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_taylor_centred_is_the_closed_form(order: int) -> None:
    """d_m = 2 (-1)^(m+1) M!^2 / (m^2 (M-m)! (M+m)!), d_0 = -2 sum d_m."""
    half = order // 2
    wanted = [
        2 * (-1) ** (m + 1) * math.factorial(half) ** 2
        / (m**2 * math.factorial(half - m) * math.factorial(half + m))
        for m in range(1, half + 1)
    ]  # fmt: skip
    wanted = [-2 * sum(wanted), *wanted]
    np.testing.assert_allclose(coefficients.centred(order), wanted, rtol=0, atol=1e-13)


def ratios(stencil: coefficients.Stencil, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numerical / true velocity by the first and by the second derivative."""
    second = stencil.second[1:]
    cosines = 1 - np.cos(np.outer(k, np.arange(1, len(second) + 1)))
    return (
        coefficients.phase_velocity_ratio(stencil.first, 2 * np.pi / k),
        np.sqrt(2 * cosines @ second) / k,
    )


def band(ratio: np.ndarray, k: np.ndarray, tolerance: float) -> int:
    """Return the first sample whose error is above the tolerance."""
    wrong = np.abs(ratio - 1) > tolerance * (1 + 1e-3)
    return int(np.argmax(wrong)) if wrong.any() else len(k)


@pytest.mark.parametrize("tolerance", coefficients.TOLERANCES[:-1:2])
@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_fitted_coefficients_are_the_best(order: int, tolerance: float) -> None:
    """Chebyshev: of M coefficients, errors of M + 1 alternating peaks of one size are the least.

    The square of the velocity ripples for the second derivative, by twice the tolerance.
    """
    k = np.linspace(1e-3, np.pi, 40000)
    first, second = ratios(coefficients.Stencil(order, tolerance), k)
    for error in (first - 1, (second**2 - 1) / 2):
        end = band(error + 1, k, tolerance)
        ripples = np.split(error[:end], np.flatnonzero(np.diff(np.sign(error[:end]))) + 1)
        peaks = [np.abs(ripple).max() for ripple in ripples]
        assert len(peaks) == order // 2 + 1
        np.testing.assert_allclose(peaks, tolerance, rtol=0.03)


@pytest.mark.parametrize("tolerance", coefficients.TOLERANCES[:-1])
@pytest.mark.parametrize("order", coefficients.ORDERS[1:])
def test_fitting_widens_the_band(order: int, tolerance: float) -> None:
    """Beyond that of Taylor coefficients at the same tolerance, for both derivatives."""
    k = np.linspace(1e-3, np.pi, 8000)
    fitted = ratios(coefficients.Stencil(order, tolerance), k)
    taylor = ratios(coefficients.Stencil(order), k)
    for one, other in zip(fitted, taylor, strict=True):
        assert band(one, k, tolerance) > 1.15 * band(other, k, tolerance)


def test_a_small_tolerance_leads_to_taylor() -> None:
    """The family ends in the coefficients of the longest polynomials."""
    for order in (2, 8):
        close = coefficients.staggered(order, 1e-9)
        np.testing.assert_allclose(close, coefficients.staggered(order), atol=1e-2)
        close = coefficients.centred(order, 1e-9)
        np.testing.assert_allclose(close, coefficients.centred(order), atol=1e-2)


def test_order_8_takes_three_points_at_a_thousandth() -> None:
    c = coefficients.staggered(8, 1e-3)
    ratio = coefficients.phase_velocity_ratio(c, np.linspace(2.85, 40, 2000))
    assert np.abs(ratio - 1).max() <= 1e-3 * (1 + 1e-5)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("order", coefficients.ORDERS)
def test_largest_symbols(order: int, tolerance: float) -> None:
    """Taylor's largest symbol is that of the shortest wave: 2 sum |c|; nothing exceeds that sum."""
    c = coefficients.staggered(order, tolerance)
    largest = coefficients.largest_symbol(c)
    assert largest <= 2 * np.abs(c).sum() * (1 + 1e-12)
    if tolerance == 0.0:
        assert largest == pytest.approx(2 * np.abs(c).sum(), rel=1e-12)
    d = coefficients.centred(order, tolerance)
    samples = np.random.default_rng(0).uniform(0, np.pi, 5000)
    m = np.arange(1, len(d))
    values = 2 * (1 - np.cos(np.outer(samples, m))) @ d[1:]
    assert values.max() <= coefficients.largest_second_symbol(d) * (1 + 1e-6)
