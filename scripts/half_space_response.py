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


def buried_response(waves: Waves, depths: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return what P-SV sources at some depths move further down, (wave, source x depth, motion).

    By reciprocity: waves that go up from a force, and what the surface sends back.

    Args:
        waves: of the sources.
        depths: of the sources, less than both `at`.
        at: depths (2) where motion along x and z is wanted.
    """
    k, p, s = waves.k, *(decay(waves.k, waves.w / v)[:, 0] for v in (waves.vp, 1.0))
    square = waves.vp**2

    def motion(sign: int, depth: np.ndarray) -> np.ndarray:
        """Return u, q, u' - k q, q' and k u (wave, 5, P or S, depth) of exp(sign n depth)."""
        found = []
        for n, u, q in ((p, -k, sign * p), (s, -sign * s, k)):
            below = np.exp(sign * n[:, None] * depth)
            rows = (u, q, sign * n * u - k * q, sign * n * q, k * u)
            found.append(np.stack([row[:, None] * below for row in rows], 1))
        return np.stack(found, 2)

    def tractions(fields: np.ndarray) -> np.ndarray:
        """Return both tractions on a plane (wave, 2, P or S)."""
        first = (square - 2)[:, None]
        return np.stack([fields[:, 2], square[:, None] * fields[:, 3] + first * fields[:, 4]], 1)

    top = np.zeros(1)
    up, down = motion(1, top)[..., 0], motion(-1, top)[..., 0]
    # At a force motion is continuous, and traction falls by the force.
    matrix = np.concatenate([
        np.concatenate([down[:, :2], -up[:, :2]], 2),
        np.concatenate([tractions(down), -tractions(up)], 2),
    ], 1)  # fmt: skip
    found = []
    for c in (0, 1):
        force = np.zeros((k.size, 4, 1), complex)
        force[:, 2 + c] = -1.0
        sent = np.linalg.solve(matrix, force)[:, 2:, 0]
        n = np.stack([p, s], 1)
        arrived = sent * np.exp(-n * at[c])
        back = -np.linalg.solve(tractions(down), tractions(up) @ arrived[..., None])[..., 0]
        rise = np.exp(n[:, :, None] * (depths - at[c])) * sent[..., None]
        total = np.einsum("wfn,wnd->wfd", up, rise)
        total += np.einsum("wfnd,wn->wfd", motion(-1, depths), back)
        found.append(total.reshape(k.size, -1))
    return np.stack(found, 2)


def buried_shear_response(waves: Waves, depths: np.ndarray, at: float) -> np.ndarray:
    """Return what a force along y and a moment yz move further down, (wave, source, depth)."""
    s = decay(waves.k, waves.w)
    rise, back = np.exp(s * (depths - at)), np.exp(-s * (depths + at))
    return np.stack([(rise + back) / (2 * s), (rise - back) / 2], 1)


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
