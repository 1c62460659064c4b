"""From a scenario to a wavefield that steps: `build(scenario) -> Simulation`, and its loop.

    for step:
        evaluate source amounts          # beside all that follows, until it is needed
        for stage:                       # velocity, then stress
            update edges, inject there   # neighbours wait for these
            start halos; update core, inject there; finish halos
            fill images outside the faces
        sample receivers, raise the peaks of maps

All of this is bound once, when the first shots are loaded, and only launched afterwards; other
shots change numbers in it. Of several ranks each has a share of the parts.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.backends import machine
from seismo.backends.base import Backend, Group, Launch, Search, Step
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose
from seismo.equations.framework.table import Stage
from seismo.errors import DeviceError
from seismo.features import acting
from seismo.grid.decomposition import CheckpointArray
from seismo.grid.grid import Box, Triple
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.fields import Fields, FieldView, RankFields
from seismo.solver.parallel.active_region import Phase, phases, updates
from seismo.solver.parallel.halo import Halo
from seismo.solver.parallel.partition import (
    Partition,
    divide,
    divide_finer,
    never_cut,
)
from seismo.solver.sampling.injection import InjectionTable, TableKey
from seismo.solver.sampling.peak_maps import MapReading, PeakMaps
from seismo.solver.sampling.recording import Recorder, RecordRows
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


@dataclass(frozen=True)
class Prepared:
    """The tables of a batch of shots, prepared before it is loaded.

    Attributes:
        injection: tables of sources, for each part of a rank.
        record: rows that read their receivers; None where these do not move.
        above: tables of the grid above, or None.
    """

    injection: list[dict[TableKey, InjectionTable]]
    record: RecordRows | None
    above: Prepared | None = None


class GridExchange(Protocol):
    """The exchange of two grids of a run, a subdomain above another."""

    def before(self, stage: Stage) -> list[Launch]:
        """Return the launches before a stage, in order."""

    def fill(self) -> list[Launch]:
        """Return the launches that show the finer grid in the rows of the coarser grid."""


class Simulation:
    """A batch of shots on the grid, ready to step."""

    def __init__(
        self, discretization: Discretization, backend: Backend,
        counts: tuple[int, int] | None = None, ranks: SerialCommunicator | None = None,
        *, from_rest: bool = False, run_phases: tuple[Phase, ...] | None = None,
        below: Partition | None = None,
    ) -> None:  # fmt: skip
        """Allocate and bind everything; see `build`.

        `from_rest` promises that nothing moves before the first step: steps then leave out points
        that no wave has reached (`active_region`), or those that `run_phases` leave out. That of
        the finer of two grids is stepped with the coarser grid, whose parts are `below`.
        """
        _refuse_processor(discretization.scenario, backend)
        self.discretization = discretization
        self.backend = backend
        self.ranks = ranks or SerialCommunicator()
        if below is None:
            self.division = divide(discretization, backend, self.ranks, counts)
        else:
            self.division = divide_finer(discretization, backend, below)
        self.phases = run_phases or phases(discretization, from_rest)
        self._numbered = {
            n: SubdomainSolver(discretization, backend, self.division.subdomains[n], self.phases)
            for n in self.division.local_numbers
        }
        self.solvers = list(self._numbered.values())
        # The finer grid above, whose steps are taken with these.
        self.above: Simulation | None = None
        self.exchanges: list[GridExchange] = []
        if discretization.above is not None:
            self.above = Simulation(
                discretization.above, backend, ranks=self.ranks, below=self.division
            )
            self.exchanges = [
                exchange(backend, coarse, fine, discretization)
                for exchange in acting("exchange", discretization.scenario)
                for coarse, fine in zip(self.solvers, self.above.solvers, strict=True)
            ]
        fields = {n: solver.fields for n, solver in self._numbered.items()}
        self.halos = self._halos_of(fields)
        self.step = 0
        self._windowed: list[AddedLaunches] = []
        self._programs: list[Callable[[int, int], None]] = []  # for each phase
        self._changing: list[Any] = []  # arrays that later steps depend on
        self._searches: dict[tuple[str, int], list[Search]] = {}
        self.total_steps = discretization.total_steps
        # Receivers and maps read the fields after a step.
        self.sampled = RankFields(backend, list(fields.values()), discretization.batch, self.ranks)
        recorder = None if self.above is None else self.above.recorder
        self.recorder: Recorder = Recorder(discretization, self.division, self.sampled, recorder)
        reading = MapReading(discretization.interpolation, never_cut(discretization))
        self.maps = PeakMaps(self.sampled, reading, discretization.maps, discretization.clock)
        if below is None:
            # Averages of the earth are freed before fields take their pages.
            machine.release_freed_memory()
            self.load(discretization.shots[: discretization.batch])

    def _halos_of(self, fields: dict[int, Fields]) -> list[list[Halo]]:
        """Return the halo exchange of each stage, for each parity of the step."""
        physics = self.discretization.physics
        peer_fields = self.ranks.peers(self.backend, fields)
        every = [(physics.exchanged(s), self.discretization.reached(s)) for s in physics.stages]
        return [
            [Halo(self.backend, self.division, peer_fields, changed, parity) for changed in every]
            for parity in physics.parities
        ]

    @property
    def points(self) -> int:
        """Points that a step updates, absorbing layers and shots included."""
        return self.discretization.points * self.discretization.batch

    @property
    def levels(self) -> list[Simulation]:
        """The simulations of all grids, the coarsest grid first."""
        return [self] if self.above is None else [self, self.above]

    def updates(self, first: int, behind: int) -> int:
        """Return the points of a shot that steps update, summed over the steps."""
        return sum(updates(level.phases, first, behind) for level in self.levels)

    @property
    def bytes_per_point(self) -> int:
        """Bytes a perfect kernel moves for a point and step."""
        item = np.dtype(self.backend.precision).itemsize
        return round(self.discretization.physics.numbers_per_point * item)

    @property
    def dt(self) -> float:
        """Time step in s."""
        return self.discretization.clock.dt

    @property
    def steps(self) -> int:
        """Steps of the wanted duration."""
        return self.discretization.clock.steps

    def load(self, shots: list[Shot]) -> None:
        """Load other shots, at most a batch of them over all grids, and reset the time to 0."""
        self.start(self.prepare(shots))
        windowed = [
            launches
            for level in self.levels
            for p in level.solvers
            for launches in p.added
            if launches.window
        ]
        self._windowed = [launches for launches in windowed if launches.acts_for(shots)]
        for launches in windowed:
            if not launches.acts_for(shots):
                launches.silence()

    def prepare(self, shots: list[Shot]) -> Prepared:
        """Compute the tables of shots, in any thread, while other shots may be stepping."""
        # Sources of this rank's shots; parts of features act as point sources.
        local_shots = self.division.shots
        added = self.solvers[0].added
        sources = [
            [
                *shot.points,
                *(source for launches in added for source in launches.point_sources(shot)),
            ]
            for shot in shots[local_shots.start : local_shots.stop]
        ]
        # Another grid has sources on the other side of the plane where both meet.
        sources = [
            [s for s in of_shot if self.discretization.has(s.position)] for of_shot in sources
        ]
        tables = [solver.injection.tables(sources, self.total_steps) for solver in self.solvers]
        above = None if self.above is None else self.above.prepare(shots)
        return Prepared(tables, self.recorder.rows_of(shots), above)

    def start(self, prepared: Prepared) -> None:
        """Load prepared shots and reset the time to 0; collective over all ranks."""
        fits = self._take(prepared)
        if self.above is not None and prepared.above is not None:
            fits += self.above._take(prepared.above)
        self.step = self.total_steps
        # Initial condition: zero wavefield, memory and record, whose arrays stay while bound.
        if not self._programs:
            self._changing = [saved.array for saved in self.state().values()]
        for array in self._changing:
            array[:] = 0
        # Bind anew where any rank's tables changed shape.
        if not all(self.ranks.allgather(bool(self._programs) and all(fits))):
            ranks = self.ranks if self.division.ranks_per_grid > 1 else SerialCommunicator()
            parities = self.discretization.physics.parities
            # One program for each phase, of both parities.
            steps = [tuple(self._bind(p, n) for p in parities) for n in range(len(self.phases))]
            self._programs = [ranks.program(self.backend, step) for step in steps]
        self.step = 0

    def _take(self, prepared: Prepared) -> list[bool]:
        """Load the tables of prepared shots; return which have the shapes of the earlier ones."""
        loaded = zip(self.solvers, prepared.injection, strict=True)
        fits = [solver.injection.load(tables) for solver, tables in loaded]
        fits.append(prepared.record is None)
        if prepared.record is not None:
            # Steps that write the old record must be complete on all ranks.
            self.ranks.wait()
            self.backend.wait()
            self.ranks.wait()
            self._programs = []
            self.recorder.load(prepared.record)
        return fits

    def state(self) -> dict[str, CheckpointArray]:
        """Return the state of the run: all arrays that later steps depend on, by name.

        Another simulation that has loaded the same shots goes on to the same bits once it has this
        `step`, and these numbers in its own arrays.
        """
        # Record, peaks, fields and memory variables.
        arrays = {"record": self.recorder.state(self.step)}
        arrays |= {f"maps/{name}": array for name, array in self.maps.state().items()}
        for n, solver in self._numbered.items():
            arrays |= {f"part{n}.{name}": array for name, array in solver.state().items()}
        # That of the finer grid, whose arrays have names of their own.
        if self.above is not None:
            self.above.step = self.step
            above = self.above.state().items()
            arrays |= {f"fine.{name}": array.renamed("fine.") for name, array in above}
        return arrays

    @property
    def paced(self) -> bool:
        """Whether this rank queues steps by itself; see `SerialCommunicator`."""
        return self.ranks.is_throttled or self.division.ranks_per_grid == 1

    @property
    def parity(self) -> int:
        """The parity of the next step, for `Fields.written`."""
        return self.step % len(self.discretization.physics.parities)

    @property
    def last_parity(self) -> int:
        """The parity of the last step, for `Fields.written`."""
        return (self.step - 1) % len(self.discretization.physics.parities)

    def phase_of(self, step: int) -> int:
        """Return the number of the phase of a step."""
        return bisect([phase.first for phase in self.phases], step) - 1

    def advance(self, steps: int) -> None:
        """Advance by a number of steps, at most to `total_steps`."""
        if self.step + steps > self.total_steps:
            raise ValueError(f"{self.step} + {steps} steps exceed the run's {self.total_steps}")
        last = self.step + steps
        while self.step < last:
            # Run to the end of the phase, of the window of a feature, or of the steps asked for.
            phase = self.phase_of(self.step)
            following = (p.first for p in self.phases[phase + 1 : phase + 2])
            end = min(last, *following, self.total_steps)
            if self._windowed:
                windows = {launches.window for launches in self._windowed}
                end = min(end, *(self.step - self.step % length + length for length in windows))
                self._load_windows()
            self._programs[phase](self.step, end - self.step)
            self.step = end

    def _load_windows(self) -> None:
        """Load the windows of this step, once all steps before it are done."""
        if all(launches.holds(self.step) for launches in self._windowed):
            return
        # Steps that read the old window must be complete on all ranks.
        self.ranks.wait()
        self.backend.wait()
        self.ranks.wait()
        for launches in self._windowed:
            launches.load(self.step, self.total_steps)
        self.backend.wait()

    def _bind(self, parity: int, phase: int = 0) -> Step:
        return step_schedule(self, parity, phase)

    def views(self, name: str) -> list[tuple[Box, FieldView]]:
        """Return each part's owned points and its view (shot, z, y, x) of a field after a step."""
        return [
            (p.subdomain.owned, FieldView(self.backend, p.subdomain.inside(array)))
            for p, array in self._last_arrays(name)
        ]

    def largest(self, name: str) -> Callable[[], tuple[float, Triple]]:
        """Start the search for the largest magnitude of a field, on all grids.

        The result waits for it, and gives it with its x, y, z in the (coarser) grid.
        """
        key = (name, self.parity)
        if key not in self._searches:
            self._searches[key] = [
                self.backend.largest(a, p.subdomain.strides[1]) for p, a in self._last_arrays(name)
            ]
        # Queue the reductions of all subdomains; the result is awaited later.
        looks = [start() for start in self._searches[key]]
        if self.above is not None:
            self.above.step = self.step
        largest_above = None if self.above is None else self.above.largest(name)

        def wait() -> tuple[float, Triple]:
            maxima = [look() for look in looks]
            # Largest of this rank's subdomains, then of all ranks and grids.
            size, number = max((f.size, n) for n, f in enumerate(maxima))
            index = self.solvers[number].subdomain.point(maxima[number].at)
            largest = max(self.ranks.allgather((size / self._scale(name), index)))
            if self.above is None or largest_above is None:
                return largest
            size, index = largest_above()
            return max(
                largest,
                (size, self.discretization.grid.nearest(self.above.discretization.grid, index)),
            )

        return wait

    def _last_arrays(self, name: str) -> list[tuple[SubdomainSolver, Any]]:
        """Return each part's array of a field as the last step left it."""
        return [(p, p.fields.written(name, self.last_parity)) for p in self.solvers]

    def field(self, name: str) -> np.ndarray:
        """Return a field (shot, z, y, x) as the last step left it, layers included."""
        # Assemble the owned boxes of all subdomains.
        nx, ny, nz = self.discretization.grid.points
        assembled = np.empty((len(self.division.shots), nz, ny, nx), self.backend.precision)
        for owned, view in self.views(name):
            (_, y0, z0) = owned.lo
            (_, y1, z1) = owned.hi
            assembled[:, z0:z1, y0:y1] = view[...]
        assembled /= assembled.dtype.type(self._scale(name))
        return assembled

    def _scale(self, name: str) -> float:
        return self.discretization.physics.named(name).scale


