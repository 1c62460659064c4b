"""Green functions of the scalar wave equation in two and three dimensions, with derivatives.

phi solves (s^2/c^2 - laplacian) phi = delta:  exp(-s r/c) / (4 pi r) in three dimensions and
K0(s r/c) / (2 pi) in two (the Hankel function of imaginary argument). Acoustic and elastic whole
spaces in both dimensions are derivatives of it, so it is written once.
With D = (1/r) d/dr every Cartesian derivative is a polynomial in the offsets times D^n phi.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import kve

# Reverse Bessel polynomials: D^n exp(-k r)/r = (-1)^n exp(-k r) theta_n(k r) / r^(2n+1).
_THETA = ([1], [1, 1], [1, 3, 3], [1, 6, 15, 15], [1, 10, 45, 105, 105])


def radial_derivatives(distance: float, k: np.ndarray, dimensions: int, order: int) -> np.ndarray:
    """Return D^n phi for n = 0..order, (order+1, frequency), with k = s/c (frequency) 1/m."""
    z = k * distance
    decay = np.exp(-z)
    if dimensions == 3:
        scale = decay / (4 * np.pi)
        derivatives = [
            (-1) ** n * np.polyval(_THETA[n], z) / distance ** (2 * n + 1) for n in range(order + 1)
        ]
    else:
        scale = decay / (2 * np.pi)
        derivatives = [(-k / distance) ** n * kve(n, z) for n in range(order + 1)]
    return np.array(derivatives) * scale


def _pairings(indices: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    """Return the polynomials in x that multiply D^(m-p) phi, for p = 0..m//2 pairs."""
    if not indices:
        return np.ones(1)
    first = indices[0]
    others = indices[1:]
    total = np.zeros(len(indices) // 2 + 1)
    single = x[first] * _pairings(others, x)
    total[: single.size] += single
    for position, index in enumerate(others):
        if index == first:
            paired = _pairings(others[:position] + others[position + 1 :], x)
            total[1 : 1 + paired.size] += paired
    return total


def gradient_tensor(x: np.ndarray, radial: np.ndarray, order: int) -> np.ndarray:
    """Return the order-th Cartesian derivatives, (d,)*order + (frequency,), at offset x (d) m."""
    d = len(x)
    tensor = np.empty((d,) * order + radial.shape[1:], complex)
    for indices in product(range(d), repeat=order):
        polynomials = _pairings(indices, x)
        tensor[indices] = sum(
            value * radial[order - pairs] for pairs, value in enumerate(polynomials)
        )
    return tensor
