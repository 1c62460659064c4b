"""Relaxation mechanisms that follow a law of attenuation inside a band of frequencies.

For 5 <= Q < inf together: rates w_l and Y_l = linear_l y + quadratic_l y^2, y = 1 / (Q + 1), such
that M(w) / M_U agrees with the law in phase, atan(1/Q), and, up to a factor for each Q (which is
M_U), in amplitude, so that phase velocities agree, too. The largest relative error of 1/Q counts:
Newton's steps (Levenberg 1944, Marquardt 1963) minimise the squares and then growing powers of
    ln M(w) / M_U - ln M_law(w), over 1/Q,
for the logarithms of rates, and of Y_l / y where y = 0 and where Q is least, so that all Y_l > 0.
The same numbers give the same fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from seismo.equations.framework.parameters import LEAST_QUALITY
from seismo.equations.rock.relaxation import (
    Law,
    Relaxation,
    as_tuples,
    warped,
)
from seismo.errors import SeismoError

MOST_MECHANISMS = 8
ACCURATE_AT = 20.0  # the quality at which as many mechanisms are taken as `AUTO_ERROR` needs
AUTO_ERROR = 0.015  # of 1/Q
_ACCURATE_Y = 1 / (ACCURATE_AT + 1)
_GAIN = 0.9  # a further mechanism has to reduce the error to this part of it

_QUALITIES = np.array([LEAST_QUALITY, 6, 8, 10, 13, 17, 20, 30, 50, 100, 1000])
_SELDOM = 10.0  # qualities below this count less
_FREQUENCIES = 40
_END = 1 / (LEAST_QUALITY + 1)  # the largest y
_VELOCITY = 1.5  # weight of an error of ln |M| over an error of arg M
_SQUARES = 20  # steps that minimise squares
_STEPS = 60  # steps in all
_HIGHEST_POWER = 16.0
_FLOOR = 1e-4  # of damping, relative to the trace of the curvature
_BEYOND = np.log(10.0)  # how far outside the band rates may lie
_LONGEST = 0.4  # change of a logarithm in a step
_SMALL = 0.05  # of the sum of Y_l, that a further mechanism begins with
_LARGEST_SUM = 0.98  # of all Y_l


@lru_cache(maxsize=64)
def fit(
    law: Law,
    band: tuple[float, float],
    mechanisms: int | str = "auto",
    dt: float = 0.0,
    dispersion_removed: bool = False,
) -> Relaxation:
    """Return the mechanisms that follow a law inside a band [Hz].

    mechanisms: how many, or "auto": the fewest that keep 1/Q within AUTO_ERROR where Q is
    ACCURATE_AT, from 2 to MOST_MECHANISMS. dt [s]: of the run that will have them, and whether its
    results are corrected for time dispersion; 0 for continuous time.
    Raises SeismoError for a band or a number of mechanisms that cannot be.
    """
    low, high = band
    if not 0 < low < high < np.inf:
        raise SeismoError(f"band is {low:g} .. {high:g} Hz; give two growing frequencies")
    # Cayley's step warps frequencies: the band has to lie well below the Nyquist frequency.
    if dt and not high * dt < 0.3:
        raise SeismoError(
            f"band ends at {high:g} Hz; a time step of {dt:g} s has up to {0.3 / dt:g} Hz"
        )
    if mechanisms == "auto":
        return _fewest(law, band, dt, dispersion_removed)
    if not isinstance(mechanisms, int) or not 1 <= mechanisms <= MOST_MECHANISMS:
        raise SeismoError(
            f"mechanisms is {mechanisms!r}; it can be 1 to {MOST_MECHANISMS}, or auto"
        )
    fitted = _fitted(law, band, mechanisms, dt, dispersion_removed)
    return _relaxation(fitted, law, band, dt, dispersion_removed)


def _fewest(law: Law, band: tuple[float, float], dt: float, removed: bool) -> Relaxation:
    """Return the fit of the fewest mechanisms that are accurate, or than which more are no better.

    (A power law bends at its corner as no few mechanisms do.)
    """
    best = fit(law, band, 2, dt, removed)
    error = best.errors(_ACCURATE_Y)[0]
    for count in range(3, MOST_MECHANISMS + 1):
        # Accurate enough, or no better with a further mechanism.
        if error <= AUTO_ERROR:
            break
        more = fit(law, band, count, dt, removed)
        previous = error
        error = more.errors(_ACCURATE_Y)[0]
        if error > _GAIN * previous:
            break
        best = more
    return best


@lru_cache(maxsize=64)
def _fitted(
    law: Law, band: tuple[float, float], mechanisms: int, dt: float, removed: bool
) -> np.ndarray:
    """Return the unknowns (3, mechanism), with further starts for a law that bends."""
    misfit = _misfit(law, band, dt, removed)
    # A run's fit of a power law starts from that in continuous time.
    if law.name == "power" and dt:
        return _minimised(misfit, _fitted(law, band, mechanisms, 0.0, False))
    # Further starts: the fit of one mechanism fewer, plus a small mechanism.
    starts = [_start(misfit, mechanisms)]
    if law.name == "power" and mechanisms > 1:
        starts += _extended(misfit, _fitted(law, band, mechanisms - 1, dt, removed))
        starts = [_minimised(misfit, start, _SQUARES) for start in starts]
    return _minimised(misfit, min(starts, key=lambda start: np.square(misfit(start)).sum()))


@lru_cache(maxsize=4)
def _misfit(law: Law, band: tuple[float, float], dt: float, removed: bool) -> _Misfit:
    # ln M of the law at frequencies even in their logarithm, for all Q.
    omega = 2 * np.pi * np.geomspace(*band, _FREQUENCIES)
    wanted = np.log(law.modulus(1 / _QUALITIES[:, None], omega))
    return _Misfit(warped(omega, dt, removed), wanted)


def _relaxation(
    unknowns: np.ndarray, law: Law, band: tuple[float, float], dt: float, removed: bool
) -> Relaxation:
    # Y_l = linear y + (end - linear) / y_end y^2: `linear` at y = 0, `end` at the least Q.
    unknowns = unknowns[:, np.argsort(unknowns[0])]
    rates, linear, end = np.exp(unknowns)
    weights = as_tuples(np.stack([np.zeros_like(rates), linear, (end - linear) / _END], -1))
    frequencies = tuple(float(rate) for rate in rates)
    return Relaxation(frequencies, weights, weights, law, band, dt=dt, dispersion_removed=removed)


@dataclass(frozen=True)
class _Misfit:
    """The misfit of unknowns (3, mechanism): ln w_l; ln Y_l / y for y = 0 and for the least Q."""

    rates: np.ndarray  # (frequency,) rad/s, at which M is evaluated
    wanted: np.ndarray  # (quality, frequency) ln M of the law

    @cached_property
    def y(self) -> np.ndarray:
        """What a cell of each quality holds, (quality, 1)."""
        return 1 / (_QUALITIES[:, None] + 1)

    @cached_property
    def importance(self) -> np.ndarray:
        """How much the misfit of each quality counts, (quality, 1)."""
        return np.where(_QUALITIES < _SELDOM, 0.3, 1.0)[:, None] * _QUALITIES[:, None]

    def __call__(self, unknowns: np.ndarray) -> np.ndarray:
        """Return the misfit (2, quality, frequency), of amplitude and of phase."""
        # M / M_U = 1 - sum Y_l w_l / (w_l + i w)
        modulus = 1 - sum(self._ends(unknowns)) @ self._relaxing(unknowns)
        return self._amplitude_and_phase(np.log(modulus) - self.wanted)

    def allowed(self, unknowns: np.ndarray) -> np.ndarray:
        """Return unknowns whose rates lie near the band and whose Y_l add up to less than 1."""
        # Rates stay near the band.
        low, high = np.log(self.rates[[0, -1]])
        rates = np.clip(unknowns[0], low - _BEYOND, high + _BEYOND)
        # with at most twice the slope at the start the sum grows up to the least Q
        most = np.log(_LARGEST_SUM / _END * np.array([[2.0], [1.0]]))
        sums = np.log(np.exp(unknowns[1:]).sum(1, keepdims=True))
        return np.concatenate([rates[None], unknowns[1:] - np.maximum(sums - most, 0)])

    def slopes(self, unknowns: np.ndarray) -> np.ndarray:
        """Return its derivatives, (unknown, 2, quality, frequency), unknowns flattened."""
        # d ln M = -d(sum Y_l r_l) M_U / M, r_l = w_l / (w_l + i w), dr_l / d ln w_l = r_l (1 - r_l)
        relaxing = self._relaxing(unknowns)
        start, end = self._ends(unknowns)
        modulus = 1 - (start + end) @ relaxing
        changes = (
            (start + end, relaxing * (1 - relaxing)),
            (start, relaxing),
            (end, relaxing),
        )
        # (mechanism, quality, frequency) for each row of unknowns.
        return np.concatenate(
            [
                self._amplitude_and_phase(
                    -(factors.T[:, :, None] * functions[:, None, :]) / modulus
                )
                for factors, functions in changes
            ]
        )

    def _relaxing(self, unknowns: np.ndarray) -> np.ndarray:
        """Return w_l / (w_l + i W), (mechanism, frequency)."""
        rates = np.exp(unknowns[0])[:, None]
        return rates / (rates + 1j * self.rates)

    def _ends(self, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of Y_l, (quality, mechanism), that the two unknowns of it give."""
        # Y_l / y is linear in y between its values at both ends.
        fraction = self.y / _END
        low = self.y * (1 - fraction) * np.exp(unknowns[1])
        high = self.y * fraction * np.exp(unknowns[2])
        return low, high

    def _amplitude_and_phase(self, logarithm: np.ndarray) -> np.ndarray:
        """Return amplitude, up to a factor for each quality, and phase, over 1/Q."""
        # M_U is free for each Q: the mean of ln |M| does not count.
        amplitude = logarithm.real - logarithm.real.mean(-1, keepdims=True)
        return np.stack([_VELOCITY * amplitude, logarithm.imag], -3) * self.importance


