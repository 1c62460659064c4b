"""The relaxation mechanisms of a run, and the bits in which their memory variables are kept.

Mechanisms follow from what the scenario says and what its sources radiate. Memory variables have 16
bits where that loses nothing that counts.

A 16-bit number has 11 bits and nine decades, from 6e-5 to 65504. A memory variable is a correction
of order 1/Q of a strain rate, so that its rounding, 2^-12 of itself in every step, changes traces
by about 1e-4. All are multiplied by a power of two, such that the strain rate next to the strongest
source, as it is estimated, is near 2^`_PEAK`. Waves of much weaker sources have fewer bits, also
where the strongest does not act yet, or in other
shots: their traces lose accuracy in proportion to the ratio of strengths. So they are kept where no
source that acts is more than `MOST_UNLIKE` times as strong as another; the subfaults of a finite
fault count as a single source, their strongest.

What rounding beside a source radiates reaches far receivers, where waves that lost most of their
energy are weaker: 10 points per wavelength, Q 10, 8, 12, 16 and 20 wavelengths away, traces change
by 5e-5, 1.2e-4, 4.7e-4 and 1.3e-3 (5 points: 4e-5 at most). So `auto` keeps 32 bits where S waves
of the dominant frequency have more than `MOST_LOSSES` times Q wavelengths to go, and where rows
beside contacts of fluid and solid correct memory variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup, paths_of
from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import (
    dominant_frequencies,
    dominant_frequency,
    frequency_bound,
    scale_to,
    strain_rates,
)
from seismo.equations.framework.registry import physics_for
from seismo.equations.framework.table import Physics
from seismo.equations.rock.relaxation import Law, Relaxation, prescribed
from seismo.equations.rock.relaxation_fit import fit
from seismo.errors import SeismoError
from seismo.features.contacts.contact import Contact, FluidContacts, contacts_of
from seismo.features.loss.section import section_of
from seismo.grid.grid import Grid
from seismo.grid.time_step import Clock
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

DECADE = 10.0  # the band reaches at least so far down from the highest frequency
BELOW = 3.0  # and so far below the lowest dominant frequency
CARRIED = 0.29  # of the sampling rate: frequencies that time steps carry
LEAST_DECAY = 5e-4  # w_l dt: a variable's decay in a step must not be lost in its rounding
MOST_UNLIKE = 300.0  # times as strong: between 1e2 and 1e3, where traces change by 6e-5 and 5e-4
MOST_LOSSES = 1.5  # wavelengths over Q on the way to a receiver: 4e-4 on its traces
_PLACES = 33  # on that way
_MOST_ENDS = 100  # sources, and receivers, that are looked at
_PEAK = 13  # power of two


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
    so that the unrelaxed modulus is larger than in continuous time, and the limit lower. It is that
    of the first choice of a step, at most.

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
    """Return mechanisms that a run of time step dt s has, fitted with the effect of time stepping.

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


# A module that imports this module.


def relaxing(discretization: Discretization, relaxation: Relaxation | None) -> Discretization:
    """Return a run whose medium relaxes, with the precision of its memory variables.

    Raises:
        ScenarioError: 16 bits are asked for, and will not do.
    """
    assert relaxation is not None  # as the medium attenuates
    relaxation = _with_storage(relaxation, discretization)
    name = discretization.scenario.equation.name
    slopes = discretization.vertical is not None
    physics = physics_for(name, discretization.grid.dimensions, relaxation, slopes)
    earth = replace(discretization.earth, relaxation=relaxation)
    # Media beside contacts have the unrelaxed velocities of the steps.
    contacts = contacts_of(
        discretization.scenario,
        physics,
        earth,
        discretization.grid,
        discretization.stencil,
        discretization.closure,
    )
    return replace(discretization, physics=physics, earth=earth).having(contacts)


def _with_storage(relaxation: Relaxation, discretization: Discretization) -> Relaxation:
    """Return the mechanisms with the scale of their variables, where these are kept in 16 bits."""
    scenario = discretization.scenario
    grid = discretization.grid
    storage = section_of(scenario).storage
    if storage == 32 or (storage == "auto" and grid.dimensions == 2):
        return relaxation
    problem = too_few_bits(relaxation, scenario, discretization.physics)
    problem = problem or beside_contacts(discretization[FluidContacts].corrected, grid)
    if not all(source.is_driven for source in scenario.sources):
        problem = "waves from outside are added to memory variables of 32 bits"
    sources = [source for shot in discretization.shots for source in shot.sources]
    peak = 1.0
    if not problem:
        # Scale from the strongest source; refuse sources too unlike for a single scale.
        dt = discretization.clock.dt
        duration = discretization.total_steps * dt
        rates = strain_rates(
            discretization.physics, discretization.earth, sources, grid.cell, dt, duration
        )
        problem = unlike(sources, rates)
        peak = float(rates.max()) or 1.0
    if storage == 16 and problem:
        raise scenario.mistake(
            "attenuation", "storage", problem=f"too few bits: {problem}; leave storage out"
        )
    if not problem and storage == "auto":
        problem = weakened(
            scenario, discretization.earth, grid.dimensions, sources, discretization.groups
        )
    if problem:
        return relaxation
    return replace(relaxation, scale=scale_to(peak, _PEAK))


