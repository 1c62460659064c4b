"""Exact elastic waves in a whole space: point forces and moment tensors, in 2-D and 3-D.

With phi_c the scalar Green function for speed c, the displacement at x due to a unit force along j
at the origin is, in the Laplace domain,
    G_ij = ( delta_ij phi_vs / vs^2 + d_i d_j (phi_vp - phi_vs) / s^2 ) / rho
which holds near, intermediate and far field together: Aki & Richards (2002) eq. 4.23 in 3-D, the
Hankel-function solution of Eringen & Suhubi (1975) 5.12 in 2-D (plane strain, P-SV). A moment
tensor gives u_i = -M_jk d_k G_ij, which is eq. 4.29. Strain, stress, divergence and rotation come
from a further analytic derivative, so nothing is differenced.

u [m]; velocity [m/s]; stress [Pa]; force [N], [N/m] in 2-D; moment [N m], [N] in 2-D.
Accuracy: 1e-9 of the peak while s r / c is not below 1e-2 (the near field cancels as (s r/c)^2).

The scalar Green function solves (s^2/c^2 - laplacian) phi = delta:  phi = exp(-s r/c) / (4 pi r) in
3-D and K0(s r/c) / (2 pi) in 2-D (the Hankel function of imaginary argument). With D = (1/r) d/dr
every Cartesian derivative is a polynomial in the offsets times D^n phi.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.special import kve

from seismo.errors import SeismoError
from seismo.exact import TIME_FUNCTIONS, power_of, respond
from seismo.exact.medium import Medium

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


QUANTITIES = (
    "displacement",
    "velocity",
    "acceleration",
    "gradient",
    "stress",
    "stress_rate",
    "pressure",
    "divergence",
    "rotation",
    "velocity_divergence",
    "velocity_rotation",
)


def force_response(
    offsets: np.ndarray,
    force: np.ndarray,
    source: np.ndarray,
    dt: float,
    medium: Medium,
    quantity: str = "displacement",
) -> np.ndarray:
    """Return the response to a force f(t) at the origin at each offset.

    offsets (receiver, d) m, receiver minus source, d = 3 (x, y, z) or 2 (x, z); force (d) N
    multiplies source (time), the samples of f(t). Returns (receiver, component, time) for vectors,
    (receiver, d, d, time) for gradient (d_l u_i as [i, l]) and stress, (receiver, time) for
    pressure (minus the mean of the three normal stresses), divergence and the rotation in 2-D.
    Raises SeismoError for an unknown quantity or a zero offset.
    """
    force = np.asarray(force, float)
    field = force_field(force, medium)
    return respond(_transfer(offsets, force.size, field, medium, quantity), source, dt)


def moment_response(
    offsets: np.ndarray,
    moment: np.ndarray,
    source: np.ndarray,
    dt: float,
    medium: Medium,
    quantity: str = "displacement",
    time_function: str = "moment",
) -> np.ndarray:
    """Return the response to a moment tensor at the origin at each offset.

    moment (d, d) N m multiplies source (time): M(t), or its rate dM/dt [1/s] when time_function is
    "moment_rate". The rest as in `force_response`.
    """
    moment = np.asarray(moment, float)
    field = moment_field(moment, medium)
    power = power_of("time_function", time_function, TIME_FUNCTIONS)
    return respond(_transfer(offsets, len(moment), field, medium, quantity, power), source, dt)


def _transfer(
    offsets: np.ndarray, d: int, field: Callable[..., np.ndarray], medium: Medium, quantity: str,
    power: int = 0,
) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
    """Return the transfer function of s: a quantity at each offset, times s to a power."""
    offsets = np.atleast_2d(np.asarray(offsets, float))
    if quantity not in QUANTITIES:
        raise SeismoError(f"quantity is {quantity!r}; it can be {', '.join(QUANTITIES)}")
    if offsets.shape[1] != d or not offsets.any(axis=1).all():
        raise SeismoError(f"offsets need {d} columns and no receiver on the source")
    return lambda s: np.array(
        [s**power * _quantity(field, x, s, medium, quantity) for x in offsets]
    )


def _scalars(x: np.ndarray, s: np.ndarray, medium: Medium, order: int) -> tuple:
    """Return D^n of phi_vs / (rho vs^2) and of (phi_vp - phi_vs) / (rho s^2)."""
    medium = medium.at(s)
    r = float(np.linalg.norm(x))
    d = len(x)
    compression = radial_derivatives(r, s / medium.vp, d, order)
    if medium.is_fluid:
        return np.zeros_like(compression), compression / (medium.rho * s**2)
    shear = radial_derivatives(r, s / medium.vs, d, order)
    return shear / medium.mu, (compression - shear) / (medium.rho * s**2)


def force_field(force: np.ndarray, medium: Medium) -> Callable[..., np.ndarray]:
    """Return a function giving u_i (extra = 0) or d_l u_i (extra = 1) per unit spectrum."""

    def field(x: np.ndarray, s: np.ndarray, extra: int) -> np.ndarray:
        shear, difference = _scalars(x, s, medium, 2 + extra)
        first = np.multiply.outer(force, gradient_tensor(x, shear, extra))
        second = np.tensordot(force, gradient_tensor(x, difference, 2 + extra), (0, 0))
        return first + second

    return field


def moment_field(moment: np.ndarray, medium: Medium) -> Callable[..., np.ndarray]:
    """Return the same for a moment tensor."""

    def field(x: np.ndarray, s: np.ndarray, extra: int) -> np.ndarray:
        shear, difference = _scalars(x, s, medium, 3 + extra)
        first = np.tensordot(moment, gradient_tensor(x, shear, 1 + extra), (1, 0))
        second = np.tensordot(moment, gradient_tensor(x, difference, 3 + extra), ((0, 1), (0, 1)))
        return -(first + second)

    return field


def _quantity(
    field: Callable[..., np.ndarray], x: np.ndarray, s: np.ndarray, medium: Medium, quantity: str
) -> np.ndarray:
    powers = {"displacement": 0, "velocity": 1, "acceleration": 2}
    if quantity in powers:
        return s ** powers[quantity] * field(x, s, 0)
    gradient = field(x, s, 1)
    medium = medium.at(s)
    divergence = np.trace(gradient)
    rate = s if quantity in ("stress_rate", "velocity_divergence", "velocity_rotation") else 1.0
    if quantity == "gradient":
        return gradient
    if quantity == "pressure":
        return -medium.bulk * divergence
    if quantity.endswith("divergence"):
        return rate * divergence
    if quantity.endswith("rotation"):
        return rate * _rotation(gradient)
    return rate * stress_from_gradient(gradient, medium)


def stress_from_gradient(gradient: np.ndarray, medium: Medium) -> np.ndarray:
    """Return the stress (d, d, ...) Pa of a displacement gradient (d, d, ...)."""
    d = gradient.shape[0]
    stress = medium.mu * (gradient + np.swapaxes(gradient, 0, 1))
    stress[range(d), range(d)] += medium.lame * np.trace(gradient)
    return stress


def _rotation(gradient: np.ndarray) -> np.ndarray:
    """Return half the curl: (3, ...) in 3-D, the y component (...) in 2-D (x, z)."""
    if gradient.shape[0] == 2:
        return 0.5 * (gradient[0, 1] - gradient[1, 0])
    return 0.5 * np.array(
        [
            gradient[2, 1] - gradient[1, 2],
            gradient[0, 2] - gradient[2, 0],
            gradient[1, 0] - gradient[0, 1],
        ]
    )
