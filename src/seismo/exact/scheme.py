"""Plane waves of the discrete equations themselves, to tell scheme error from defect.

On a staggered grid of spacing h with leapfrog steps dt, a plane wave with wavenumbers k_a obeys
    sin^2(omega dt/2) = (c dt)^2 sum_a [ sum_m c_m sin((m - 1/2) k_a h_a) / h_a ]^2
for P and for S, in any heterogeneity-free interior (Virieux 1986; Levander 1988). A code that is
right satisfies it to rounding; the distance from omega = c |k| is the dispersion of the scheme.
"""

from __future__ import annotations

import numpy as np

from seismo.errors import SeismoError


def taylor_coefficients(order: int) -> np.ndarray:
    """Return c_m (order/2), the staggered first-derivative weights of f(x + (m-1/2) h)/h.

    Fornberg (1988): each side of the centre has weight +c_m and -c_m.
    """
    m = np.arange(1, order // 2 + 1)
    odd = 2.0 * m - 1
    squares = odd**2
    products = [
        np.prod(np.delete(squares, i) / (np.delete(squares, i) - squares[i])) for i in range(m.size)
    ]
    return np.array(products) / odd


def discrete_derivative(k: np.ndarray, spacing: float, coefficients: np.ndarray) -> np.ndarray:
    """Return the wavenumber (...) 1/m that the difference operator takes k (...) 1/m for."""
    m = np.arange(len(coefficients)) + 0.5
    return 2 / spacing * np.sin(np.multiply.outer(k, m) * spacing) @ np.asarray(coefficients)


def angular_frequency(
    k: np.ndarray, c: float, dt: float, spacing: np.ndarray, coefficients: np.ndarray
) -> np.ndarray:
    """Return omega (...) rad/s of the discrete plane wave with wavenumbers k (..., axis) 1/m.

    c m/s; dt s; spacing (axis) m; coefficients c_m as in `taylor_coefficients`.
    Raises SeismoError where the wave would grow (dt beyond the stability limit).
    """
    k = np.asarray(k, float)
    spacing = np.broadcast_to(np.asarray(spacing, float), k.shape[-1:])
    total = sum(
        discrete_derivative(k[..., axis], spacing[axis], coefficients) ** 2
        for axis in range(k.shape[-1])
    )
    sine = 0.5 * c * dt * np.sqrt(total)
    if np.any(sine > 1):
        raise SeismoError(f"dt {dt} s is beyond the stability limit {dt / sine.max():.6g} s")
    return 2 / dt * np.arcsin(sine)


def stability_limit(c: float, spacing: np.ndarray, coefficients: np.ndarray) -> float:
    """Return the largest stable dt [s]: the highest wavenumber on all axes at once."""
    inverse = np.sqrt(np.sum(1 / np.atleast_1d(np.asarray(spacing, float)) ** 2))
    return 1 / (c * inverse * float(np.sum(np.abs(coefficients))))
