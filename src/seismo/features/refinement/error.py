"""Expected error of a run on two grids: by the plane where they meet, and of each grid.

Each grid has the receivers and sources on its side; a cause of both counts as it is on the worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.features.refinement.levels import on_side, with_ends
from seismo.features.refinement.operators import READ_ABOVE, READ_AMONG, READ_BELOW
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import (
    BESIDE,
    READ_BESIDE,
    SENT_BACK,
    Expected,
    expected_error,
    sent_back,
)
from seismo.runs.prediction.assess import Assessment, Remedy, cautions, of_survey, warned_of
from seismo.runs.prediction.checks.thin_bodies import hidden_error
from seismo.runs.prediction.contacts.stacks import in_layers
from seismo.runs.prediction.layer_reflections import GRAZING
from seismo.runs.prediction.lines import Report, percent
from seismo.runs.prediction.remedy import (
    CLOSE,
    advised_points,
    least_points,
    raised,
    remedy_of,
    unreached,
)
from seismo.runs.prediction.resolution import layers_of
from seismo.scenario.sections.grid import MOST_LAYER_POINTS
from seismo.scenario.units import with_unit
from seismo.solver.accuracy.stencil import RAYLEIGH, PowerLaw, crossing_error, rayleigh_phase
from seismo.solver.discretization import Discretization, derived_once

CROSSING = "waves that cross the plane of refinement"
AMONG = "contacts next to the plane of refinement"
ALONG = "Rayleigh waves along the plane of refinement"
# Relative error of the velocity of Rayleigh waves over a plane, by the points in a wavelength of S
# waves below it, for a plane on the surface; it falls as their energy there, by the depth of the
# plane in their wavelengths. Half-space, vp/vs = 1.76, planes 0.3 to 1.3 wavelengths deep, 10 to 50
# points: within 20 % at orders 6 to 12, within a factor of two at order 4.
RAYLEIGH_ALONG = {2: PowerLaw(3e-3, 3.2), 4: PowerLaw(1.75e-3, 4.3)}
_RAYLEIGH_ALONG = PowerLaw(2.6e-3, 4.65)  # of other orders
RAYLEIGH_DECAY = 4.9
# Reflection at vertical incidence of contacts among the rows next to the plane, below it, by the
# points in a wavelength and for each of the rows. Contacts on the plane, or above it, err no more
# than elsewhere.
AMONG_ROWS = PowerLaw(0.13, 1.6)
_AMONG_ROWS = np.array([0.5, 1.0, 0.7, 0.4])
# Reflection by the sides of soft layers that end in each of the rows above the plane: layers of one
# cell of a third of the velocities, forces above them and below the plane.
THIN = "thin layers next to the plane of refinement"
THIN_ABOVE = np.array([0.25, 0.37, 0.12, 0.12, 0.045, 0.008])
_ROWS_ABOVE = 9  # in which they begin
# Bodies of a third of a cell below the plane, of 0.4 of the velocities, err by 0.1 to 1.3 %, where
# this share of their contrast tells 1.7 %.
NARROW = "bodies between the nodes below the plane of refinement"
NARROW_SHARE = 0.5
# Motion along the plane, of S waves that cross it, as it is read beside it: the largest error by
# the points in a wavelength below it, which falls with the square of the cosine of the incidence,
# and its share by the rows of the coarser grid below the plane. SH waves and forces along x, orders
# 4 to 12, 5 to 12 points in the shortest wavelength, strains and stresses too: to a factor of 3.
# P waves have less.
READING = "receivers next to the plane of refinement"
READ_LAW = PowerLaw(0.11, 2.1)
_READ_SHARES = {
    -1.6: 0.0, -1.3: 0.15, -0.9: 0.3, -0.6: 0.8, 0.0: 1.0, 0.5: 0.5, 0.9: 0.7, 1.3: 0.5, 1.8: 0.7,
    2.3: 1.0, 2.7: 0.6, 3.2: 0.25, 4.0: 0.3, 5.5: 0.3, 5.9: 0.15, 6.4: 0.05, 7.0: 0.0,
}  # fmt: skip
_OF_P_WAVES = 0.4
_SAMPLES = 4  # in a row
_CONTACT = 0.03  # sent back by a contact
_REMEDIES = {
    BESIDE: "move sources away from contacts of media",
    READ_BESIDE: "move receivers away from contacts of media",
    GRAZING: "use more boundaries.layer.points, or a larger grid.extent",
    READING: "move receivers away from the plane of grid.refinement",
}
_LEFT = 0.5  # of the wanted error: absorbing layers need no more
_WITHIN = 1.2  # times the error wanted of layers, which is met
_LINES = {2: 1001, 3: 101}  # on which the earth there is looked at, along x and y
_MOST_ENDS = 200  # sources, and receivers, between which ways are sought
_MOST_WAYS = 12
READ_ERROR = 0.05  # of maps beside it, of motion and normal strains along it the most
STRAIN_ERROR = 0.3  # of strain and rotation there where they are differences of velocities
_STRAINS = {"strain_rate", "rotation", "divergence"}
AMONG_ERROR = 0.7  # of stresses there, with a contact among the rows above it
_NONE = (
    "auto: no plane spares a fifth of the points, below which waves are three times as long as the "
    "slowest, that these cross accurately, with room above and below, and away from sources, "
    "receivers, maps and contacts of fluid and solid"
)


@derived_once
def refinement_error(discretization: Discretization) -> float:
    """Return the relative error of waves that cross the plane, 0 without a plane.

    Where nothing acts or is read below it, in a single rock, only the plane's reflection.
    """
    if discretization.above is None:
        return 0.0
    waves = discretization.waves
    largest = max(waves.spacing)
    order = discretization.stencil.order
    ways = [(waves.slowest, 1.0)]
    if _is_single_rock(discretization):
        ways = _ways_back(discretization) or ways
    return max(
        share * crossing_error(waves.spectra, order, velocity, largest) for velocity, share in ways
    )


def _is_single_rock(discretization: Discretization) -> bool:
    """Whether both grids have the same rock, under flat ground."""
    above = discretization.above
    return (
        above is not None
        and discretization.extremes == above.extremes
        and discretization.extremes.uniform
        and discretization.ground is None
    )


@derived_once
def reading_errors(discretization: Discretization) -> dict[str, float]:
    """Return the relative error of receivers next to the plane, by the name of their set."""
    if discretization.above is None:
        return {}
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * discretization.grid.spacing[2])
    worst = waves.spectra.error(READ_LAW(points)) * (1.0 if waves.shear else _OF_P_WAVES)
    plane = float(discretization.grid.coordinate("z", discretization.plane_rows.plane))
    sources = np.array(
        [source.position for shot in discretization.shots for source in shot.sources]
    )
    errors = {}
    for group in discretization.groups:
        share = 0.0
        for pair in paths_of(sources, [group]):
            acting, reading = (thinned(ends, _MOST_ENDS) for ends in pair)
            rows = (reading[:, 2] - plane) / discretization.grid.spacing[2]
            beside = np.interp(rows, [*_READ_SHARES], [*_READ_SHARES.values()])
            offset = acting[:, None] - reading[None]
            squares = np.maximum((offset**2).sum(axis=-1), discretization.grid.spacing[2] ** 2)
            upright = offset[..., 2] ** 2 / squares if _is_single_rock(discretization) else 1.0
            share = max(share, float((beside * upright).max(initial=0.0)))
        errors[group.name] = share * worst
    return errors


def _ways_back(discretization: Discretization) -> list[tuple[float, float]]:
    """Return the ways from sources to receivers by the plane that err most; none from below it.

    A wave at an angle to the vertical has 1 / cos as many points along z. By spreading it is weaker
    than the direct wave.

    Returns:
        the velocity in m/s that has those points at vertical incidence, and the amplitude of the
        reflection over the direct wave's.
    """
    if any(grid.maps for grid in discretization.grids_of_spacing):
        return []
    sources = np.array(
        [source.position for shot in discretization.shots for source in shot.sources]
    )
    plane = float(discretization.grid.coordinate("z", discretization.plane_rows.plane))
    power = 0.5 * (discretization.grid.dimensions - 1)
    ways = []
    for pair in paths_of(sources, discretization.groups):
        acting, reading = (ends[:: -(-len(ends) // _MOST_ENDS)] for ends in pair)
        if max(acting[:, 2].max(), reading[:, 2].max()) > plane:
            return []
        offset = acting[:, None] - reading[None]
        down = 2.0 * plane - acting[:, None, 2] - reading[None, :, 2]
        way = np.hypot(np.linalg.norm(offset[..., :2], axis=-1), down)
        cosines = down / way
        shares = (np.linalg.norm(offset, axis=-1) / way) ** power
        # Those that err most: errors grow with about the fourth power of the cosine.
        for n in np.argsort(-shares * cosines**4, axis=None)[:_MOST_WAYS]:
            ways.append((discretization.waves.slowest / cosines.flat[n], float(shares.flat[n])))
    return ways


def along_error(discretization: Discretization) -> float:
    """Return the relative error of Rayleigh waves that travel above the plane, and below it."""
    fine = discretization.above
    if fine is None or fine.waves.surface is None:
        return 0.0
    # The rock at the plane carries waves so deep.
    rock = min(
        (passage.medium for passage in discretization.waves.passages), key=lambda medium: medium.top
    )
    if not (rock.vp and rock.vs):
        return 0.0
    waves = fine.waves
    frequency = waves.spectra.frequency
    points = rock.slowest / (frequency * max(discretization.waves.spacing))
    depth = (fine.grid.coordinate("z", fine.plane_rows.plane) - fine.grid.origin[2]) * frequency
    decay = np.exp(-RAYLEIGH_DECAY * depth / (RAYLEIGH * rock.slowest))
    law = RAYLEIGH_ALONG.get(discretization.stencil.order, _RAYLEIGH_ALONG)
    return waves.spectra.error(rayleigh_phase(waves, rock.slowest, law(points) * decay))


@derived_once
def contact_error(discretization: Discretization) -> float:
    """Return the relative error by contacts among the rows below the plane."""
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * max(waves.spacing))
    worst = max(_AMONG_ROWS * _reflections(discretization))
    return waves.spectra.error(worst * AMONG_ROWS(points))


@derived_once
def _reflections(discretization: Discretization) -> np.ndarray:
    """Return the reflection at vertical incidence from between rows below the plane, (rows)."""
    rows = np.arange(_SAMPLES * len(_AMONG_ROWS) + 1) / _SAMPLES
    worst = np.zeros(len(_AMONG_ROWS))
    for reflection in _sent_back(discretization, discretization.live_grid.coordinate("z", rows)):
        between = reflection.reshape(len(worst), _SAMPLES, -1)
        # All contacts of a row together, or a single side of thinner layers.
        largest = np.maximum(np.abs(between.sum(axis=1)), np.abs(between).max(axis=1))
        worst = np.maximum(worst, largest.max(axis=1))
    return worst


def _sent_back(discretization: Discretization, z: np.ndarray) -> list[np.ndarray]:
    """Return the reflections of P and S waves at vertical incidence between depths z (n) in m."""
    rows = discretization.live_grid
    count = _LINES[rows.dimensions]
    x = np.linspace(*rows.limits("x"), count)
    y = np.linspace(*rows.limits("y"), count)[:, None] if "y" in rows.axes else None
    samples = discretization.earth.sample(z[:, None, None], y, x)
    rho = samples.get("rho", 1.0)
    coefficients = []
    for speed in (samples[name] for name in ("vp", "vs") if name in samples):
        impedance = np.broadcast_to(rho * speed, np.broadcast_shapes(speed.shape, (z.size, 1, 1)))
        total = np.maximum(impedance[1:] + impedance[:-1], 1e-9)
        coefficients.append(np.diff(impedance, axis=0) / total)
    return coefficients


@derived_once
def _sent_back_above(fine: Discretization) -> list[np.ndarray]:
    """Return the same between depths above the plane, from there upwards."""
    # A contact on the plane is none of its rows'.
    rows = (np.arange(_SAMPLES * _ROWS_ABOVE + 1) + 0.5) / _SAMPLES
    return _sent_back(fine, fine.grid.coordinate("z", fine.plane_rows.plane - rows))


def thin_error(discretization: Discretization) -> float:
    """Return the relative error by soft layers that end among the closed rows above the plane."""
    if discretization.above is None:
        return 0.0
    worst = 0.0
    for coefficients in _sent_back_above(discretization.above):
        by_row = coefficients.reshape(_ROWS_ABOVE, _SAMPLES, -1)
        sides = [np.maximum(sign * by_row, 0.0).sum(axis=1) for sign in (1.0, -1.0)]
        for ending, beginning in (sides, sides[::-1]):
            # What ends in a row begins somewhere above that end.
            thin = np.minimum(ending, beginning.sum(axis=0))[: len(THIN_ABOVE)]
            worst = max(worst, float((THIN_ABOVE[:, None] * thin).max()))
    return min(1.0, worst)


def narrow_error(discretization: Discretization) -> float:
    """Return the relative error by bodies that lie between the nodes below the plane.

    Layers that reach across the grid are evaluated as they are (`layered_error`).
    """
    if discretization.above is None or in_layers(discretization):
        return 0.0
    return hidden_error(on_side(discretization), _SAMPLES, NARROW_SHARE)


def refined_error(discretization: Discretization) -> Expected:
    """Predict the error of the traces of a run on two grids."""
    each = [_error_on(grid) for grid in discretization.grids_of_spacing]
    causes = {
        CROSSING: refinement_error(discretization),
        ALONG: along_error(discretization),
        AMONG: contact_error(discretization),
        THIN: thin_error(discretization),
        NARROW: narrow_error(discretization),
        READING: max(reading_errors(discretization).values(), default=0.0),
    }
    for cause_name, error in (cause for expected in each for cause in expected.causes):
        causes[cause_name] = max(error, causes.get(cause_name, 0.0))
    return Expected(
        tuple(sorted(causes.items(), key=lambda cause: -cause[1])),
        _worst(pair for expected in each for pair in expected.sets),
        tuple(source for expected in each for source in expected.near_sources),
        tuple(group for expected in each for group in expected.reading),
    )


def _error_on(grid: Discretization) -> Expected:
    """Predict the error on a grid's side, where sources and receivers may lie on the other."""
    side = on_side(grid)
    expected = expected_error(with_ends(grid))
    # Those that stand for others at the plane lie beside no contact.
    if not any(shot.sources for shot in side.shots):
        expected = replace(_without(expected, BESIDE), near_sources=())
    if not side.groups:
        expected = replace(_without(expected, READ_BESIDE), reading=())
    return expected