def beside_contacts(contacts: Sequence[Contact], grid: Grid) -> str:
    """Return why rows at contacts of fluid and solid ask for 32 bits; "" where there are none."""
    if not contacts:
        return ""
    depth = grid.coordinate("z", np.array([contacts[0].z_index]))[0]
    return f"rows beside the contact of fluid and solid at z = {depth:.6g} m take 32 bits"


def weakened(
    scenario: Scenario, earth: Earth, dimensions: int, sources: Sequence[PointSource],
    groups: Sequence[ReceiverGroup],
) -> str:  # fmt: skip
    """Return why waves reach receivers too weak for 16 bits; "" where they do not."""
    frequency = max(dominant_frequencies(scenario))
    acting = np.array([source.position for source in sources]).reshape(-1, 3)
    paths = paths_of(acting, groups)
    lost = max((losses(earth, dimensions, *ends, frequency) for ends in paths), default=0.0)
    if lost <= MOST_LOSSES:
        return ""
    return (
        f"S waves cross {lost:.2g} wavelengths times 1/Q on their way to a receiver, and beyond "
        f"{MOST_LOSSES:g} rounding shows on traces"
    )


def losses(
    earth: Earth, dimensions: int, sources: np.ndarray, receivers: np.ndarray, frequency: float,
) -> float:  # fmt: skip
    """Return the largest sum of S wavelengths over Q from a source straight to a receiver.

    Args:
        earth: between them.
        dimensions: 2 or 3.
        sources: (source, 3) m, x, y, z.
        receivers: (receiver, 3) m, x, y, z.
        frequency: of the waves [Hz].
    """
    if not len(receivers) or not len(sources):
        return 0.0
    chosen = slice(None, None, 1 + len(sources) // _MOST_ENDS)
    ends = receivers[:: 1 + len(receivers) // _MOST_ENDS][None, :, None]
    starts = sources[chosen][:, None, None]
    share = (np.arange(_PLACES) + 0.5)[:, None] / _PLACES
    # Midpoint rule of f / (vs Q) along straight paths.
    rock = earth.as_given.at(starts + (ends - starts) * share, dimensions)
    with np.errstate(divide="ignore", invalid="ignore"):  # of fluids
        rate = np.where(rock["vs"] > 0.0, frequency / (rock["vs"] * rock["qs"]), 0.0)
    return float((rate.mean(-1) * np.linalg.norm(ends - starts, axis=-1)[..., 0]).max())


def too_few_bits(relaxation: Relaxation, scenario: Scenario, physics: Physics) -> str:
    """Return why variables cannot be kept in 16 bits; "" where they can."""
    if scenario.precision != "float32":
        return f"precision is {scenario.precision}"
    if {"c44", "c55"}.isdisjoint(physics.medium):
        return "they do for elastic waves in 3-D and for P-SV waves alone"
    # Decay in a step must exceed the rounding of 11 bits.
    least = relaxation.frequencies[0] * relaxation.dt
    if least < LEAST_DECAY:
        return (
            f"in a step a variable decays by {least:.1e}, and rounding would hide less than "
            f"{LEAST_DECAY:g}; the band begins too low"
        )
    return ""


def unlike(sources: Sequence[PointSource], rates: np.ndarray) -> str:
    """Return the acting sources that are too unlike for a single scale; "" where none are."""
    # The subfaults of a fault count as their strongest.
    strongest = dict[object, int]()
    for n in map(int, np.flatnonzero(rates)):
        key = sources[n].name if isinstance(sources[n].wavelet, SlipRate) else n
        best = strongest.setdefault(key, n)
        strongest[key] = n if rates[n] > rates[best] else best
    ordered = sorted(strongest.values(), key=lambda n: rates[n]) or [0]
    weak = ordered[0]
    strong = ordered[-1]
    if rates[strong] <= MOST_UNLIKE * rates[weak]:
        return ""
    return (
        f"source {sources[strong].name} is {rates[strong] / rates[weak]:.1e} times as strong as "
        f"{sources[weak].name}, and up to {MOST_UNLIKE:g} times are kept in one run"
    )
