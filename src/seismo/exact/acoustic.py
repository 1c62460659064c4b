"""Exact acoustic waves in a whole space and under a flat surface, in two and three dimensions.

Constant density, source on the right-hand side:   p_tt / c^2 - laplacian p = s(t) delta(x)
    3-D: p = s(t - r/c) / (4 pi r);   2-D: p = (1/2pi) int s(tau) / sqrt((t-tau)^2 - r^2/c^2) dtau
First-order system with density, injecting volume at the rate q(t) [m3/s; m2/s in 2-D]:
    p_t / (rho c^2) + div v = q(t) delta(x),   rho v_t = -grad p
    so that p solves the first equation with s(t) = rho q'(t).
An explosion of moment M(t) in an elastic code whose vs is zero injects q = M'(t) / (rho c^2).

c [m/s], or a function of s where waves attenuate (`seismo.exact.medium`); rho [kg/m3];
p [Pa]; v [m/s].
Accuracy: 1e-9 of the peak for a band-limited source.
Literature: Morse & Feshbach (1953) 7.3; Aki & Richards (2002) 4.1.
"""

from __future__ import annotations

import numpy as np

from seismo.exact import respond
from seismo.exact.medium import Speed, speed_at
from seismo.exact.whole_space import gradient_tensor, radial_derivatives


def pressure(offsets: np.ndarray, source: np.ndarray, dt: float, c: Speed) -> np.ndarray:
    """Return p (receiver, time) Pa of p_tt/c^2 - lap p = s(t) delta in a whole space.

    offsets (receiver, 2 or 3) m: receiver minus source, not zero; source (time): s(t), in Pa m
    in 3-D and Pa in 2-D; dt in s.
    """
    return respond(lambda s: _green(offsets, s, c, 0), source, dt)


def velocity(
    offsets: np.ndarray, source: np.ndarray, dt: float, c: Speed, rho: float
) -> np.ndarray:
    """Return v (receiver, component, time) m/s of the source s(t) on the right-hand side."""
    return respond(lambda s: -_green(offsets, s, c, 1) / (rho * s), source, dt)


def injection_pressure(
    offsets: np.ndarray, rate: np.ndarray, dt: float, c: Speed, rho: float
) -> np.ndarray:
    """Return p (receiver, time) Pa for volume injected at rate (time) m3/s, or m2/s in 2-D."""
    return respond(lambda s: rho * s * _green(offsets, s, c, 0), rate, dt)


def injection_velocity(
    offsets: np.ndarray, rate: np.ndarray, dt: float, c: Speed, rho: float
) -> np.ndarray:
    """Return v (receiver, component, time) m/s for volume injected at rate (time) m3/s."""
    return respond(lambda s: -_green(offsets, s, c, 1), rate, dt)


def _green(offsets: np.ndarray, s: np.ndarray, c: Speed, order: int) -> np.ndarray:
    """Return phi (receiver, frequency), or with order 1 its gradient (receiver, d, frequency)."""
    k = s / speed_at(c, s)
    return np.array(
        [
            gradient_tensor(
                x, radial_derivatives(float(np.linalg.norm(x)), k, len(x), order), order
            )
            for x in np.atleast_2d(offsets)
        ]
    )


def half_space_pressure(
    receivers: np.ndarray,
    position: np.ndarray,
    source: np.ndarray,
    dt: float,
    c: Speed,
    surface: float = 0.0,
    reflection: float = -1.0,
) -> np.ndarray:
    """Return p (receiver, time) Pa below a flat surface, by the image source.

    receivers (receiver, 2 or 3) and position (2 or 3) in m with z last, both at or below the depth
    `surface`; reflection -1 for pressure release (sea surface), +1 for a rigid lid. Source as in
    `pressure`.
    """
    receivers = np.atleast_2d(np.asarray(receivers, float))
    position = np.asarray(position, float)
    image = position.copy()
    image[-1] = 2 * surface - position[-1]
    direct = pressure(receivers - position, source, dt, c)
    return direct + reflection * pressure(receivers - image, source, dt, c)
