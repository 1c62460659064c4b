"""What error the traces of a run will have, and mostly from what, said before a step is taken.

Each cause gives a relative L2 error of the worst trace, integrated over the spectrum of the traces;
causes are taken as unrelated, so that their squares add up. Dispersion follows from the scheme
(`seismo.dispersion`) and the longest path in each medium, reading and acting between grid points
from the weights (`seismo.interpolation`), contacts of an earth that varies with depth only from
the scheme, too (`seismo.plan.layered_error`), others and boundaries from laws that were measured
(`seismo.plan.sideways`, `seismo.accuracy`). In one medium, waves go straight from source to
receiver; else the worst direction counts. A prediction is good to a factor of three.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.accuracy import (
    best_stencil,
    dispersion_error,
    layer_error,
    passage_error,
    stencil_for,
    surface_error,
)
from seismo.grid import AXES
from seismo.interpolation import axis_weights
from seismo.physics.table import Field
from seismo.plan.layered_error import Contacts, layered_error
from seismo.plan.near_contacts import source_error
from seismo.plan.resolution import LayerResolution, dominant_frequency, highest_frequency
from seismo.plan.sideways import sideways_error
from seismo.plan.timing import Lines
from seismo.setup import Setup

FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}
_FROM_LAYERS = 0.5  # of the error of layers that damp the fields: see `_grazing`
_MOST_RAYS = 12
_MOST_ENDS = 200  # sources, and receivers, between which rays are sought
_MOST_PLACES = 2000
_PARTS = 40  # of a cell, in which places are told apart
_BISECTIONS, _MOST_COARSER = 14, 30.0  # of the spacing, in search of the wanted accuracy
LARGE_ERROR = 0.3  # of the traces, that is warned of wherever it comes from
_SAID = 0.5  # of the largest cause: what is named beside it


@dataclass(frozen=True)
class Expected:
    """The predicted error of the traces.

    Attributes:
        causes: what errs, and by how much of a trace's L2 norm, the largest first.
    """

    causes: tuple[tuple[str, float], ...]

    @property
    def error(self) -> float:
        """Relative L2 error of the worst trace, of all causes together."""
        return math.hypot(*(error for _, error in self.causes))

    def __str__(self) -> str:
        """Say it in a line."""
        largest = self.causes[0][1]
        named = [what for what, error in self.causes if error >= _SAID * largest][:2]
        return f"{percent(self.error)}, mostly from {' and '.join(named)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        causes = [{"cause": what, "error": error} for what, error in self.causes]
        return {"error": self.error, "causes": causes}


def percent(error: float) -> str:
    """Format a relative error."""
    return "more than 70 %" if error > 0.7 else f"{100.0 * error:.2g} %"


def expected_error(setup: Setup) -> Expected:
    """Predict the error of the traces of a run."""
    causes = [*_dispersion(setup), ("sources and receivers between grid points", _placing(setup))]
    if setup.earth.layered:
        contacts = layered_error(setup)
    else:
        contacts = Contacts(sideways_error(setup), False)
    surface = 0.0 if contacts.surface else surface_error(setup.waves)
    causes.append(("the free surface", surface))
    causes.append(
        ("contacts of media" + " under the free surface" * contacts.surface, contacts.error)
    )
    causes.append(("sources beside contacts", source_error(setup)))
    sent_back = layer_error(setup.waves, setup.scenario.boundaries, setup.guided_damping)
    if setup.guided_damping:
        sent_back *= _grazing(setup)
    causes.append(("absorbing layers", sent_back))
    return Expected(tuple(sorted(causes, key=lambda cause: -cause[1])))


def _grazing(setup: Setup) -> float:
    """Return the share of a trace that comes back from layers that damp the fields.

    Half of it (measured, 24 stacks that guide waves: a sixth to one and a half) where the way along
    a face is as long as those to it and from it, less with the square where waves come steeper.
    """
    if not setup.groups:
        return 1.0
    grid, boundaries = setup.grid, setup.scenario.boundaries
    acting = np.array([s.position for shot in setup.shots for s in shot.sources])
    acting = _some(acting, _MOST_ENDS)[:, None]
    reading = _some(np.concatenate([g.positions for g in setup.groups]), _MOST_ENDS)[None]
    steepest = 0.0
    for axis in grid.axes:
        a, others = AXES.index(axis), [AXES.index(other) for other in grid.axes if other != axis]
        along = np.linalg.norm((acting - reading)[..., others], axis=-1)
        for face, edge in zip(FACES[axis], grid.limits(axis), strict=True):
            if getattr(boundaries, face) == "absorbing":
                away = np.abs(acting[..., a] - edge) + np.abs(reading[..., a] - edge)
                steepest = max(steepest, float((along / (away + grid.spacing[a])).max()))
    return _FROM_LAYERS * min(1.0, steepest**2)


def points_needed(setup: Setup, layers: list[LayerResolution]) -> float:
    """Return the points in the shortest wavelength with which dispersion keeps to the accuracy."""
    fewest = min(layer.points_per_wavelength for layer in layers)
    return fewest / _coarser(setup)


def _coarser(setup: Setup) -> float:
    """Return by how much larger the spacing may be for dispersion to keep to the accuracy."""
    spec, waves = setup.scenario.grid, replace(setup.waves, dt=0.0)
    low, high = 1.0 / _MOST_COARSER, _MOST_COARSER
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        scaled = replace(waves, spacing=tuple(middle * h for h in waves.spacing))
        stencil = stencil_for(spec.stencil, setup.stencil.order, scaled)
        if dispersion_error(scaled, stencil) > spec.accuracy:
            high = middle
        else:
            low = middle
    return low


def inaccurate(setup: Setup, layers: list[LayerResolution], expected: Expected) -> Lines:
    """Warn of errors that another grid, or other coefficients, would avoid."""
    spec, waves, stencil = setup.scenario.grid, setup.waves, setup.stencil
    dispersion = dispersion_error(waves, stencil)
    if spec.stencil == "minmax":
        fitted = dispersion_error(waves, best_stencil(waves, stencil.order))
        yield (
            "grid.stencil: minmax keeps wave speeds to 0.1 % only, which adds up along the path: "
            f"numerical dispersion errs by {percent(dispersion)} of the traces, fitted "
            f"coefficients by {percent(fitted)}; leave grid.stencil out"
        )
        return
    if dispersion > spec.accuracy:
        yield _dispersed(setup, layers, dispersion)
        return
    if expected.error > LARGE_ERROR:
        yield (
            f"grid.spacing: the traces will err by {expected}; compare with a finer grid.spacing, "
            f"or lower frequencies"
        )


def _dispersed(setup: Setup, layers: list[LayerResolution], error: float) -> str:
    waves, spec = setup.waves, setup.scenario.grid
    exact = replace(waves, dt=0.0)
    text = f"grid: numerical dispersion errs by {percent(error)} of the traces"
    if dispersion_error(exact, setup.stencil) <= spec.accuracy:
        return f"{text}, by its time steps; set time.dispersion_removal: true"
    worst = min(layers, key=lambda layer: layer.points_per_wavelength)
    finer, frequency = _coarser(setup), dominant_frequency(setup)
    kind = "water" if worst.vs == 0.0 else "rock"
    order = f", a higher grid.order than {setup.stencil.order}" if setup.stencil.order < 16 else ""
    return (
        f"{text}, with {worst.points_per_wavelength:.2g} points per wavelength in the {kind} of "
        f"{worst.slowest:.5g} m/s at {highest_frequency(setup):.4g} Hz; for "
        f"{percent(spec.accuracy)} use a grid.spacing of {finer * max(waves.spacing):.3g} m"
        f"{order}, or a dominant frequency of {finer * frequency:.3g} Hz instead of "
        f"{frequency:.4g} Hz"
    )


def _dispersion(setup: Setup) -> Iterator[tuple[str, float]]:
    waves, stencil = setup.waves, setup.stencil
    rays = _rays(setup)
    for passage in waves.passages:
        if rays and passage.distance >= waves.longest:
            error = max(
                waves.spectra.error(
                    waves.phase(stencil, passage.velocity, tuple(ray / length)) * length
                )
                for ray in rays
                if (length := float(np.linalg.norm(ray)))
            )
        else:
            error = passage_error(waves, stencil, passage)
        what = f"numerical dispersion at {passage.velocity:.5g} m/s"
        yield what if not waves.dt else f"{what}, time steps included", error


def _rays(setup: Setup) -> list[np.ndarray]:
    """List the straight paths (axis) m that err most in one medium, none where there are more."""
    if len(setup.waves.passages) > 1 or not setup.groups or setup.scenario.output.maps:
        return []
    axes = [AXES.index(axis) for axis in setup.grid.axes]
    sources = [source.position for shot in setup.shots for source in shot.sources]
    receivers = np.concatenate([group.positions for group in setup.groups])
    starts, ends = (_some(np.array(p)[:, axes], _MOST_ENDS) for p in (sources, receivers))
    offsets = (ends[None] - starts[:, None]).reshape(-1, len(axes))
    lengths = np.linalg.norm(offsets, axis=1)
    # Along a direction n, differences of order 2M err as the sum of n_a^(2M + 2).
    aligned = np.abs(offsets / np.maximum(lengths, 1e-9)[:, None]) ** (setup.stencil.order + 2)
    rank = np.argsort(-lengths * aligned.sum(axis=1))
    return [ray for ray in offsets[rank[:_MOST_RAYS]] if np.any(ray)]


def _some(places: np.ndarray, most: int) -> np.ndarray:
    return places[:: -(-len(places) // most)]


def _placing(setup: Setup) -> float:
    """Return the error of weights that act and read between grid points, of both together."""
    physics = setup.physics
    sources: dict[str, list[Any]] = defaultdict(list)
    for shot in setup.shots:
        for source in shot.sources:
            sources[source.kind].append(source.position)
    acting = [
        _weights_error(setup, places, {physics.named(d.field) for d in physics.drives[kind]})
        for kind, places in sources.items()
    ]
    reading = [
        _weights_error(setup, group.positions, {
            physics.named(term.field)
            for _, base, component in group.components(physics).values()
            for term in physics.observables[base][component]
        })
        for group in setup.groups
    ]  # fmt: skip
    return math.hypot(max(acting, default=0.0), max(reading, default=0.0))


def _weights_error(setup: Setup, places: Any, fields: Iterable[Field]) -> float:
    """Return the largest error of reading fields at places, along any axis."""
    waves, grid = setup.waves, setup.grid
    slowest = min(passage.velocity for passage in waves.passages)
    positions, halves, worst = _some(np.asarray(places), _MOST_PLACES), list(fields), 0.0
    for axis in grid.axes:
        a = AXES.index(axis)
        parts = np.unique(
            np.round((positions[:, a] - grid.origin[a]) / grid.spacing[a] * _PARTS) % _PARTS
        )
        k = np.minimum(2.0 * math.pi * waves.spectra.frequency * grid.spacing[a] / slowest, math.pi)
        for half in {axis in field.half for field in halves}:
            for part in parts / _PARTS:
                rows, weights = axis_weights(float(part), half)
                offset = rows + 0.5 * half - part
                read = np.exp(1j * np.outer(k, offset)) @ weights
                worst = max(worst, waves.spectra.error(np.abs(read - 1.0)))
    return worst
