"""The quality of a run's results, expected: `check` reports it, and results files keep it.

Beside the expected error these are warnings about a scenario that is valid: a line each, with a
remedy. A feature that makes several grids of a run assesses these together, by the hook `assess`;
further facts of features come by the hook `findings`, a tuple of `Finding`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seismo.acquisition import wavelets
from seismo.acquisition.spectra import derivatives_of, is_moment, strain_rates
from seismo.features import acting
from seismo.runs.prediction.accuracy import Expected, cause_of, expected_error
from seismo.runs.prediction.checks.coverage import (
    bodies_outside,
    contacts_below,
    otherwise,
    outside,
    uncovered,
)
from seismo.runs.prediction.checks.kept_dispersion import kept_dispersion
from seismo.runs.prediction.checks.model_parts import dropped, hidden_parts, kept
from seismo.runs.prediction.checks.odd_media import ODD_MEDIA, medium_name
from seismo.runs.prediction.checks.positions import (
    POSITIONS,
    depths,
    depths_over_ground,
    directions,
    off_the_plane,
)
from seismo.runs.prediction.checks.shapes import outlines, percents, radians, tiny_lengths
from seismo.runs.prediction.checks.timing import MOMENTS, TIMING, unlike_the_motion
from seismo.runs.prediction.contacts.near_contacts import near_contacts
from seismo.runs.prediction.lines import WarningLines, percent, warnings_of_features
from seismo.runs.prediction.remedy import (
    CLOSE,
    absorbing_spacing,
    advised_points,
    has_chosen_grid,
    longest_wavelength,
    remedy_of,
    unreached,
)
from seismo.runs.prediction.resolution import LayerResolution, layers_of
from seismo.solver.accuracy.stability_monitor import WEAKEST, weakness
from seismo.solver.accuracy.stencil import best_stencil, dispersion_error
from seismo.solver.discretization import Discretization
from seismo.solver.medium.coefficients import coupling_left

LEAST_POINTS = 3.0  # a wave of fewer points per wavelength is noise on any grid
_SMOOTH = {"ricker", "ricker_derivative", "gaussian", "gaussian_derivative", "gaussian_rate"}
MOST_LOST = 3e-5  # of the energy: the ringing is then half a percent of the waves (rms)
_COUPLED = 0.98  # share of a coupling: no error of its own shows with more
_LARGE = 0.3  # error of the traces that is warned of
_LARGER = 10.0  # the same, in wanted errors
_Check = Callable[[Discretization], WarningLines]
Remedy = Callable[[Discretization, Expected], str]


def cautions(
    discretization: Discretization, layers: list[LayerResolution], expected: Expected,
    run: Discretization | None = None, remedy: Remedy = remedy_of,
) -> list[str]:  # fmt: skip
    """List the warnings about a run, or about a grid of a `run`, with the remedies of errors."""
    lines = [*uncarried(discretization, layers)]
    if not discretization.scenario.grid.planes:
        lines += inaccurate(discretization, layers, expected, remedy)
    lines += [*_beyond(discretization, layers), *warnings_of_features(discretization, "waves")]
    lines += [line for check in ODD_MEDIA for line in check(discretization, layers)]
    lines += _by_subject(run or discretization, _OF_RUN)
    lines += _layer_strength(run or discretization, expected)
    lines += _by_subject(discretization, _OF_GRID)
    lines += near_contacts(expected.near_sources, expected.reading)
    return [*lines, *_nothing_recorded(run or discretization)]


def uncarried(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """Warn where a medium's slowest waves have fewer than two points at the dominant frequency."""
    frequency = discretization.dominant_frequency
    slowest = min(layer.sampled for layer in layers)
    points = slowest / (frequency * max(discretization.waves.spacing))
    if points < 2.0:
        yield (
            f"grid.spacing: waves of {slowest:.5g} m/s have {points:.2g} points per wavelength at "
            f"the dominant frequency of {frequency:.4g} Hz, and travel from 2 on: the grid does "
            "not carry them"
        )


def inaccurate(
    discretization: Discretization, layers: list[LayerResolution], expected: Expected,
    remedy: Remedy = remedy_of,
) -> WarningLines:  # fmt: skip
    """Warn of errors that another grid, or other coefficients, would avoid."""
    waves = discretization.waves
    stencil = discretization.stencil
    dispersion = expected.dispersion
    match warned_of(discretization, expected):
        case "stencil":
            fitted = dispersion_error(waves, best_stencil(waves, stencil.order))
            yield (
                "grid.stencil: minmax keeps wave speeds to 0.1 % only, which adds up along the "
                f"path: numerical dispersion errs by {percent(dispersion)} of the traces, fitted "
                f"coefficients by {percent(fitted)}; leave grid.stencil out"
            )
        case "dispersion":
            yield _dispersed(discretization, layers, expected, remedy)
        case "unreached":
            yield f"grid.accuracy: {unreached(discretization, expected)}"
        case "error":
            key = cause_of(expected.causes[0][0], discretization.scenario).key
            yield f"{key}: the traces will err by {expected}; {remedy(discretization, expected)}"


