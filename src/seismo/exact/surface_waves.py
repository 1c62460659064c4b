"""Phase velocities of Rayleigh and Love modes in layers, Rayleigh and Scholte speeds.

A mode is a wave that decays into the half-space and leaves the surface free: a zero of the
determinant of all interface conditions. In each layer the pair of waves with vertical slope nu is
written with real functions, exp(-nu z) and exp(-nu (h - z)) where nu is real and cos(q z),
sin(q z)/q where it is imaginary, so that the determinant is real and cannot overflow (as in the
global matrix of ``stack``). Literature: Love (1911); Haskell (1953); Aki & Richards (2002) 7.2.

Speeds [m/s], frequencies [Hz], thickness [m]. Accuracy 1e-10 relative.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from seismo.errors import SeismoError
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack


def phase_velocities(
    stack: Stack,
    frequencies: np.ndarray,
    mode: int = 0,
    kind: str = "rayleigh",
    samples: int = 400,
) -> np.ndarray:
    """Return the phase velocity (frequency) m/s of a mode, NaN below its cut-off.

    stack: solid layers under a free surface; kind "rayleigh" or "love"; mode 0 is fundamental;
    samples: trial velocities per interval between body-wave speeds.
    Raises SeismoError for a stack with fluids or without a free surface.
    """
    if not stack.free_surface or any(m.vs == 0 for m in stack.media):
        raise SeismoError("surface waves are sought in solid layers under a free surface")
    secular = {"rayleigh": rayleigh_secular, "love": love_secular}[kind]
    return np.array([_root(stack, 2 * np.pi * f, mode, secular, samples) for f in frequencies])


def group_velocities(
    stack: Stack, frequencies: np.ndarray, mode: int = 0, kind: str = "rayleigh"
) -> np.ndarray:
    """Return the group velocity (frequency) m/s, d omega / d k by a centred difference."""
    f = np.asarray(frequencies, float)
    low = f * (1 - 1e-4)
    high = f * (1 + 1e-4)
    k = [g / phase_velocities(stack, g, mode, kind) for g in (low, high)]
    return (high - low) / (k[1] - k[0])


def _root(stack: Stack, omega: float, mode: int, secular: Callable, samples: int) -> float:
    """Return the mode-th zero over phase velocity, counted from the slowest."""
    slowest = min(m.vs for m in stack.media)
    half_space_speed = stack.media[-1].vs
    bounds = sorted(
        {c for c in stack.speeds if slowest <= c < half_space_speed} | {half_space_speed}
    )
    bounds = [0.7 * slowest, *bounds]
    zeros = 0
    for low, high in pairwise(bounds):
        trial_speeds = np.linspace(low, high, samples)
        trial_speeds[0] = low * (1 + 1e-10)
        trial_speeds[-1] = high * (1 - 1e-10)
        determinants = np.array([secular(stack, omega, c) for c in trial_speeds])
        for interval in np.flatnonzero(determinants[1:] * determinants[:-1] < 0):
            if zeros == mode:
                return float(
                    brentq(
                        lambda c: secular(stack, omega, c),
                        trial_speeds[interval],
                        trial_speeds[interval + 1],
                        xtol=1e-10 * low,
                    )
                )
            zeros += 1
    return float("nan")


def _shapes(k: float, omega: float, c: float, thickness: float, z: float) -> np.ndarray:
    """Return the two solutions (value, derivative) x 2 of f'' = nu^2 f at z in the layer."""
    square = k**2 - (omega / c) ** 2
    nu = np.sqrt(abs(square))
    if np.isinf(thickness):
        return np.array([[1.0], [-nu]])
    if square > 0:
        down = np.exp(-nu * z)
        up = np.exp(-nu * (thickness - z))
        return np.array([[down, up], [-nu * down, nu * up]])
    return np.array([[np.cos(nu * z), np.sin(nu * z) / nu], [-nu * np.sin(nu * z), np.cos(nu * z)]])


def love_secular(stack: Stack, omega: float, c: float) -> float:
    """Return the determinant whose zeros in phase velocity c are Love modes."""
    k = omega / c

    def columns(medium: Medium, thickness: float, z: float) -> np.ndarray:
        shape = _shapes(k, omega, medium.vs, thickness, z)
        return np.array([shape[0] * k, shape[1] * medium.mu / stack.media[0].mu])

    return _determinant(stack, columns, 1)


def rayleigh_secular(stack: Stack, omega: float, c: float) -> float:
    """Return the determinant whose zeros in phase velocity c are Rayleigh modes."""
    k = omega / c

    def columns(medium: Medium, thickness: float, z: float) -> np.ndarray:
        """Rows U, W, X, Z from potentials: U = k f - g', W = f' - k g (P, then SV)."""
        (f, df), (g, dg) = (
            _shapes(k, omega, speed, thickness, z) for speed in (medium.vp, medium.vs)
        )
        mu = medium.mu / stack.media[0].mu
        bend = mu * (2 * k**2 - (omega / medium.vs) ** 2)
        p = [k * f, df, 2 * mu * k * df / k, bend * f / k]
        q = [-dg, -k * g, -bend * g / k, -2 * mu * k * dg / k]
        return np.concatenate([np.array(p), np.array(q)], axis=1) / k

    return _determinant(stack, columns, 2)


def _determinant(stack: Stack, columns: Callable, half: int) -> float:
    """Return the determinant of the free surface and all welded interfaces (2 half rows each)."""
    size = half * (2 * len(stack.media) - 1)
    matrix = np.zeros((size, size))
    row = 0
    column = 0
    for index, (medium, (top, bottom)) in enumerate(zip(stack.media, stack.bounds, strict=True)):
        thickness = bottom - top
        upper = columns(medium, thickness, 0.0)
        width = upper.shape[1]
        if index == 0:
            matrix[:half, :width] = upper[half:]
            row = half
        else:
            matrix[row : row + 2 * half, column : column + width] = -upper
            row += 2 * half
        if np.isfinite(thickness):
            matrix[row : row + 2 * half, column : column + width] = columns(
                medium, thickness, thickness
            )
        column += width
    sign, logarithm = np.linalg.slogdet(matrix)
    return float(sign * np.exp(np.clip(logarithm, -600, 600)))


def rayleigh_function(c: float, medium: Medium) -> float:
    """Return Rayleigh's function (2 - c^2/vs^2)^2 - 4 sqrt(1 - c^2/vp^2) sqrt(1 - c^2/vs^2)."""
    shear = (c / medium.vs) ** 2
    compression = (c / medium.vp) ** 2
    return (2 - shear) ** 2 - 4 * np.sqrt(1 - compression) * np.sqrt(1 - shear)


def rayleigh_speed(medium: Medium) -> float:
    """Return the speed [m/s] of Rayleigh waves on a half-space (Lord Rayleigh 1885)."""
    return float(
        brentq(
            rayleigh_function,
            0.3 * medium.vs,
            medium.vs * (1 - 1e-12),
            args=(medium,),
            xtol=1e-12 * medium.vs,
        )
    )


def stoneley_speed(fluid: Medium, solid: Medium) -> float:
    """Return the speed [m/s] of the Scholte (Stoneley) wave between a fluid and a solid.

    Root of Rayleigh's function plus (rho_f/rho_s)(c/vs)^4 sqrt((1-c^2/vp^2)/(1-c^2/vf^2)).
    """

    def secular(c: float) -> float:
        load = fluid.rho / solid.rho * (c / solid.vs) ** 4
        slope = np.sqrt(1 - (c / solid.vp) ** 2) / np.sqrt(1 - (c / fluid.vp) ** 2)
        return rayleigh_function(c, solid) + load * slope

    limit = min(fluid.vp, solid.vs)
    return float(brentq(secular, 1e-2 * limit, limit * (1 - 1e-13), xtol=1e-12 * limit))
