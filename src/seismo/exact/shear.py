"""Exact 2-D SH waves: motion along y of line sources, in a whole space and under a free surface.

rho u_tt = div(mu grad u) + f(t) delta(x) delta(z), the scalar wave equation once more.
u [m]; f [N/m]; moment [N]; stress [Pa]; vs [m/s], or a function of s where waves attenuate
(`seismo.exact.medium`). Aki & Richards (2002) problem 4.4; Eringen & Suhubi (1975) 5.12.
Accuracy as in ``acoustic``: 1e-9 of the peak.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.exact import respond
from seismo.exact.medium import Speed, speed_at
from seismo.exact.whole_space import gradient_tensor, radial_derivatives


def force_response(
    receivers: np.ndarray,
    position: np.ndarray,
    source: np.ndarray,
    dt: float,
    vs: Speed,
    rho: float,
    quantity: str = "displacement",
    surface: float | None = None,
) -> np.ndarray:
    """Return the response to a line force f(t) along y at the receivers.

    receivers (receiver, 2) and position (2) m: x, z; source (time): f(t); quantity "displacement"
    or "velocity" (receiver, time), "stress" or "stress_rate" (receiver, 2, time): sigma_xy,
    sigma_yz. surface: depth of a free surface (an image of the same sign), None for a whole space.
    """
    images = _images(position, None, surface)
    return respond(_transfer(receivers, images, vs, rho, quantity), source, dt)


def moment_response(
    receivers: np.ndarray,
    position: np.ndarray,
    moment: np.ndarray,
    source: np.ndarray,
    dt: float,
    vs: Speed,
    rho: float,
    quantity: str = "displacement",
    surface: float | None = None,
) -> np.ndarray:
    """Return the response to moments (Mxy, Myz) (2) N with time function M(t)."""
    images = _images(position, np.asarray(moment, float), surface)
    return respond(_transfer(receivers, images, vs, rho, quantity), source, dt)


def _images(position: np.ndarray, moment: np.ndarray | None, surface: float | None) -> list[tuple]:
    """Return positions and moments (None for a force) of the source and of its mirror image."""
    position = np.asarray(position, float)
    images = [(position, moment)]
    if surface is not None:
        image_moment = None if moment is None else moment * np.array([1.0, -1.0])
        images.append((np.array([position[0], 2 * surface - position[1]]), image_moment))
    return images


def _transfer(
    receivers: np.ndarray, images: list[tuple], vs: Speed, rho: float, quantity: str
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the transfer function of s: a quantity at each receiver."""
    receivers = np.atleast_2d(np.asarray(receivers, float))
    power = {"displacement": 0, "velocity": 1, "stress": 0, "stress_rate": 1}[quantity]
    extra = int(quantity.startswith("stress"))

    def transfer(s: np.ndarray) -> np.ndarray:
        responses = [
            sum(
                _green(x - image_position, strength, s, vs, extra)
                for image_position, strength in images
            )
            for x in receivers
        ]
        return np.array(responses) * s**power / (1.0 if extra else rho * speed_at(vs, s) ** 2)

    return transfer


def _green(
    x: np.ndarray, moment: np.ndarray | None, s: np.ndarray, vs: Speed, extra: int
) -> np.ndarray:
    """Return mu times u (extra = 0) or its gradient (extra = 1), per unit source spectrum."""
    order = extra + (moment is not None)
    radial = radial_derivatives(float(np.linalg.norm(x)), s / speed_at(vs, s), 2, order)
    tensor = gradient_tensor(x, radial, order)
    return tensor if moment is None else -np.tensordot(moment, tensor, (0, 0))
