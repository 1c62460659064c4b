"""Media of the exact solutions: three numbers, names for the moduli, and attenuation.

vp, vs [m/s]; rho [kg/m3]; lame (lambda), mu [Pa]. A fluid is a medium with vs = 0. The speeds of a
medium that attenuates (`constant_q` and others) are complex numbers of the Laplace variable;
solutions ask every medium for those with `at`.

Media that attenuate serve every exact solution that takes a medium or a speed. By the
correspondence principle an exact elastic solution in the Laplace domain holds for complex,
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
from typing import Any

import numpy as np

from seismo.errors import SeismoError

Speed = float | Callable[[np.ndarray], np.ndarray]  # m/s, or a function of s [1/s]
Modulus = Callable[[np.ndarray], np.ndarray]


def speed_at(c: Speed, s: np.ndarray) -> Any:
    """Return a speed [m/s] for Laplace variables s [1/s]."""
    return c(s) if callable(c) else c


@dataclass(frozen=True)
class Medium:
    """A homogeneous isotropic elastic solid, or a fluid when vs is zero.

    Or an attenuating medium for Laplace variables: complex speeds, of any shape.
    """

    vp: Any
    vs: Any
    rho: float

    def __post_init__(self) -> None:
        """Refuse a solid that is not stable (positive bulk and shear modulus)."""
        vp = np.real(self.vp)
        vs = np.real(self.vs)
        if np.any(vp <= 0) or np.any(vs < 0) or self.rho <= 0 or np.any(4 * vs**2 >= 3 * vp**2):
            raise SeismoError(f"{self} is no elastic medium: need rho > 0, 0 <= vs < 0.866 vp")

    def at(self, s: np.ndarray | complex) -> Medium:
        """Return the medium for Laplace variables s [1/s]: itself."""
        return self

    @property
    def is_fluid(self) -> bool:
        """Whether it bears no shear stress."""
        return not np.any(self.vs)

    @property
    def mu(self) -> Any:
        """Shear modulus [Pa]."""
        return self.rho * self.vs**2

    @property
    def lame(self) -> Any:
        """First Lame parameter [Pa]."""
        return self.rho * (self.vp**2 - 2 * self.vs**2)

    @property
    def bulk(self) -> Any:
        """Bulk modulus [Pa]."""
        return self.lame + 2 * self.mu / 3


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
    """Return the complex speed [m/s], a function of s, of a real speed and a ratio of moduli."""
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
    """Return M(s) over that of the phase velocity at the reference frequency [Hz], for a Q."""
    omega = 2 * np.pi * reference_frequency
    gamma = np.arctan(1 / quality) / np.pi
    # 1 / Re(1/v) is the phase velocity.
    real = np.cos(np.pi * gamma / 2)
    return lambda s: (real * (s / omega) ** gamma) ** 2


def kolsky(quality: float, reference_frequency: float) -> Modulus:
    """Return M(s) over that of the phase velocity at the reference frequency [Hz], for a Q."""
    omega = 2 * np.pi * reference_frequency
    real = 1 / (1 + 1 / (4 * quality**2))
    return lambda s: (real * (1 + np.log(s / omega) / (np.pi * quality))) ** 2
