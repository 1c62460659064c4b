"""The weights of many positions at once, away from any surface (`seismo.grid.interpolation`).

Of a position between two points they depend on its share f of the way alone, and smoothly: each of
the weights is a polynomial of f here, whose coefficients are found once, at Chebyshev's nodes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from seismo.grid.interpolation import RADIUS, axis_weights

WIDTH = 2 * RADIUS  # points along an axis
_DEGREE = 20  # of the polynomials: they err by less than 1e-13
_CLOSE = 1e-6  # cells from a point, where nodes would be taken for it


def even_weights(positions: np.ndarray, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the first point (n) int, and the weights (n, WIDTH), of positions (n).

    They are those of `axis_weights`, of which those on a point have zeros beside their one.

    Args:
        positions: in grid indices.
        half: whether the field is staggered along this axis (half a cell further).
    """
    along = positions - (0.5 if half else 0.0)
    before = np.floor(along)
    # Clenshaw's sum of Chebyshev's polynomials T_k(t), of each position by itself: a product of
    # matrices would round it by how many others there are.
    t = 2.0 * (along - before)[:, None] - 1.0
    last, sums = np.zeros((2, along.size, WIDTH))
    for coefficients in _polynomials()[:0:-1]:
        last, sums = sums, coefficients + 2.0 * t * sums - last
    return before.astype(np.int64) - RADIUS + 1, _polynomials()[0] + t * sums - last


@cache
def _polynomials() -> np.ndarray:
    """Return the Chebyshev coefficients (degree + 1, WIDTH) of the weights, of 2 f - 1."""
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    shares = np.clip(0.5 * (nodes + 1.0), _CLOSE, 1.0 - _CLOSE)
    weights = np.array([axis_weights(float(f), False)[1] for f in shares])
    return np.linalg.solve(np.polynomial.chebyshev.chebvander(2.0 * shares - 1.0, _DEGREE), weights)
