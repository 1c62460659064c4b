"""Attenuation as N relaxation mechanisms, whose frequencies are common to the whole model.

Convention exp(+i w t). For each of the moduli "p" (lambda + 2 mu, or a fluid's bulk modulus) and
"s" (mu), a generalised Zener body (Emmerich & Korn 1987; the same as Liu et al. 1976, Moczo &
Kristek 2005),
    M(w) = M_U [ 1 - sum_l Y_l w_l / (w_l + i w) ],        1/Q = Im M / Re M,
    Y_l = constant_l + linear_l y + quadratic_l y^2,
with M_U the unrelaxed modulus, which velocities and the time step of a run belong to, and one
number y per cell and modulus (`Relaxation.cell_value`; 0 where nothing is lost):
    fitted to a law       y = 1 / (Q + 1): Y(1/Q) bends so strongly for Q < 10 that a quadratic in
                          1/Q errs by 4 % of 1/Q, one in 1/(Q + 1) by 1 %
    times of p, or p, s   y = 0: the whole model relaxes alike
    bulk, shear; or s     y of p = (the shear modulus's part of the P modulus, unrelaxed) =
                          (vs/vp)^2 in 2-D, 4/3 (vs/vp)^2 in 3-D; y of s = 0
A run advances memory variables by Cayley's step, which evaluates M at W = 2/dt tan(w dt/2) in place
of w. Where `dt` is given, the fit and all methods here take that into account, so that a run has
the wanted modulus at the frequencies of its results.

Laws of attenuation say how 1/Q and the phase velocity of a rock change with frequency. A law gives
M(w) = rho v(w)^2, convention exp(+i w t), over rho c^2, where c is the phase velocity
1 / Re(1/v) at the reference frequency. All are analytic for Re(i w) > 0, so that dispersion follows
from attenuation:
    kjartansson   v ~ (i w)^gamma, gamma = atan(1/Q)/pi: 1/Q the same at all frequencies
    kolsky        v ~ 1 + ln(i w / w_ref) / (pi Q): 1/Q nearly the same
    power         arg M = atan(1/Q) up to a corner frequency, atan((f / corner)^-exponent / Q) above
Literature: Kjartansson (1979); Kolsky (1956), Aki & Richards (2002) 5.81; Withers et al. (2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seismo.equations.framework.parameters import LEAST_QUALITY
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
        """Raise SeismoError for an unknown law or numbers that do not belong to it."""
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


SHEAR_PART = {2: 1.0, 3: 4 / 3}  # of shear moduli in the P modulus: bulk is lambda + mu in 2-D

Weights = tuple[tuple[float, float, float], ...]  # (constant, linear, quadratic) per mechanism


@dataclass(frozen=True)
class Relaxation:
    """What the attenuation of a run comes down to: numbers that the kernels hold.

    Attributes:
        frequencies: of relaxation w_l [rad/s], growing.
        p: (constant, linear, quadratic) of Y_l of the P modulus for each mechanism.
        s: the same of the shear modulus.
        law: that was fitted; None for prescribed relaxation times.
        band: [Hz] in which; (0, 0) for prescribed relaxation times.
        shear_part: of unrelaxed mu in the unrelaxed P modulus, where y of p has to be that; 0 else.
        dt: [s] time step whose modulus is meant; 0 for continuous time.
        dispersion_removed: whether results are corrected for the time dispersion of the leapfrog.
        scale: times which memory variables are kept in 16 bits; 0 where they are kept in the
            precision of the run.
    """

    frequencies: tuple[float, ...]
    p: Weights
    s: Weights
    law: Law | None = None
    band: tuple[float, float] = (0.0, 0.0)
    shear_part: float = 0.0
    dt: float = 0.0
    dispersion_removed: bool = False
    scale: float = 0.0

    @property
    def mechanisms(self) -> int:
        """How many memory variables each strain has."""
        return len(self.frequencies)

    def cell_value(
        self,
        wave: str,
        quality: np.ndarray | float,
        vp: np.ndarray | float,
        vs: np.ndarray | float,
    ) -> np.ndarray:
        """Return y of cells for a wave, "p" or "s", as `anelastic` takes it.

        quality: of that wave, inf where nothing is lost (ignored where times are prescribed);
        vp, vs [m/s] unrelaxed (used only where times of bulk and shear are). All are broadcast.
        Raises SeismoError for a quality below LEAST_QUALITY.
        """
        # Prescribed times: y of p is the shear part of the P modulus.
        if self.law is None:
            shear = (1.0 * vs) ** 2 / (1.0 * vp) ** 2
            return np.multiply(shear, self.shear_part if wave == "p" else 0.0)
        quality = np.multiply(1.0, quality)
        if not np.all(quality >= LEAST_QUALITY):
            raise SeismoError(
                f"q{wave} is {np.min(quality):g}; give {LEAST_QUALITY:g} or more, or inf"
            )
        return np.divide(1.0, quality + 1.0)

    def anelastic(self, wave: str, y: np.ndarray | float) -> np.ndarray:
        """Return Y_l, (mechanism, ...), of a wave, "p" or "s", where cells hold y (...)."""
        y = 1.0 * y
        constant, linear, quadratic = (
            np.reshape(c, (-1,) + (1,) * np.ndim(y))
            for c in np.transpose(self.p if wave == "p" else self.s)
        )
        return constant + linear * y + quadratic * y**2

    def modulus(
        self, wave: str, y: np.ndarray | float, omega: np.ndarray | complex | float
    ) -> np.ndarray:
        """Return M(w) / M_U, complex, of y and the angular frequency w [rad/s] of results.

        y and omega are broadcast. Complex w = -i s belong to Laplace variables s.
        """
        y, omega = np.broadcast_arrays(y, omega)
        # M / M_U = 1 - sum Y_l w_l / (w_l + i W), at the warped frequency W.
        rates = np.reshape(self.frequencies, (-1,) + (1,) * y.ndim)
        s = 1j * self._warped(omega)
        return 1 - (self.anelastic(wave, y) * rates / (rates + s)).sum(0)

    def quality(
        self, wave: str, y: np.ndarray | float, omega: np.ndarray | float
    ) -> np.ndarray | float:
        """Return Q = Re M / Im M at w [rad/s], inf where nothing is lost."""
        modulus = self.modulus(wave, y, omega)
        with np.errstate(divide="ignore"):
            # Q = Re M / Im M
            return modulus.real / np.abs(modulus.imag)

    def phase_velocity(
        self, wave: str, y: np.ndarray | float, omega: np.ndarray | float
    ) -> np.ndarray:
        """Return the phase velocity at w [rad/s] over the unrelaxed velocity."""
        # v = 1 / Re(sqrt(rho / M))
        return 1 / (self.modulus(wave, y, omega) ** -0.5).real

    def velocity_ratio(self, wave: str, y: np.ndarray | float) -> np.ndarray:
        """Return unrelaxed over given velocity, at least 1, in cells that hold y.

        With it the phase velocity at the law's reference frequency is the given velocity; outside
        the band, the law holds at the nearest end. 1 for prescribed times, which go with unrelaxed
        velocities.
        """
        if self.law is None:
            return np.ones_like(y, dtype=float)
        y = np.asarray(y, float)
        # Unrelaxed over given velocity: law over mechanisms at the reference frequency.
        omega = 2 * np.pi * np.clip(self.law.reference_frequency, *self.band)
        wanted = self.law.phase_velocity(inverse_quality(y), omega)
        return wanted / self.phase_velocity(wave, y, omega)

    def decay(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return a_l and b_l of Cayley's step xi_new = a_l xi + b_l strain rate.

        It solves d xi / dt + w_l xi = w_l strain rate, with the means of old and new xi.
        """
        # a_l = (1 - w dt/2) / (1 + w dt/2), b_l = w dt / (1 + w dt/2)
        half = np.array(self.frequencies) * dt / 2
        return (1 - half) / (1 + half), 2 * half / (1 + half)

    def errors(self, y: np.ndarray | float, points: int = 200) -> tuple[float, float]:
        """Return the largest relative errors of 1/Q and of the phase velocity inside the band.

        Against the law, of all cells that hold y > 0, both waves; 0, 0 for prescribed times.
        """
        if self.law is None:
            return 0.0, 0.0
        y = np.reshape(y, (-1, 1))
        omega = 2 * np.pi * np.geomspace(*self.band, points)
        # The law's 1/Q = Im M / Re M and phase velocity across the band.
        wanted = self.law.modulus(inverse_quality(y), omega)
        law_velocity = 1 / (wanted**-0.5).real
        loss = velocity = 0.0
        for wave in ("p", "s"):
            relative = wanted.real / wanted.imag / self.quality(wave, y, omega) - 1
            fitted_velocity = self.velocity_ratio(wave, y) * self.phase_velocity(wave, y, omega)
            loss = max(loss, float(np.abs(relative).max()))
            velocity = max(velocity, float(np.abs(fitted_velocity / law_velocity - 1).max()))
        return loss, velocity

    def with_step(self, dt: float, dispersion_removed: bool = False) -> Relaxation:
        """Return the same mechanisms, their moduli said as a run of time step dt has them."""
        return replace(self, dt=dt, dispersion_removed=dispersion_removed)

    def recording(self, dt: float) -> Relaxation:
        """Return the same with a mechanism without weight, that has the strain rate of each step.

        In steps of dt s it decays at once: a = 0 and b = 1 (`decay`). Variables have 32 bits.
        """
        none = (0.0, 0.0, 0.0)
        return replace(
            self, frequencies=(*self.frequencies, 2.0 / dt), p=(*self.p, none), s=(*self.s, none),
            scale=0.0,
        )  # fmt: skip

    def _warped(self, omega: np.ndarray) -> np.ndarray:
        return warped(omega, self.dt, self.dispersion_removed)


