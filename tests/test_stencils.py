"""Difference coefficients and the free-surface closure against their defining equations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seismo import stencils
from seismo.exact import scheme

TOLERANCES = (0.0, 1e-3, 2e-5)


@pytest.mark.parametrize("order", stencils.ORDERS)
def test_taylor_staggered_is_the_closed_form(order: int) -> None:
    """Fornberg (1988) by products of odd squares, to rounding."""
    found = stencils.staggered(order)
    np.testing.assert_allclose(found, scheme.taylor_coefficients(order), rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", stencils.ORDERS)
def test_taylor_centred_is_the_closed_form(order: int) -> None:
    """d_m = 2 (-1)^(m+1) M!^2 / (m^2 (M-m)! (M+m)!), d_0 = -2 sum d_m."""
    half = order // 2
    wanted = [
        2 * (-1) ** (m + 1) * math.factorial(half) ** 2
        / (m**2 * math.factorial(half - m) * math.factorial(half + m))
        for m in range(1, half + 1)
    ]  # fmt: skip
    wanted = [-2 * sum(wanted), *wanted]
    np.testing.assert_allclose(stencils.centred(order), wanted, rtol=0, atol=1e-13)


def ratios(stencil: stencils.Stencil, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numerical / true velocity by the first and by the second derivative."""
    second = stencil.second[1:]
    cosines = 1 - np.cos(np.outer(k, np.arange(1, len(second) + 1)))
    return (
        stencils.phase_velocity_ratio(stencil.first, 2 * np.pi / k),
        np.sqrt(2 * cosines @ second) / k,
    )


def band(ratio: np.ndarray, k: np.ndarray, tolerance: float) -> int:
    """Return the first sample whose error is above the tolerance."""
    wrong = np.abs(ratio - 1) > tolerance * (1 + 1e-3)
    return int(np.argmax(wrong)) if wrong.any() else len(k)


@pytest.mark.parametrize("tolerance", stencils.TOLERANCES[:-1:2])
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_fitted_coefficients_are_the_best(order: int, tolerance: float) -> None:
    """Chebyshev: of M coefficients, errors of M + 1 alternating peaks of one size are the least.

    The square of the velocity ripples for the second derivative, by twice the tolerance.
    """
    k = np.linspace(1e-3, np.pi, 40000)
    first, second = ratios(stencils.Stencil(order, tolerance), k)
    for error in (first - 1, (second**2 - 1) / 2):
        end = band(error + 1, k, tolerance)
        ripples = np.split(error[:end], np.flatnonzero(np.diff(np.sign(error[:end]))) + 1)
        peaks = [np.abs(ripple).max() for ripple in ripples]
        assert len(peaks) == order // 2 + 1
        np.testing.assert_allclose(peaks, tolerance, rtol=0.03)


@pytest.mark.parametrize("tolerance", stencils.TOLERANCES[:-1])
@pytest.mark.parametrize("order", stencils.ORDERS[1:])
def test_fitting_widens_the_band(order: int, tolerance: float) -> None:
    """Beyond that of Taylor coefficients at the same tolerance, for both derivatives."""
    k = np.linspace(1e-3, np.pi, 8000)
    fitted = ratios(stencils.Stencil(order, tolerance), k)
    taylor = ratios(stencils.Stencil(order), k)
    for one, other in zip(fitted, taylor, strict=True):
        assert band(one, k, tolerance) > 1.15 * band(other, k, tolerance)


def test_a_small_tolerance_leads_to_taylor() -> None:
    """The family ends in the coefficients of the longest polynomials."""
    for order in (2, 8):
        close = stencils.staggered(order, 1e-9)
        np.testing.assert_allclose(close, stencils.staggered(order), atol=1e-2)
        close = stencils.centred(order, 1e-9)
        np.testing.assert_allclose(close, stencils.centred(order), atol=1e-2)


