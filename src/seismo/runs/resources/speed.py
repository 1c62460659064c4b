"""Time that a run will take: its arithmetic, or its memory traffic, whichever takes longer.

An equation declares how long a core computes on a point at order 8, outside absorbing layers
(`Equation.nanoseconds`). A point in a layer takes `PML_COST` times as long, and other orders
(0.48 + 0.065 order) times; a point in a row that follows the ground `CURVED_COST` times. Measured
on two cores of an AMD EPYC: the acoustic and elastic equations from the cases of `seismo bench`
(benchmarks/results/comparison.json), others by their ratio to these on a core, with three
mechanisms where they attenuate. The bytes moved follow from the bandwidth of the backend, with the
same factors for layers and curved rows; a GPU moves all that it computes, and reaches
inside the part of its bandwidth that the equation declares: on an H200 the mean of these cases
(benchmarks/results/h200.json) times their layers' factor, in 3-D that of the only case of
others (benchmarks/README.md), and in 2-D that of the equation without attenuation.

Maps of largest values cost by their reads of every point of the map at every step, a component at
the nodes (`MAP_NANOSECONDS`, measured in 2-D) more than at its own points, an oscillator once
for each part of a step, RotD50 once for each direction.

It is an estimate: on an idle machine of that kind good to about ten percent, on others to a factor
of two or so, and other programs that run meanwhile slow a run down at will.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from seismo.backends.base import PML_COST
from seismo.equations.framework.registry import EQUATIONS, physics_for
from seismo.features import acting
from seismo.grid.decomposition import cost
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.active_region import phases, updates
from seismo.solver.parallel.partition import point_costs
from seismo.solver.sampling.output_sets import PeakMapSet

MAP_NANOSECONDS: dict[str, dict[str, float]] = {
    "cpu": {
        "read at nodes": 0.7, "read": 0.4, "changed": 0.3, "raised": 0.3, "oscillated": 0.7,
        "raised along": 1.2,
    },
    "gpu": {},
}  # fmt: skip
SURFACE_STAGE_SECONDS = 1.3e-6  # of each stage in the rows of a free surface, on either
STEP_SECONDS = {"cpu": 1e-4, "gpu": 1.5e-5}  # launching and recording, whatever the size


class Machine(Protocol):
    """The facts that estimates ask of a backend."""

    @property
    def name(self) -> str:
        """Its name: cpu or gpu."""

    def bandwidth(self) -> float:
        """Return the bytes a second that plain copies move."""

    def describe(self) -> dict[str, Any]:
        """Describe among other things how many `threads` there are."""


@dataclass(frozen=True)
class RooflineMachine:
    """A machine whose memory takes no time, such as caches are to small runs."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)

    def bandwidth(self) -> float:
        """Return it without measuring anything."""
        return math.inf

    def describe(self) -> dict[str, Any]:
        """Return the known facts."""
        return self.facts


def points_per_second(discretization: Discretization, backend: Machine) -> float:
    """Estimate the point updates a second on a backend (measures its bandwidth, 0.2 s)."""
    grids = discretization.grids_of_spacing
    seconds_each = (grid.live.size / _rate(grid, backend) for grid in grids)
    return discretization.points / sum(seconds_each)


def _rate(discretization: Discretization, backend: Machine) -> float:
    """Estimate the point updates a second of a grid of a run."""
    item = np.dtype(discretization.scenario.arithmetic).itemsize
    declared = discretization.scenario.equation.bandwidth_share.get(backend.name, {})
    share = declared.get(discretization.grid.dimensions, 1.0)
    moving = discretization.physics.numbers_per_point * item / (share * backend.bandwidth())
    moving *= mean_cost(discretization, backend)
    # A lane holds half as many numbers of twice the size.
    computing = nanoseconds(discretization, backend) * 1e-9 * (item / 4)
    return 1.0 / max(moving, computing)


def nanoseconds(discretization: Discretization, backend: Machine) -> float:
    """Estimate how long a backend computes on a point, layers included, in ns.

    An equation that nobody has measured takes as long for each number that it moves as the dearest.
    """
    known = {
        (equation.name, n): (each, each / physics_for(equation.name, n).numbers_per_point)
        for equation in EQUATIONS.values()
        for n, each in equation.nanoseconds.get(backend.name, {}).items()
    }
    dearest = max((each for _, each in known.values()), default=0.0)
    unknown = dearest * discretization.physics.numbers_per_point, dearest
    per_point, _ = known.get(
        (discretization.scenario.equation.name, discretization.grid.dimensions), unknown
    )
    relative = mean_cost(discretization, backend) * order_factor(discretization.stencil.order)
    return per_point * relative / int(backend.describe().get("threads", 1))


def order_factor(order: int) -> float:
    """Return the time of a step of an order over that of order 8."""
    return 0.48 + 0.065 * order


def mean_cost(discretization: Discretization, backend: Machine) -> float:
    """Return the mean time of a point over that of an interior point in flat rows."""
    grid = discretization.grid
    layer = PML_COST[backend.name][discretization.physics.differences]
    return cost(grid, grid.box, point_costs(discretization, backend.name, layer)) / grid.size


def map_seconds(discretization: Discretization, backend: Machine) -> float:
    """Estimate the time in s that finding the largest values of maps takes."""
    pass_nanoseconds = MAP_NANOSECONDS[backend.name]
    threads = int(backend.describe().get("threads", 1))
    moving = 3.0 * np.dtype(discretization.scenario.arithmetic).itemsize / backend.bandwidth()
    once = sum(
        maps.cut.points * count * max(moving, pass_nanoseconds.get(kind, 0.0) * 1e-9 / threads)
        for maps in discretization.all_maps
        for kind, count in _passes(maps, discretization.clock.dt).items()
    )
    return once * discretization.clock.steps * len(discretization.shots)


def _passes(maps: PeakMapSet, dt: float) -> Counter[str]:
    """Count the passes of a step of dt (s) over the points of maps, by purpose."""
    passes = Counter(changed=len(maps.channels) * maps.changing)
    for component, at_nodes in maps.channels:
        passes["read at nodes" if at_nodes else "read"] += len(component.terms)
    substeps_by_period = dict(zip(maps.periods, maps.substeps(dt), strict=True))
    passes["oscillated"] = sum(substeps_by_period.values()) * len(maps.oscillating)
    for quantity in maps.quantities:
        kind = "raised along" if quantity.along_directions else "raised"
        passes[kind] += quantity.peaks * (
            1 if quantity.period is None else substeps_by_period[quantity.period]
        )
    return passes


def seconds(discretization: Discretization, speed: float, backend: Machine) -> float:
    """Estimate the time of stepping in s at a number of point updates a second."""
    batches = -(-len(discretization.shots) // discretization.batch)
    stages = discretization.grids_of_spacing[-1].physics.stages
    at_surface = sum(stage.where in ("surface", "closed") for stage in stages)
    a_step = STEP_SECONDS[backend.name] + at_surface * SURFACE_STAGE_SECONDS
    launching = discretization.total_steps * batches * a_step
    moving = sum(
        updates(phases(grid, from_rest=True), 0, discretization.total_steps)
        for grid in discretization.grids_of_spacing
    )
    stepping = moving * len(discretization.shots) / speed + launching
    counts = acting("seconds", discretization.scenario)
    of_features = sum(count(discretization, backend) for count in counts)
    return stepping + map_seconds(discretization, backend) + of_features