def step_schedule(simulation: Simulation, parity: int, phase: int = 0) -> Step:
    """Return the launches of a step: groups in order, each of concurrent launches.

    In each phase sweeps have other layer profiles or boxes, and the same arrays. Sources near a
    cut act before their points travel to the neighbour.
    """
    levels = simulation.levels
    schedule = [group for level in levels for group in _evaluations(level)]
    # Stages in the order of the time step; exchanges of grids come before each of them. Rows that
    # follow the ground have stages of their own, which only the finest grid has.
    numbers = [
        {s.name: n for n, s in enumerate(level.discretization.physics.stages)} for level in levels
    ]
    for stage in levels[-1].discretization.physics.stages:
        for exchange in simulation.exchanges if stage.name in numbers[0] else ():
            schedule += _each(exchange.before(stage), f"{stage.name} refinement")
        for level, number in zip(levels, numbers, strict=True):
            if stage.name in number:
                schedule += _stage(level, number[stage.name], parity, phase)
    for exchange in simulation.exchanges:
        schedule += _each(exchange.fill(), "refinement")
    # After the last stage: sample receivers, raise the peaks of maps.
    for level in levels:
        schedule += _each(level.recorder.launches(parity), "receivers")
        schedule += _each(level.maps.launches(parity), "maps")
    return [group for group in schedule if group]