def inverse_quality(y: np.ndarray | float) -> np.ndarray | float:
    """Return 1/Q of cells that hold y = 1 / (Q + 1)."""
    return y / (1 - y)


def warped(omega: np.ndarray, dt: float, dispersion_removed: bool) -> np.ndarray:
    """Return W [rad/s], at which a run evaluates M where its results have w [rad/s].

    The discrete wave has w itself, or, where time dispersion is removed from results, the frequency
    that the leapfrog takes for w: 2/dt asin(w dt/2).
    """
    if dt == 0:
        return omega
    # W = 2/dt tan(w' dt/2), w' = 2/dt asin(w dt/2) where dispersion is removed, else w.
    half = omega * dt / 2
    return 2 / dt * (half / np.sqrt(1 - half**2) if dispersion_removed else np.tan(half))


def prescribed(
    times: Mapping[str, Sequence[tuple[float, float]]], dimensions: int = 3
) -> Relaxation:
    """Return the mechanisms of relaxation times, for all rocks alike.

    times: {"p": pairs, "s": pairs} of lambda + 2 mu and mu, or {"bulk": pairs, "shear": pairs}, of
    (tau_epsilon, tau_sigma) [s], with M(w) = M_U sum_l (1 + i w tau_epsilon) / (1 + i w tau_sigma)
    over sum_l tau_epsilon / tau_sigma. In 2-D bulk is lambda + mu (Carcione et al. 1988), else K;
    of times of s alone it loses nothing, as where qs is given alone.
    A pair with tau_epsilon < tau_sigma gains energy; others of that modulus must lose more at all
    frequencies. Raises SeismoError where they do not, and for other keys or times.
    """
    allowed = ({"p"}, {"s"}, {"p", "s"}, {"bulk", "shear"})
    if set(times) not in allowed:
        keys = ", ".join(sorted(times)) or "nothing"
        raise SeismoError(f"relaxation has {keys}; give p and s, or bulk and shear")
    # One mechanism for each relaxation time tau_sigma of any modulus.
    rates = sorted({1 / sigma for name in times for _, sigma in _pairs(name, times[name])})
    of = {name: _weights(name, pairs, np.array(rates)) for name, pairs in times.items()}
    none = np.zeros(len(rates))
    s = of.get("shear", of.get("s", none))
    # Y of p: given, or of bulk plus y (Y of shear - Y of bulk) with y the shear part.
    if "p" in of:
        p = np.stack([of["p"], none, none], -1)
    else:
        bulk = of.get("bulk", none)
        p = np.stack([bulk, s - bulk, none], -1)
    return Relaxation(
        tuple(rates),
        as_tuples(p),
        as_tuples(np.stack([s, none, none], -1)),
        shear_part=0.0 if "p" in of else SHEAR_PART[dimensions],
    )


