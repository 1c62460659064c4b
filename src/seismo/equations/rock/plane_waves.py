"""Plane waves in anisotropic rock: their speeds, and which of them grow in absorbing layers.

Stiffnesses are those of `seismo.equations.rock.elastic_constants`. A plane wave along the unit
vector n has the speed c and the motion e of the Christoffel equation

    c_ijkl n_j n_l e_k = rho c^2 e_i,    and the group velocity  V_j = c_ijkl e_i e_k n_l / (rho c)

An absorbing layer along the axis a lets a wave grow where n_a V_a < 0 (Becache, Fauqueux & Joly
2003, J. Comput. Phys. 188, 399): `growth` is the largest m of -n_a V_a / c, the rate of that in
shares of the damping d. A layer that damps the other axes by a share p of d adds -p (1 + m) d at
least, since n V = c, and ends it from p = m / (1 + m) on (Meza-Fajardo & Papageorgiou 2008, BSSA
98, 1811).
"""

from __future__ import annotations

import numpy as np

from seismo.equations.rock.elastic_constants import VOIGT

_SPACE = 1000  # directions of half a sphere
_PLANE = 360  # directions of half a circle
_TOGETHER = 64  # rocks
_COARSE = 12  # every so manyth direction ranks rocks by how much they let grow
_LEADING = 6  # rocks of an axis that are looked at in all directions


def directions(dimensions: int = 3) -> np.ndarray:
    """Return unit vectors (n, 3) over half a sphere, or over half a circle of x and z."""
    if dimensions == 2:
        # Waves along n and -n are the same.
        angle = np.pi * np.arange(_PLANE) / _PLANE
        return np.stack([np.cos(angle), np.zeros(_PLANE), np.sin(angle)], 1)
    number = np.arange(_SPACE) + 0.5
    # Directions on a Fibonacci lattice: z uniform, azimuth by the golden angle.
    z = number / _SPACE
    turn = np.pi * (1.0 + np.sqrt(5.0)) * number
    radius = np.sqrt(1.0 - z**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), z], 1)


def waves(
    stiffness: np.ndarray, rho: np.ndarray | float, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return phase speeds (..., direction, 3) m/s and group velocities (..., direction, 3, 3).

    Args:
        stiffness: (..., 6, 6) Pa, positive definite.
        rho: (...) kg/m3.
        n: (direction, 3) unit vectors.

    Returns:
        By wave, slowest first; the last axis of the group velocities is x, y, z.
    """
    # c_ijkl / rho of Voigt's matrix.
    tensor = stiffness[..., VOIGT[:, :, None, None], VOIGT[None, None]]
    tensor = tensor / np.asarray(rho, float)[..., None, None, None, None]
    # Christoffel matrix c_ijkl n_j n_l / rho, its eigenvalues c^2 and motions e.
    half = np.einsum("...ijkl,al->...aijk", tensor, n)  # the part of n_l
    squares, motion = np.linalg.eigh(np.einsum("...aijk,aj->...aik", half, n))
    speed = np.sqrt(squares)
    # Group velocity V_j = c_ijkl e_i e_k n_l / (rho c)
    group = np.einsum("...aijk,...aim,...akm->...amj", half, motion, motion, optimize=True)
    return speed, group / speed[..., None]


def christoffel(stiffness: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return c_ijkl n_j n_l (..., direction, 3, 3) [Pa] of stiffnesses (..., 6, 6)."""
    tensor = stiffness[..., VOIGT[:, :, None, None], VOIGT[None, None]]
    return np.einsum("...ijkl,aj,al->...aik", tensor, n, n, optimize=True)


def growth(stiffness: np.ndarray, rho: np.ndarray, dimensions: int = 3) -> np.ndarray:
    """Return m (axis) of layers along x, y and z, the largest of some rocks; 0 where none grows.

    Args:
        stiffness: (rock, 6, 6) Pa.
        rho: (rock) kg/m3.
        dimensions: 2 for waves in the plane of x and z.
    """
    n = directions(dimensions)
    if len(stiffness) > 3 * _LEADING:
        # Few directions tell which of many rocks let most grow.
        order = np.argsort(-_against(stiffness, rho, n[::_COARSE]), axis=0)
        leading = np.unique(order[:_LEADING])
        stiffness = stiffness[leading]
        rho = rho[leading]
    largest = _against(stiffness, rho, n).max(0, initial=0.0)
    return np.where(largest > 1e-9, largest, 0.0)


def _against(stiffness: np.ndarray, rho: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the largest -n_a V_a / c (rock, axis) of waves in some directions n."""
    growths = []
    # In batches, which bounds the memory.
    for first in range(0, len(stiffness), _TOGETHER):
        rocks = slice(first, first + _TOGETHER)
        speed, group = waves(stiffness[rocks], rho[rocks], n)
        # -n_a V_a / c: energy that goes against the phase (Becache et al. 2003).
        growths.append((-n[:, None, :] * group / speed[..., None]).max((1, 2)))
    return np.concatenate(growths) if growths else np.zeros((0, 3))
