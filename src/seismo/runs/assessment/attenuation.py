"""How well the mechanisms of a run follow the law of attenuation, and what traces err by that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seismo.equations.attenuation_laws import Law
from seismo.equations.registry import EQUATIONS, physics_for
from seismo.equations.relaxation import Relaxation, inverse_quality
from seismo.solver.discretization import Discretization
from seismo.solver.waves import Passage

_QUALITIES = np.array([1.0, 1.5, 2.5, 5.0, 20.0])  # over the least one, at which the fit is tried


@dataclass(frozen=True)
class AttenuationFit:
    """What `seismo check` says of the mechanisms of a run.

    Attributes:
        relaxation: they.
        least: smallest quality factor of the earth.
        loss: largest relative error of 1/Q inside the band.
        velocity: largest relative error of phase velocities there.
        rise: largest ratio of unrelaxed to given velocities.
        numbers: that a point and step move.
        lossless: the same without attenuation.
    """

    relaxation: Relaxation
    least: float
    loss: float
    velocity: float
    rise: float
    numbers: int
    lossless: int

    def __str__(self) -> str:
        """Describe it in a line."""
        law, count = self.relaxation.law, self.relaxation.mechanisms
        cost = f"{self.numbers} numbers a point and step instead of {self.lossless}"
        if law is None:
            return f"{count} given relaxation times; vp and vs are the unrelaxed ones; {cost}"
        low, high = self.relaxation.band
        return (
            f"law {law.name}, vp and vs at {law.reference_frequency:.4g} Hz; {count} mechanisms "
            f"keep 1/Q to {100.0 * self.loss:.2g} % and phase velocities to "
            f"{100.0 * self.velocity:.1g} % from {low:.3g} to {high:.3g} Hz (Q {self.least:g} and "
            f"more); unrelaxed velocities are up to {100.0 * (self.rise - 1.0):.2g} % higher; "
            f"{cost}"
        )

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
        }


def attenuation_fit(setup: Discretization) -> AttenuationFit | None:
    """Return how well a run attenuates; None where it does not."""
    relaxation, equation = setup.earth.relaxation, setup.scenario.equation
    if relaxation is None:
        return None
    lows = [setup.extremes.others[name][0] for name in ("qp", "qs") if name in setup.earth.needs]
    least = min(lows)
    errors, rise = [(0.0, 0.0)], 1.0
    if relaxation.law and math.isfinite(least):
        y = relaxation.cell_value("p", least * _QUALITIES, 1.0, 0.0)
        errors = [relaxation.errors(float(one)) for one in y]
        rise = float(max(relaxation.velocity_ratio(wave, y).max() for wave in ("p", "s")))
    lossless = physics_for(EQUATIONS[equation.extends].name, setup.grid.dimensions)
    loss, velocity = (max(column) for column in zip(*errors, strict=True))
    return AttenuationFit(
        relaxation, least, loss, velocity, rise,
        setup.physics.numbers_per_point, lossless.numbers_per_point,
    )  # fmt: skip


def fit_error(setup: Discretization) -> float:
    """Return the relative error of the traces by mechanisms that are no law, of all passages."""
    relaxation = setup.earth.relaxation
    if relaxation is None or relaxation.law is None:
        return 0.0
    return math.hypot(*_passage_errors(setup, relaxation, relaxation.law))


def _passage_errors(setup: Discretization, relaxation: Relaxation, law: Law) -> Iterator[float]:
    frequency, energy = setup.waves.spectra.frequency, setup.waves.spectra.energy
    omega = 2.0 * math.pi * np.maximum(frequency, 1e-3 * frequency.max())
    for passage in setup.waves.passages:
        wave, quality = _wave(passage)
        if not math.isfinite(quality):
            continue
        y = float(relaxation.cell_value(wave, quality, 1.0, 0.0))
        as_given = passage.velocity / relaxation.velocity_ratio(wave, y)
        slowness = law.modulus(inverse_quality(y), omega) ** -0.5 / as_given
        run = relaxation.modulus(wave, y, omega) ** -0.5 / passage.velocity
        decayed = energy * np.exp(2.0 * omega * slowness.imag * passage.distance)
        change = np.exp(-1j * omega * (run - slowness) * passage.distance) - 1.0
        squares = (decayed * np.abs(change) ** 2).sum(axis=1) / decayed.sum(axis=1)
        yield float(np.sqrt(squares.max()))


def _wave(passage: Passage) -> tuple[str, float]:
    """Return which wave is the slowest of a medium, and its quality factor."""
    wave = "s" if passage.medium.vs else "p"
    return wave, passage.medium.others.get(f"q{wave}", math.inf)
