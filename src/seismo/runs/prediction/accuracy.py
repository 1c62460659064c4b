"""Expected error of the traces of a run, and its causes, before a step is taken.

Each cause gives a relative L2 error of the worst trace, integrated over the spectrum of the traces;
causes are taken as unrelated, so that their squares add up. Dispersion follows from the scheme
(`seismo.grid.coefficients`) and the longest path in each medium, reading and acting between grid
points from the weights (`seismo.grid.interpolation`), contacts of an earth that varies with depth
only from the scheme, too (`seismo.runs.prediction.contacts.layered_error`), others and boundaries
from laws that were measured (`seismo.runs.prediction.contacts.sideways`,
`seismo.solver.accuracy.stencil`). Contacts of VTI rocks count as contacts of isotropic rocks with
the same vp and vs. So do contacts of TTI rocks, with an error for the difference of their axes
(`seismo.runs.prediction.contacts.sideways`). In a single medium, waves go straight from source to
receiver; else the worst direction counts. A prediction is good to a factor of three.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.equations.framework.table import Field
from seismo.grid.grid import AXES
from seismo.grid.interpolation import axis_weights
from seismo.runs.prediction.checks.thin_bodies import thin_error
from seismo.runs.prediction.contacts.layered_error import (
    Contacts,
    closed_surface_error,
    layered_error,
)
from seismo.runs.prediction.contacts.near_contacts import (
    NearReceivers,
    NearSource,
    near_receivers,
    near_sources,
    reads_layers,
)
from seismo.runs.prediction.contacts.sideways import sideways_error
from seismo.runs.prediction.contacts.stacks import in_layers
from seismo.runs.prediction.contacts.trace_sampling import STRAINS
from seismo.runs.prediction.layer_images import images_error
from seismo.runs.prediction.layer_reflections import GRAZING, damped_error, grazing_error
from seismo.runs.prediction.lines import (
    Cause,
    causes_of_features,
    errors_of_features,
    never,
    percent,
)
from seismo.runs.prediction.resolution import (
    COUPLED,
    GRADIENTS,
    coupling_error,
    gradient_error,
)
from seismo.scenario import Scenario
from seismo.solver.accuracy.stencil import (
    matched_layer_error,
    passage_error,
    rock_layer_error,
    slowed,
    surface_error,
)
from seismo.solver.discretization import Discretization

_FROM_LAYERS = 0.5  # of the error of layers that damp the fields: see `_grazing`
# What comes back beside beds: in mean jumps of the modulus's logarithm from node to node where
# layers have their mean; beside beds apart, in squares of them up to a most, which is less where
# layers begin matched, with layers of `_POINTS` points, and less in more points.
# Measured beside stacks, coal seams, soft layers, permafrost and well logs, to a factor of 3.
_FROM_MEANS = 1.6
_FROM_BEDS = 5.7
_MOST_FROM_BEDS = 0.17
_MOST_FROM_SEAMS = 0.03
_POINTS = 12
_BY_POINTS = 1.3  # the power of the points
_GROWN = 8.0  # times the square of the time after the onset, over the onset: until all comes back
_LITTLE = 0.1  # of an error: share of another that counts as nothing beside it
_THICK = 0.1  # of the longest dominant wavelength: the thickness of layers whose law holds
_LONG_WAVES = {"displacement", "strain"}
_MOST_RAYS = 12
_MOST_ENDS = 200  # sources, and receivers, between which rays are sought
_MOST_PLACES = 2000
_PARTS = 40  # of a cell, as which places differ
_SAID = 0.5  # of the largest cause: causes named beside it
# The free surface errs by so much more, times the square of the ground's steepest slope: hills and
# canyons of 19, 30, 33 and 53 degrees, 4 points per wavelength, 1.4, 2.3, 2.1 and 6 times; at order
# 4 and 19 degrees 2.7 times.
_SLOPING = 3.0
_UNLIKE = 2.0  # times the error of another set of receivers, that is reported
_DISPERSION = "numerical dispersion"  # in each medium
# Other causes:
PLACING = "sources and receivers between grid points"
SURFACE = "the free surface"
CONTACTS = "contacts of media"
CLOSE_CONTACTS = f"{CONTACTS} closer than a cell"
BESIDE = "sources beside contacts"
READ_BESIDE = "receivers beside contacts"
SENT_BACK = "absorbing layers"


# Beside contacts where the earth varies sideways a finer grid does not mend errors for sure.
CAUSES = (
    Cause(_DISPERSION, falls_with_order=True),
    Cause(PLACING),
    Cause(COUPLED, power=4.0),
    Cause(GRADIENTS, power=2.0),
    Cause(SURFACE),
    Cause(CONTACTS),
    Cause(BESIDE, falls_with_spacing=reads_layers, remedy="move sources away from contacts"),
    Cause(READ_BESIDE, falls_with_spacing=reads_layers, remedy="move receivers away from contacts"),
    Cause(SENT_BACK, falls_with_spacing=never),
    Cause(GRAZING, falls_with_spacing=never),
)


def cause_of(name: str, scenario: Scenario) -> Cause:
    """Return the cause of an error by its name."""
    # Features are asked last: whether they apply is to be read from all of a model.
    for cause in CAUSES:
        if name.startswith(cause.name):
            return cause
    of_features = causes_of_features(scenario)
    return next((cause for cause in of_features if name.startswith(cause.name)), Cause(name))


@dataclass(frozen=True)
class Expected:
    """The predicted error of the traces.

    Attributes:
        causes: their names, and errors relative to a trace's L2 norm, the largest first.
        sets: error of the worst trace of each set of receivers, by name, where these differ.
        near_sources: the sources, each with the error of its amplitudes by a contact beside it.
        reading: the sets of receivers, each with the error of its traces by a contact beside it.
    """

    causes: tuple[tuple[str, float], ...]
    sets: tuple[tuple[str, float], ...] = ()
    near_sources: tuple[NearSource, ...] = ()
    reading: tuple[NearReceivers, ...] = ()

    @property
    def error(self) -> float:
        """Relative L2 error of the worst trace, of all causes together."""
        return math.hypot(*(error for _, error in self.causes))

    @property
    def dispersion(self) -> float:
        """Relative L2 error of the worst trace, of numerical dispersion in all media together."""
        return math.hypot(*(e for name, e in self.causes if name.startswith(_DISPERSION)))

    def __str__(self) -> str:
        """Describe it in a line."""
        largest = self.causes[0][1]
        named = [name for name, error in self.causes if error >= _SAID * largest][:2]
        return f"{percent(self.error)}, mostly from {' and '.join(named)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        causes = [{"cause": name, "error": error} for name, error in self.causes]
        sets = [{"name": name, "error": error} for name, error in self.sets]
        return {"error": self.error, "causes": causes, "receivers": sets}


def contacts_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by contacts of media, thin layers included."""
    return math.hypot(_contacts(discretization).error, thin_error(discretization))


