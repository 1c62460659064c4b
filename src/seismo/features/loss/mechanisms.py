"""The relaxation mechanisms of a run: from what its scenario says and what its sources radiate."""

from __future__ import annotations

from collections.abc import Callable

from seismo.acquisition.spectra import dominant_frequency, frequency_bound
from seismo.equations.rock.relaxation import (
    Law,
    Relaxation,
    prescribed,
)
from seismo.equations.rock.relaxation_fit import fit
from seismo.errors import SeismoError
from seismo.features.loss.section import section_of
from seismo.grid.time_step import Clock
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario

DECADE = 10.0  # the band reaches at least so far down from the highest frequency
BELOW = 3.0  # and so far below the lowest dominant one
CARRIED = 0.29  # of the sampling rate: frequencies that time steps carry


def relaxation_of(scenario: Scenario) -> Relaxation | None:
    """Return the mechanisms, as in continuous time; None where no medium attenuates.

    Raises:
        ScenarioError: no mechanisms are as asked.
    """
    if not scenario.equation.attenuates:
        return None
    spec = section_of(scenario)
    try:
        if spec.relaxation is not None:
            return prescribed(spec.relaxation.times, scenario.dimensions)
        law = Law(spec.law, spec.reference_frequency, spec.corner or 0.0, spec.exponent or 0.0)
        return fit(law, spec.band or band_of(scenario), spec.mechanisms)
    except SeismoError as error:
        raise scenario.mistake("attenuation", problem=str(error)) from None


def stepping(
    relaxation: Relaxation | None, scenario: Scenario, extremes: Extremes,
    clock_of: Callable[..., Clock],
) -> tuple[Clock, Relaxation | None]:  # fmt: skip
    """Return the clock of a run and the mechanisms that its steps have.

    The modulus that steps evaluate (`relaxation.warped`) reaches higher frequencies than the band,
    so that the unrelaxed one is larger than in continuous time, and the limit lower. It is that of
    the first choice of a step, at most.

    Args:
        relaxation: as in continuous time.
        scenario: of the run.
        extremes: of the earth.
        clock_of: function(faster=1.0) -> the clock where waves are so many times as fast.

    Raises:
        ScenarioError: no step will do, or it is too long for the band.
    """
    clock = clock_of()
    if relaxation is None:
        return clock, None
    # Unrelaxed velocities of the run's mechanisms: where they are higher, a shorter step.
    stepped = in_steps(relaxation, scenario, clock.dt)
    wave = "p" if "qp" in extremes.others else "s"  # the fastest
    y = relaxation.cell_value(wave, extremes.others[f"q{wave}"][0], 1.0, 0.0)
    faster = float(stepped.velocity_ratio(wave, y) / relaxation.velocity_ratio(wave, y))
    if faster > 1.0:
        clock = clock_of(faster=faster)
        stepped = in_steps(relaxation, scenario, clock.dt)
    return clock, stepped


def in_steps(relaxation: Relaxation, scenario: Scenario, dt: float) -> Relaxation:
    """Return mechanisms that a run of time step dt s has, fitted for what time stepping does.

    Raises:
        ScenarioError: the step is too long for the band.
    """
    removed = scenario.time.dispersion_removal
    if relaxation.law is None:
        return relaxation.with_step(dt, removed)
    low, high = relaxation.band
    if section_of(scenario).band is None:
        # Frequencies that the steps carry.
        high = min(high, CARRIED / dt)
    try:
        return fit(relaxation.law, (low, high), relaxation.mechanisms, dt, removed)
    except SeismoError as error:
        raise scenario.mistake("attenuation", "band", problem=str(error)) from None


def band_of(scenario: Scenario) -> tuple[float, float]:
    """Return the band [Hz] in which a law is followed where the scenario gives none."""
    highest = frequency_bound(scenario)
    return min(highest / DECADE, dominant_frequency(scenario) / BELOW), highest
