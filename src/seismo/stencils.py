"""Staggered finite-difference coefficients, and their closure at a free surface.

First derivative, half-way between the samples it uses (M = order / 2, spacing 1)::

    f'(0) ~ sum_m c_m [f(m - 1/2) - f(1/2 - m)],  m = 1 .. M

Second derivative, on a sample::

    f''(0) ~ d_0 f(0) + sum_m d_m [f(m) + f(-m)]

*Taylor* coefficients are exact for the longest possible polynomials (Fornberg 1988). *Min-max*
coefficients hold the error of the phase velocity below `MINMAX_ERROR` up to the largest possible
wavenumber (Holberg 1987; Liu 2014), which at order 8 allows 2.9 points per wavelength.

At a free surface the derivative across it has no points on the far side. Two grids meet there:
nodes n = 0, 1, 2, ... (the surface is node 0) and half points r + 1/2. `surface_closure` finds one
matrix Q and two diagonal norms with

    G = inv(H_half) Q   (nodes -> half points),    D = -inv(H_node) Q^T  (half points -> nodes)

so that the two derivatives are each other's negative adjoint: *summation by parts*. The semi-
discrete energy is then exactly conserved, for any medium, with the traction on node 0 held at zero
(Kreiss & Scherer 1974; O'Reilly et al. 2017 for staggered grids).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MINMAX_ERROR = 1e-3
ORDERS = tuple(range(2, 17, 2))


def _staggered_symbol(m: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Columns 2 sin((m - 1/2) k) / k: the factor on a wave of wavenumber k, per coefficient."""
    return 2 * np.sin(np.outer(k, m - 0.5)) / k[:, None]


