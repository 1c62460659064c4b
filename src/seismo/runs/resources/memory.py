"""Bytes that a run will take, in memory and on the disk, before it takes them.

They count all devices together; each of several grids side by side has a model of its own.
The arrays are counted by the classes that allocate them, on a backend that only counts. Preparing
a run needs float64 copies of the averaged model beside the arrays already made; whichever moment
needs more counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import PointSource
from seismo.backends.base import SHORT, Backend
from seismo.backends.machine import BANDWIDTH_BYTES, LANE_BYTES
from seismo.equations.framework.table import Stage
from seismo.features import acting
from seismo.grid.decomposition import Subdomain
from seismo.grid.interpolation import BROAD_RADIUS, RADIUS
from seismo.output.pipeline import packing_bytes, ring_bytes
from seismo.output.run_directory.checkpoint import KEPT
from seismo.solver.discretization import Discretization
from seismo.solver.fields import Fields
from seismo.solver.interpolation.channels import receiver_points
from seismo.solver.medium.cpml import LayerMemory
from seismo.solver.parallel.partition import subdomains

# The interpreter, its packages and kernels (210 MB), and compiling these in a first run (90 MB).
PYTHON_BYTES = 290 * 2**20
WORK_BYTES = 12 * 2**20  # packing of chunks and finishing of traces work in blocks
SCIPY_BYTES = 64 * 2**20  # of which topography takes splines and filters
CELLS_BYTES = 64 * 2**20  # and so does averaging of cells that contacts cut, in 3-D
SENT = 2  # copies of the traces of a batch: as recorded, and finished or packed
POINT_BYTES = 24  # kept for a recorded point: index, slot, weight, value
PREPARED_POINT_BYTES = 120  # and taken while the recorder is made
_SAMPLED_RECEIVERS = 16


@dataclass(frozen=True)
class Memory:
    """Bytes by purpose.

    Attributes:
        wavefield: the fields of all shots of a batch.
        renewed: of these, the fields that are new in every step, which no checkpoint keeps.
        model: the coefficients of the equations, and planes of the ground.
        layers: memory variables of the absorbing layers.
        sources: points that they act on, and their signals.
        faults: slip rates and places of all subfaults, on the host.
        recorder: the traces as recorded.
        maps: peaks, and the values they are peaks of.
        snapshots: cuts of the fields on their way to the host.
        ring: and from there to the disk, as they are and packed.
        blocks: traces on their way to the file, buffers of the writer and of the threads that
            finish and pack.
        averages: float64 copies of the averaged model, while its arrays are made.
        recording: the record and its points, while the recorder is made.
        preparing: needed at the moment of preparation, instead of wavefield and layers.
        array: the largest single array of the model.
    """

    wavefield: int
    renewed: int
    model: int
    layers: int
    sources: int
    faults: int
    recorder: int
    maps: int
    snapshots: int
    ring: int
    blocks: int
    averages: int
    recording: int
    preparing: int
    array: int

    @property
    def stepping(self) -> int:
        """Bytes while it steps."""
        arrays = self.wavefield + self.model + self.layers + self.sources
        arrays += self.faults + self.recorder + self.maps
        return arrays + self.snapshots + self.ring + self.blocks

    @property
    def total(self) -> int:
        """The largest number of bytes at any moment, without the interpreter."""
        return max(self.stepping, self.preparing)

    @property
    def host(self) -> int:
        """The same where nothing but the host takes part."""
        # Its bandwidth is measured on arrays of their own, once it has stepped for a while.
        return max(self.stepping + BANDWIDTH_BYTES, self.preparing)

    @property
    def state(self) -> int:
        """Bytes that a checkpoint holds."""
        fields = self.wavefield - self.renewed
        return fields + self.layers + self.recorder + self.maps + self.snapshots

    @property
    def checkpoints(self) -> int:
        """Bytes of disk for the checkpoints that are kept and the next."""
        return (KEPT + 1) * self.state

    @property
    def resident(self) -> int:
        """Bytes on a device with memory of its own, an array on its way to or from it included."""
        arrays = self.wavefield + self.model + self.layers + self.sources + self.recorder
        return arrays + self.maps + self.snapshots + max(self.array, self.recorder)

    @property
    def beside(self) -> int:
        """Bytes of the host beside such a device; of the model, the array being sent."""
        model = self.averages + self.array * (self.averages > 0) + WORK_BYTES
        return self.faults + max(model, self.recording, self.recorder + self.ring + self.blocks)

    def __add__(self, other: Memory) -> Memory:
        """Return the bytes of two grids, whose models are prepared in turn."""
        both = ((name, getattr(self, name), getattr(other, name)) for name in asdict(self))
        one_by_one = ("array", "averages", "recording", "ring")
        return Memory(**{n: max(a, b) if n in one_by_one else a + b for n, a, b in both})

    def as_dict(self) -> dict[str, int]:
        """Plain data, sums included."""
        return asdict(self) | {"stepping": self.stepping, "total": self.total}


@dataclass(frozen=True)
class OutputSize:
    """Bytes of a results file before compression."""

    traces: int
    snapshots: int
    maps: int
    model: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.traces + self.snapshots + self.maps + self.model

    def as_dict(self) -> dict[str, int]:
        """Plain data, the sum included."""
        return asdict(self) | {"total": self.total}


class FeatureMemory(NamedTuple):
    """Bytes of a feature on a grid, as its hook `memory` counts them.

    Attributes:
        model: planes beside the coefficients.
        sources: places and signals beside point sources.
        host: kept on the host while it steps.
        points: sources that act as point sources do.
    """

    model: int = 0
    sources: int = 0
    host: int = 0
    points: Sequence[PointSource] = ()


class _Counting:
    """A backend that counts the bytes that it is asked for."""

    name = "counting"

    def __init__(self, precision: str, backend: Backend | None) -> None:
        self.precision = precision
        self.item = np.dtype(precision).itemsize
        self.lane_width = backend.lane_width if backend else LANE_BYTES // self.item
        self.at_once = backend is not None and backend.at_once
        self.marches_slopes = backend.marches_slopes if backend else lambda *_: False
        self.bytes = 0

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Count the bytes of an array, all of whose numbers are the same in memory."""
        kind = np.dtype(SHORT if short else self.precision)
        self.bytes += size * kind.itemsize
        return np.broadcast_to(np.zeros((), kind), size)


