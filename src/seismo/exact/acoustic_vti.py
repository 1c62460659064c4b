"""Exact acoustic waves in a transversely isotropic whole space, 2-D and 3-D.

With vp along the axis, epsilon and delta (Thomsen 1986), root = sqrt(1 + 2 delta), and H, Z the
second derivatives across and along the axis, the two pressures of Duveneck & Bakker (2011) solve

    p_tt = vp^2 [ (1 + 2 epsilon) H p + root Z r ] + a f(t) delta(x)
    r_tt = vp^2 [ root H p + Z r ]                 + b f(t) delta(x)

For a horizontal wavenumber k and the Laplace variable s, d = epsilon - delta,

    D = s^2 + vp^2 (1 + 2 epsilon) k^2,  E = s^2 + 2 vp^2 d k^2,  g^2 = s^2 D / (vp^2 E),
    r = f (b D - vp^2 root k^2 a) / (vp^2 E) exp(-g |z|) / (2 g),   p = root s^2 r / E

and an integral over k is left, with cos(k x) / pi in 2-D and k J0(k x) / 2 pi in 3-D. Where
d > 0 both kinds of waves are in it: E vanishes for the second at k = -i s / (vp sqrt(2 d)), beyond
which g tends to a constant. Where d = 0 it is the isotropic solution, stretched across the axis.
Here z is along the axis: a tilted axis turns the offsets.

With loss all moduli are M(s) times their values for vp. Over M the equations are the lossless ones
at s / sqrt(M), with sources a / M and b / M; sources of strain, which a modulus multiplies, stay.

`pressure` is the mean stress. A `volume` source adds strains by the weights of that mean, so that
p_tt / vp^2 - laplacian p = f(t) delta(x) in an isotropic fluid; a `moment` adds f(t) to both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import hankel1, hankel2, jv

from seismo.errors import SeismoError
from seismo.exact import respond
from seismo.exact.layered import paths


class VtiRock(NamedTuple):
    """vp along the axis in m/s, Thomsen's epsilon and delta, and where the axis points.

    It tilts by theta from z, towards the azimuth phi from x to y, in degrees.
    """

    vp: float
    epsilon: float
    delta: float
    theta: float = 0.0
    phi: float = 0.0

    @property
    def axis(self) -> np.ndarray:
        """Return the unit vector along it, x, y, z."""
        tilt = np.radians(self.theta)
        azimuth = np.radians(self.phi)
        across = np.sin(tilt)
        return np.array([across * np.cos(azimuth), across * np.sin(azimuth), np.cos(tilt)])

    def matrix(self) -> np.ndarray:
        """Return the factors of H p and Z r, (p and r, p and r) m2/s2."""
        root = np.sqrt(1.0 + 2.0 * self.delta)
        return self.vp**2 * np.array([[1.0 + 2.0 * self.epsilon, root], [root, 1.0]])


def pressure(
    offsets: np.ndarray, source: np.ndarray, dt: float, rock: VtiRock,
    kind: Literal["volume", "moment"] = "volume", modulus: Callable | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the pressure (receiver, time) Pa of a point source at the origin.

    Args:
        offsets: (receiver, 2 or 3) m, receiver minus source, not along the axis.
        source: (time) samples of f(t).
        dt: s between them.
        rock: the medium, epsilon >= delta; its axis lies in the plane in 2-D.
        kind: how the source acts.
        modulus: function(s) -> M(s), all moduli over those of `rock.vp`; 1 when None.

    Raises:
        SeismoError: a receiver lies on the axis through the source, or epsilon < delta.
    """
    offsets = np.atleast_2d(np.asarray(offsets, float))
    dimensions = offsets.shape[1]
    axis = rock.axis if dimensions == 3 else rock.axis[::2]
    along = offsets @ axis
    across = np.linalg.norm(offsets - along[:, None] * axis, axis=1)
    if rock.epsilon < rock.delta or (across == 0.0).any():
        raise SeismoError("needs epsilon >= delta, and receivers that lie beside the source")
    share = 1.0 - 1.0 / dimensions
    weights = np.array([share, 1.0 - share])
    strengths = rock.matrix() @ weights if kind == "volume" else np.ones(2)
    down = np.abs(along)

    def transfer(s: np.ndarray) -> np.ndarray:
        relative = modulus(s) if modulus else np.ones_like(s)
        slowed = s / np.sqrt(relative)
        columns = [_response(x, down, across, rock, strengths, weights) for x in slowed]
        # Strain acts with the modulus, which the equations were divided by; stress does not.
        return np.array(columns).T / (1.0 if kind == "volume" else relative)

    return respond(transfer, source, dt)


def _response(
    s: complex, down: np.ndarray, across: np.ndarray, rock: VtiRock, strengths: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the pressure (receiver) for an s, in 2-D where both pressures weigh the same."""
    d = rock.epsilon - rock.delta
    speeds = [rock.vp * np.sqrt(1.0 + 2.0 * rock.epsilon)]
    speeds += [rock.vp * np.sqrt(2.0 * d)] if d > 0.0 else []
    total = np.zeros(len(across), complex)
    for path in paths(s, speeds, across, np.zeros(len(across))):
        k = path.k
        spectrum = _spectrum(s, k, down[:, None], rock, strengths, weights)
        argument = k * across[:, None]
        if weights[0] == weights[1]:
            kernel = _plane(argument, path.travelling) / np.pi
        else:
            kernel = k * _round(argument, path.travelling) / (2.0 * np.pi)
        total += (spectrum * kernel * path.weights).sum(axis=1)
    return total


def _spectrum(
    s: complex, k: np.ndarray, down: np.ndarray, rock: VtiRock, strengths: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the pressure of a horizontal wavenumber, (receiver, node)."""
    (fast, coupling), (_, vp2) = rock.matrix()
    a, b = strengths
    first = s**2 + fast * k**2
    second = s**2 + 2.0 * vp2 * (rock.epsilon - rock.delta) * k**2
    g = s * np.sqrt(first / (vp2 * second))
    g = np.where(g.real < 0.0, -g, g)
    r = (b * first - coupling * k**2 * a) / (vp2 * second) * np.exp(-g * down) / (2.0 * g)
    return r * (weights[0] * coupling / vp2 * s**2 / second + weights[1])


def _plane(argument: np.ndarray, travelling: int) -> np.ndarray:
    """Return cos, or the part of it that decays on a ray."""
    return np.cos(argument) if not travelling else 0.5 * np.exp(1j * travelling * argument)


def _round(argument: np.ndarray, travelling: int) -> np.ndarray:
    """Return J0, or the part of it that decays on a ray."""
    if not travelling:
        return jv(0, argument)
    return 0.5 * (hankel1 if travelling > 0 else hankel2)(0, argument)
