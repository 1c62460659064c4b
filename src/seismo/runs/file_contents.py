"""Contents of a results file besides waves: the model, the sources, the receivers' places.

The model is the earth sampled at the grid's nodes within the extent; the solver averages it onto
its staggered points.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seismo.acquisition import receivers
from seismo.acquisition.sources import PointSource
from seismo.equations.framework.registry import PARAMETERS
from seismo.features import acting
from seismo.grid.grid import AXES
from seismo.model.effective import SLAB, tensor
from seismo.output.results_file import ResultsWriter
from seismo.output.store.array_sets import RECORDING
from seismo.runs.check import choices_of
from seismo.runs.coordinates import (
    DECIMALS,
    ON_EARTH,
    coordinates_of,
    metres_of,
    size_and_depth,
)
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_DERIVED = ("x_azimuth", "depth", "elevation")  # of coordinates
_PARTIAL = (
    "traces and maps are stored when a shot is done; what is not in this part is in those before "
    "it, or still to come, and reads as NaN; `seismo resume` goes on"
)


def attributes_of(discretization: Discretization) -> dict[str, Any]:
    """Return the attributes of the root, besides those of an assessment."""
    scenario = discretization.scenario
    half = {f.name: f.half for f in discretization.physics.fields if f.half}
    plane = {}
    if discretization.interface is not None:
        plane["refined_above"] = float(
            discretization.grid.coordinate("z", discretization.interface.row)
        )
    choices = choices_of(scenario)
    chosen = {"chosen": json.dumps(choices)} if choices else {}
    return (
        plane
        | chosen
        | {
            "title": scenario.title,
            "physics": scenario.physics,
            "equation": scenario.equation.name,
            "dt": discretization.clock.dt,
            "dt_limit": discretization.clock.limit,
            "steps": discretization.clock.steps,
            "wanted_error": scenario.grid.accuracy,
            "order": discretization.stencil.order,
            "stencil_tolerance": discretization.stencil.tolerance,
            "stencil_bounds": json.dumps(discretization.stencil.bounds),
            "half_cell": json.dumps(half),
            "model_values": f"at the grid's nodes; the solver's averaging: {scenario.averaging}",
        }
    )


def marks_of(discretization: Discretization, first: int, step: int | None) -> dict[str, Any]:
    """Describe how far a run had come when a part of its results was closed, as attributes of that.

    Args:
        discretization: the run.
        first: shot of the batch that is under way, or comes next.
        step: of this batch, None where it has not begun.
    """
    names = [shot.name for shot in discretization.shots]
    clock = discretization.clock
    message = f"until the end of {names[first - 1]}, {first} of {len(names)} shots"
    marks = {}
    if step is not None:
        marks["until"] = min(step, clock.steps) * clock.dt
        message = f"until t = {with_unit(marks['until'], 's')} of "
        message += with_unit(clock.steps * clock.dt, "s")
        if len(names) > 1:
            under_way = names[first : first + discretization.batch]
            message += " in " + " to ".join(dict.fromkeys((under_way[0], under_way[-1])))
    return marks | {"message": f"{message}; {_PARTIAL}"}


def model_of(
    discretization: Discretization,
) -> tuple[dict[str, np.ndarray], dict[str, tuple[np.ndarray, str]]]:
    """Sample the earth at the nodes of the extent, slab by slab.

    Returns:
        Coordinates in m by name (z, [y,] x), and name -> (array float32, unit).
    """
    grid = discretization.grid
    axes = {
        a: grid.ticks(a, np.arange(grid.extent.lo[k], grid.extent.hi[k]))
        for a, k in (("z", 2), ("y", 1), ("x", 0))
        if a in grid.axes
    }
    shape = tuple(len(ticks) for ticks in axes.values())
    # Parameters that only derive others are not part of the model.
    kept = [name for name in discretization.earth.needs if name in PARAMETERS]
    arrays = {name: np.empty(shape, np.float32) for name in kept}
    count = max(1, SLAB // math.prod(shape[1:]))
    for first in range(0, shape[0], count):
        nodes = tensor(axes["z"][first : first + count], axes.get("y"), axes["x"])
        samples = discretization.earth.as_given.sample(*nodes)
        for name, array in arrays.items():
            array[first : first + count] = samples[name]
    return axes, {name: (array, PARAMETERS[name].unit) for name, array in arrays.items()}


def write_sources(writer: ResultsWriter, discretization: Discretization) -> None:
    """Store the sources: their places, kinds, and wavelets at the solver's steps."""
    several = len(discretization.shots) > 1
    shots = [(shot, source) for shot in discretization.shots for source in shot.summaries]
    coordinates = coordinates_of(discretization, np.array([source.position for _, source in shots]))
    facts = acting("source_facts", discretization.scenario)
    writer.write_sources(
        [
            ({"shot": shot.name} if several else {})
            | _source_row(discretization, source, facts)
            | {name: float(coordinates[name][k]) for name in ON_EARTH if name in coordinates}
            for k, (shot, source) in enumerate(shots)
        ],
        **_units(discretization, {source.kind for _, source in shots}),
    )
    times = np.arange(discretization.clock.steps + 1) * discretization.clock.dt
    # Every shot of a survey has the same source.
    sources = discretization.shots[0].summaries
    samples = np.array([source.signal(times, source.derivative) for source in sources])
    # A moment rate is a share of the moment a second; of other sources the strength has the unit.
    units = {"1/s" if source.derivative else "1" for source in sources}
    unit = units.pop() if len(units) == 1 else ""
    writer.write_wavelets(times, samples, [source.name for source in sources], unit)


