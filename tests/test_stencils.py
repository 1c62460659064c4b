"""Difference coefficients and the free-surface closure against their defining equations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seismo import stencils
from seismo.exact import scheme

KINDS = ("taylor", "minmax")


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


def band(order: int, symbol) -> float:
    """Give the largest wavenumber (of pi) up to which the symbol's error is below the bar."""
    k = np.linspace(0.01, np.pi, 4000)
    wrong = np.abs(symbol(k) - 1) > stencils.MINMAX_ERROR * 1.1
    return float(k[np.argmax(wrong)] if wrong.any() else np.pi)


@pytest.mark.parametrize("order", stencils.ORDERS[1:])
def test_minmax_widens_the_band(order: int) -> None:
    """Phase error within 0.1 % up to a larger wavenumber than Taylor's, for both derivatives."""

    def first(kind):
        c = stencils.staggered(order, kind)
        return lambda k: stencils.phase_velocity_ratio(c, 2 * np.pi / k)

    def second(kind):
        d = stencils.centred(order, kind)[1:]
        m = np.arange(1, len(d) + 1)
        return lambda k: np.sqrt(2 * (1 - np.cos(np.outer(k, m))) @ d) / k

    for build in (first, second):
        assert band(order, build("minmax")) > 1.15 * band(order, build("taylor"))


def test_minmax_of_order_8_takes_three_points() -> None:
    """2.9 points per wavelength, as the module says."""
    c = stencils.staggered(8, "minmax")
    ratio = stencils.phase_velocity_ratio(c, np.linspace(2.95, 40, 2000))
    assert np.abs(ratio - 1).max() <= stencils.MINMAX_ERROR * 1.01


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_largest_symbols(order: int, kind: str) -> None:
    """Taylor's largest symbol is that of the shortest wave: 2 sum |c|; nothing exceeds that sum."""
    c = stencils.staggered(order, kind)
    largest = stencils.largest_symbol(c)
    assert largest <= 2 * np.abs(c).sum() * (1 + 1e-12)
    if kind == "taylor":
        assert largest == pytest.approx(2 * np.abs(c).sum(), rel=1e-12)
    d = stencils.centred(order, kind)
    samples = np.random.default_rng(0).uniform(0, np.pi, 5000)
    m = np.arange(1, len(d))
    values = 2 * (1 - np.cos(np.outer(samples, m))) @ d[1:]
    assert values.max() <= stencils.largest_second_symbol(d) * (1 + 1e-6)


def whole_matrices(order: int, kind: str, size: int = 60):
    """Give G and D of a half line with `size` points of each kind, and both norms."""
    closure, c = stencils.surface_closure(order, kind), stencils.staggered(order, kind)
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_sums_by_parts(order: int, kind: str) -> None:
    """H_half G = -(H_node D)^T for nodes below the surface, and both norms are positive.

    The surface row of D is free: the traction it would act on is zero there.
    """
    up, down, half, node, closure = whole_matrices(order, kind)
    assert closure.node_norm.min() > 0.1
    assert closure.half_norm.min() > 0.1
    near = 60 - order
    product = half[:, None] * up + (node[:, None] * down).T
    assert np.abs(product[:near, :near]).max() < 1e-12


@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_is_exact_for_polynomials(order: int) -> None:
    """To degree min(M, 3) (2 from order 14 on); D on the surface row needs a vanishing function."""
    up, down, *_, closure = whole_matrices(order, "taylor")
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
def test_closure_of_minmax_is_as_good_as_minmax(order: int) -> None:
    """Its interior is wrong by up to 0.1 % for straight lines too; the closure by a few of that."""
    up, *_, closure = whole_matrices(order, "minmax")
    slope = (up @ np.arange(60.0))[: closure.rows]
    assert np.abs(slope - 1).max() < 5 * stencils.MINMAX_ERROR


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_growth_is_the_largest_eigenvalue(order: int, kind: str) -> None:
    """Of the half line with its traction-free row, against that of the unbounded grid."""
    up, down, *_, closure = whole_matrices(order, kind)
    operator = -(down[:, :] @ up)[1:, 1:]
    largest = np.sqrt(np.abs(np.linalg.eigvals(operator)).max())
    limit = closure.growth * stencils.largest_symbol(stencils.staggered(order, kind))
    assert largest <= limit * (1 + 1e-9)
    assert largest > 0.9 * limit, "the limit wastes more than a tenth of the step"
