"""Remedies of errors: the grid with which the traces of a run keep to the wanted accuracy.

At another spacing dispersion, the free surface and the weights between grid points err as at their
points per wavelength there. Errors by contacts fall with the square of the spacing at least
(measured powers are 2 to 3.2). Sources beside contacts where the earth varies sideways err by their
distance in points: a finer grid does not mend that for sure. Absorbing layers of as many points are
thinner on a finer grid, so that their points are sought for the spacing that is named. Errors by
mechanisms that are no law are the same on any grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from seismo.acquisition.wavelet_shapes import half_duration_of
from seismo.errors import SeismoError
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import (
    CONTACTS,
    PLACING,
    SENT_BACK,
    SURFACE,
    Expected,
    cause_of,
    contacts_error,
    expected_error,
    placing_error,
    sent_back,
)
from seismo.runs.prediction.layer_reflections import GRAZING
from seismo.runs.prediction.lines import percent, rounded_down
from seismo.runs.prediction.resolution import LayerResolution, of_spacing
from seismo.scenario.sections.grid import MOST_LAYER_POINTS
from seismo.solver.accuracy.stencil import dispersion_error, stencils_for, surface_error
from seismo.solver.accuracy.waves import Waves
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.grid_layout import FACES

_BISECTIONS = 14  # of the spacing, in search of the wanted accuracy
_MOST_COARSER = 30.0  # factor of the spacing in that search
_COARSER = 1.5  # factor of the spacing of the grid by which contacts are judged
_LITTLE = 0.1  # of the wanted error, below which they are not judged
_NEAR = 0.9  # share of a spacing down to which a spacing that divides the extents is taken
TRIALS = 4  # finer grids where the earth varies sideways
_SHARE_OF_OTHERS = 0.7  # of the wanted error, that others may have where layers err, too
_LEFT = 0.5  # of the wanted error: layers need no more
_POINTS = 6.0  # in the shortest wavelength of faults that are smoothed
LEAST_POINTS = 10
LEAST_THICKNESS = 0.1  # of the longest dominant wavelength
MOST_TRIED = 1e6  # points of a grid that is prepared where the earth varies sideways
_COSTLY = 1.5  # times as many points of the grid, from which on they are said
_FEW = 50  # of so many points the last does not matter
_SEARCHED = 12  # numbers of points, between two of which the first suffices and the second does not
CLOSE = 1.02  # times the wanted error, which counts as met


def points_needed(discretization: Discretization, layers: list[LayerResolution]) -> float:
    """Return the points in the shortest wavelength with which dispersion keeps to the accuracy."""
    return min(layer.points_per_wavelength for layer in layers) / undispersed(
        discretization, discretization.scenario.grid.accuracy
    )


def remedy_of(discretization: Discretization, expected: Expected) -> str:
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


def has_chosen_grid(discretization: Discretization) -> bool:
    """Whether the spacing was left to the program."""
    return "grid.spacing" in discretization.scenario.chosen


def unreached(discretization: Discretization, expected: Expected) -> str:
    """Describe the cause that keeps a chosen grid from the wanted accuracy, and its remedy."""
    wanted = discretization.scenario.grid.accuracy
    others = [cause for cause in expected.causes if not is_mended(discretization, cause[0])]
    name, error = next((c for c in others if c[1] > _LEFT * expected.error), expected.causes[0])
    remedy = cause_of(name, discretization.scenario).mend(discretization)
    if name in (SENT_BACK, GRAZING):
        remedy = "enlarge grid.extent, or lower time.duration"
    elif is_mended(discretization, name):
        remedy = "give a finer grid.spacing"
    return (
        f"{percent(wanted)} is not reached by a chosen grid: {name} err by {percent(error)}, all "
        f"causes by {percent(expected.error)}{'; ' * bool(remedy)}{remedy}"
    )


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

    Layers of as many points are thinner on a finer grid: where they reflect more than that, a finer
    grid leaves more to them.
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
    """Return the spacing in m that mends errors, and the errors expected there, but of layers.

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
        coarser = undispersed(discretization, wanted)
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
            finer = discretize(of_spacing(discretization, spacing / largest))
            expected = expected_error(finer, of_layers=0.0)
        except SeismoError:
            break
        error = mended(discretization, expected).error
        if error <= wanted:
            break
        spacing = dividing(discretization, rounded_down(spacing * _falling(wanted / error, power)))
    return spacing, expected