def _without(expected: Expected, cause: str) -> Expected:
    return replace(
        expected,
        causes=tuple(
            cause_and_error for cause_and_error in expected.causes if cause_and_error[0] != cause
        ),
    )


def refined_remedy(discretization: Discretization, expected: Expected) -> str:
    """Return the remedy to reach the wanted accuracy on two grids, where no warning says so."""
    if expected.error <= discretization.scenario.grid.accuracy or warned_of(
        discretization, expected
    ):
        return ""
    return _remedy(discretization, expected)


def _remedy(discretization: Discretization, expected: Expected) -> str:
    accuracy = discretization.scenario.grid.accuracy
    # Each cause that alone errs more has its own, the others a finer grid.
    causes = [cause_name for cause_name, error in expected.causes if error > accuracy]
    remedies = dict(_REMEDIES)
    others = math.hypot(
        *(e for cause_name, e in expected.causes if cause_name not in (*_REMEDIES, SENT_BACK))
    )
    for_layers = math.sqrt(max(0.0, accuracy**2 - others**2))
    if dict(expected.causes).get(SENT_BACK, 0.0) > max(for_layers, _LEFT * accuracy):
        causes.append(SENT_BACK)
        remedies[SENT_BACK] = _thicker(discretization, max(for_layers, _LEFT * accuracy))
    texts = [text for cause_name, text in remedies.items() if cause_name in causes]
    if not causes or not remedies.keys() >= set(causes) or others > accuracy:
        texts.append("use a smaller grid.spacing, or a deeper plane of grid.refinement")
    return f"for {percent(accuracy)} {'; '.join(texts)}"


