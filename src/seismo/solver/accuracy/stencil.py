"""Choice of the difference coefficients that carry the waves of a run best, and their error.

The coefficients of an order are a family with a parameter, the tolerance of their phase velocity
(`seismo.grid.coefficients`): a larger tolerance carries shorter waves, and all of them worse. Which
is best follows from the spectrum of the traces, the points per wavelength and, where the phase
error is large, from the path: the least predicted error is taken.

`order: auto` is the lowest of 8, 12 and 16 that keeps the wanted accuracy: on a given grid a higher
order always costs more. A step of order 12 takes 1.25 to 1.35 times, of 16 1.5 to 1.8 times
as long as of order 8 on CPUs and GPUs alike, and steps are 6 and 9 % shorter. Where contacts
and a free surface err more than that, an order need not be better than they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.spectra import dominant_frequencies
from seismo.grid.coefficients import TOLERANCES, Spectra, Stencil
from seismo.grid.surface_closure import ClosureKind
from seismo.scenario import Scenario
from seismo.scenario.sections.grid import GridSpec
from seismo.solver.accuracy.waves import Passage, Waves
from seismo.solver.closure_choice import SurfaceSources

AUTO_ORDERS = (8, 12, 16)
LEAST_CARRIED = 1e-3  # of the energy of the sources, on the way through the fastest medium
_MINMAX = 1e-3  # tolerance of all coefficients of that name, whatever the run


@dataclass(frozen=True)
class PowerLaw:
    """An error that falls with a power of the points per wavelength.

    Attributes:
        at_ten: error at 10 points.
        power: of the points.
    """

    at_ten: float
    power: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the error (n) by points per wavelength (n)."""
        return self.at_ten * (10.0 / points) ** self.power


# Measured with Ricker wavelets against exact solutions (validation/): half-spaces with a force at
# and below the surface, media in contact. Errors of a frequency, by the points in its wavelength.
RAYLEIGH_VELOCITY = {  # relative, by the closure of the surface
    ClosureKind.FORCES: PowerLaw(8e-5, 3.0),
    ClosureKind.LONG: PowerLaw(1.6e-4, 3.0),
    ClosureKind.MOMENTS: PowerLaw(1.5e-4, 3.0),
    **dict.fromkeys((ClosureKind.PLAIN, ClosureKind.CONTACT), PowerLaw(1.5e-3, 3.7)),
}
SURFACE = {  # of body waves that meet a closed free surface, without a moment among its rows
    ClosureKind.FORCES: PowerLaw(4.8e-3, 4.0),
    ClosureKind.LONG: PowerLaw(1.1e-2, 4.0),
    **dict.fromkeys((ClosureKind.PLAIN, ClosureKind.CONTACT), PowerLaw(2e-3, 4.0)),
}
# Error of a plane of refinement for a wave at normal incidence, by the points in the wavelength
# below it, by the order: reflection or error of transmission, whichever is more.
CROSSED = {
    2: PowerLaw(0.032, 2.25), 4: PowerLaw(5.2e-3, 4.0),
    **dict.fromkeys((6, 8, 10, 12, 14), PowerLaw(2.8e-3, 4.0)), 16: PowerLaw(1.45e-3, 4.25),
}  # fmt: skip
NEAR_SURFACE = PowerLaw(5e-2, 2.0)  # of moments among its rows; of forces there, a share
WEIGHTED_NEAR_SURFACE = PowerLaw(2.4e-2, 3.0)  # of moments that fitted weights spread
_NEAR_FIELD = 0.8  # of these: decay with the way to receivers, a wavelength
_FAR = PowerLaw(9e-3, 2.35)  # of these: the rest of moments, however far the receivers are
CONTACT = PowerLaw(8e-3, 2.0)  # of waves that meet contacts in an earth that varies with depth only
SLOPING_CONTACT = PowerLaw(3e-2, 2.0)  # and in any other
SCHOLTE_VELOCITY = PowerLaw(1.5e-4, 3.0)  # relative, of waves along a contact of fluid and solid
SLOPING_BED = PowerLaw(0.12, 3.0)  # of waves that meet such a contact in any other earth
THROUGH_ROCK = 4.0  # decay of waves that damped layers send back, per wavelength
LAYER = PowerLaw(1e-3, 6.0)  # of absorbing layers, by their thickness in points
# The same of second-order equations, whose alpha is at least a share of d: points, errors.
SECOND_ORDER_LAYER = ((8, 12, 20, 30), (1.8e-3, 1.4e-3, 4e-5, 2e-5))
_REVERBERATION = 4.0  # times the error of a contact, where waves return to it from the top
RAYLEIGH = 0.92  # velocity of Rayleigh waves / vs
_DECAY = 0.2  # with depth, of their share of the traces, in wavenumbers