def _evaluations(simulation: Simulation) -> Step:
    """Return the launches that evaluate the sources of a step, before any stage needs them."""
    schedule = _each(
        [evaluation for p in simulation.solvers for evaluation in p.injection.evaluations()],
        "sources",
    )
    # The same of all subdomains, in turn.
    added = zip(*(p.added for p in simulation.solvers), strict=True)
    return schedule + _each(
        [launch for alike in added for launches in alike for launch in launches.evaluations()],
        "sources",
    )


def _stage(simulation: Simulation, n: int, parity: int, phase: int) -> Step:
    """Return the launches of the n-th stage."""
    stage = simulation.discretization.physics.stages[n]
    bound = [solver.phases[phase][n] for solver in simulation.solvers]
    halo = simulation.halos[parity][n]
    # Sources near a cut act with the edges, the others with the core.
    edge_sources, core_sources = (
        _acting(simulation, stage.name, inner, parity) for inner in (False, True)
    )
    images = [fill for solver in simulation.solvers for fill in solver.images[parity][stage.name]]
    name = stage.name
    between = f"{stage.name} halo"
    # 1. Edges, their corrections and sources: neighbours wait for these.
    edges = [launch for b in bound for launch in b.edges[parity]]
    schedule = [Group(edges, "edge", name)]
    schedule += _each(
        [correction for b in bound for correction in b.edge_corrections], name, "edge"
    )
    schedule += _each(edge_sources, "sources", "edge")
    # 2. Send halos.
    schedule += [Group(group, group.where, between) for group in halo.start]
    # 3. Core, concurrently with the messages.
    core = [launch for b in bound for launch in b.core[parity]]
    schedule.append(Group(core, "core", name))
    schedule += _each([launch for b in bound for launch in b.core_corrections], name, "core")
    schedule += _each(core_sources, "sources", "core")
    # 4. Receive halos, then fill the images outside mirror faces.
    schedule += [Group(group, group.where, between) for group in halo.finish]
    return schedule + _each(images, f"{name} images")