def _contacts(discretization: Discretization) -> Contacts:
    if in_layers(discretization):
        return layered_error(discretization)
    return Contacts(sideways_error(discretization), False)


def expected_error(discretization: Discretization, of_layers: float | None = None) -> Expected:
    """Predict the error of the traces of a run; that of absorbing layers may be known."""
    causes = [
        *_dispersion(discretization),
        (PLACING, placing_error(discretization)),
        (COUPLED, coupling_error(discretization)),
        (GRADIENTS, gradient_error(discretization)),
        *errors_of_features(discretization, "medium"),
    ]
    contacts = _contacts(discretization)
    causes.append((SURFACE, 0.0 if contacts.surface else _surface(discretization)))
    causes += errors_of_features(discretization, "surface")
    causes.append((CONTACTS + " under the free surface" * contacts.surface, contacts.error))
    causes.append((CLOSE_CONTACTS, thin_error(discretization)))
    sources_at_contacts = tuple(near_sources(discretization))
    worst = max((source.error for source in sources_at_contacts), default=0.0)
    causes.append((BESIDE, min(1.0, worst)))
    causes += errors_of_features(discretization, "contacts")
    if of_layers is None:
        of_layers = sent_back(discretization, beside=math.hypot(*(e for _, e in causes)))
    causes.append((SENT_BACK, of_layers))
    causes.append((GRAZING, grazing_error(discretization)))
    others = math.hypot(*(error for name, error in causes if not name.startswith(CONTACTS)))
    receivers_at_contacts = tuple(near_receivers(discretization))
    beside = {group.name: min(1.0, group.error) for group in receivers_at_contacts}
    causes.append((READ_BESIDE, max(beside.values(), default=0.0)))
    sets = tuple(
        (name, math.hypot(others, error, beside.get(name, 0.0)))
        for name, error in contacts.sets.items()
    )
    causes.sort(key=lambda cause: -cause[1])
    return Expected(tuple(causes), _unlike(sets), sources_at_contacts, receivers_at_contacts)


