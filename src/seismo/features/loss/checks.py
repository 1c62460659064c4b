"""Fit of the mechanisms of a run to the law of attenuation, and the error of traces by it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from seismo.equations.framework.registry import lossless
from seismo.equations.rock.anisotropic_loss import by_direction
from seismo.equations.rock.relaxation import Law, Relaxation
from seismo.equations.rock.relaxation_fit import MOST_MECHANISMS, fit
from seismo.features.contacts.contact import FluidContacts
from seismo.features.loss.mechanisms import (
    band_of,
    beside_contacts,
    too_few_bits,
    weakened,
)
from seismo.features.loss.section import section_of
from seismo.model.effective import tensor
from seismo.runs.prediction.accuracy import Expected
from seismo.runs.prediction.assess import Finding
from seismo.runs.prediction.lines import Cause, Check, in_percent, never
from seismo.solver.accuracy.waves import Passage
from seismo.solver.discretization import Discretization

_QUALITIES = np.array([1.0, 1.5, 2.5, 5.0, 20.0])  # over the least, at which the fit is tried
_TRIED = 24  # points along an axis at which quality factors by direction are compared
_ALIKE = 1e-3  # differences by direction that are not reported
_UNCHANGED = 5e-4  # of phase velocities, which are not reported
_LOOSE = 0.05  # errors of 1/Q that are warned of
_STEPPED = 0.3  # of the sampling frequency: with w dt > 2 a leapfrog steps nothing
_CLOSER = 0.8  # of an error, that is less of it
_BEYOND = 100.0  # logarithm of an error that tells no more
_ENOUGH = 0.5  # of the wanted error


@dataclass(frozen=True)
class AttenuationFit:
    """What `seismo check` says of the mechanisms of a run.

    Attributes:
        relaxation: they.
        least: smallest quality factor of the earth.
        loss: largest relative error of 1/Q inside the band.
        velocity: largest relative error of phase velocities there.
        rise: largest ratio of unrelaxed to given velocities.
        dominant: [Hz] frequency of the sources, the lowest of their dominant ones.
        faster: largest ratio of phase velocities there to given ones.
        spread: largest relative differences of 1/Q of P and of SV waves, of any direction, from
            1/qp and 1/qs.
        weakened: why memory variables are not in 16 bits, where they could have been: waves are
            too weak at receivers, or rows at contacts do without.
        numbers: that a point and step move.
        lossless: the same without attenuation.
    """

    relaxation: Relaxation
    least: float
    loss: float
    velocity: float
    rise: float
    dominant: float
    faster: float
    spread: tuple[float, float]
    weakened: str
    numbers: float
    lossless: float

    def __str__(self) -> str:
        """Describe it in a line."""
        law = self.relaxation.law
        count = self.relaxation.mechanisms
        bits = "memory variables in 16 bits; " if self.relaxation.scale else ""
        if self.weakened and not bits:
            bits = f"memory variables in 32 bits, as {self.weakened}; "
        cost = f"{bits}{self.numbers:g} numbers a point and step instead of {self.lossless:g}"
        if max(self.spread) > _ALIKE:
            p, s = map(in_percent, self.spread)
            cost = f"by direction 1/Q differs from 1/qp by up to {p}, from 1/qs by {s}; {cost}"
        if law is None:
            return f"{count} given relaxation times; vp and vs are the unrelaxed ones; {cost}"
        low, high = self.relaxation.band
        return (
            f"law {law.name}, vp and vs at {law.reference_frequency:.4g} Hz{self._change()}; "
            f"{_counted(count)} "
            f"1/Q to {in_percent(self.loss)} and phase velocities to "
            f"{100.0 * self.velocity:.1g} % from {low:.3g} to {high:.3g} Hz (Q {self.least:g} and "
            f"more); unrelaxed velocities are up to {in_percent(self.rise - 1.0)} higher; "
            f"{cost}"
        )

    def _change(self) -> str:
        """Describe how phase velocities differ at the dominant frequency from the given ones."""
        change = self.faster - 1.0
        if abs(change) < _UNCHANGED:
            return ""
        which = "faster" if change > 0.0 else "slower"
        return f": up to {in_percent(abs(change))} {which} at the dominant {self.dominant:.3g} Hz"

    def as_dict(self) -> dict[str, float | int | str | tuple[float, float]]:
        """Plain data."""
        law = self.relaxation.law
        return {
            "law": law.name if law else "relaxation times",
            "reference_frequency": law.reference_frequency if law else 0.0,
            "mechanisms": self.relaxation.mechanisms,
            "band": self.relaxation.band,
            "quality_least": self.least,
            "loss_error": self.loss,
            "velocity_error": self.velocity,
            "unrelaxed_over_given": self.rise,
            "dominant_over_given": self.faster,
            "difference_by_direction": self.spread,
            "storage": 16 if self.relaxation.scale else 32,
        }


def attenuation_fit(discretization: Discretization) -> AttenuationFit | None:
    """Return how well a run attenuates; None where it does not."""
    relaxation = discretization.earth.relaxation
    equation = discretization.scenario.equation
    if relaxation is None:
        return None
    lows = [
        discretization.extremes.others[name][0]
        for name in ("qp", "qs")
        if name in discretization.earth.needs
    ]
    least = min(lows)
    loss = 0.0
    velocity = 0.0
    rise = 1.0
    faster = 1.0
    if relaxation.law and math.isfinite(least):
        loss, velocity = _law_errors(relaxation, least)
        y = relaxation.cell_value("p", least, 1.0, 0.0)
        rise = float(max(relaxation.velocity_ratio(wave, y).max() for wave in ("p", "s")))
        omega = 2.0 * math.pi * discretization.dominant_frequency
        faster = float(relaxation.law.phase_velocity(1.0 / least, omega))
    plain = lossless(equation, discretization.grid.dimensions)
    return AttenuationFit(
        relaxation, least, loss, velocity, rise, discretization.dominant_frequency, faster,
        _spread(discretization), _weakened(discretization),
        discretization.physics.numbers_per_point,
        plain.physics(discretization.grid.dimensions).numbers_per_point,
    )  # fmt: skip


def least_fit(discretization: Discretization, expected: Expected) -> AttenuationFit | None:
    """Return how well media attenuate, on two grids the more attenuating; None where none does."""
    fits = [attenuation_fit(grid) for grid in discretization.grids_of_spacing]
    return min((fit for fit in fits if fit), key=lambda fit: fit.least, default=None)


def _weakened(discretization: Discretization) -> str:
    """Return why waves or contacts ask for 32 bits, where 16 could have been taken."""
    storage = section_of(discretization.scenario).storage
    if storage == 32 or (storage == "auto" and discretization.grid.dimensions == 2):
        return ""
    relaxation = discretization.earth.relaxation
    if relaxation is None or too_few_bits(
        relaxation, discretization.scenario, discretization.physics
    ):
        return ""
    sources = [source for shot in discretization.shots for source in shot.sources]
    return beside_contacts(
        discretization[FluidContacts].corrected, discretization.grid
    ) or weakened(
        discretization.scenario,
        discretization.earth,
        discretization.grid.dimensions,
        sources,
        discretization.groups,
    )


def short_of_bits(discretization: Discretization) -> Iterator[str]:
    """Name memory variables that the scenario keeps in 16 bits where waves become too weak."""
    relaxation = discretization.earth.relaxation
    if relaxation is not None and relaxation.scale and (reason := _weakened(discretization)):
        yield f"attenuation.storage: 16: {reason}; leave it out, or give 32"


def _spread(discretization: Discretization) -> tuple[float, float]:
    """Return the largest differences of 1/Q from 1/qp and 1/qs, of all directions."""
    if discretization.earth.relaxation is None or not {"qp", "qs"} <= set(
        discretization.earth.needs
    ):
        return 0.0, 0.0
    if not {"epsilon", "root1"} & set(discretization.earth.needs):
        return 0.0, 0.0
    axes = {
        a: np.linspace(*discretization.grid.limits(a), _TRIED) for a in discretization.grid.axes
    }
    medium = discretization.earth.sample(*tensor(axes["z"], axes.get("y"), axes["x"]))
    lossy = np.isfinite(medium["qp"]) & np.isfinite(medium["qs"]) & (medium["vs"] > 0.0)
    if not lossy.any():
        return 0.0, 0.0
    p, s = by_direction({name: samples[lossy] for name, samples in medium.items()})
    return float(np.abs(p - 1.0).max()), float(np.abs(s - 1.0).max())


def fit_error(discretization: Discretization, other: Relaxation | None = None) -> float:
    """Return the relative error of the traces by mechanisms that are no law, of all passages.

    Args:
        discretization: of the run.
        other: mechanisms of the same law, in place of its own.
    """
    relaxation = discretization.earth.relaxation
    if relaxation is None or relaxation.law is None:
        return 0.0
    return math.hypot(
        *_passage_errors(discretization, relaxation, other or relaxation, relaxation.law)
    )


def follows_loosely(discretization: Discretization) -> Iterator[str]:
    """Name mechanisms that are far from the law inside their band, and how many are nearer."""
    fitted = attenuation_fit(discretization)
    if fitted is None or fitted.loss <= _LOOSE:
        return
    relaxation = fitted.relaxation
    errors = {n: _law_errors(other, fitted.least)[0] for n, other in _others(relaxation)}
    closer = [n for n, error in errors.items() if error < _CLOSER * fitted.loss]
    best = next((n for n in closer if errors[n] <= _LOOSE), None) or (
        min(closer, key=lambda n: errors[n]) if closer else 0
    )
    if best:
        remedy = f"attenuation.mechanisms: {best} to {in_percent(errors[best])}"
    elif relaxation.law and relaxation.law.name == "power":
        remedy = (
            "no number of mechanisms does better at the corner of law: power; take a smaller "
            "exponent, or a band that keeps away from the corner"
        )
    else:
        remedy = "take a narrower attenuation.band"
    low, high = relaxation.band
    yield (
        f"attenuation: {_counted(relaxation.mechanisms)} 1/Q to {in_percent(fitted.loss)} only "
        f"from {low:.3g} to {high:.3g} Hz; {remedy}"
    )


def fit_remedy(discretization: Discretization) -> str:
    """Return the remedy of traces' errors by mechanisms, "" if there is none."""
    relaxation = discretization.earth.relaxation
    error = fit_error(discretization)
    if relaxation is None or relaxation.law is None or not error:
        return ""
    low, high = band_of(discretization.scenario)
    wider = min(low, relaxation.band[0]), max(high, relaxation.band[1])
    if (
        wider != relaxation.band
        and fit_error(discretization, fit(relaxation.law, wider)) < _CLOSER * error
    ):
        return f"widen attenuation.band to {wider[0]:.3g} .. {wider[1]:.3g} Hz, or leave it out"
    errors = {n: fit_error(discretization, other) for n, other in _others(relaxation)}
    best = min(errors, key=lambda n: errors[n])
    if errors[best] >= _CLOSER * error:
        return ""
    wanted = max(_ENOUGH * discretization.scenario.grid.accuracy, errors[best])
    count = next(n for n, remaining in errors.items() if remaining <= wanted)
    return f"take attenuation.mechanisms: {count}"


