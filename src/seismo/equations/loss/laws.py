"""Laws of attenuation: how 1/Q and the phase velocity of a rock change with frequency.

A law gives M(w) = rho v(w)^2, convention exp(+i w t), over rho c^2, where c is the phase velocity
1 / Re(1/v) at the reference frequency. All are analytic for Re(i w) > 0, so that dispersion follows
from attenuation:
    kjartansson   v ~ (i w)^gamma, gamma = atan(1/Q)/pi: 1/Q the same at all frequencies
    kolsky        v ~ 1 + ln(i w / w_ref) / (pi Q): 1/Q nearly the same
    power         arg M = atan(1/Q) up to a corner frequency, atan((f / corner)^-exponent / Q) above
Literature: Kjartansson (1979); Kolsky (1956), Aki & Richards (2002) 5.81; Withers et al. (2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.errors import SeismoError

LAWS = ("kjartansson", "kolsky", "power")
ALSO_CALLED = {"constant": "kjartansson"}

_PER_DECADE = 100  # points of a power law's phase, interpolated linearly
_DECADES = 8  # above its corner
_BESIDE = 1e-9  # how far right of the imaginary axis a power law is evaluated, relative


@dataclass(frozen=True)
class Law:
    """One law with its numbers.

    Attributes:
        name: one of LAWS, or "constant", which means "kjartansson".
        reference_frequency: [Hz] at which phase velocities are the given ones.
        corner: [Hz] up to which a power law has the given Q; 0 for the other laws.
        exponent: with which 1/Q falls above it, at most 1.
    """

    name: str
    reference_frequency: float
    corner: float = 0.0
    exponent: float = 0.0

    def __post_init__(self) -> None:
        """Raise SeismoError for an unknown law or one whose numbers do not belong to it."""
        object.__setattr__(self, "name", ALSO_CALLED.get(self.name, self.name))
        if self.name not in LAWS:
            names = ", ".join((*LAWS, *ALSO_CALLED))
            raise SeismoError(f"law is {self.name!r}; it can be {names}")
        if not self.reference_frequency > 0:
            raise SeismoError(
                f"reference_frequency is {self.reference_frequency} Hz; it must be positive"
            )
        is_power = self.name == "power"
        if is_power and not (self.corner > 0 and 0 < self.exponent <= 1):
            raise SeismoError(
                f"law: power has corner {self.corner} Hz and exponent {self.exponent}; "
                "give a positive corner and an exponent above 0 and up to 1"
            )
        if not is_power and (self.corner or self.exponent):
            raise SeismoError(f"law: {self.name} has no corner and no exponent; use law: power")

    def modulus(self, y: np.ndarray | float, omega: np.ndarray | complex) -> np.ndarray:
        """Return M(w) / (rho c^2), of y = 1/Q and w [rad/s], which are broadcast.

        Complex w with Im w < 0 are the Laplace variables s = i w of decaying or growing motion.
        """
        return self._velocity(np.asarray(y, float), 1j * np.asarray(omega)) ** 2

    def phase_velocity(self, y: np.ndarray | float, omega: np.ndarray | float) -> np.ndarray:
        """Return 1 / Re(1/v) over the phase velocity at the reference frequency."""
        return 1 / (self.modulus(y, omega) ** -0.5).real

    def _velocity(self, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return v(s) with unit phase velocity at the reference frequency."""
        reference = 2 * np.pi * self.reference_frequency
        if self.name == "kolsky":
            # Re(1/v) = 1 at the reference frequency but for 1/(2Q)^2.
            return (1 + np.log(s / reference) * y / np.pi) / (1 + y**2 / 4)
        if self.name == "kjartansson":
            # Kjartansson (1979): M ~ (i w)^(2 gamma)
            gamma = np.arctan(y) / np.pi
            return (s / reference) ** gamma * (1j**-gamma).real
        # v = sqrt(M), scaled to unit phase velocity at the reference frequency.
        v = np.exp(self._log_modulus(y, s) / 2)
        at_reference = np.exp(self._log_modulus(y, np.array(1j * reference)) / 2)
        return v * (1 / at_reference).real

    def _log_modulus(self, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return ln M of a power law up to a constant.

        It is 1/pi times the integral of ln(s^2 + x^2) over d(arg M), Kramers and Kronig's relation
        for the logarithm of M; the phase changes linearly between frequencies x.
        """
        # Phase atan((f / corner)^-exponent / Q) of the law, above its corner.
        x = self.corner * np.logspace(0, _DECADES, _PER_DECADE * _DECADES + 1)
        phase = np.arctan(np.multiply.outer(y, (x / self.corner) ** -self.exponent))
        x = 2 * np.pi * x
        # Right of the imaginary axis, off the branch points s = +-i x.
        s = s * (1 - 1j * _BESIDE * np.sign(np.imag(s)))
        inside = np.expand_dims(s, -1)
        # The antiderivative of ln(s^2 + x^2).
        integral = x * np.log(inside**2 + x**2) - 2 * x + 2 * inside * np.arctan(x / inside)
        # Mean of ln(s^2 + x^2) over each interval, times the fall of the phase there.
        slope = np.diff(integral, axis=-1) / np.diff(x)
        falls = (np.diff(phase, axis=-1) * slope).sum(-1)
        return (2 * phase[..., 0] * np.log(s) + falls) / np.pi