def _surface(discretization: Discretization) -> float:
    """Return the relative error of the traces by a closed free surface.

    Of waves that come from below its rows that is what their sums say, of others what laws do.
    What a surface errs by has S waves: where sums do not know strains and stresses, they are
    vp / vs times those of P waves of the same motion, which is all that traces may have.
    """
    summed = closed_surface_error(discretization)
    names = {name for group in discretization.groups for name in group.quantities}
    top = min(
        (passage.medium for passage in discretization.waves.passages), key=lambda medium: medium.top
    )
    strained = top.vp / top.vs if names & STRAINS and top.vp and top.vs else 1.0
    error = surface_error(discretization.waves, from_below=not summed) * strained
    error = max(error, summed * (strained if discretization.grid.dimensions == 3 else 1.0))
    if discretization.vertical is not None:
        error *= 1.0 + _SLOPING * discretization.vertical.steepest**2
    return min(1.0, error)


def sent_back(
    discretization: Discretization, points: int | None = None, coarser: float = 1.0,
    beside: float = 0.0,
) -> float:  # fmt: skip
    """Return the relative error of the traces by reflections of absorbing layers.

    What is sent back in a part of the run counts by the share of that part, or, of matched layers,
    by the share of it recorded then.

    Args:
        discretization: of the run.
        points: of the layers, None for its own.
        coarser: times as large a spacing as its own.
        beside: error of other causes, or the wanted error: matched layers that send back little
            beside it whatever the path are not looked at more closely.
    """
    points = points or discretization.scenario.boundaries.layer.points
    is_little = _send_back_little(discretization, points, coarser, beside)
    steps = math.ceil(discretization.clock.steps / coarser)
    dt = coarser * discretization.clock.dt
    errors = []
    for first, end, damping in _phases(discretization, points, steps):
        until = end * dt if end < steps else math.inf
        known = None
        if not (damping or is_little):
            known = images_error(discretization, points, coarser, (first * dt, until))
        share = math.sqrt((end - first) / steps)
        if known is None:
            known = share * _of_layers(discretization, damping, points, coarser, (first, end))
        elif discretization.field_damping.outer:
            known = math.hypot(known, share * _of_beds(discretization, points, end))
        errors.append(known)
    return math.hypot(*errors)


def _phases(
    discretization: Discretization, points: int, steps: int
) -> Iterator[tuple[int, int, float]]:
    """Yield the first step, the one after the last, and the p of each part of a run."""
    phases = replace(discretization.field_damping, points=points).phases(steps)
    ends = [first for first, _ in phases[1:]] + [steps]
    for (first, damping), end in zip(phases, ends, strict=True):
        yield first, end, damping


def _send_back_little(
    discretization: Discretization, points: int, coarser: float, beside: float
) -> bool:
    """Whether matched layers send back little beside an error, and are no thinner than waves."""
    matched = matched_layer_error(points, discretization.physics.differences == "second")
    longest = discretization.fastest / discretization.dominant_frequency
    thickness = points * coarser * min(discretization.waves.spacing)
    if matched > _LITTLE * beside or thickness < _THICK * longest:
        return False
    names = {name for group in discretization.groups for name in group.quantities}
    present = discretization.scenario.boundaries.layer.points
    # Displacement has the longest waves: where its own layers reflect little, too.
    return not names & _LONG_WAVES or (
        (points, coarser) != (present, 1.0)
        and (images_error(discretization, present) or 0.0) <= _LITTLE * beside
    )