def _power_of_contacts(discretization: Discretization, expected: Expected) -> float:
    """Return the power of the spacing with which contacts err, from 1 to 2, by a coarser grid.

    Where they err by little, 2 without a contact; 1 where the coarser grid has no such contact.
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
    """Return the largest spacing below a given spacing that divides the extents, if it is near."""
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


def undispersed(discretization: Discretization, wanted: float) -> float:
    """Return by how much larger the spacing may be for dispersion to err as much as is wanted."""
    return coarsest(partial(disperses_within, discretization, discretization.stencil.order, wanted))


def _scaled(discretization: Discretization, factor: float) -> Waves:
    """Return the waves of a grid so many times as coarse."""
    waves = discretization.waves
    return replace(waves, dt=0.0, spacing=tuple(factor * h for h in waves.spacing))


def disperses_within(
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

    Errors of contacts, and of causes without a law, fall with a power of the spacing.
    """
    order = order or discretization.stencil.order
    wanted = wanted or discretization.scenario.grid.accuracy
    # A surface's error grows as its laws do, whatever they are off by.
    growth = surface_error(_scaled(discretization, factor)) / (
        surface_error(discretization.waves) or 1.0
    )
    errors = []
    for name, error in expected.causes:
        cause = cause_of(name, discretization.scenario)
        if name == SURFACE:
            errors.append(error * growth)
        elif name != PLACING and not cause.falls_with_order:
            errors.append(error * factor ** (cause.power or power))

    def disperses_little(others: float) -> bool:
        # Their remainder is left to dispersion; no stencil errs by less than nothing.
        remaining = math.sqrt(max(0.0, wanted**2 - others**2))
        return others <= wanted and disperses_within(discretization, order, remaining, factor)

    # Weights between grid points, which take longest, are asked where the others suit.
    others = math.hypot(*errors)
    return disperses_little(others) and disperses_little(
        math.hypot(others, placing_error(discretization, factor))
    )


def longest_wavelength(discretization: Discretization) -> float:
    """Return the longest dominant wavelength in m."""
    return discretization.fastest / discretization.dominant_frequency


def absorbing_spacing(discretization: Discretization) -> float:
    """Return the least spacing in m across absorbing layers, 0 without any."""
    boundaries = discretization.scenario.boundaries
    kinds = {a: [getattr(boundaries, face) for face in FACES[a]] for a in discretization.grid.axes}
    spacings = (
        discretization.grid.spacing[AXES.index(a)] for a in kinds if "absorbing" in kinds[a]
    )
    return min(spacings, default=0.0)


def advised_points(discretization: Discretization, coarser: float = 1.0) -> int:
    """Return the points of layers that are thick enough for the longest waves, at least its own.

    Args:
        discretization: of the run.
        coarser: times as large a spacing as its own.
    """
    present = discretization.scenario.boundaries.layer.points
    spacing = coarser * absorbing_spacing(discretization)
    if not spacing:
        return present
    thick = math.ceil(LEAST_THICKNESS * longest_wavelength(discretization) / spacing * (1.0 - 1e-9))
    points = min(MOST_LAYER_POINTS, max(LEAST_POINTS, thick))
    if points <= present:
        return present
    # Waves grow sooner in more points, which are damped sooner, and may reflect more then.
    wanted = discretization.scenario.grid.accuracy
    errors = [sent_back(discretization, n, coarser, wanted) for n in (present, points)]
    return present if errors[1] > errors[0] else points