def remedy_of_a_miss(discretization: Discretization, expected: Expected) -> str:
    """Return the remedy where the wanted accuracy is missed by too little for a warning."""
    met = expected.error <= discretization.scenario.grid.accuracy
    if met or has_chosen_grid(discretization) or warned_of(discretization, expected):
        return ""
    return remedy_of(discretization, expected)


def warned_of(discretization: Discretization, expected: Expected) -> str:
    """Return the subject of a warning: "stencil", "dispersion", "error" of all causes, or "".

    Of a grid that was chosen for an accuracy that none reaches, "unreached".
    """
    spec = discretization.scenario.grid
    if has_chosen_grid(discretization):
        return "unreached" if expected.error > CLOSE * spec.accuracy else ""
    if spec.stencil == "minmax":
        return "stencil"
    if expected.dispersion > spec.accuracy:
        return "dispersion"
    is_large = expected.error > min(_LARGE, _LARGER * spec.accuracy)
    return "error" if is_large else ""


def _dispersed(
    discretization: Discretization, layers: list[LayerResolution], expected: Expected,
    remedy: Remedy,
) -> str:  # fmt: skip
    waves = discretization.waves
    spec = discretization.scenario.grid
    text = f"grid: numerical dispersion errs by {percent(expected.dispersion)} of the traces"
    if dispersion_error(replace(waves, dt=0.0), discretization.stencil) <= spec.accuracy:
        return f"{text}, by its time steps; set time.dispersion_removal: true"
    worst = min(layers, key=lambda layer: layer.points_per_wavelength)
    kind = medium_name(worst)
    return (
        f"{text}, with {worst.points_per_wavelength:.2g} points per wavelength in the {kind} of "
        f"{worst.slowest:.5g} m/s at {discretization.highest_frequency:.4g} Hz, and all causes "
        f"together by {percent(expected.error)}; {remedy(discretization, expected)}"
    )


def _by_subject(
    discretization: Discretization, subjects: Mapping[str, Sequence[_Check]]
) -> WarningLines:
    """Yield warnings by subject, warnings of features behind the others."""
    for subject, checks in subjects.items():
        for check in checks:
            yield from check(discretization)
        yield from warnings_of_features(discretization, subject)