def _thicker(discretization: Discretization, wanted: float) -> str:
    """Name the points of layers on two grids that send back no more than is wanted.

    Layers of the finer grid, as thick, have three times the points: they are looked at least often.
    """
    present = discretization.scenario.boundaries.layer.points
    coarse, fine = (with_ends(grid) for grid in discretization.grids_of_spacing)
    finer = fine.scenario.boundaries.layer.points // present
    least = advised_points(coarse)
    aim = wanted
    for _ in range(2):
        points, error = least_points(lambda n: sent_back(coarse, n, 1.0, wanted), aim, least)
        sent_there = sent_back(fine, finer * points, 1.0, wanted)
        if max(error, sent_there) <= CLOSE * wanted or points == MOST_LAYER_POINTS:
            break
        aim *= wanted / sent_there
    worst = max(error, sent_there)
    return raised(discretization, points, 1.0, worst if worst > _WITHIN * wanted else 0.0)


def assess(discretization: Discretization, remedy: Remedy) -> Assessment | None:
    """Return the error and the warnings to expect of a run on two grids; None of a single grid.

    Remedies are those of two grids, where a `remedy` is sought as of a single one.
    """
    if discretization.above is None:
        return None
    f_max = discretization.highest_frequency
    expected = refined_error(of_survey(discretization))
    grids = [(grid, layers_of(grid, f_max)) for grid in (discretization.above, discretization)]
    lines = [*_inaccurate(discretization, expected, _remedy if remedy is remedy_of else remedy)]
    lines += [
        line for grid, layers in grids
        for line in cautions(on_side(grid), layers, expected, discretization, remedy)
    ]  # fmt: skip
    lines += beside_plane(discretization)
    # What is said of both grids is said once.
    every = [layer for _, layers in grids for layer in layers]
    return Assessment(f_max, every, expected, list(dict.fromkeys(lines)), refined_remedy)