def test_order_8_takes_three_points_at_a_thousandth() -> None:
    c = stencils.staggered(8, 1e-3)
    ratio = stencils.phase_velocity_ratio(c, np.linspace(2.85, 40, 2000))
    assert np.abs(ratio - 1).max() <= 1e-3 * (1 + 1e-5)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_largest_symbols(order: int, tolerance: float) -> None:
    """Taylor's largest symbol is that of the shortest wave: 2 sum |c|; nothing exceeds that sum."""
    c = stencils.staggered(order, tolerance)
    largest = stencils.largest_symbol(c)
    assert largest <= 2 * np.abs(c).sum() * (1 + 1e-12)
    if tolerance == 0.0:
        assert largest == pytest.approx(2 * np.abs(c).sum(), rel=1e-12)
    d = stencils.centred(order, tolerance)
    samples = np.random.default_rng(0).uniform(0, np.pi, 5000)
    m = np.arange(1, len(d))
    values = 2 * (1 - np.cos(np.outer(samples, m))) @ d[1:]
    assert values.max() <= stencils.largest_second_symbol(d) * (1 + 1e-6)


def whole_matrices(order: int, tolerance: float, size: int = 60):
    """Give G and D of a half line with `size` points of each kind, and both norms."""
    closure, c = (
        stencils.surface_closure(stencils.Stencil(order, tolerance)),
        stencils.staggered(order, tolerance),
    )
    interior = np.zeros((size, size + len(c)))
    for r in range(size):
        for m, weight in enumerate(c, 1):
            interior[r, r + m] += weight
            if r + 1 - m >= 0:
                interior[r, r + 1 - m] -= weight
    rows, width = closure.up.shape
    up = interior[:, :size].copy()
    up[:rows] = 0
    up[:rows, :width] = closure.up
    down = np.zeros((size, size))
    for n in range(size):
        for m, weight in enumerate(c, 1):
            if n + m - 1 < size:
                down[n, n + m - 1] += weight
            if n - m >= 0:
                down[n, n - m] -= weight
    down[:rows] = 0
    down[:rows, :width] = closure.down
    norms = [np.ones(size), np.ones(size)]
    for norm, near in zip(norms, (closure.half_norm, closure.node_norm), strict=True):
        norm[: len(near)] = near
    return up, down, *norms, closure


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_sums_by_parts(order: int, tolerance: float) -> None:
    """H_half G = -(H_node D)^T for nodes below the surface, and both norms are positive.

    The surface row of D is free: the traction it would act on is zero there.
    """
    up, down, half, node, closure = whole_matrices(order, tolerance)
    assert closure.node_norm.min() > 0.1
    assert closure.half_norm.min() > 0.1
    near = 60 - order
    product = half[:, None] * up + (node[:, None] * down).T
    assert np.abs(product[:near, :near]).max() < 1e-12


@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_is_exact_for_polynomials(order: int) -> None:
    """To degree min(M, 3) (2 from order 14 on); D on the surface row needs a vanishing function."""
    up, down, *_, closure = whole_matrices(order, 0.0)
    rows = closure.rows
    nodes, halves = np.arange(60.0), np.arange(60) + 0.5
    accuracy = min(order // 2, 3) if order < 14 else 2
    for k in range(accuracy + 1):
        slope = k * halves ** max(k - 1, 0)
        scale = max(1.0, halves[rows] ** k)
        assert np.abs((up @ nodes**k - slope)[:rows]).max() < 1e-9 * scale
        slope = k * nodes ** max(k - 1, 0)
        error = np.abs(down @ halves**k - slope)[1 if k == 0 else 0 : rows]
        assert (error < 1e-9 * scale).all()
    k = max(accuracy + 1, 3)
    assert np.abs((up @ nodes**k - k * halves ** (k - 1))[:rows]).max() > 1e-6, "better than said"


@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_of_fitted_coefficients_is_as_good_as_they_are(order: int) -> None:
    """Its interior is wrong by up to 0.1 % for straight lines too; the closure by a few of that."""
    up, *_, closure = whole_matrices(order, 1e-3)
    slope = (up @ np.arange(60.0))[: closure.rows]
    assert np.abs(slope - 1).max() < 5e-3


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_growth_is_the_largest_eigenvalue(order: int, tolerance: float) -> None:
    """Of the half line with its traction-free row, against that of the unbounded grid."""
    up, down, *_, closure = whole_matrices(order, tolerance)
    operator = -(down[:, :] @ up)[1:, 1:]
    largest = np.sqrt(np.abs(np.linalg.eigvals(operator)).max())
    limit = closure.growth * stencils.largest_symbol(stencils.staggered(order, tolerance))
    assert largest <= limit * (1 + 1e-9)
    assert largest > 0.9 * limit, "the limit wastes more than a tenth of the step"