def _beyond(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """A spectrum that falls slowly reaches frequencies that the grid does not carry."""
    slowest = min(layer.sampled for layer in layers)
    carried = slowest / (LEAST_POINTS * discretization.coarsest_spacing)
    if carried < discretization.highest_frequency:
        return  # `inaccurate` has said so
    for source in discretization.shots[0].summaries:
        lost = max(
            wavelets.energy_above(
                wavelet, carried, derivatives_of(source), source.base, is_moment(source)
            )
            for wavelet in source.radiated
        )
        if lost > MOST_LOST:
            yield (
                f"source {source.name}: {lost:.2g} of the energy of its waves ({lost**0.5:.2g} of "
                f"the amplitude) lies above {carried:.3g} Hz, which the grid does not carry at "
                f"{slowest:.5g} m/s: it rings behind them; {_less_of_it(source.wavelet.type)}, or "
                "filter the traces below that"
            )


def _less_of_it(wavelet: str) -> str:
    if wavelet in _SMOOTH:
        return "use a longer wavelet, or a finer grid.spacing"
    return "use a wavelet without corners (gaussian_rate for a moment rate)"


def _flat(discretization: Discretization) -> WarningLines:
    """Stations of lists lie below the ground of the run, whatever their elevation."""
    ground = "the surface is flat" if discretization.ground is None else "topography has the ground"
    for group in discretization.groups:
        if group.elevations:
            yield (
                f"receivers {group.name}: {group.elevations} is ignored, as {ground}: "
                "stations lie at their depth, or z"
            )


def _layer_strength(discretization: Discretization, expected: Expected) -> WarningLines:
    """Name layers that are too thin, unless a remedy for the accuracy names them already."""
    if expected.error > discretization.scenario.grid.accuracy:
        return
    present = discretization.scenario.boundaries.layer.points
    points = advised_points(discretization)
    if points > present:
        thickness = present * absorbing_spacing(discretization)
        yield (
            f"boundaries.layer.points: {present}: the layer is {thickness:.4g} m, "
            f"{thickness / longest_wavelength(discretization):.2g} of the longest dominant "
            f"wavelength: use {points} or more"
        )


def _little_damping(discretization: Discretization) -> WarningLines:
    """Waves that are guided along a layer may grow in it."""
    damping = discretization.field_damping
    if damping.early < damping.advised:
        yield (
            f"boundaries.layer.damping: {damping.early:g} is less than the {damping.advised:.2g} "
            "with which no waves that soft ground or beds guide grow in the layers of any run; "
            "look whether traces end in waves that grow, or leave it out"
        )


def _weak_sources(discretization: Discretization) -> WarningLines:
    """Name the motion beside elastic sources, where digits of it are lost.

    The strain rate in the cell of a source times its size: within a factor of ten of the largest
    velocity that a run finds, which says so too (`StabilityMonitor.weakness`).
    """
    physics = discretization.physics
    sources = [source for shot in discretization.shots for source in shot.points if source.is_local]
    of_rock = physics.fields[0].name == "vx" and not {"c44", "c55"}.isdisjoint(physics.medium)
    if discretization.scenario.precision != "float32" or not of_rock or not sources:
        return
    end = discretization.total_steps * discretization.clock.dt
    rates = strain_rates(
        physics,
        discretization.earth,
        sources,
        discretization.grid.cell,
        discretization.clock.dt,
        end,
    )
    velocity = float(rates.max()) * discretization.grid.spacing[0]
    if 0.0 < velocity < WEAKEST:
        yield weakness(f"sources: they move the points beside them by {velocity:.1g} m/s")


def _weakened_coupling(discretization: Discretization) -> WarningLines:
    """Name the place where a coupling of strains is lessened most, lest motion sets energy free.

    Rock that couples normal and shear strains keeps less of it at nodes beside much stiffer rock
    (`seismo.equations.elastic.tti`). Beside such contacts waves err by more than beside
    others, but by less than with all of it, which is not stable beside every rock.
    """
    share, z = coupling_left(discretization)
    if share < _COUPLED:
        yield (
            f"model: at z = {z:.6g} m, beside much stiffer rock, normal and shear strains are "
            f"coupled by only {share:.2g} of what the rock's constants say, as more could make "
            "waves grow: beside that contact they err by up to 20 % with 10 points per wavelength, "
            "twice as much as beside others, and by less on a finer grid.spacing; rock that "
            "changes over some cells keeps its coupling"
        )


def _nothing_recorded(discretization: Discretization) -> WarningLines:
    output = discretization.scenario.output
    if not discretization.groups and not output.snapshots and not output.maps:
        yield "receivers: none, nor snapshots or maps: nothing of the waves will be recorded"


# Of all grids of a run together.
_OF_RUN: dict[str, tuple[_Check, ...]] = {
    "places": (depths, depths_over_ground, directions, off_the_plane, bodies_outside),
    "model": (uncovered, outside, otherwise, contacts_below, kept, dropped),
    "moments": MOMENTS,
    "times": (*TIMING, unlike_the_motion, kept_dispersion),
    "steps": (_weak_sources,),
    "ground": (tiny_lengths, percents, radians, outlines, hidden_parts, _little_damping, _flat),
}
# Of each of them.
_OF_GRID: dict[str, tuple[_Check, ...]] = {
    "positions": POSITIONS,
    "coupling": (_weakened_coupling,),
}


@dataclass(frozen=True)
class Assessment:
    """The quality of a run, known before a step is taken.

    Attributes:
        f_max: highest frequency of the sources in Hz.
        layers: media of the earth and how the grid carries their waves.
        expected: error of the traces, and its causes.
        warnings: questions of a seismologist.
        remedy: function(discretization, expected) -> the remedy where the wanted accuracy is missed
            and no warning says so, "" otherwise.
    """

    f_max: float
    layers: list[LayerResolution]
    expected: Expected
    warnings: list[str]
    remedy: Remedy = remedy_of_a_miss

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the root of a results file."""
        return {
            "expected_error": self.expected.error,
            "f_max": self.f_max,
            "warnings": json.dumps(self.warnings),
        }


@dataclass(frozen=True)
class Finding:
    """A fact of a feature about a run, that `check` prints and gives as plain data.

    Attributes:
        key: in plain data.
        label: of its line.
        find: function(discretization, expected) -> an object with `as_dict`, None where there is
            nothing to say.
    """

    key: str
    label: str
    find: Callable[[Discretization, Expected], Any]


def assess(discretization: Discretization, remedy: Remedy = remedy_of) -> Assessment:
    """Return the error and the warnings to expect of a run.

    Args:
        discretization: of the run.
        remedy: function(discretization, expected) -> the remedy of an error that is warned of. The
            search for a grid that keeps to the accuracy takes longer than all else.
    """
    for assessed in acting("assess", discretization.scenario):
        if assessment := assessed(discretization, remedy):
            return assessment
    f_max = discretization.highest_frequency
    layers = layers_of(discretization, f_max)
    expected = expected_error(of_survey(discretization))
    lines = cautions(discretization, layers, expected, remedy=remedy)
    return Assessment(f_max, layers, expected, lines)


def unsought(*_: Any) -> str:
    """Name the command that seeks remedies; a run does not."""
    return "seismo check names a remedy"


def expected_of(discretization: Discretization) -> Expected:
    """Return the error to expect of a run, without warnings."""
    for assessed in acting("assess", discretization.scenario):
        if assessment := assessed(discretization, unsought):
            return assessment.expected
    return expected_error(of_survey(discretization))


def of_survey(discretization: Discretization) -> Discretization:
    """Return a run with all shots of its survey: each job of an array expects the same error."""
    if len(discretization.shots) == len(discretization.survey_shots):
        return discretization
    above = None if discretization.above is None else of_survey(discretization.above)
    return replace(discretization, shots=discretization.survey_shots, above=above)
