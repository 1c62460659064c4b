"""Fields about the faces of boxes, recorded as series of slabs: `/boxes/<name>/<face>/<field>`.

Everything that formulas take beside its place is recorded as it stands after a step, and nothing is
interpolated. The record k of a field stands at (k - lag) steps: of stresses and pressure, lag = 0;
of velocities, which are half a step earlier, 1 / 2; of terms that a step makes for itself at its
beginning, 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.spectra import derivatives_of, wavelet_of
from seismo.equations.framework.table import Physics
from seismo.features.wavefield_boxes.face_ground import LEVEL, face_ground, lowest_ground
from seismo.features.wavefield_boxes.section import BoxSection
from seismo.features.wavefield_boxes.shell import GridBox, grid_box
from seismo.grid.grid import AXES, Box
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.field_sampling import Component, Slice
from seismo.solver.sampling.output_sets import MANTISSA_BITS, Series, kept_bits

PER_PERIOD = 8  # records in the shortest period of the sources
BESIDE = 4  # rows beyond those that formulas take, for grids of other spacings


def has_all_rows(physics: Physics, name: str) -> bool:
    """Return whether a field has all rows; terms of slopes of the ground have a few."""
    field = physics.named(name)
    return field.buffer is None and not field.on_surface


def recorded_fields(physics: Physics) -> dict[str, float]:
    """Return the fields that formulas take beside their place, and the lag of each in steps."""
    written: set[str] = set()
    lags: dict[str, float] = {}
    for stage in physics.stages:
        # The first stage that reads a field tells when it stands.
        for name in filter(partial(has_all_rows, physics), stage.reads):
            lags.setdefault(name, (1.0 if physics.previous else 0.5) * (name in written))
        written |= set(stage.writes)
    return lags


def recorded_width(discretization: Discretization) -> int:
    """Return the rows on either side of a face that are recorded."""
    return discretization.halo + BESIDE


def box_of(discretization: Discretization, section: BoxSection) -> GridBox:
    """Return a box of a scenario on the grid."""
    grid = discretization.grid
    ends = {axis: getattr(section.box, axis) for axis in grid.axes}
    # At a free surface it is open.
    lowest = lowest_ground(discretization) + LEVEL * grid.spacing[2]
    is_open = discretization.scenario.boundaries.top == "free_surface" and ends["z"][0] <= lowest
    faces = [f"{axis}_{end}" for axis in grid.axes for end in ("min", "max")]
    return grid_box(grid, ends, tuple(face for face in faces if face != "z_min" or not is_open))


def every_steps(discretization: Discretization, section: BoxSection) -> int:
    """Return the time steps between two records of a box."""
    # Sources radiate less than 1 % of their peak in shorter periods.
    shortest = 1.0 / discretization.highest_frequency
    return section.steps or max(1, int(shortest / (PER_PERIOD * discretization.clock.dt)))


def series(discretization: Discretization) -> list[Series]:
    """Return the series of slabs that a run records.

    Raises:
        ScenarioError: a box is too small, or too near to the ends of the grid.
    """
    return [
        slab
        for number, section in enumerate(discretization.scenario.output.boxes)
        for slab in _slabs(discretization, number, section)
    ]


def _slabs(discretization: Discretization, number: int, section: BoxSection) -> Iterator[Series]:
    """Yield the series of a box of a scenario, by its number."""
    physics = discretization.physics
    box = box_of(discretization, section)
    width = recorded_width(discretization)
    if problem := box.misfits(discretization.grid, width):
        raise discretization.scenario.mistake("output", "boxes", number, "box", problem=problem)
    # Fields as they stand, without the mean over two steps that snapshots of velocities are.
    fields = tuple(
        Component(name, physics.named(name).unit, ((name, 1.0 / physics.named(name).scale),), False)
        for name in recorded_fields(physics)
    )
    # To the last step, beyond the duration: traces of the other run need them, too.
    every = every_steps(discretization, section)
    steps = tuple(range(0, discretization.total_steps + 1, every))
    error = section.relative_error
    facts = {"box": json.dumps(_facts(discretization, box, every))}
    for face, slab in box.slabs(width).items():
        yield Series(
            face, fields, _slice(discretization, slab), steps,
            np.array(steps) * discretization.clock.dt,
            MANTISSA_BITS if error is None else kept_bits(error), f"boxes/{section.name}", facts,
        )  # fmt: skip


def _slice(discretization: Discretization, slab: Box) -> Slice:
    """Return the points of a slab as a cut of the grid."""
    grid = discretization.grid
    # Ranges of nodes, and coordinates in the order of arrays.
    x, y, z = (range(a, b) for a, b in zip(slab.lo, slab.hi, strict=True))
    index = {"z": z, "y": y, "x": x}
    axes = {axis: grid.ticks(axis, np.array(index[axis])) for axis in index if axis in grid.axes}
    return Slice((x, y, z), axes, {})


def _facts(discretization: Discretization, box: GridBox, every: int) -> dict[str, Any]:
    """Return what injection has to know: of the box, of time, of differences and of the sources."""
    grid = discretization.grid
    scenario = discretization.scenario
    # The closure of a free surface, which belongs to the differences.
    surface = discretization.waves.surface
    first, last = (
        {axis: float(grid.coordinate(axis, nodes[AXES.index(axis)])) for axis in grid.axes}
        for nodes in (box.first, box.last)
    )
    # The wavelet with the highest frequencies stands for all of them.
    highest = [
        wavelets.maximum_frequency(wavelet_of(scenario, number), scenario.base)
        for number in range(len(scenario.sources))
    ]
    number = int(np.argmax(highest))
    return {
        "first": first,
        "last": last,
        "spacing": {axis: grid.spacing[AXES.index(axis)] for axis in grid.axes},
        "faces": list(box.faces),
        "lags": recorded_fields(discretization.physics),
        "vanishing": [
            f.name for f in discretization.physics.fields if f.vanishes and "z" in f.half
        ],
        "every": every,
        "dt": discretization.clock.dt,
        "duration": discretization.clock.steps * discretization.clock.dt,
        "removal": scenario.time.dispersion_removal,
        "stencil": asdict(discretization.stencil),
        "family": scenario.grid.stencil,
        "ground": asdict(face_ground(discretization, box, recorded_width(discretization))),
        "closure": surface.value if surface else "",
        "wavelet": number,
        "derivatives": derivatives_of(discretization.shots[0].summaries[number]),
        "dominant_frequency": discretization.dominant_frequency,
    }