def _acting(simulation: Simulation, stage: str, inner: bool, parity: int) -> list[Launch]:
    """Return the launches of sources that act in a stage, away from cuts or near them."""
    return [
        launch
        for p in simulation.solvers
        for bound_of in (p.injection.bound, *(added.bound for added in p.added))
        for launch in bound_of(stage, inner, parity)
    ]


def _each(launches: list[Launch], name: str, where: str = "") -> Step:
    """Return groups of a launch each, which run in order."""
    return [Group([launch], where, name) for launch in launches]


def _refuse_processor(scenario: Scenario, backend: Backend) -> None:
    """Refuse fields of 16 bits on a backend that has none."""
    if scenario.in_16_bits and not backend.has_float16:
        raise DeviceError(
            "precision: float16 is for GPUs, and this run is on the CPU: give float32, or take it "
            "to a GPU (--backend gpu)"
        )


def build(
    scenario: Scenario,
    choice: BackendChoice | None = None,
    *,
    threads: int | None = None,
    counts: tuple[int, int] | None = None,
) -> Simulation:
    """Build the simulation of a scenario's first batch of shots.

    Args:
        scenario: a checked scenario.
        choice: where it goes (`seismo.backends.select.choose`), the CPU when None.
        threads: threads to use on the CPU, all cores when None.
        counts: subdomains along z and y (the answer does not depend on it), the scenario's if None.

    Raises:
        ScenarioError: something in the scenario cannot be built.
    """
    backend = (choice or choose("cpu", threads=threads)).make(scenario.precision)
    return Simulation(discretize(scenario, backend.batch_points), backend, counts)