def _others(relaxation: Relaxation) -> Iterator[tuple[int, Relaxation]]:
    """Iterate over fits of the same law and band by all numbers of mechanisms."""
    for count in range(1, MOST_MECHANISMS + 1):
        if relaxation.law:
            yield count, fit(relaxation.law, relaxation.band, count)


@lru_cache(maxsize=64)
def _law_errors(relaxation: Relaxation, least: float) -> tuple[float, float]:
    """Return the largest errors of 1/Q and of velocities of all qualities from the least on."""
    return relaxation.errors(relaxation.cell_value("p", least * _QUALITIES, 1.0, 0.0))


def _counted(mechanisms: int) -> str:
    return "1 mechanism keeps" if mechanisms == 1 else f"{mechanisms} mechanisms keep"


def _passage_errors(
    discretization: Discretization, reference: Relaxation, relaxation: Relaxation, law: Law
) -> Iterator[float]:
    """Return the error of each passage that loses energy, of the velocities of `reference`."""
    omega = _frequencies(discretization)
    lossy = [
        passage for passage in discretization.waves.passages if math.isfinite(_wave(passage)[1])
    ]
    loss = np.array([1.0 / _wave(passage)[1] for passage in lossy])
    slownesses = law.modulus(loss[:, None], omega) ** -0.5
    for passage, of_law in zip(lossy, slownesses, strict=True):
        wave, quality = _wave(passage)
        y = float(relaxation.cell_value(wave, quality, 1.0, 0.0))
        as_given = passage.velocity / reference.velocity_ratio(wave, y)
        unrelaxed = as_given * relaxation.velocity_ratio(wave, y)
        run = relaxation.modulus(wave, y, omega) ** -0.5 / unrelaxed
        yield _trace_error(discretization, passage, of_law / as_given, run)