def _inaccurate(
    discretization: Discretization, expected: Expected, remedy: Remedy
) -> Iterator[str]:
    """Warn of errors that other grids would avoid."""
    subject = warned_of(discretization, expected)
    if subject and expected.error > discretization.scenario.grid.accuracy:
        described = unreached if subject == "unreached" else remedy
        yield f"grid: the traces will err by {expected}; {described(discretization, expected)}"


def beside_plane(discretization: Discretization) -> Iterator[str]:
    """Warn of contacts so near the plane that the closed rows beside it err."""
    if discretization.above is None or discretization.interface is None:
        return
    yield from _beside_contacts(discretization, discretization.interface.row)
    plane = float(discretization.grid.coordinate("z", discretization.interface.row))
    # Contacts among the closed rows spoil stresses further up.
    most = max(np.abs(reflection).max() for reflection in _sent_back_above(discretization.above))
    is_among = most > _CONTACT
    rows_above = READ_AMONG if is_among else READ_ABOVE
    above = plane - rows_above * discretization.above.grid.spacing[2]
    below = plane + READ_BELOW * discretization.grid.spacing[2]

    def is_beside(positions: np.ndarray) -> np.ndarray:
        return (above < positions[:, 2]) & (positions[:, 2] < below)

    rows = (
        (map_.name, grid.grid.coordinate("z", np.array(map_.cut.index[2])))
        for grid in discretization.grids_of_spacing
        for map_ in grid.maps
    )
    of_maps = percent(AMONG_ERROR if is_among else READ_ERROR)
    for name, z in rows:
        if ((above < z) & (z < below)).any():
            yield (
                f"output.maps {name}: has points next to the plane of grid.refinement, where "
                f"fields err by up to {of_maps}: leave {above:g} to {below:g} m out"
            )
    for group in discretization.groups:
        recorded = {base for _, base, _ in group.components(discretization.physics).values()}
        error = AMONG_ERROR if is_among else reading_errors(discretization)[group.name]
        if count := group.count_where(is_beside):
            # Rock that attenuates has strains that stresses do not tell.
            lossy = discretization.earth.relaxation is not None and _STRAINS & recorded
            of_strains = f", strains and rotation by up to {percent(STRAIN_ERROR)}" if lossy else ""
            yield (
                f"receivers {group.name}: {count} next to the plane of grid.refinement, where "
                f"fields err by up to {percent(error)}{of_strains}: use z of {above:g} m or less, "
                f"or of {below:g} m or more"
            )