def passage_error(waves: Waves, stencil: Stencil, passage: Passage) -> float:
    """Return the relative error of a trace by the dispersion of a passage."""
    # Phase error: difference of wavenumbers times the distance, both in the tallest cells.
    height = passage.medium.height
    phase = waves.phase(stencil, slowed(waves, stencil, passage.velocity) / height)
    distance = passage.distance / height
    # Waves that the grid does not carry are lost over any distance, none included.
    carried = np.isfinite(phase)
    return waves.spectra.error(
        np.multiply(phase, distance, out=np.full_like(phase, np.inf), where=carried)
    )


def slowed(waves: Waves, stencil: Stencil, velocity: float) -> float:
    """Return the velocity in m/s by which waves disperse: of bounded differences Rayleigh waves'.

    Other differences disperse these as their law has it (`RAYLEIGH_VELOCITY`).
    """
    return velocity * (RAYLEIGH if stencil.bounds and waves.surface is not None else 1.0)


def dispersion_error(waves: Waves, stencil: Stencil) -> float:
    """Return the relative error of the traces by numerical dispersion, all passages together."""
    return math.hypot(*(passage_error(waves, stencil, passage) for passage in waves.passages))


def surface_error(waves: Waves, from_below: bool = True) -> float:
    """Return the relative error of the traces by a closed free surface.

    Body waves err once, of moments among the rows wherever they are read; Rayleigh waves, of
    which deep sources make few, travel at a wrong speed.

    Args:
        waves: that the grid carries.
        from_below: whether body waves count that come from below the rows.
    """
    if waves.surface is None:
        return 0.0
    # The medium at the surface, by points per wavelength of its slowest wave.
    medium = min((p.medium for p in waves.passages), key=lambda medium: medium.top)
    velocity = medium.slowest
    frequency = waves.spectra.frequency
    points = velocity / (frequency * max(waves.spacing))
    sources = waves.surface_sources or SurfaceSources()
    away = waves.nearest * frequency / velocity
    law = WEIGHTED_NEAR_SURFACE if sources.weighted else NEAR_SURFACE
    phase = law(points) / (1.0 + _NEAR_FIELD * away)
    phase = sources.near_field * np.maximum(phase, sources.moments * _FAR(points))
    if from_below and waves.surface in SURFACE:
        phase = np.maximum(phase, sources.below * SURFACE[waves.surface](points))
    if medium.vp and medium.vs:
        velocity_error = RAYLEIGH_VELOCITY[waves.surface](points)
        phase = np.hypot(phase, rayleigh_phase(waves, velocity, velocity_error))
    return waves.spectra.error(phase)


def rayleigh_phase(waves: Waves, velocity: float, velocity_error: np.ndarray) -> np.ndarray:
    """Return the phase error (n) in rad of Rayleigh waves, in their share of the traces.

    Args:
        waves: that the grid carries.
        velocity: of S waves in m/s.
        velocity_error: (n) relative, of the spectra's frequencies.
    """
    # Their share decays with depth, their phase errs by dc/c k x.
    wavenumber = 2.0 * math.pi * waves.spectra.frequency / (RAYLEIGH * velocity)
    share = np.exp(-_DECAY * wavenumber * waves.depth)
    travelled = min(waves.longest, velocity * waves.duration)
    return share * velocity_error * wavenumber * travelled


def contact_error(waves: Waves) -> float:
    """Return roughly the relative error of the traces by contacts of media, to choose an order by.

    What `check` says follows from the media, too (`seismo.runs.prediction.contacts.layered_error`).
    """
    media = [passage.medium for passage in waves.passages]
    if len(media) < 2:
        return 0.0
    # A contact of fluid and solid carries Scholte waves, too.
    wet = {medium.vs == 0.0 for medium in media} == {True, False}
    slowest = min(medium.sampled for medium in media)
    frequency = waves.spectra.frequency
    points = slowest / (frequency * max(waves.spacing))
    if not waves.layered:
        return waves.spectra.error((SLOPING_BED if wet else SLOPING_CONTACT)(points))
    phase = CONTACT(points) * (_REVERBERATION if waves.reverberating else 1.0)
    if wet:
        travelled = min(waves.longest, slowest * waves.duration)
        # Scholte waves: phase error dc/c k x.
        along = 2.0 * math.pi * frequency / slowest * travelled
        phase = np.hypot(phase, SCHOLTE_VELOCITY(points) * along)
    return waves.spectra.error(phase)