def as_tuples(weights: np.ndarray) -> Weights:
    """Return (mechanism, 3) numbers as hashable plain Python."""
    return tuple((float(a), float(b), float(c)) for a, b, c in weights)


def _pairs(name: str, pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the pairs. Raises SeismoError unless they are positive and relax at unlike times."""
    for pair in pairs:
        if len(pair) != 2 or not min(pair) > 0 or not np.isfinite(pair).all():
            raise SeismoError(
                f"relaxation.{name} has {list(pair)}; give pairs [tau_epsilon, tau_sigma] of "
                "positive times in s"
            )
    if not pairs or len({sigma for _, sigma in pairs}) < len(pairs):
        raise SeismoError(f"relaxation.{name} needs pairs, each with a tau_sigma of its own")
    return list(pairs)


def _weights(name: str, pairs: Sequence[tuple[float, float]], rates: np.ndarray) -> np.ndarray:
    """Return Y_l of each rate. Raises SeismoError unless energy is lost at all frequencies."""
    weights = np.zeros(rates.size)
    # Y_l = (tau_epsilon / tau_sigma - 1) / sum of tau_epsilon / tau_sigma
    total = sum(epsilon / sigma for epsilon, sigma in pairs)
    for epsilon, sigma in pairs:
        weights[rates == 1 / sigma] = (epsilon / sigma - 1) / total
    if weights.min() < 0:
        # Im M / (w M_U) = sum Y_l w_l / (w_l^2 + w^2), between and far beyond all rates
        w = np.geomspace(1e-4 * rates[0], 1e4 * rates[-1], 4001)[:, None]
        if (weights * rates / (rates**2 + w**2)).sum(1).min() < 0:
            raise SeismoError(
                f"relaxation.{name} gains energy at some frequencies, where pairs with "
                "tau_epsilon < tau_sigma outweigh the others; make their tau_epsilon longer"
            )
    return weights