def _units(discretization: Discretization, kinds: set[str]) -> dict[str, str]:
    """Return the units of the strengths of kinds of sources; in 2-D they are per metre of y."""
    flat = discretization.grid.axes == "xz"
    amounts = {"pressure": ("Pa m", "Pa"), "volume_rate": ("m3/s", "m2/s"),
               "plane_wave": ("m/s", "m/s")}  # fmt: skip
    units = {amounts[kind][flat] for kind in kinds & amounts.keys()}
    amplitude = {"amplitude": units.pop()} if len(units) == 1 else {}  # else each row has its own
    return {
        "moment": ("N m", "N")[flat],
        "scalar_moment": ("N m", "N")[flat],
        "force": ("N", "N/m")[flat],
    } | amplitude


def _source_row(
    discretization: Discretization, source: PointSource, facts: Sequence[Callable]
) -> dict[str, Any]:
    grid = discretization.grid
    axes = [a for a in AXES if a in grid.axes]
    on_grid = {a: float(p) for a, p in zip(AXES, source.position, strict=True) if a in axes}
    position = np.array([source.position])
    coordinates = {
        name: float(line[0]) for name, line in metres_of(discretization, position).items()
    }
    requested = {a: coordinates[a] for a in axes}
    index = {a: float(grid.index(a, on_grid[a])) for a in axes}
    nearest = {a: round(i) for a, i in index.items()}
    row = {
        "name": source.name,
        "type": source.kind,
        **coordinates,
        "requested": requested,
        "index": nearest,
        "offset": {a: (index[a] - nearest[a]) * grid.edge(a, nearest[a]) for a in axes},
        "wavelet": source.wavelet.type,
        "delay": source.delay,
        "start": source.start,
    }
    if source.centre is not None:
        row["centre"] = source.centre
    row |= size_and_depth(discretization, source)
    for facts_of in facts:
        row |= facts_of(discretization, source)
    if source.kind in ("moment_tensor", "explosion"):
        row["time_function"] = "moment_rate" if source.derivative else "moment"
    names = {"moment_tensor": "moment", "force": "force"}
    if source.kind in names:
        return row | {names[source.kind]: source.strength}
    return row | {"moment" if source.kind == "explosion" else "amplitude": source.strength[""]}


def write_ground(writer: ResultsWriter, discretization: Discretization) -> None:
    """Store the ground at the nodes of the extent, and how rows follow it; nothing where flat."""
    topography = discretization.ground
    if topography is None:
        return
    # Of two grids the finer has columns for both.
    grid = topography.grid
    lines = {
        a: grid.ticks(a, np.arange(grid.extent.lo[AXES.index(a)], grid.extent.hi[AXES.index(a)]))
        for a in "yx"
        if a in grid.axes
    }
    y = lines["y"][:, None] if "y" in lines else None
    facts = {
        "level": topography.level,
        "depth": topography.depth,
        "datum": discretization.scenario.datum,
        "mapping": "z = s + (ground - level) (1 - (s - level) / depth)^3, z = s below level + "
        "depth; the axis z of other groups is s",
    }
    ground = np.round(topography.ground(y, lines["x"]), DECIMALS) + 0.0
    axes = {a: (ticks, "m") for a, ticks in lines.items()}
    writer.write_arrays("ground", axes, {"ground": (ground, "m")}, facts)


def _receiver_places(
    discretization: Discretization, group: receivers.ReceiverGroup
) -> dict[str, Any]:
    """Return the coordinates of a set: (receiver), or (shot, receiver) where receivers move."""
    if group.motion is None:
        return coordinates_of(discretization, group.coordinates)
    every = np.concatenate([group.at(shot.name) for shot in discretization.shots])
    shape = (len(discretization.shots), len(group))
    return {
        name: array.reshape(shape) for name, array in coordinates_of(discretization, every).items()
    }


def create_traces(writer: ResultsWriter, discretization: Discretization) -> None:
    """Lay out the traces of all receiver sets and shots."""
    for group in discretization.groups:
        every = discretization.clock.steps_between(group.interval)
        components = group.components(discretization.physics)
        coordinates = _receiver_places(discretization, group)
        requested = {n: numbers for n, numbers in coordinates.items() if n not in _DERIVED}
        facts: dict[str, object] = {}
        if group.motion is not None:
            facts["relative_to"] = "source"
            if group.motion.drops:
                masks = [group.recording(shot.name) for shot in discretization.shots]
                coordinates[RECORDING] = np.array(masks, float)
        if group.motion is None:
            for distances in acting("receiver_facts", discretization.scenario):
                coordinates |= distances(discretization, group.coordinates)
            coordinates |= group.of_list
        if group.fibre is not None:
            coordinates["fibre_distance"] = group.fibre.distances
            facts["gauge_length"] = group.fibre.gauge_length
        writer.create_traces(
            group.name,
            shots=[shot.name for shot in discretization.shots],
            codes=group.codes,
            positions=coordinates,
            requested=requested,
            time=discretization.clock.times(
                np.arange(0, discretization.clock.steps + 1, every), group.interval
            ),
            quantities={
                name: receivers.unit_of(c[0], discretization.physics)
                for name, c in components.items()
            },
            facts=facts,
        )


def create_maps(writer: ResultsWriter, discretization: Discretization) -> None:
    """Lay out all maps."""
    for maps in discretization.all_maps:
        writer.create_maps(
            maps.name,
            shots=[shot.name for shot in discretization.shots],
            axes=maps.cut.axes,
            quantities={q.name: q.unit for q in maps.quantities},
            plane=maps.cut.plane,
            facts={"damping": maps.damping} if maps.periods else {},
        )
