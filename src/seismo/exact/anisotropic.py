"""Exact elastic waves in a homogeneous anisotropic whole space: point forces and moment tensors.

The Green function is a sum of plane waves over all directions n. With the speeds c_m and unit
motions e_m of Christoffel's equation, A_m = e_m e_m^T / rho and z = s n.x / c_m it is

3-D: G = 1 / (8 pi^2 r) ring of Gamma(n)^-1 - s / (8 pi^2) half sphere of sum_m A_m exp(-z) / c_m^3
2-D: G = 1 / (4 pi^2) half circle of sum_m A_m [exp(z) E1(z) - exp(-z) Ei(z)] / c_m^2

in the Laplace domain (Wang & Achenbach 1994, Geophys. J. Int. 118, 384; 1995, Proc. R. Soc. A 449,
441). The ring is that of directions across x, Gamma_ik = c_ijkl n_j n_l; the half sphere lies
about x. A moment tensor gives u_i = -M_jk d_k G_ij, from the derivative of the integrands, that of
the ring by Barnett (1972, Phys. Status Solidi B 49, 741). In 2-D (x and z, plane strain) the
integrand is log |n.x| near directions across x, and its derivative 1 / n.x: nodes crowd there and
are symmetric about it, so that the principal value remains.

Stiffness (6, 6) [Pa] for xx yy zz yz xz xy; the rest as in `seismo.exact.whole_space`. Accuracy:
1e-9 of the peak. Rock that attenuates has a complex stiffness for each s (correspondence principle,
`seismo.exact.medium`): speeds and A_m follow from its complex Christoffel matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import exp1, expi, roots_legendre

from seismo.errors import SeismoError
from seismo.exact import TIME_FUNCTIONS, power_of, respond

_POWERS = {"displacement": 0, "velocity": 1, "acceleration": 2}
_VOIGT = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
_LEAST_NODES = {2: 60, 3: 50}  # along an angle, and per radian of the shortest wave's phase
_PER_RADIAN = {2: 0.8, 3: 0.55}
_DIRECTIONS = 100  # in which the slowest wave is looked for
_STEP = 10  # of the number of nodes
_GRADING = 5  # power of the crowding in 2-D


@dataclass(frozen=True)
class Solid:
    """A homogeneous anisotropic solid: stiffness (6, 6) [Pa] and rho [kg/m3]."""

    stiffness: np.ndarray
    rho: float

    def at(self, s: np.ndarray) -> Iterator[tuple[np.ndarray, Solid]]:
        """Yield Laplace variables s [1/s] together with the solid for them: all at once."""
        yield s, self

    def tensor(self, d: int) -> np.ndarray:
        """Return c_ijkl of x, y, z, or of x, z where d is 2."""
        axes = _VOIGT if d == 3 else _VOIGT[::2, ::2]
        return np.asarray(self.stiffness)[axes[:, :, None, None], axes[None, None]]

    def modes(self, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return speeds (direction, mode) and A_m (direction, mode, d, d) along n (direction, d).

        Raises:
            SeismoError: no rock is like that.
        """
        gamma = self.christoffel(n, n) / self.rho
        if np.isrealobj(gamma):
            squares, motion = np.linalg.eigh(gamma)
            inverse = np.swapaxes(motion, 1, 2)
        else:
            squares, motion = np.linalg.eig(gamma)
            inverse = np.linalg.inv(motion)
        if not squares.real.min() > 0.0:
            raise SeismoError("a stiffness has to be positive definite, and rho positive")
        return np.sqrt(squares), np.einsum("aim,amj->amij", motion, inverse) / self.rho

    def christoffel(self, n: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Return c_ijkl n_j k_l (direction, d, d)."""
        return np.einsum("ijkl,aj,al->aik", self.tensor(n.shape[1]), n, k)


@dataclass(frozen=True)
class AttenuatingSolid:
    """A homogeneous solid whose stiffness (6, 6) [Pa] is a function of s [1/s]; rho [kg/m3]."""

    stiffness: Callable[[complex], np.ndarray]
    rho: float

    def at(self, s: np.ndarray) -> Iterator[tuple[np.ndarray, Solid]]:
        """Yield Laplace variables s [1/s] together with the solid for them: each by itself."""
        for k, variable in enumerate(s):
            yield s[k : k + 1], Solid(np.asarray(self.stiffness(variable)), self.rho)


AnySolid = Solid | AttenuatingSolid


def force_response(
    offsets: np.ndarray, force: np.ndarray, source: np.ndarray, dt: float, rock: AnySolid,
    quantity: str = "displacement",
) -> np.ndarray:  # fmt: skip
    """Return the response to a force f(t) at the origin: (receiver, component, time).

    offsets (receiver, d) m, receiver minus source, d = 3 (x, y, z) or 2 (x, z); force (d) N, or
    N/m, multiplies source (time), the samples of f(t); quantity: displacement, velocity or
    acceleration, or stress: (receiver, d, d, time) Pa.
    Raises SeismoError for another quantity, a zero offset or an impossible rock.
    """
    force = np.asarray(force, float)
    if quantity != "stress":
        return respond(_transfer(offsets, force, rock, quantity), source, dt)

    def stress(s: np.ndarray) -> np.ndarray:
        stresses = []
        for variables, solid in rock.at(s):
            gradients = [_green(x, variables, solid, True) for x in _checked(offsets, force.size)]
            stresses.append(
                np.einsum("pqil,rijlf,j->rpqf", solid.tensor(force.size), gradients, force)
            )
        return np.concatenate(stresses, -1)

    return respond(stress, source, dt)


def moment_response(
    offsets: np.ndarray, moment: np.ndarray, source: np.ndarray, dt: float, rock: AnySolid,
    quantity: str = "displacement", time_function: str = "moment",
) -> np.ndarray:  # fmt: skip
    """Return the response to a moment tensor at the origin: (receiver, component, time).

    moment (d, d) N m multiplies source (time): M(t), or its rate dM/dt [1/s] when time_function is
    "moment_rate". The rest as in `force_response`, without stress.
    """
    power = power_of("time_function", time_function, TIME_FUNCTIONS)
    moment = np.asarray(moment, float)
    transfer = _transfer(offsets, moment, rock, quantity, power)
    return respond(transfer, source, dt)


def _transfer(
    offsets: np.ndarray, strength: np.ndarray, rock: AnySolid, quantity: str, power: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the transfer function of s: a quantity at each offset, times s to a power."""
    power += power_of("quantity", quantity, _POWERS)
    positions = _checked(offsets, len(strength))

    def field(x: np.ndarray, s: np.ndarray) -> np.ndarray:
        is_force = strength.ndim == 1
        green = np.concatenate(
            [_green(x, variables, solid, not is_force) for variables, solid in rock.at(s)], -1
        )
        if is_force:
            return np.einsum("ijf,j->if", green, strength)
        return -np.einsum("ijkf,jk->if", green, strength)

    return lambda s: np.array([s**power * field(x, s) for x in positions])


def _checked(offsets: np.ndarray, d: int) -> np.ndarray:
    offsets = np.atleast_2d(np.asarray(offsets, float))
    if offsets.shape[1] != d or not offsets.any(axis=1).all():
        raise SeismoError(f"offsets need {d} columns and no receiver on the source")
    return offsets


def _green(x: np.ndarray, s: np.ndarray, rock: Solid, gradient: bool) -> np.ndarray:
    """Return G_ij (d, d, frequency), or d_k G_ij (d, d, d, frequency), at x (d) m."""
    d = len(x)
    slowest = rock.modes(_spread(d))[0].real.min()
    nodes = _LEAST_NODES[d] + int(_PER_RADIAN[d] * np.abs(s).max() * np.linalg.norm(x) / slowest)
    nodes += -nodes % _STEP
    if d == 2:
        return _plane(x, s, rock, gradient, nodes)
    return _static(x, rock, gradient)[..., None] + _space(x, s, rock, gradient, nodes)


_gauss = lru_cache(roots_legendre)


@lru_cache
def _spread(d: int) -> np.ndarray:
    """Return directions (n, d) that spread evenly."""
    turn = 2.4 * np.arange(_DIRECTIONS)  # about the golden angle
    if d == 2:
        return np.stack([np.cos(turn), np.sin(turn)], 1)
    z = np.linspace(-1.0, 1.0, _DIRECTIONS)
    radius = np.sqrt(1.0 - z**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), z], 1)