def _start(misfit: _Misfit, mechanisms: int) -> np.ndarray:
    """Return rates spread evenly a little beyond the band, and weights for 1/Q between them."""
    low, high = np.log(misfit.rates[[0, -1]])
    # Rates at even steps of ln w; Y_l = 2 / pi times step times 1/Q: Debye peaks add up to it.
    width = (high - low) * 0.85 + 1.0
    rates = (low + high) / 2 + width * (
        np.linspace(-0.5, 0.5, mechanisms) if mechanisms > 1 else np.zeros(1)
    )
    spacing = width / max(mechanisms - 1, 2)
    loss = np.interp(rates, np.log(misfit.rates), misfit.wanted[-1].imag) * _QUALITIES[-1]
    weights = np.log(2 / np.pi * spacing * loss)
    return np.array([rates, weights, weights])


def _extended(misfit: _Misfit, unknowns: np.ndarray) -> list[np.ndarray]:
    """Return unknowns with a further, small mechanism below, between or above the others."""
    rates, *weights = unknowns[:, np.argsort(unknowns[0])]
    low, high = np.log(misfit.rates[[0, -1]])
    # In the middle of each gap of ln w_l, and outside the first and the last.
    rates_and_ends = [min(low, rates[0]) - 1.0, *rates, max(high, rates[-1]) + 1.0]
    small = [np.log(_SMALL * np.exp(weight).sum()) for weight in weights]
    further = (np.reshape([(a + b) / 2, *small], (3, 1)) for a, b in pairwise(rates_and_ends))
    return [misfit.allowed(np.hstack([unknowns, mechanism])) for mechanism in further]