def matched_layer_error(points: int, second_order: bool) -> float:
    """Return the relative error of the traces by matched absorbing layers, wherever paths go.

    Those of second-order equations were measured 4 to 16 points from a source, with and without
    losses, along 50 and 100 points, 5 and 10 to a wavelength.
    """
    if not second_order:
        return float(LAYER(np.array(points)))
    known, errors = SECOND_ORDER_LAYER
    return math.exp(np.interp(math.log(points), np.log(known), np.log(errors)))


def rock_layer_error(waves: Waves, points: int, damping: float) -> float:
    """Return the relative error of the traces by layers that damp fields as their rock asks for.

    Such layers damp the fields by a share of their own d, and send back that share of a wavelength
    over their thickness, and exp(-4) times as much per wavelength of thickness: 50 runs in rocks of
    m 0.02 to 0.1, 8 to 45 points, 5 to 20 per wavelength, are met to a factor of 2.7.
    """
    wavelengths = points * max(waves.spacing) * waves.spectra.frequency / waves.fastest
    damped = (damping / wavelengths).clip(max=1.0) * np.exp(-THROUGH_ROCK * wavelengths)
    return waves.spectra.error(damped)


def boundary_error(waves: Waves) -> float:
    """Return the relative error of the traces that no order mends."""
    return math.hypot(surface_error(waves), contact_error(waves))


def best_stencil(waves: Waves, order: int) -> Stencil:
    """Return the coefficients of an order that disperse the waves least; of equals, the nearest."""
    family = stencils_for("fitted", order)
    return min(family, key=lambda stencil: dispersion_error(waves, stencil))


def refuse_uncarried(scenario: Scenario, waves: Waves) -> None:
    """Refuse a grid on which next to nothing of the sources' waves can travel.

    Raises:
        ScenarioError: with the highest frequency that the grid carries.
    """
    if waves.carried >= LEAST_CARRIED:
        return
    highest = list(dominant_frequencies(scenario))
    number = highest.index(max(highest))
    raise scenario.mistake(
        "grid", "spacing",
        problem=f"carries {waves.highest:.3g} Hz at most "
        f"({waves.fastest:.5g} m/s with two points per wavelength), and {waves.carried:.2g} of "
        "the energy of the sources lies below: "
        f"{scenario.named('sources', number, 'wavelet')} "
        f"has a dominant frequency of {max(highest):.4g} Hz; check its unit, or make the spacing "
        "finer",
    )  # fmt: skip


def stencils_for(kind: str, order: int) -> list[Stencil]:
    """Return the coefficients of a kind (`grid.stencil`) and an order that a run may choose of."""
    if kind in ("fitted", "long_steps"):
        # One parameter: the tolerance of the phase velocity.
        return [Stencil(order, tolerance) for tolerance in sorted(TOLERANCES)]
    return [Stencil(order, _MINMAX if kind == "minmax" else 0.0)]


def stencil_for(kind: str, order: int, waves: Waves) -> Stencil:
    """Return the coefficients of a kind (`grid.stencil`) and an order for waves."""
    first, *others = stencils_for(kind, order)
    return best_stencil(waves, order) if others else first


def least_order(spec: GridSpec) -> int:
    """Return the lowest order that a run may have, by its scenario's grid."""
    return AUTO_ORDERS[0] if spec.order == "auto" else spec.order


def crossing_error(spectra: Spectra, order: int, velocity: float, spacing: float) -> float:
    """Return the relative error of waves that cross a plane of refinement.

    Args:
        spectra: of the traces.
        order: of the differences below the plane.
        velocity: of the slowest waves there in m/s.
        spacing: the largest there in m.
    """
    return spectra.error(CROSSED[order](velocity / (spectra.frequency * spacing)))


def choose_stencil(spec: GridSpec, waves: Waves) -> Stencil:
    """Return order and tolerance of the differences of a run.

    Args:
        spec: the scenario's grid.
        waves: that it carries.
    """
    orders = AUTO_ORDERS if spec.order == "auto" else (spec.order,)
    stencils = [stencil_for(spec.stencil, order, waves) for order in orders]
    if len(stencils) == 1:
        return stencils[0]
    # The lowest order within the wanted accuracy, or that of the contacts and the surface.
    errors = [dispersion_error(waves, stencil) for stencil in stencils]
    wanted = max(spec.accuracy, boundary_error(waves))
    return next(
        (stencil for stencil, error in zip(stencils, errors, strict=True) if error <= wanted),
        stencils[errors.index(min(errors))],
    )