def thicker(discretization: Discretization, wanted: float, coarser: float = 1.0) -> str:
    """Name the points of layers that send back no more than is wanted, nothing where its own do.

    Args:
        discretization: of the run.
        wanted: relative error by layers.
        coarser: times as large a spacing as its own.
    """
    if not absorbing_spacing(discretization):
        return ""
    least = advised_points(discretization, coarser)
    aim = wanted
    for _ in range(2):
        points, error = least_points(
            lambda n: sent_back(discretization, n, coarser, wanted), aim, least
        )
        sent_there = _on_its_grid(discretization, points, coarser, wanted) if error <= aim else None
        if sent_there is None or sent_there <= CLOSE * wanted:
            break
        aim *= wanted / sent_there
    if points == discretization.scenario.boundaries.layer.points:
        return ""
    return raised(discretization, points, coarser, error if error > aim else 0.0)


def raised(discretization: Discretization, points: int, coarser: float, error: float) -> str:
    """Describe the points that layers need, their cost, and their remaining error if too large."""
    text = f"raise boundaries.layer.points to {points}{_cost(discretization, points, coarser)}"
    if not error:
        return text
    return (
        f"{text}, with which they err by {percent(error)}, and enlarge grid.extent, so that "
        "absorbing layers lie further away"
    )


def least_points(
    sent: Callable[[int], float], wanted: float, least: int, most: int = MOST_LAYER_POINTS,
    few: int = _FEW,
) -> tuple[int, float]:  # fmt: skip
    """Return the fewest points, from a first on, that reflect no more than wanted, and how much.

    Where none do, the most that there may be.

    Args:
        sent: function(points) -> relative error.
        wanted: relative error.
        least: points.
        most: points.
        few: of so many points the last does not matter.
    """
    few_points = points = least
    few_error = error = sent(points)
    while error > wanted:
        if points == most:
            return points, error
        few_points = points
        few_error = error
        points = min(2 * points, most)
        error = sent(points)
    for _ in range(_SEARCHED):
        if points <= few_points + 1 + few_points // few:
            break
        # By the power of the points with which it falls between both.
        share = math.log(few_error / wanted) / math.log(few_error / max(error, 1e-3 * wanted))
        middle = round(few_points * (points / few_points) ** share)
        middle = min(points - 1, max(few_points + 1, middle))
        middle_error = sent(middle)
        if middle_error <= wanted:
            points = middle
            error = middle_error
        else:
            few_points = middle
            few_error = middle_error
    return points, error


def _on_its_grid(
    discretization: Discretization, points: int, coarser: float, wanted: float
) -> float | None:
    """Return the layers' reflection on a grid that is prepared with them, if it is small."""
    if discretization.grid.size / coarser**discretization.grid.dimensions > MOST_TRIED:
        return None
    try:
        scenario = of_spacing(discretization, coarser).changed({"boundaries.layer.points": points})
        return sent_back(discretize(scenario), beside=wanted)
    except SeismoError:
        return None


def _cost(discretization: Discretization, points: int, coarser: float) -> str:
    """Name how much larger the grid is with so many points of layers, and such a spacing."""
    grid = discretization.grid
    added_points = points - discretization.scenario.boundaries.layer.points
    times = 1.0
    for n, low, high in zip(grid.points, grid.low, grid.high, strict=True):
        if n > 1:
            inside = (n - low - high) / coarser
            faces = (low > 0) + (high > 0)
            times *= (inside + low + high + added_points * faces) / n
    if times <= _COSTLY:
        return ""
    if coarser == 1.0:
        return f" ({_plain(times)} times as many points of the grid)"
    return (
        f" with that spacing (together {_plain(times)} times as many points of the grid, "
        f"{_plain(times / coarser)} times the work)"
    )


def _plain(times: float) -> str:
    """Format a factor to two digits, without an exponent."""
    return f"{float(f'{times:.2g}'):.10g}"