def step_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by relaxation times whose modulus steps change."""
    relaxation = discretization.earth.relaxation
    omega = _frequencies(discretization)
    errors = []
    if relaxation is None or relaxation.law:
        return 0.0
    for passage in discretization.waves.passages:
        wave = _wave(passage)[0]
        medium = passage.medium
        y = float(relaxation.cell_value(wave, math.inf, medium.vp or 1.0, medium.vs or 0.0))
        wanted, run = (
            stage_relaxation.modulus(wave, y, omega) ** -0.5 / passage.velocity
            for stage_relaxation in (relaxation.with_step(0.0), relaxation)
        )
        errors.append(_trace_error(discretization, passage, wanted, run))
    return math.hypot(*errors)


def _frequencies(discretization: Discretization) -> np.ndarray:
    """Return the angular frequencies [rad/s] of the traces' spectra, above 0, that steps carry."""
    frequency = np.minimum(
        discretization.waves.spectra.frequency, _STEPPED / discretization.clock.dt
    )
    return 2.0 * math.pi * np.maximum(frequency, 1e-3 * frequency.max())


def _trace_error(
    discretization: Discretization, passage: Passage, wanted: np.ndarray, run: np.ndarray
) -> float:
    """Return the relative error of traces after a passage with a complex slowness of a run.

    A(w) exp(-i w s d) arrives; logarithms relative to the largest wanted are finite at any distance
    d.
    """
    exponents = -1j * _frequencies(discretization) * passage.distance
    strengths = 0.5 * np.log(np.maximum(discretization.waves.spectra.energy, np.finfo(float).tiny))
    right = strengths + exponents * wanted
    right -= right.real.max(axis=1, keepdims=True)
    computed = right + exponents * (run - wanted)
    computed = np.minimum(computed.real, _BEYOND) + 1j * computed.imag
    squares = np.abs(np.exp(computed) - np.exp(right)) ** 2
    errors = squares.sum(axis=1) / np.exp(2.0 * right.real).sum(axis=1)
    return float(np.sqrt(errors.max()))


def _wave(passage: Passage) -> tuple[str, float]:
    """Return which wave is the slowest of a medium, and its quality factor."""
    wave = "s" if passage.medium.vs else "p"
    return wave, passage.medium.others.get(f"q{wave}", math.inf)


CHECKS = (Check("waves", follows_loosely), Check("waves", short_of_bits))
CAUSES = (
    Cause(
        "relaxation mechanisms in place of a law", fit_error, "medium", falls_with_order=True,
        falls_with_spacing=never, remedy=fit_remedy, key="attenuation",
    ),
    Cause("relaxation times in time steps", step_error, "medium"),
)  # fmt: skip
FINDINGS = (Finding("attenuation", "attenuation", least_fit),)