def memory_of(discretization: Discretization, backend: Backend | None = None) -> Memory:
    """Count the bytes of a run on a backend, the CPU's if None."""
    first, *others = (_of_grid(grid, backend) for grid in discretization.grids_of_spacing)
    memory = sum(others, first)
    # A single file for all grids.
    output = output_of(discretization)
    writing = WORK_BYTES + packing_bytes(output.total - output.model)
    packages = SCIPY_BYTES * (discretization.ground is not None)
    return replace(
        memory,
        blocks=memory.blocks + writing + packages,
        preparing=memory.preparing + packages,
    )


def _of_grid(discretization: Discretization, backend: Backend | None) -> Memory:
    """Count the bytes of a grid of a run."""
    scenario = discretization.scenario
    physics = discretization.physics
    fields: Any = _Counting(scenario.arithmetic, backend)
    grids = discretization.grids
    ((subdomain,),) = subdomains(
        discretization, fields.lane_width, number=grids - 1
    )  # has the most shots
    arrays = Fields(
        fields,
        physics,
        subdomain,
        discretization.uneven,
        discretization.reach,
        discretization.curved_rows,
    )
    names = {
        name for s in physics.stages for even in (0, 1) for name in s.coefficients_in(bool(even))
    }
    sizes = {name: size for name in names if (size := arrays.size_of(name))}
    items = {name: 2 if name in physics.short_coefficients else fields.item for name in sizes}
    features: list[FeatureMemory] = [
        count(discretization, subdomain, arrays.plane_size, fields.item)
        for count in acting("memory", scenario)
    ]
    model = sum(feature.model for feature in features)
    model = (model + sum(size * items[name] for name, size in sizes.items())) * grids
    recorder, points = _recorder(discretization, fields.item)
    averaged = 0 if discretization.earth.layered else _averaged(discretization, len(sizes)) * grids
    wavefield = fields.bytes * grids
    images = wavefield if discretization.image_faces else 0
    acted_on = _acted_on(
        discretization, [source for feature in features for source in feature.points]
    )
    cells = CELLS_BYTES if discretization.grid.dimensions == 3 else WORK_BYTES
    recording = recorder + max(points, acted_on) * PREPARED_POINT_BYTES
    return Memory(
        wavefield=wavefield,
        renewed=arrays.renewed_bytes * grids,
        model=model,
        layers=_layers(discretization, subdomain, backend) * grids,
        sources=acted_on * (fields.item + 8) + sum(feature.sources for feature in features),
        faults=sum(feature.host for feature in features),
        recorder=recorder + points * POINT_BYTES,
        maps=sum(fields.item * m.numbers() * m.cut.points for m in discretization.maps)
        * discretization.batch,
        snapshots=sum(
            4 * s.cut.points * discretization.batch
            for s in discretization.series
            for _ in s.components
        ),
        ring=2 * min(ring_of(discretization), output_of(discretization).snapshots),
        blocks=SENT * recorder,
        averages=averaged,
        recording=recording,
        preparing=max(averaged + model + cells, images + model + recording),
        array=subdomain.volume * fields.item * grids,
    )


