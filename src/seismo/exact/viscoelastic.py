"""Media that attenuate, for every exact solution that takes a medium or a speed.

By the correspondence principle an exact elastic solution in the Laplace domain holds for complex,
frequency-dependent moduli M(s), s the Laplace variable, i w on the imaginary axis (Carcione 2014,
ch. 3; Carcione et al. 1988): whole spaces, half-spaces and layers, in two and three dimensions.
Moduli are given as ratios, functions of s:
    relaxation   M(s) / M_unrelaxed of relaxation times, with unrelaxed vp and vs
    constant_q   Kjartansson's (1979), 1/Q the same at all frequencies, and
    kolsky       Kolsky's (1956), with v ~ 1 + ln(s/w_ref)/(pi Q), which reflectivity codes use;
                 both over the modulus of the phase velocity at a reference frequency
A visco-acoustic or SH solution takes `speed` in place of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seismo.exact.medium import Medium

Modulus = Callable[[np.ndarray], np.ndarray]


def elastic(s: np.ndarray) -> np.ndarray:
    """Return the ratio of a modulus that does not attenuate: 1."""
    return np.ones_like(s)


@dataclass(frozen=True)
class AttenuatingMedium(Medium):
    """A homogeneous solid or fluid with complex moduli.

    vp, vs [m/s] and rho [kg/m3] give the real moduli that p and s are relative to: complex
    lambda + 2 mu over rho vp^2, and complex mu over rho vs^2, functions of s [1/s].
    """

    p: Modulus = elastic
    s: Modulus = elastic

    def at(self, s: np.ndarray | complex) -> Medium:
        """Return the medium for Laplace variables s [1/s], with complex speeds."""
        s = np.asarray(s)
        return Medium(speed(self.vp, self.p)(s), speed(self.vs, self.s)(s), self.rho)


def speed(c: float, ratio: Modulus) -> Modulus:
    """Return the complex speed [m/s], a function of s, of a real one and a ratio of moduli."""
    return lambda s: c * np.sqrt(ratio(s))


def of_bulk_and_shear(
    medium: Medium, bulk: Modulus, shear: Modulus, dimensions: int
) -> AttenuatingMedium:
    """Return the medium whose bulk and shear moduli have these ratios.

    The bulk modulus is lambda + mu in 2-D (Carcione et al. 1988), lambda + 2/3 mu in 3-D.
    """
    shear_part = {2: 1.0, 3: 4 / 3}[dimensions] * (medium.vs / medium.vp) ** 2

    def p(s: np.ndarray) -> np.ndarray:
        return (1 - shear_part) * bulk(s) + shear_part * shear(s)

    return AttenuatingMedium(medium.vp, medium.vs, medium.rho, p, shear)


def relaxation(epsilon: Sequence[float], sigma: Sequence[float]) -> Modulus:
    """Return M(s) / M_unrelaxed of relaxation times [s] of strain (epsilon) and stress (sigma).

    M = M_U sum_l (1 + s tau_epsilon) / (1 + s tau_sigma) over sum_l tau_epsilon / tau_sigma.
    """
    pairs = list(zip(epsilon, sigma, strict=True))
    unrelaxed = sum(e / t for e, t in pairs)

    def ratio(s: np.ndarray) -> np.ndarray:
        return np.sum([(1 + s * e) / (1 + s * t) for e, t in pairs], axis=0) / unrelaxed

    return ratio


def constant_q(quality: float, reference_frequency: float) -> Modulus:
    """Return M(s) over that of the phase velocity at the reference frequency [Hz], for one Q."""
    omega = 2 * np.pi * reference_frequency
    gamma = np.arctan(1 / quality) / np.pi
    # 1 / Re(1/v) is the phase velocity.
    real = np.cos(np.pi * gamma / 2)
    return lambda s: (real * (s / omega) ** gamma) ** 2


def kolsky(quality: float, reference_frequency: float) -> Modulus:
    """Return M(s) over that of the phase velocity at the reference frequency [Hz], for one Q."""
    omega = 2 * np.pi * reference_frequency
    real = 1 / (1 + 1 / (4 * quality**2))
    return lambda s: (real * (1 + np.log(s / omega) / (np.pi * quality))) ** 2