def _centred_symbol(m: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Columns 2 (1 - cos(m k)) / k^2, the same for the second derivative."""
    return 2 * (1 - np.cos(np.outer(k, m))) / k[:, None] ** 2


def _products(squares: np.ndarray) -> np.ndarray:
    """Give prod of s / (s - s_m) over all other s, for each s_m (Fornberg 1988)."""
    ratios = squares[None, :] / (squares[None, :] - squares[:, None] + np.diag(squares))
    return np.prod(ratios, axis=1)


def _taylor_staggered(terms: int) -> np.ndarray:
    odd = 2 * np.arange(1, terms + 1) - 1.0
    return _products(odd**2) / odd


def _taylor_centred(terms: int) -> np.ndarray:
    squares = np.arange(1, terms + 1.0) ** 2
    return _products(squares) / squares


def _chebyshev_fit(columns: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit 1 by the columns with the least maximum error (Lawson 1961 reweighting)."""
    weights = np.ones(len(columns))
    best, error = np.zeros(columns.shape[1]), np.inf
    for _ in range(200):
        root = np.sqrt(weights)[:, None]
        fit = np.linalg.lstsq(columns * root, root[:, 0], rcond=None)[0]
        residual = np.abs(columns @ fit - 1)
        if residual.max() < error:
            best, error = fit, float(residual.max())
        weights *= residual / residual.max() + 1e-6
        weights /= weights.mean()
    return best, error


def _minmax(symbol, terms: int, tolerance: float) -> np.ndarray:
    """Widen the band of wavenumbers until the least maximum error reaches the tolerance."""
    m = np.arange(1, terms + 1)
    low, high = 0.1, np.pi
    best = np.zeros(terms)
    for _ in range(24):
        middle = (low + high) / 2
        k = middle * np.sin(np.linspace(0.01, 1, 400) * np.pi / 2)
        fit, error = _chebyshev_fit(symbol(m, k))
        if error > tolerance:
            high = middle
        else:
            low, best = middle, fit
    return best


@lru_cache
def staggered(order: int, kind: str = "taylor") -> np.ndarray:
    """Give c_1 .. c_M of the staggered first derivative.

    Args:
        order: 2, 4, ... 16.
        kind: "taylor" or "minmax".

    Returns:
        coefficients (order / 2) in units of 1 / spacing.
    """
    if kind == "taylor":
        return _taylor_staggered(order // 2)
    return _minmax(_staggered_symbol, order // 2, MINMAX_ERROR)


@lru_cache
def centred(order: int, kind: str = "taylor") -> np.ndarray:
    """Give d_0 .. d_M of the centred second derivative.

    Args:
        order: 2, 4, ... 16.
        kind: "taylor" or "minmax" (the phase error is half the error of the symbol).

    Returns:
        coefficients (order / 2 + 1) in units of 1 / spacing^2.
    """
    if kind == "taylor":
        terms = _taylor_centred(order // 2)
    else:
        terms = _minmax(_centred_symbol, order // 2, 2 * MINMAX_ERROR)
    return np.concatenate([[-2 * terms.sum()], terms])


def largest_symbol(coefficients: np.ndarray) -> float:
    """Give the largest |derivative of exp(ikx)| of staggered coefficients over all k."""
    k = np.linspace(1e-3, np.pi, 2001)
    m = np.arange(1, len(coefficients) + 1)
    return float(np.abs(2 * np.sin(np.outer(k, m - 0.5)) @ coefficients).max())


def largest_second_symbol(coefficients: np.ndarray) -> float:
    """Give the largest -(second derivative of exp(ikx)) of centred coefficients over all k."""
    k = np.linspace(1e-3, np.pi, 2001)
    m = np.arange(1, len(coefficients))
    return float((2 * (1 - np.cos(np.outer(k, m))) @ coefficients[1:]).max())


def phase_velocity_ratio(coefficients: np.ndarray, points_per_wavelength: np.ndarray) -> np.ndarray:
    """Give numerical / true velocity along an axis for staggered coefficients (no time error)."""
    k = 2 * np.pi / np.atleast_1d(points_per_wavelength).astype(float)
    return _staggered_symbol(np.arange(1, len(coefficients) + 1), k) @ coefficients


@dataclass(frozen=True)
class SurfaceClosure:
    """One-sided derivatives in the rows next to a free surface (spacing 1).

    Attributes:
        up: (rows, width) weights of node values for the derivative at half points 0.5, 1.5, ...
        down: (rows, width) weights of half-point values for the derivative at nodes 0, 1, ...
        node_norm: (rows) quadrature weight of node rows; 1 further down.
        half_norm: (rows) quadrature weight of half-point rows; 1 further down.
        growth: largest eigenvalue of the closed operator / that of the open one (>= 1).
    """

    up: np.ndarray
    down: np.ndarray
    node_norm: np.ndarray
    half_norm: np.ndarray
    growth: float

    @property
    def rows(self) -> int:
        """Number of rows with their own weights."""
        return len(self.up)


def _interior_matrix(c: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Q far from the surface: row r (point r + 1/2), column n (node n)."""
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    padded = np.concatenate([[0.0], c, np.zeros(rows + columns)])
    return np.where(offset > 0, padded[np.abs(offset)], -padded[np.abs(1 - offset)])


class _Unknowns:
    """Linear conditions on the block of Q and on both norms, gathered row by row."""

    def __init__(self, c: np.ndarray, half_rows: int, node_rows: int) -> None:
        self.half_rows, self.node_rows = half_rows, node_rows
        self.size = half_rows * node_rows + half_rows + node_rows
        far = half_rows + node_rows + 2 * len(c)
        self.interior = _interior_matrix(c, far, far)
        self.nodes, self.halves = np.arange(far) * 1.0, np.arange(far) + 0.5

    def _row(self, block: np.ndarray, norm: int, factor: float) -> np.ndarray:
        """Build one condition; norm counts half rows first, then node rows."""
        row = np.zeros(self.size)
        row[: block.size] = block.ravel()
        row[block.size + norm] = factor
        return row

    def exact_for_power(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Conditions that both derivatives are exact for x^k (D on node 0 needs x^k(0) = 0)."""
        rows, values = [], []
        nh, nn = self.half_rows, self.node_rows
        for r in range(nh):
            block = np.zeros((nh, nn))
            block[r] = self.nodes[:nn] ** k
            slope = -k * self.halves[r] ** max(k - 1, 0)
            rows.append(self._row(block, r, slope))
            values.append(-self.interior[r, nn:] @ self.nodes[nn:] ** k)
        for n in range(1 if k == 0 else 0, nn):
            block = np.zeros((nh, nn))
            block[:, n] = -(self.halves[:nh] ** k)
            slope = -k * self.nodes[n] ** (k - 1) if k else 0.0
            rows.append(self._row(block, nh + n, slope))
            values.append(self.interior[nh:, n] @ self.halves[nh:] ** k)
        return np.array(rows), np.array(values)

    def interior_guess(self) -> np.ndarray:
        """Norms 1 (1/2 on the surface) and the interior's coefficients."""
        block = self.interior[: self.half_rows, : self.node_rows].ravel()
        norms = np.ones(self.half_rows + self.node_rows)
        norms[self.half_rows] = 0.5
        return np.concatenate([block, norms])


def _solve(unknowns: _Unknowns, accuracy: int) -> np.ndarray:
    """Meet the accuracy conditions; spend what is free on the next power and on smoothness."""
    systems = [unknowns.exact_for_power(k) for k in range(accuracy + 1)]
    matrix = np.vstack([s[0] for s in systems])
    right = np.concatenate([s[1] for s in systems])
    particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
    _, singular, vectors = np.linalg.svd(matrix)
    free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
    next_matrix, next_right = unknowns.exact_for_power(accuracy + 1)
    pull = 0.1
    wish = np.concatenate(
        [
            next_right - next_matrix @ particular,
            pull * (unknowns.interior_guess() - particular),
        ]
    )
    weights = np.linalg.lstsq(np.vstack([next_matrix @ free, pull * free]), wish, rcond=None)[0]
    return particular + free @ weights


@lru_cache
def surface_closure(order: int, kind: str = "taylor") -> SurfaceClosure:
    """Find the summation-by-parts closure of the staggered derivative at a free surface.

    The interior order is 2M; next to the surface it is min(M, 3) (2 from order 14 on), which makes
    the whole scheme one order more accurate than that (Gustafsson 1975).

    Args:
        order: 2, 4, ... 16.
        kind: "taylor" or "minmax".
    """
    c = staggered(order, kind)
    terms = len(c)
    accuracy = min(terms, 3) if terms < 7 else 2
    half_rows = max(2 * accuracy - 1, terms - 1)
    node_rows = half_rows + (0 if terms == 1 else 1)
    unknowns = _Unknowns(c, half_rows, node_rows)
    solution = _solve(unknowns, accuracy)
    total = node_rows + 4 * terms + 40
    matrix = _interior_matrix(c, total, total)
    matrix[:half_rows, :node_rows] = solution[: half_rows * node_rows].reshape(half_rows, -1)
    half_norm, node_norm = np.ones(total), np.ones(total)
    half_norm[:half_rows] = solution[half_rows * node_rows :][:half_rows]
    node_norm[:node_rows] = solution[half_rows * node_rows + half_rows :]
    width = node_rows + terms
    scaled = matrix / np.sqrt(half_norm)[:, None] / np.sqrt(node_norm)[None, :]
    growth = np.linalg.norm(scaled, 2) / largest_symbol(c)
    return SurfaceClosure(
        up=(matrix / half_norm[:, None])[:node_rows, :width],
        down=(-matrix.T / node_norm[:, None])[:node_rows, :width],
        node_norm=node_norm[:node_rows],
        half_norm=half_norm[:node_rows],
        growth=max(1.0, float(growth)),
    )