def _averaged(discretization: Discretization, coefficients: int) -> int:
    """Return the bytes of the float64 averages at all nodes, and of so many made of them."""
    physics = discretization.physics
    # Weakened couplings depend on nodes around the grid.
    margin = physics.weakened_by if physics.weakened and not discretization.extremes.uniform else 0
    nodes = math.prod(n + 2 * margin * (n > 1) for n in discretization.grid.points)
    return 8 * (len(physics.medium) * nodes + coefficients * discretization.grid.size)


def _layers(discretization: Discretization, subdomain: Subdomain, backend: Backend | None) -> int:
    counting: Any = _Counting(discretization.scenario.arithmetic, backend)
    regions = discretization.row_groups(counting.lane_width)
    owners: dict[str, Stage] = {}
    for stage in discretization.physics.stages:
        owners.setdefault(stage.shares or stage.name, stage)
    for owner, stage in owners.items():
        slots = discretization.physics.slots(owner)
        at_once = counting.at_once and discretization.physics.at_once
        LayerMemory(
            counting, stage, slots, subdomain, regions, discretization.pad, at_once,
            discretization.physics.short_layers,
        )  # fmt: skip
    return counting.bytes


def _acted_on(discretization: Discretization, lone: Sequence[PointSource]) -> int:
    """Return the number of points that the sources of a batch act on, in all fields."""
    radius = BROAD_RADIUS if discretization.physics.broad_sources else RADIUS
    drives = discretization.physics.drives
    fields = sum(
        bool(source.strength.get(drive.component))
        for shot in discretization.shots[: discretization.batch]
        for source in (*shot.points, *lone)
        if discretization.has(source.position)
        for drive in drives.get(source.kind, ())
    )
    return int(fields * (2 * radius) ** discretization.grid.dimensions)


def _recorder(discretization: Discretization, item: int) -> tuple[int, int]:
    """Return the bytes of the record and the number of points it reads."""
    channels = points = 0
    for group in discretization.groups:
        bases = {(b, c) for _, b, c in group.components(discretization.physics).values()}
        channels += len(bases) * int(discretization.reads(group.coordinates).sum())
        points += sum(_points(discretization, group, *base) for base in bases)
    return (
        channels * discretization.total_steps * item * discretization.batch,
        points * discretization.batch,
    )


def _points(
    discretization: Discretization,
    group: ReceiverGroup,
    base: str,
    component: str,
) -> int:
    """Count the points of a component at all receivers, from a sample of them."""
    positions = group.all_positions
    read_here = positions[discretization.reads(positions)]
    if not len(read_here):
        return 0
    share = len(read_here) / len(positions)
    positions = read_here
    chosen = range(0, len(positions), -(-len(positions) // _SAMPLED_RECEIVERS))
    interpolation = discretization.interpolation
    sampled_points = sum(
        points.weights.size
        for number in chosen
        for points in receiver_points(
            interpolation, group, number, positions[number], (base, component)
        ).values()
    )
    return round(sampled_points * len(group) * share / len(chosen))


def _frames(discretization: Discretization) -> list[int]:
    """List the points of a frame of every component, of the shots that advance together."""
    every = (series for grid in discretization.grids_of_spacing for series in grid.series)
    return [s.cut.points * discretization.batch for s in every for _ in s.components]


def ring_of(discretization: Discretization) -> int:
    """Return the bytes of the ring that snapshots pass through."""
    return ring_bytes(
        4 * max(_frames(discretization), default=0), output_of(discretization).snapshots
    )


def output_of(discretization: Discretization) -> OutputSize:
    """Count the bytes of the results file before compression."""
    traces = 0
    for group in discretization.groups:
        samples = (
            discretization.clock.steps // discretization.clock.steps_between(group.interval) + 1
        )
        traces += 4 * samples * len(group) * len(group.components(discretization.physics))
    series = [series for grid in discretization.grids_of_spacing for series in grid.series]
    snapshots = sum(4 * s.cut.points * len(s.steps) * len(s.components) for s in series)
    maps = sum(4 * m.cut.points * len(m.quantities) for m in discretization.all_maps)
    model = 4 * discretization.grid.extent.size * len(discretization.earth.needs)
    shots = len(discretization.shots)
    model *= discretization.scenario.output.model
    return OutputSize(traces * shots, snapshots * shots, maps * shots, model)