def layer_errors(discretization: Discretization) -> list[tuple[float, float]]:
    """Return from which time [s] on layers send back how much of the waves, for a whole trace."""
    points = discretization.scenario.boundaries.layer.points
    errors = []
    for first, end, damping in _phases(discretization, points, discretization.clock.steps):
        known = None if damping else images_error(discretization, points)
        if known is None:
            known = _of_layers(discretization, damping, points, 1.0, (first, end))
        elif discretization.field_damping.outer:
            known = math.hypot(known, _of_beds(discretization, points, end))
        errors.append((first * discretization.clock.dt, known))
    return errors


def _of_layers(
    discretization: Discretization, damping: float, points: int, coarser: float,
    steps: tuple[int, int],
) -> float:  # fmt: skip
    """Return what layers that damp the fields between two steps send back of a whole trace.

    And matched ones where no path is known.
    """
    if "absorbing" not in discretization.scenario.boundaries.model_dump().values():
        return 0.0
    matched = matched_layer_error(points, discretization.physics.differences == "second")
    if not damping:
        guides = discretization.field_damping.outer
        return math.hypot(matched, guides * _of_beds(discretization, points, steps[1]))
    if damping == discretization.field_damping.rocks:
        waves = replace(
            discretization.waves, spacing=tuple(coarser * h for h in discretization.waves.spacing)
        )
        return math.hypot(matched, rock_layer_error(waves, points, damping)) * _grazing(
            discretization
        )
    begin = steps[0] * coarser * discretization.clock.dt
    back = damped_error(discretization, damping, points, coarser, begin)
    if not discretization.field_damping.averaged:  # else beds guide waves of each incidence
        back *= _converted(discretization, damping)
    back = min(1.0, back)
    return math.hypot(matched, back, _of_beds(discretization, points, steps[1]))


def _converted(discretization: Discretization, damping: float) -> float:
    """Return by how much more the run's own layers send back than their law for scalar waves says.

    That law is asked of other layers, and of parts of a run: it takes less time.
    """
    points = discretization.scenario.boundaries.layer.points
    known = images_error(discretization, points, damping=damping)
    scalar = damped_error(discretization, damping, points)
    return known / scalar if known and scalar else 1.0


def _of_beds(discretization: Discretization, points: int, end: int) -> float:
    """Return what comes back because beds end in layers of their mean, or guide waves apart.

    The latter grow for a while before so much comes back, where alpha is less than would end that.
    """
    guided = replace(discretization.field_damping, points=points)
    share = _FROM_MEANS * guided.jump * guided.averaged
    if guided.outer:
        most = _MOST_FROM_BEDS if guided.early else _MOST_FROM_SEAMS
        share = min(_FROM_BEDS * guided.jump**2, most)
        share *= (_POINTS * discretization.subdivision / points) ** _BY_POINTS
        if guided.shift < 1.0:
            later = max(0.0, end / guided.onset_of_beds - 1.0)
            share *= min(1.0, _GROWN * later**2)
    return min(1.0, share) * _grazing(discretization)