def _about(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three unit vectors, the first along x (3)."""
    along = x / np.linalg.norm(x)
    other = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    other /= np.linalg.norm(other)
    return along, other, np.cross(along, other)


def _static(x: np.ndarray, rock: Solid, gradient: bool) -> np.ndarray:
    """Return the ring's part in 3-D, which is the static displacement."""
    along, u, v = _about(x)
    angle = np.pi * (np.arange(240) + 0.5) / 240  # half of it: Gamma is that of -n, too
    n = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
    inverse = np.linalg.inv(rock.christoffel(n, n))
    r = np.linalg.norm(x)
    if not gradient:
        return inverse.mean(0) / (4.0 * np.pi * r)
    across = np.tile(along, (len(n), 1))
    mixed = rock.christoffel(n, across) + rock.christoffel(across, n)
    turned = np.einsum("aij,ak->ijk", inverse @ mixed @ inverse, n) / len(n)
    return (turned - inverse.mean(0)[..., None] * along) / (4.0 * np.pi * r**2)


def _space(x: np.ndarray, s: np.ndarray, rock: Solid, gradient: bool, nodes: int) -> np.ndarray:
    """Return the half sphere's part in 3-D, by Gauss-Legendre and trapezium rules."""
    along, u, v = _about(x)
    angle = 2.0 * np.pi * (np.arange(2 * nodes) + 0.5) / (2 * nodes)
    height, weights = _gauss(nodes)
    height = 0.5 * (height + 1.0)
    weights = 0.5 * weights * np.pi / nodes
    ring = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
    n = height[:, None, None] * along + np.sqrt(1.0 - height**2)[:, None, None] * ring
    n = n.reshape(-1, 3)
    speed, dyads = rock.modes(n)
    factor = np.repeat(weights, 2 * nodes)[:, None] / speed**3
    delays = ((n @ x)[:, None] / speed).ravel()
    terms = dyads * factor[..., None, None]
    if gradient:
        terms = terms[..., None] * (n[:, None, :] / speed[..., None])[:, :, None, None, :]
    factor = (s**2 if gradient else -s) / (8.0 * np.pi**2)
    return _summed(terms, _exponentials(s, delays), factor)


def _exponentials(s: np.ndarray, delays: np.ndarray) -> Iterator[np.ndarray]:
    """Yield exp(-s delay) (direction and mode) by frequency: equal steps of s share a factor."""
    current = np.exp(-s[0] * delays)
    step = 0.0
    turn = np.ones(1)
    yield current
    for change in np.diff(s):
        if not np.isclose(change, step, rtol=1e-9):
            step = change
            turn = np.exp(-change * delays)
        current = current * turn
        yield current


def _plane(x: np.ndarray, s: np.ndarray, rock: Solid, gradient: bool, nodes: int) -> np.ndarray:
    """Return the half circle's integral in 2-D, of nodes that crowd about directions across x."""
    points, weights = _gauss(nodes)
    points = 0.5 * (points + 1.0)
    weights = 0.5 * weights
    weights = np.tile(0.5 * np.pi * _GRADING * points ** (_GRADING - 1) * weights, 2)
    away = 0.5 * np.pi * points**_GRADING
    angle = np.concatenate([away, -away])
    r = np.linalg.norm(x)
    along = x / r
    n = np.sin(angle)[:, None] * along + np.cos(angle)[:, None] * np.array([-along[1], along[0]])
    speed, dyads = rock.modes(n)
    path = np.sin(angle)[:, None] * r  # n.x, exact where it is small
    terms = dyads * (weights[:, None] / speed**2)[..., None, None]
    delays = (np.abs(path) / speed).ravel()
    if gradient:
        terms = terms[..., None] * (n / path)[:, None, None, None, :]
    wave = _sine if gradient else _cosine
    return _summed(terms, (wave(variable * delays) for variable in s), 1.0 / (4.0 * np.pi**2))


def _cosine(z: np.ndarray) -> np.ndarray:
    """Return twice the integral over k of k cos(k a) / (k^2 + b^2), z = a b."""
    return np.exp(z) * exp1(z) - np.exp(-z) * expi(z)


def _sine(z: np.ndarray) -> np.ndarray:
    """Return a times the derivative of `_cosine` by a."""
    return z * (np.exp(z) * exp1(z) + np.exp(-z) * expi(z)) - 2.0


def _summed(
    terms: np.ndarray, waves: Iterable[np.ndarray], factor: np.ndarray | float
) -> np.ndarray:
    """Return factor times the sum over directions and modes of terms * wave, by frequency."""
    shape = terms.shape[2:]
    flat = terms.reshape(-1, int(np.prod(shape)))
    sums = np.array([wave.real @ flat + 1j * (wave.imag @ flat) for wave in waves])
    return np.moveaxis(sums.reshape(-1, *shape), 0, -1) * factor
