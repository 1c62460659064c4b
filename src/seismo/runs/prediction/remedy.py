"""Remedies of errors: the grid with which the traces of a run keep to the wanted accuracy.

At another spacing dispersion, the free surface and the weights between grid points err as at their
points per wavelength there. Errors by contacts fall with the square of the spacing at least
(measured powers are 2 to 3.2). Sources beside contacts where the earth varies sideways err by their
distance in points: a finer grid does not mend that for sure. Absorbing layers of as many points are
thinner on a finer grid, so that their points are sought for the spacing that is named. Errors by
mechanisms that are no law are the same on any grid.

Where a run takes much more work than the wanted accuracy asks for, the order and spacing that take
least are sought in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from seismo.acquisition.wavelet_shapes import half_duration_of
from seismo.errors import SeismoError
from seismo.runs.prediction.accuracy import (
    CONTACTS,
    SENT_BACK,
    Expected,
    cause_of,
    contacts_error,
    expected_error,
    placing_error,
    sent_back,
)
from seismo.runs.prediction.checks.odd_media import medium_name
from seismo.runs.prediction.layer_reflections import GRAZING
from seismo.runs.prediction.lines import WarningLines, percent, rounded_down
from seismo.runs.prediction.resolution import LayerResolution, of_spacing
from seismo.runs.prediction.thicker_layers import MOST_TRIED, thicker
from seismo.runs.resources.speed import order_factor
from seismo.solver.accuracy.stencil import (
    best_stencil,
    dispersion_error,
    stencils_for,
    surface_error,
)
from seismo.solver.accuracy.waves import Waves
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

_LARGE = 0.3  # error of the traces that is warned of
_LARGER = 10.0  # the same, in wanted errors
_BISECTIONS = 14  # of the spacing, in search of the wanted accuracy
_MOST_COARSER = 30.0  # factor of the spacing in that search
_COARSER = 1.5  # factor of the spacing of the grid by which contacts are judged
_LITTLE = 0.1  # of the wanted error, below which they are not judged
_NEAR = 0.9  # share of a spacing down to which a spacing that divides the extents is taken
TRIALS = 4  # finer grids where the earth varies sideways
_SHARE_OF_OTHERS = 0.7  # of the wanted error, that others may have where layers err, too
_LEFT = 0.5  # of the wanted error: layers need no more
_POINTS = 6.0  # in the shortest wavelength of faults that are smoothed


def points_needed(discretization: Discretization, layers: list[LayerResolution]) -> float:
    """Return the points in the shortest wavelength with which dispersion keeps to the accuracy."""
    return min(layer.points_per_wavelength for layer in layers) / _undispersed(
        discretization, discretization.scenario.grid.accuracy
    )


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
    discretization: Discretization, layers: list[LayerResolution], expected: Expected
) -> WarningLines:
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
            yield _dispersed(discretization, layers, expected, dispersion)
        case "error":
            key = cause_of(expected.causes[0][0], discretization.scenario).key
            yield f"{key}: the traces will err by {expected}; {_remedy(discretization, expected)}"


def remedy_of_a_miss(discretization: Discretization, expected: Expected) -> str:
    """Return the remedy where the wanted accuracy is missed by too little for a warning."""
    if expected.error <= discretization.scenario.grid.accuracy or warned_of(
        discretization, expected
    ):
        return ""
    return _remedy(discretization, expected)


def warned_of(discretization: Discretization, expected: Expected) -> str:
    """Return the subject of a warning: "stencil", "dispersion", "error" of all causes, or ""."""
    spec = discretization.scenario.grid
    if spec.stencil == "minmax":
        return "stencil"
    if expected.dispersion > spec.accuracy:
        return "dispersion"
    is_large = expected.error > min(_LARGE, _LARGER * spec.accuracy)
    return "error" if is_large else ""


def _dispersed(
    discretization: Discretization, layers: list[LayerResolution], expected: Expected, error: float
) -> str:
    waves = discretization.waves
    spec = discretization.scenario.grid
    text = f"grid: numerical dispersion errs by {percent(error)} of the traces"
    if dispersion_error(replace(waves, dt=0.0), discretization.stencil) <= spec.accuracy:
        return f"{text}, by its time steps; set time.dispersion_removal: true"
    worst = min(layers, key=lambda layer: layer.points_per_wavelength)
    kind = medium_name(worst)
    return (
        f"{text}, with {worst.points_per_wavelength:.2g} points per wavelength in the {kind} of "
        f"{worst.slowest:.5g} m/s at {discretization.highest_frequency:.4g} Hz, and all causes "
        f"together by {percent(expected.error)}; {_remedy(discretization, expected)}"
    )


def _remedy(discretization: Discretization, expected: Expected) -> str:
    """Name the grid, its layers or frequency that keep all causes together to the accuracy."""
    wanted = discretization.scenario.grid.accuracy
    named = []
    spacing, remaining, for_layers = _with_layers(discretization, expected)
    coarser = spacing / max(discretization.waves.spacing)
    if coarser < 1.0:
        higher = (
            ", with a higher grid.order a larger one,"
            if _disperses(discretization, remaining)
            else ""
        )
        lower = _lower_frequencies(discretization, coarser)
        named.append(f"use a grid.spacing of about {spacing:g} m{higher} or {lower}")
    layers = thicker(discretization, for_layers, coarser)
    of_layers = {
        SENT_BACK: layers,
        GRAZING: f"{'' if layers else 'raise boundaries.layer.points, or '}enlarge grid.extent",
    }
    others = [
        cause_of(name, discretization.scenario)
        for name, error in remaining.causes
        if not is_mended(discretization, name) and (error > 0.5 * wanted or name == SENT_BACK)
    ]
    remedies = (of_layers.get(cause.name) or cause.mend(discretization) for cause in others)
    moves = [remedy for remedy in remedies if remedy]
    worst = expected.causes[0][0]
    comes_first = not is_mended(discretization, worst) and worst != SENT_BACK
    named = moves + named if comes_first else named + moves
    return f"for {percent(wanted)} {', and '.join(named) or 'take another attenuation.law'}"


def _lower_frequencies(discretization: Discretization, share: float) -> str:
    """Name sources of lower frequencies: so many times as low; smoothed where they can be."""
    for k, source in enumerate(discretization.scenario.sources):
        if "smoothing" in type(source).model_fields:
            points = _POINTS * max(discretization.waves.spacing)
            half_duration = half_duration_of(discretization.waves.slowest / points)
            return (
                f"sources[{k}].smoothing of about {half_duration:.2g} s, with which waves have "
                f"{_POINTS:g} points in the shortest wavelength"
            )
    frequency = discretization.dominant_frequency
    return (
        f"a dominant frequency of about {rounded_down(share * frequency):g} Hz instead of "
        f"{frequency:.4g} Hz"
    )


def _with_layers(
    discretization: Discretization, expected: Expected
) -> tuple[float, Expected, float]:
    """Return a spacing in m, the errors expected there, and the error left to absorbing layers.

    Layers of as many points are thinner on a finer grid: where they send back more than that, a
    finer one leaves more to them.
    """
    wanted = discretization.scenario.grid.accuracy
    for_layers = 0.0
    for share in (1.0, _SHARE_OF_OTHERS):
        spacing, remaining = _finer(discretization, expected, share * wanted)
        others = min(share * wanted, mended(discretization, remaining).error)
        for_layers = math.sqrt(wanted**2 - others**2)
        coarser = spacing / max(discretization.waves.spacing)
        layers = sent_back(discretization, None, coarser, wanted)
        if for_layers > _LEFT * wanted or layers <= max(for_layers, _LITTLE * wanted):
            break
    return spacing, remaining, max(for_layers, _LITTLE * wanted)


def _finer(
    discretization: Discretization, expected: Expected, wanted: float
) -> tuple[float, Expected]:
    """Return the spacing in m that mends errors, and the errors expected there.

    Where the earth varies with depth only, spacings are tried from that on which suits dispersion:
    errors by contacts follow no law, and sources leave the rows of the surface. In others they
    are tried from that on which suits all laws, on grids that are soon prepared.

    Args:
        discretization: of the run.
        expected: of the run.
        wanted: relative error.
    """
    largest = max(discretization.waves.spacing)
    error = mended(discretization, expected).error
    if error <= wanted:
        return largest, expected
    power = 3.0  # at which errors fall with the spacing
    if discretization.earth.layered:
        coarser = _undispersed(discretization, wanted)
    else:
        power = _power_of_contacts(discretization, expected)
        within = partial(
            all_causes_within,
            discretization,
            mended(discretization, expected),
            power=power,
            wanted=wanted,
        )
        coarser = coarsest(within)
    # Of the spacing as it is the error is known.
    coarser = coarser if coarser < 1.0 else _falling(wanted / error, power)
    spacing = dividing(discretization, rounded_down(coarser * largest))
    for _ in range(TRIALS):
        points = discretization.grid.size * (largest / spacing) ** discretization.grid.dimensions
        if not discretization.earth.layered and points > MOST_TRIED:
            break
        try:
            expected = expected_error(discretize(of_spacing(discretization, spacing / largest)))
        except SeismoError:
            break
        error = mended(discretization, expected).error
        if error <= wanted:
            break
        spacing = dividing(discretization, rounded_down(spacing * _falling(wanted / error, power)))
    return spacing, expected


def _power_of_contacts(discretization: Discretization, expected: Expected) -> float:
    """Return the power of the spacing with which contacts err, from 1 to 2, by a coarser grid.

    Where they err by little, 2 without one; 1 where the coarser grid has no such contact.
    """
    error = _of_contacts(expected)
    if error < _LITTLE * discretization.scenario.grid.accuracy:
        return 2.0
    try:
        coarse_error = contacts_error(discretize(of_spacing(discretization, _COARSER)))
    except SeismoError:
        return 1.0
    return min(2.0, max(1.0, math.log(max(coarse_error, error) / error) / math.log(_COARSER)))


def _of_contacts(expected: Expected) -> float:
    return math.hypot(*(error for name, error in expected.causes if name.startswith(CONTACTS)))


def _falling(share: float, power: float) -> float:
    """Return the factor of the spacing with which to try for a share of the error."""
    return float(min(0.9, max(0.5, share ** (1.0 / power))))


def is_mended(discretization: Discretization, name: str) -> bool:
    """Whether a finer grid mends the error of a name."""
    return cause_of(name, discretization.scenario).falls_with_spacing(discretization)


def mended(discretization: Discretization, expected: Expected) -> Expected:
    """Return the errors of a run that a finer grid mends."""
    return Expected(
        tuple(error for error in expected.causes if is_mended(discretization, error[0]))
    )


def _disperses(discretization: Discretization, expected: Expected) -> bool:
    """Whether a higher order has less of the largest error where the accuracy is kept."""
    worst = cause_of(expected.causes[0][0], discretization.scenario)
    return discretization.stencil.order < 16 and worst.falls_with_order


def dividing(discretization: Discretization, spacing: float) -> float:
    """Return the largest spacing below a given one that divides the extents, if it is near."""
    extents = [e for e in (getattr(discretization.scenario.grid.extent, a) for a in "xyz") if e]
    first = math.ceil(extents[0] / spacing * (1.0 - 1e-9))
    for cells in range(first, int(extents[0] / (_NEAR * spacing)) + 1):
        finer = extents[0] / cells
        counts = [extent / finer for extent in extents]
        is_short = float(f"{finer:.3g}") == finer
        if is_short and all(abs(count - round(count)) < 1e-9 * count for count in counts):
            return finer
    return spacing


def coarsest(within: Callable[[float], bool]) -> float:
    """Return by how much larger the spacing may be for an error to keep to the accuracy."""
    low = 1.0 / _MOST_COARSER
    high = _MOST_COARSER
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        if within(middle):
            low = middle
        else:
            high = middle
    return low


def _undispersed(discretization: Discretization, wanted: float) -> float:
    """Return by how much larger the spacing may be for dispersion to err as much as is wanted."""
    return coarsest(
        partial(_disperses_within, discretization, discretization.stencil.order, wanted)
    )


def _scaled(discretization: Discretization, factor: float) -> Waves:
    """Return the waves of a grid so many times as coarse."""
    waves = discretization.waves
    return replace(waves, dt=0.0, spacing=tuple(factor * h for h in waves.spacing))


def _disperses_within(
    discretization: Discretization, order: int, accuracy: float, factor: float
) -> bool:
    """Whether waves on a grid so many times as coarse disperse by no more than an error."""
    waves = _scaled(discretization, factor)
    stencils = stencils_for(discretization.scenario.grid.stencil, order)
    return any(dispersion_error(waves, stencil) <= accuracy for stencil in stencils)


def all_causes_within(
    discretization: Discretization, expected: Expected, factor: float, order: int | None = None,
    power: float = 2.0, wanted: float | None = None,
) -> bool:  # fmt: skip
    """Whether all causes together keep to the accuracy on a grid so many times as coarse.

    The error that contacts leave falls with a power of the spacing.
    """
    order = order or discretization.stencil.order
    wanted = wanted or discretization.scenario.grid.accuracy
    errors = [surface_error(_scaled(discretization, factor)), placing_error(discretization, factor)]
    for name, error in expected.causes:
        fall = power if name.startswith(CONTACTS) else cause_of(name, discretization.scenario).power
        if fall is not None:
            errors.append(error * factor**fall)
    others = math.hypot(*errors)
    # Their remainder is left to dispersion; no stencil errs by less than nothing.
    remaining = math.sqrt(max(0.0, wanted**2 - others**2))
    return others <= wanted and _disperses_within(discretization, order, remaining, factor)


# Time of a simulated second beside order 8 on the same grid (`seismo.solver.accuracy.stencil`): of
# a step, over the length of its time.
_ORDER_COST = {8: 1.0, 12: 1.3 / 0.94, 16: 1.65 / 0.91}
_CHEAPER = 0.7  # share of the work from which on a coarser grid is named
_TOO_COARSE = 0.92  # factor of the spacing after a grid that errs by too much


@dataclass(frozen=True)
class CheaperGrid:
    """A grid that keeps to the wanted accuracy by less work.

    Attributes:
        order: of the differences.
        spacing: in m.
        work: beside that of the run as it is.
        error: of the traces, expected.
    """

    order: int
    spacing: float
    work: float
    error: float

    def __str__(self) -> str:
        """Name the two keys, and the work that they save."""
        return (
            f"a grid.spacing of about {self.spacing:g} m with grid.order {self.order} is expected "
            f"to err by {percent(self.error)}, and takes {self.work:.2g} of the work"
        )


def cheaper_grid(discretization: Discretization, expected: Expected) -> CheaperGrid | None:
    """Return the grid that takes least work for the wanted accuracy, if it saves a third.

    Each order is tried on the coarsest grid whose causes of errors together keep to it, and what is
    expected of that grid is asked as of any other.
    """
    spec = discretization.scenario.grid
    refined = bool(discretization.scenario.grid.planes)
    if expected.error > spec.accuracy or spec.stencil != "fitted" or refined:
        return None
    kept = mended(discretization, expected)
    factors = {
        order: coarsest(partial(all_causes_within, discretization, kept, order=order))
        for order in _ORDER_COST
    }
    order = min(factors, key=lambda order: _work(discretization, order, factors[order]))
    coarser = factors[order]
    largest = max(discretization.waves.spacing)
    for _ in range(TRIALS):
        spacing = dividing(discretization, rounded_down(coarser * largest))
        work = _work(discretization, order, spacing / largest)
        points = discretization.grid.size * (largest / spacing) ** discretization.grid.dimensions
        if work > _CHEAPER or not (discretization.earth.layered or points < MOST_TRIED):
            return None
        try:
            scenario = of_spacing(discretization, spacing / largest).changed({"grid.order": order})
            error = expected_error(discretize(scenario)).error
        except SeismoError:
            return None
        if error <= spec.accuracy:
            return CheaperGrid(order, spacing, work, error)
        coarser *= _TOO_COARSE
    return None


def _work(discretization: Discretization, order: int, coarser: float) -> float:
    """Return the work of an order on a grid so many times as coarse, beside that of the run."""
    current = discretization.stencil.order
    now = _ORDER_COST.get(current, order_factor(current))
    return _ORDER_COST[order] / now / coarser ** (discretization.grid.dimensions + 1)
