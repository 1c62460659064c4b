"""From a scenario to a wavefield that steps: `build(scenario) -> Simulation`, and its loop.

    for step:
        evaluate what sources inject     # beside all that follows, until it is needed
        for stage:                       # velocity, then stress
            update edges, inject there   # what neighbours wait for
            start halos; update core, inject there; finish halos
            fill images outside the faces
        sample receivers, raise the peaks of maps

All of this is bound once, when the first shots are loaded, and only launched afterwards; other
shots change numbers in it. Of several ranks each has some of the parts.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.shots import Shot
from seismo.backends import machine
from seismo.backends.base import Backend, Search, Step
from seismo.backends.parallel.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose
from seismo.features.faults.signals import WINDOW
from seismo.features.half_precision.units import refuse_processor
from seismo.features.refinement.exchange import RefinedExchange
from seismo.grid.global_index import CheckpointArray
from seismo.grid.grid import Box, Triple
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.fields import FieldView, RankFields
from seismo.solver.interpolation.maps import MapReading
from seismo.solver.parallel.active_region import phases, updates
from seismo.solver.parallel.halo import Halo
from seismo.solver.parallel.partition import (
    Partition,
    divide,
    divide_finer,
    never_cut,
)
from seismo.solver.sampling.injection import InjectionTable, TableKey
from seismo.solver.sampling.peak_maps import PeakMaps
from seismo.solver.sampling.recording import Recorder, RecordRows
from seismo.solver.steps.schedule import step_schedule
from seismo.solver.subdomain import SubdomainSolver


@dataclass(frozen=True)
class Prepared:
    """The tables of a batch of shots, prepared before it is loaded.

    Attributes:
        injection: what is injected, for each part of a rank.
        record: what reads their receivers; None where these do not move.
        fine: those of the finer grid, None without one.
    """

    injection: list[dict[TableKey, InjectionTable]]
    record: RecordRows | None
    fine: Prepared | None = None


class Simulation:
    """A batch of shots on the grid, ready to step."""

    def __init__(
        self, discretization: Discretization, backend: Backend,
        counts: tuple[int, int] | None = None, ranks: SerialCommunicator | None = None,
        *, from_rest: bool = False, below: Partition | None = None,
    ) -> None:  # fmt: skip
        """Allocate and bind everything; see `build`.

        `from_rest` promises that nothing moves before the first step: steps then leave out points
        that no wave has reached (`moving_part`). That of the finer of two grids is stepped with the
        coarser one, whose parts are `below`.
        """
        refuse_processor(discretization, backend)
        self.discretization = discretization
        self.backend = backend
        self.ranks = ranks or SerialCommunicator()
        if below is None:
            self.division = divide(discretization, backend, self.ranks, counts)
        else:
            self.division = divide_finer(discretization, backend, below)
        self.phases = phases(discretization, from_rest)
        self._numbered = {
            n: SubdomainSolver(discretization, backend, self.division.subdomains[n], self.phases)
            for n in self.division.local_numbers
        }
        self.solvers = list(self._numbered.values())
        # The finer grid above, whose steps are taken with these.
        self.fine: Simulation | None = None
        self.exchanges: list[RefinedExchange] = []
        if discretization.fine is not None:
            self.fine = Simulation(
                discretization.fine, backend, ranks=self.ranks, below=self.division
            )
            self.exchanges = [
                RefinedExchange(backend, coarse, fine, discretization)
                for coarse, fine in zip(self.solvers, self.fine.solvers, strict=True)
            ]
        fields = {n: solver.fields for n, solver in self._numbered.items()}
        # Halo exchange of each stage, for each parity of the step.
        peer_fields = self.ranks.peers(backend, fields)
        every = [
            (discretization.physics.exchanged(s), discretization.reached(s))
            for s in discretization.physics.stages
        ]
        self.halos = [
            [Halo(backend, self.division, peer_fields, changed, parity) for changed in every]
            for parity in discretization.physics.parities
        ]
        self.step = 0
        self._programs: list[Callable[[int, int], None]] = []  # for each phase
        self._searches: dict[tuple[str, int], list[Search]] = {}
        self.total_steps = discretization.total_steps
        # Receivers and maps read what a step has left.
        self.sampled = RankFields(backend, list(fields.values()), discretization.batch, self.ranks)
        above = None if self.fine is None else self.fine.recorder
        self.recorder: Recorder = Recorder(discretization, self.division, self.sampled, above)
        reading = MapReading(discretization.interpolation, never_cut(discretization))
        self.maps = PeakMaps(self.sampled, reading, discretization.maps, discretization.clock)
        if below is None:
            # Averages of the earth are freed before fields take their pages.
            machine.release_freed_memory()
            self.load(discretization.shots[: discretization.batch])

    @property
    def points(self) -> int:
        """Points that one step updates, absorbing layers and shots included."""
        return self.discretization.points * self.discretization.batch

    @property
    def levels(self) -> list[Simulation]:
        """The simulations of all grids, the coarsest one first."""
        return [self] if self.fine is None else [self, self.fine]

    def updates(self, first: int, behind: int) -> int:
        """Return the points of a shot that steps update, summed over the steps."""
        return sum(updates(level.phases, first, behind) for level in self.levels)

    @property
    def bytes_per_point(self) -> int:
        """Bytes a perfect kernel moves for one point and step."""
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
        faults = [f for level in self.levels for p in level.solvers for f in p.faults]
        is_acting = any(shot.faults for shot in shots)
        self._faults = faults if is_acting else []
        if not is_acting:
            for fault in faults:
                fault.silence()

    def prepare(self, shots: list[Shot]) -> Prepared:
        """Compute the tables of shots, in any thread, while other shots may be stepping."""
        # Sources of this rank's shots; subfaults at faces act as point sources.
        local_shots = self.division.shots
        sources = [
            [
                *shot.points,
                *(s for one in self.discretization.subfaults if shot.faults for s in one.lone),
            ]
            for shot in shots[local_shots.start : local_shots.stop]
        ]
        # Another grid has those on the other side of the plane where it meets this one.
        sources = [[s for s in some if self.discretization.has(s.position)] for some in sources]
        tables = [solver.injection.tables(sources, self.total_steps) for solver in self.solvers]
        fine = None if self.fine is None else self.fine.prepare(shots)
        return Prepared(tables, self.recorder.rows_of(shots), fine)

    def start(self, prepared: Prepared) -> None:
        """Load prepared shots and reset the time to 0; collective over all ranks."""
        fits = self._take(prepared)
        if self.fine is not None and prepared.fine is not None:
            fits += self.fine._take(prepared.fine)
        self.step = self.total_steps
        # Initial condition: zero wavefield, memory and record.
        for saved in self.state().values():
            saved.array[:] = 0
        # Bind anew where any rank's tables changed shape.
        if not all(self.ranks.allgather(bool(self._programs) and all(fits))):
            one = self.ranks if self.division.ranks_per_grid > 1 else SerialCommunicator()
            parities = self.discretization.physics.parities
            # One program for each phase, of both parities.
            steps = [tuple(self._bind(p, n) for p in parities) for n in range(len(self.phases))]
            self._programs = [one.program(self.backend, some) for some in steps]
        self.step = 0

    def _take(self, prepared: Prepared) -> list[bool]:
        """Load the tables of prepared shots; return which have the shapes of those before."""
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
        if self.fine is not None:
            self.fine.step = self.step
            above = self.fine.state().items()
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

    def advance(self, steps: int) -> None:
        """Advance by a number of steps, at most to `total_steps`."""
        if self.step + steps > self.total_steps:
            raise ValueError(f"{self.step} + {steps} steps exceed the run's {self.total_steps}")
        starts = [phase.first for phase in self.phases]
        last = self.step + steps
        while self.step < last:
            # Run to the end of the phase, of the faults' window, or of what was asked.
            phase = bisect(starts, self.step) - 1
            end = min(last, *starts[phase + 1 : phase + 2], self.total_steps)
            if self._faults:
                end = min(end, self.step - self.step % WINDOW + WINDOW)
                self._load_window()
            self._programs[phase](self.step, end - self.step)
            self.step = end

    def _load_window(self) -> None:
        """Load the fault signals of the window of this step, once all steps before it are done."""
        if all(fault.holds(self.step) for fault in self._faults):
            return
        # Steps that read the old window must be complete on all ranks.
        self.ranks.wait()
        self.backend.wait()
        self.ranks.wait()
        for fault in self._faults:
            fault.load(self.step, self.total_steps)
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
        if self.fine is not None:
            self.fine.step = self.step
        in_fine = None if self.fine is None else self.fine.largest(name)

        def wait() -> tuple[float, Triple]:
            maxima = [look() for look in looks]
            # Largest of this rank's subdomains, then of all ranks and grids.
            size, number = max((f.size, n) for n, f in enumerate(maxima))
            index = self.solvers[number].subdomain.point(maxima[number].at)
            largest = max(self.ranks.allgather((size / self._scale(name), index)))
            if self.fine is None or in_fine is None:
                return largest
            size, index = in_fine()
            return max(
                largest,
                (size, self.discretization.grid.nearest(self.fine.discretization.grid, index)),
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