def _minimised(misfit: _Misfit, unknowns: np.ndarray, steps: int = _STEPS) -> np.ndarray:
    """Return the unknowns (3, mechanism) of least misfit, by damped Newton steps."""
    damping = 1e-3
    now = misfit(unknowns)
    for step in range(steps):
        # Powers grow from 2 (least squares) towards the largest error.
        power = min(2 + 0.5 * max(step - _SQUARES, 0), _HIGHEST_POWER)
        largest = np.abs(now).max()
        slopes = misfit.slopes(unknowns).reshape(unknowns.size, -1)
        # Gradient and curvature of the mean power.
        weight = (np.abs(now).ravel() / largest + 1e-6) ** (power - 2)
        gradient = slopes @ (weight * now.ravel())
        curvature = (power - 1) * (slopes * weight) @ slopes.T
        scale = np.diag(curvature) + _FLOOR * np.trace(curvature)
        level = ((np.abs(now) / largest) ** power).mean()
        for _ in range(12):
            # Levenberg and Marquardt: damped by the diagonal of the curvature.
            change = np.linalg.solve(curvature + damping * np.diag(scale), -gradient)
            change *= min(1.0, _LONGEST / np.abs(change).max())
            tried = misfit.allowed(unknowns + change.reshape(unknowns.shape))
            then = misfit(tried)
            # Accept a step that lowers the mean power; else raise the damping.
            if ((np.abs(then) / largest) ** power).mean() < level:
                unknowns = tried
                now = then
                damping = max(damping / 5, 1e-7)
                break
            damping = min(damping * 5, 1e9)
        else:
            damping = 1e-2
    return unknowns
