"""Modes guided by the rows of an SBP boundary closure, and the sign of their group velocity.

In absorbing layers waves grow whose group velocity opposes their phase velocity (Becache, Fauqueux
& Joly 2003). With U in node rows, i W in half rows, norms N and H, and closed differences G and D,
waves exp(i (k x - w t)) of the grid satisfy, with szz = 0 in row 0,

    w^2 M y = (K0 + k K1 + k^2 K2) y,    y = (U, W),    M = (N rho, H rho)
    K0 = G' H c44 G + D' N c33 D,   K1 = G' H c44 - N c13 D and its transpose,   K2 = (N c11, H c44)

and have a group velocity y' (K1 + 2 k K2) y / (2 w y' M y).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.grid.coefficients import Stencil, staggered_symbol
from seismo.grid.midpoints import harmonic_means
from seismo.grid.surface_closure import SurfaceClosure, closed_operators

ROWS = 26  # of nodes; the lowest one is rigid
_WAVENUMBERS = np.linspace(0.1, 3.1, 31)  # rad per cell
_SURFACE_ROWS = 10  # a surface wave has most of its energy in these rows:
_ENERGY_SHARE = 0.8  # at least this share


def slowest(closure: SurfaceClosure, stencil: Stencil, medium: Mapping[str, np.ndarray]) -> float:
    """Return the least group velocity in m/s of waves along the surface rows; may be negative.

    Args:
        closure: of the surface.
        stencil: of the differences below.
        medium: "rho", "c11", "c13", "c33", "c44" (`ROWS`) of the node rows, in SI.
    """
    first = stencil.first
    # G (nodes -> half points) and D (half points -> nodes), mutually adjoint away from the surface.
    up, down = closed_operators(first, ROWS - 1, ROWS, closure)
    node_norm = np.ones(ROWS)
    half_norm = np.ones(ROWS - 1)
    node_norm[: closure.rows] = closure.node_norm
    half_norm[: closure.rows] = closure.half_norm
    rho = medium["rho"]
    # Norms times moduli: harmonic mean of c44 at half points; szz = 0 in row 0, whose c11 becomes
    # that of plane stress, c11 - c13^2 / c33.
    shear = half_norm * harmonic_means(medium["c44"])
    carries_traction = node_norm * (np.arange(ROWS) > 0)
    plane_stress = medium["c11"][0] - medium["c13"][0] ** 2 / medium["c33"][0]
    normal = np.append(node_norm[0] * plane_stress, (node_norm * medium["c11"])[1:])
    # K0.
    zeros = np.zeros((ROWS, ROWS - 1))
    stiffness_0 = np.block([
        [up.T @ (shear[:, None] * up), zeros],
        [zeros.T, down.T @ ((carries_traction * medium["c33"])[:, None] * down)],
    ])  # fmt: skip
    # K1, K2 and M.
    coupling = up.T * shear - (carries_traction * medium["c13"])[:, None] * down
    stiffness_1 = np.block(
        [[np.zeros((ROWS, ROWS)), coupling], [coupling.T, np.zeros((ROWS - 1,) * 2)]]
    )
    stiffness_2 = np.diag(np.append(normal, shear))
    mass = np.append(node_norm * rho, half_norm * 0.5 * (rho[1:] + rho[:-1]))
    # Symmetric eigenproblem M^(-1/2) K M^(-1/2), at the numerical wavenumbers of the stencil.
    scale = 1.0 / np.sqrt(mass[:, None] * mass)
    near_surface = np.append(np.arange(ROWS) < _SURFACE_ROWS, np.arange(ROWS - 1) < _SURFACE_ROWS)
    symbols = staggered_symbol(first, _WAVENUMBERS)
    least_velocity = np.inf
    for k in symbols:
        stiffness = stiffness_0 + k * stiffness_1 + k * k * stiffness_2
        frequencies_squared, modes = np.linalg.eigh(stiffness * scale)
        # Group velocity y' (K1 + 2 k K2) y / (2 w), with y' M y = 1.
        derivative = (stiffness_1 + 2.0 * k * stiffness_2) * scale
        energy = np.einsum("ij,ik,kj->j", modes, derivative, modes)
        floor = 1e-9 * frequencies_squared[-1]
        velocity = energy / (2.0 * np.sqrt(frequencies_squared.clip(min=floor)))
        # Surface waves alone: modes with most of their energy in the first rows.
        is_surface_wave = (modes[near_surface] ** 2).sum(0) > _ENERGY_SHARE
        least_velocity = min(least_velocity, float(velocity[is_surface_wave].min(initial=np.inf)))
    return least_velocity