def _unlike(sets: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """Return sets whose errors differ by more than a factor of two; none of others."""
    errors = [error for _, error in sets]
    return sets if errors and max(errors) > _UNLIKE * min(errors) else ()


def _grazing(discretization: Discretization) -> float:
    """Return the share of a trace that comes back from layers that damp the fields.

    Half of it where the path along a face is as long as the paths to it and from it, less with the
    square where waves come steeper.
    """
    if not discretization.groups:
        return 1.0
    grid = discretization.grid
    sources = np.array([s.position for shot in discretization.shots for s in shot.sources])
    pairs = paths_of(sources, discretization.groups)
    paths = [[thinned(ends, _MOST_ENDS) for ends in pair] for pair in pairs]
    steepest = 0.0
    for (acting, reading), axis in product(paths, grid.axes):
        a = AXES.index(axis)
        others = [AXES.index(other) for other in grid.axes if other != axis]
        along = np.linalg.norm((acting[:, None] - reading[None])[..., others], axis=-1)
        for edge, points in zip(grid.limits(axis), (grid.low[a], grid.high[a]), strict=True):
            if points:
                away = np.abs(acting[:, None, a] - edge) + np.abs(reading[None, :, a] - edge)
                steepest = max(steepest, float((along / (away + grid.spacing[a])).max()))
    return _FROM_LAYERS * min(1.0, steepest**2)


def _dispersion(discretization: Discretization) -> Iterator[tuple[str, float]]:
    waves = discretization.waves
    stencil = discretization.stencil
    rays = _rays(discretization)
    for passage in waves.passages:
        even = passage.medium.height == 1.0
        velocity = slowed(waves, stencil, passage.velocity)
        if rays and even and passage.distance >= waves.longest:
            error = max(
                waves.spectra.error(waves.phase(stencil, velocity, tuple(ray / length)) * length)
                for ray in rays
                if (length := float(np.linalg.norm(ray)))
            )
        else:
            error = passage_error(waves, stencil, passage)
        description = f"{_DISPERSION} at {passage.velocity:.5g} m/s"
        yield description if not waves.dt else f"{description}, time steps included", error


def _rays(discretization: Discretization) -> list[np.ndarray]:
    """List the straight paths (axis) m that err most in one medium, none where there are more."""
    if (
        len(discretization.waves.passages) > 1
        or not discretization.groups
        or discretization.scenario.output.maps
    ):
        return []
    axes = [AXES.index(axis) for axis in discretization.grid.axes]
    sources = [source.position for shot in discretization.shots for source in shot.sources]
    paths = [
        [thinned(ends[:, axes], _MOST_ENDS) for ends in pair]
        for pair in paths_of(np.array(sources), discretization.groups)
    ]
    offsets = np.concatenate(
        [(ends[None] - starts[:, None]).reshape(-1, len(axes)) for starts, ends in paths]
    )
    lengths = np.linalg.norm(offsets, axis=1)
    # Along a direction n, differences of order 2M err as the sum of n_a^(2M + 2).
    aligned = np.abs(offsets / np.maximum(lengths, 1e-9)[:, None]) ** (
        discretization.stencil.order + 2
    )
    rank = np.argsort(-lengths * aligned.sum(axis=1))
    return [ray for ray in offsets[rank[:_MOST_RAYS]] if np.any(ray)]


def placing_error(discretization: Discretization, coarser: float = 1.0) -> float:
    """Return the error of weights that act and read between grid points, of both together.

    Args:
        discretization: of the run.
        coarser: times as large a spacing as its own, with as much between grid points.
    """
    physics = discretization.physics
    sources: dict[str, list[Any]] = defaultdict(list)
    for shot in discretization.shots:
        for source in shot.sources:
            sources[source.kind].append(source.position)
    acting = [
        _weights_error(
            discretization,
            positions,
            {physics.named(d.field) for d in physics.drives.get(kind, ())},
            coarser,
        )
        for kind, positions in sources.items()
    ]
    reading = [
        _weights_error(discretization, group.read_positions, {
            physics.named(term.field)
            for _, base, component in group.components(physics).values()
            for term in group.terms(physics, base, component)
        }, coarser)
        for group in discretization.groups
    ]  # fmt: skip
    return math.hypot(max(acting, default=0.0), max(reading, default=0.0))


def _weights_error(
    discretization: Discretization, positions: Any, fields: Iterable[Field], coarser: float
) -> float:
    """Return the largest error of reading fields at places, along any axis."""
    waves = discretization.waves
    grid = discretization.grid
    sampled = thinned(np.asarray(positions), _MOST_PLACES)
    halves = list(fields)
    worst = 0.0
    for axis in grid.axes:
        a = AXES.index(axis)
        index = (sampled[:, a] - grid.origin[a]) / grid.spacing[a]
        if axis == "z" and grid.stretching is not None:
            index = grid.stretching.row(sampled[:, a])
        fractions = np.unique(np.round(index * _PARTS) % _PARTS)
        k = 2.0 * math.pi * waves.spectra.frequency * coarser * grid.spacing[a] / waves.slowest
        k = np.minimum(k, math.pi)
        for half in {axis in field.half for field in halves}:
            for fraction in fractions / _PARTS:
                rows, weights = axis_weights(float(fraction), half)
                offset = rows + 0.5 * half - fraction
                read = np.exp(1j * np.outer(k, offset)) @ weights
                worst = max(worst, waves.spectra.error(np.abs(read - 1.0)))
    return worst
