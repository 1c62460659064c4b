"""Exact motion of the free surface of an elastic half-space, by wavenumber and frequency.

For plane waves along x of wavenumber k and complex frequency w, mu = rho = 1, a unit force on the
surface moves the depth z by (P-SV, then SH)::

    u = -k a E_p + n_s b E_s      q = -n_p a E_p + k b E_s      v = E_s / n_s
    E = exp(-n z)    n_p^2 = k^2 - (w / vp)^2    n_s^2 = k^2 - w^2

(u sin kx along x, q cos kx along z), a and b from the tractions. By reciprocity that is the motion
of the surface for a force at z, and its strains are those for a moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import j0, j1

# Sources in the order of all arrays: forces along x and z, then moments.
SOURCES = ("x", "z", "xz", "zz", "xx")
ODD = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 0]], bool)  # in k: (source, motion x or z)
OFFSETS = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])  # of receivers along a line, in cells,
RADII = np.array([0.0, 2.0, 3.5, 5.0])  # and around a point, in three dimensions
PLANE = len(OFFSETS)
_QUADRATURE, _LARGEST = 600, 40.0  # wavenumbers of exact fields, and the largest


class Waves(NamedTuple):
    """Waves of a fit, arrays (wave).

    Attributes:
        vp: vp / vs.
        w: angular frequency, Im w < 0.
        k: wavenumber.
        weight: what they weigh; for near fields that in the integral over k.
        near: 0, or the number of the near field that they belong to.
        pole: whether they stand for the Rayleigh wave.
    """

    vp: np.ndarray
    w: np.ndarray
    k: np.ndarray
    weight: np.ndarray
    near: np.ndarray
    pole: np.ndarray


def rayleigh_slowness(vp: float) -> float:
    """Return vs / c of the Rayleigh wave (Rayleigh 1885)."""

    def secular(c: float) -> float:
        return (2 - c * c) ** 2 - 4 * np.sqrt(1 - c * c) * np.sqrt(1 - (c / vp) ** 2)

    return 1.0 / brentq(secular, 0.5, 0.9999)


def decay(k: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return n (wave, 1) of waves with velocity 1, Re n > 0."""
    root = np.sqrt(k[:, None] ** 2 - w[:, None] ** 2 + 0j)
    return np.where(root.real < 0, -root, root)


def response(waves: Waves, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what P-SV sources at some depths move, (wave, source x depth, motion x or z).

    And the same of forces on the surface, (wave, force, motion).
    """
    vp, k = waves.vp[:, None], waves.k[:, None]
    p, s, first = decay(waves.k, waves.w / waves.vp), decay(waves.k, waves.w), vp**2 - 2
    below_p, below_s = np.exp(-p * depths), np.exp(-s * depths)
    # Tractions: -(u' - k q) along x, -(vp^2 q' + first k u) along z.
    of_a, of_b = (-2 * k * p, first * k * k - (vp * p) ** 2), (s * s + k * k, 2 * k * s)
    determinant = of_a[0] * of_b[1] - of_b[0] * of_a[1]
    inside, on_top = [], []
    for x, z in ((1.0, 0.0), (0.0, 1.0)):
        a, b = (x * of_b[1] - of_b[0] * z) / determinant, (of_a[0] * z - of_a[1] * x) / determinant
        u, q = -k * a * below_p + s * b * below_s, -p * a * below_p + k * b * below_s
        slope_u = k * p * a * below_p - s * s * b * below_s
        slope_q = p * p * a * below_p - k * s * b * below_s
        inside.append(np.concatenate([u, q, slope_u - k * q, slope_q, k * u], 1))
        on_top.append(np.concatenate([-k * a + s * b, -p * a + k * b], 1))
    return np.stack(inside, 2), np.stack(on_top, 2)


def shear_response(waves: Waves, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a force along y and a moment yz move, (wave, source, depth), and on the top."""
    s = decay(waves.k, waves.w)
    below = np.exp(-s * depths)
    return np.stack([below / s, -below], 1), 1 / s[:, 0]


def transforms(k: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums (place, wave) over k that give fields at `OFFSETS` and `RADII`: even, odd."""
    along, around = np.outer(OFFSETS, k), np.outer(RADII, k)
    even = np.concatenate([np.cos(along), k * j0(around)]) * weight
    return even, np.concatenate([np.sin(along), k * j1(around)]) * weight


def near_fields(values: np.ndarray, even: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """Return the fields (source, place, depth, motion, ...) of values (wave, source x depth, ...).

    The last source is an explosion. `even` and `odd` may differ by source and motion.
    """
    values = values.reshape(len(values), len(SOURCES), -1, *values.shape[2:])
    found = [
        [
            np.tensordot((odd if ODD[n, c] else even)[n, c], values[:, n, :, c], 1)
            for c in (0, 1)
        ]
        for n in range(len(SOURCES))
    ]  # fmt: skip
    fields = np.moveaxis(np.array(found), 1, 3)
    fields[-1] += fields[-2]
    return fields


def everywhere(sums: np.ndarray) -> np.ndarray:
    """Return sums (place, wave) for all sources and motions."""
    return np.broadcast_to(sums, (len(SOURCES), 2, *sums.shape))


def exact_near_fields(vp: float, w: complex, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the near fields of P-SV sources, and those of SH (source, place, depth)."""
    nodes, weight = np.polynomial.legendre.leggauss(_QUADRATURE)
    k, weight, one = (nodes + 1) * _LARGEST / 2, weight * _LARGEST / 2, np.ones(_QUADRATURE)
    waves = Waves(vp * one, w * one, k, weight, one, one)
    even, odd = transforms(k, weight)
    of_shear = np.tensordot(even, shear_response(waves, depths)[0], 1)
    found = near_fields(response(waves, depths)[0], everywhere(even), everywhere(odd))
    return found, np.moveaxis(of_shear, 1, 0)
