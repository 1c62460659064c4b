"""Closures of the differences at a free surface, against their defining equations."""

from __future__ import annotations

import numpy as np
import pytest

from seismo import stencils, surface_closure
from seismo.stencils import Stencil

TOLERANCES = (0.0, 1e-3, 2e-5)
KINDS = {
    "plain": (0.0, False, 3), "short": (0.0, False, 2), "shortest": (0.0, False, 1),
    "fitted": (np.inf, False, 3), "buried": (np.inf, True, 3),
}  # fmt: skip
EVERY = [
    pytest.param(Stencil(order, tolerance), *kind, id=f"{order}-{tolerance}-{name}")
    for order in stencils.ORDERS
    for tolerance in TOLERANCES
    for name, kind in KINDS.items()
]
MOST_GROWTH = 1.12


def whole_matrices(stencil: Stencil, even_rows: float, buried=False, most=3, size: int = 60):
    """Give G and D of a half line with `size` points of each kind, both norms and the closure."""
    closure, c = surface_closure.surface_closure(stencil, even_rows, buried, most), stencil.first
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


@pytest.mark.parametrize(("stencil", "even_rows", "buried", "most"), EVERY)
def test_closure_sums_by_parts(stencil, even_rows, buried, most) -> None:
    """H_half G = -(H_node D)^T for nodes below the surface, and both norms are positive.

    The surface row of D is free: the traction it would act on is zero there.
    """
    up, down, half, node, closure = whole_matrices(stencil, even_rows, buried, most)
    assert closure.node_norm.min() > 0.1
    assert closure.half_norm.min() > 0.1
    near = 60 - stencil.order
    product = half[:, None] * up + (node[:, None] * down).T
    assert np.abs(product[:near, :near]).max() < 1e-11


def accuracy_of(order: int, even_rows: float, most: int) -> int:
    """Give the highest power that a closure differentiates exactly."""
    fit = surface_closure.fits().get((order, False)) if even_rows else None
    return fit["accuracy"] if fit else min(order // 2, most, 3 if order < 14 else 2)


@pytest.mark.parametrize(("even_rows", "most"), [(0.0, 3), (0.0, 2), (0.0, 1), (np.inf, 3)])
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_is_exact_for_polynomials(order: int, even_rows: float, most: int) -> None:
    """D on the surface row needs a vanishing function. Twelve decimals are kept."""
    up, down, *_, closure = whole_matrices(Stencil(order), even_rows, most=most)
    rows = closure.rows
    nodes, halves = np.arange(60.0), np.arange(60) + 0.5
    accuracy = accuracy_of(order, even_rows, most)
    for k in range(accuracy + 1):
        slope = k * halves ** max(k - 1, 0)
        scale = max(1.0, halves[rows] ** k)
        assert np.abs((up @ nodes**k - slope)[:rows]).max() < 1e-9 * scale
        slope = k * nodes ** max(k - 1, 0)
        error = np.abs(down @ halves**k - slope)[1 if k == 0 else 0 : rows]
        assert (error < 1e-9 * scale).all()
    if most < 3:  # few rows leave little that could err
        return
    k = max(accuracy + 1, 3)
    assert np.abs((up @ nodes**k - k * halves ** (k - 1))[:rows]).max() > 1e-6, "better than said"


@pytest.mark.parametrize("even_rows", [0.0, np.inf])
@pytest.mark.parametrize("order", stencils.ORDERS)
def test_closure_of_fitted_coefficients_is_as_good_as_they_are(order, even_rows) -> None:
    """Its interior is wrong by up to 0.1 % for straight lines too; the closure by a few of that.

    Norms that are exact for powers up to 2 take an interior that is exact for all up to 3, as
    fitted coefficients are but to their tolerance.
    """
    up, *_, closure = whole_matrices(Stencil(order, 1e-3), even_rows)
    slope = (up @ np.arange(60.0))[: closure.rows]
    assert np.abs(slope - 1).max() < 5e-3


@pytest.mark.parametrize(("stencil", "even_rows", "buried", "most"), EVERY)
def test_growth_is_the_largest_eigenvalue(stencil, even_rows, buried, most) -> None:
    """Of the half line, against that of the unbounded grid.

    The surface row counts: vx and sxz have it, though vz and the vanishing szz do not.
    """
    up, down, *_, closure = whole_matrices(stencil, even_rows, buried, most)
    operator = -(down @ up)
    largest = np.sqrt(np.abs(np.linalg.eigvals(operator)).max())
    limit = closure.growth * stencils.largest_symbol(stencil.first)
    assert largest <= limit * (1 + 1e-8)
    assert largest > 0.9 * limit, "the limit wastes more than a tenth of the step"
    assert closure.growth <= MOST_GROWTH


def test_plain_closures_stand_where_a_contact_lies_among_the_rows() -> None:
    fits = surface_closure.fits()
    wanted = {(n, buried) for n in stencils.ORDERS[1:] for buried in (False, True)}
    assert set(fits) == wanted, "of order 2 the differences themselves decide"
    for (order, buried), fit in fits.items():
        least = len(fit["half_norm"])
        plain = surface_closure.surface_closure(Stencil(order), 0.0)
        fitted = surface_closure.surface_closure(Stencil(order), np.inf, buried)
        again = surface_closure.surface_closure(Stencil(order), least, buried)
        np.testing.assert_array_equal(again.up, fitted.up)
        shallow = surface_closure.surface_closure(Stencil(order), least - 0.5, buried)
        np.testing.assert_array_equal(shallow.up, plain.up)
        assert np.abs(fitted.node_norm[:4] - plain.node_norm[:4]).max() > 0.01