def _beside_contacts(discretization: Discretization, plane: int) -> Iterator[str]:
    """Warn of contacts among the rows below the plane, whose number is that of its nodes."""
    error = contact_error(discretization)
    if error <= discretization.scenario.grid.accuracy:
        return
    # The row below the contact that errs most, and the plane from which it is clear of the rows.
    row = plane + int(np.argmax(_AMONG_ROWS * _reflections(discretization))) + 1
    rows = (row - 1, row, row - len(_AMONG_ROWS) - 1)
    above, below, high = (float(discretization.grid.coordinate("z", n)) for n in rows)
    yield (
        f"grid.refinement: a contact of media between z = {above:g} and {below:g} m lies next to "
        f"the plane, below it, by which the traces err by {percent(error)}: use below: {below:g} m "
        f"or more, or {high:g} m or less"
    )


def _worst(pairs: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    sets: dict[str, float] = {}
    for name, error in pairs:
        sets[name] = max(error, sets.get(name, 0.0))
    return tuple(sets.items())


def refinement_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield how the grid is refined above a plane, against a uniformly fine grid."""
    if discretization.above is None:
        if discretization.scenario.grid.plane_is_open:
            yield "refinement", _NONE
        return
    above = discretization.above
    fine = above.grid
    size = " x ".join(str(above.live.shape[AXES.index(a)]) for a in fine.axes)
    uniform = discretization.live.size * above.subdivision**fine.dimensions + above.live.size
    yield (
        "refinement",
        f"above z = {with_unit(float(fine.coordinate('z', above.plane_rows.plane)), 'm')} "
        f"{size} points of {fine.spacing[0]:.4g} m, below it points of "
        f"{discretization.grid.spacing[0]:.4g} m: "
        f"{discretization.points / 1e6:.3g} million are updated in a step, "
        f"{discretization.points / uniform:.2g} of those that a uniform grid has; waves that "
        f"cross the plane err by {percent(refinement_error(discretization))}",
    )


REPORTS = (Report("grid", refinement_facts),)
