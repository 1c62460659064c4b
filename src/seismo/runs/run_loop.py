"""The way of one run from its setup to its results file: build, step, hand over what is due.

    model -> [batch of shots: steps, snapshots, traces; checkpoints on the way] -> file

Results appear under their name when the run is complete. A run whose wavefield blows up is an
error, but what was recorded until then is kept, and says so: every earlier batch of shots, the
traces of this one up to the last look that found it sound, and the snapshots taken. A run that ends
in any other way leaves its last checkpoint and the results up to it, if there are any.
Of several ranks the first writes what all have found; the others run along.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seismo.acquisition import trace_processing
from seismo.backends import machine
from seismo.backends.communicator import SerialCommunicator
from seismo.errors import DiskSpaceError, StoppedError, UnstableError
from seismo.output.null_writer import NullWriter
from seismo.output.pipeline import Pipeline
from seismo.output.results_file import UNSTABLE, ResultsWriter
from seismo.output.snapshots import SnapshotRecorder
from seismo.runs import file_contents, progress
from seismo.runs.assessment import assess
from seismo.runs.checkpoints import Checkpoints, Start
from seismo.runs.compile_notice import Compiling
from seismo.runs.context import RunContext
from seismo.runs.prefetch import Prefetcher
from seismo.runs.profile import Unprofiled
from seismo.runs.progress import Progress, Reporter
from seismo.runs.resources.demands import refuse_what_does_not_fit
from seismo.runs.resources.memory import Memory, output_of, ring_of, series_of
from seismo.runs.step_timer import REPORT_EVERY, StepTimer
from seismo.runs.telemetry import UNITS, Telemetry
from seismo.scenario.units import with_unit
from seismo.solver import stability_monitor
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation
from seismo.solver.stability_monitor import StabilityMonitor


@dataclass(eq=False)
class Run:
    """The state of one run.

    Attributes:
        setup: what to run.
        memory: what it takes.
        path: the results file.
        report: told of the progress.
        profile: where to run, and who is told what is done when.
        ranks: that take part.
        identity: what tells this run from others, for the results.
        start: where it begins.
        checkpoints: written on the way; a run without them leaves nothing unless it is done.
    """

    setup: Discretization
    memory: Memory
    path: Path
    report: Reporter
    profile: Unprofiled
    ranks: SerialCommunicator
    identity: str = ""
    start: Start = field(default_factory=Start)
    checkpoints: Checkpoints | None = None

    def __post_init__(self) -> None:
        """Prepare it."""
        self.backend, self.noted = self.profile.backend, self.profile.noted
        self.series = series_of(self.setup)
        self.names = [shot.name for shot in self.setup.shots]
        self.per_batch = self.setup.clock.steps + self.setup.extra_steps
        self.batches = range(0, len(self.setup.shots), self.setup.batch)
        self.pace = StepTimer(self.backend)
        self.telemetry = Telemetry(self.backend, self.pace, self.ranks.several)
        self.since = self.started = self.reported = 0.0
        self.before = self.start.header.get("elapsed", 0.0)
        self.others = machine.ExternalLoad()
        self.compiling = Compiling(self.report, self.setup.grid.size)

    def go(self) -> None:
        """Take the part of this rank in it."""
        try:
            (self.write if self.ranks.first else self.follow)()
        except BaseException as error:
            if self.checkpoints is not None:
                self._leave(self.checkpoints, isinstance(error, KeyboardInterrupt))
            raise

    def _leave(self, checkpoints: Checkpoints, asked: bool) -> None:
        """Leave nothing without a checkpoint; say to who interrupts how to go on from one."""
        if not checkpoints.there and self.ranks.first:
            checkpoints.remove()
        elif checkpoints.there and asked:
            self.report(Progress("checkpoint", note=checkpoints.onwards))

    def write(self) -> None:
        """Run everything and publish the results file."""
        scenario = self.setup.scenario
        self.since = time.perf_counter()
        assessment = assess(self.setup)
        for warning in assessment.warnings if self.start.done is None else ():
            self.report(Progress("caution", note=warning))
        writer = ResultsWriter(
            self.path,
            scenario_text=scenario.text,
            resolved=scenario.to_yaml(),
            attributes=file_contents.attributes_of(self.setup, assessment)
            | {"identity": self.identity},
            done=self.start.done,
        )
        memory, written = self.memory, self.checkpoints is not None
        refuse_what_does_not_fit(
            self.setup, memory, self.backend, writer.path, memory.checkpoints * written, self.ranks
        )
        with writer:
            self.report(Progress("model"))
            if scenario.output.model:
                writer.write_model(*file_contents.model_of(self.setup))
            file_contents.write_sources(writer, self.setup)
            file_contents.create_traces(writer, self.setup)
            file_contents.create_maps(writer, self.setup)
            self.report(Progress("build"))
            with self.compiling.watched():
                simulation, taker = self._built(writer)
            end = output_of(self.setup)
            reserve = end.traces + end.maps + memory.state * written
            held = (ring_of(self.setup), reserve, self.noted)
            with Pipeline(writer, self.backend, *held) as pipeline:
                failure = self._waves(RunContext(simulation, taker, writer, pipeline))
            marks = {"status": UNSTABLE, "message": str(failure)} if failure else None
            summary = self._summary(simulation) | pipeline.describe()
            writer.write_telemetry(self.telemetry.series(), UNITS)
            writer.finish(summary, marks)
        if self.checkpoints is not None:
            self.checkpoints.remove()
        self.ranks.wait()
        if failure is not None:
            raise UnstableError(f"{failure}, in {self.path}", failure.good)
        self.report(Progress("done", self.total, self.total, note=progress.closing_line(summary)))

    def follow(self) -> None:
        """Run along with the first rank, until it has published the results."""
        elsewhere = NullWriter()
        failure = self._waves(RunContext(*self._built(elsewhere), elsewhere, elsewhere))
        self.ranks.wait()
        if failure is not None:
            raise failure

    def _built(self, writer: ResultsWriter | NullWriter) -> tuple[Simulation, SnapshotRecorder]:
        simulation = Simulation(self.setup, self.backend, ranks=self.ranks)
        fields, batch = [part.fields for part in simulation.parts], self.setup.batch
        return simulation, SnapshotRecorder(
            writer, self.series, self.names, self.backend, fields, batch, self.ranks
        )

    def _waves(self, gear: RunContext) -> UnstableError | None:
        """Run all batches; give the error of one that blew up, once its waves are kept."""
        if self.start.done is not None:
            note = f"going on from step {self.start.done} of {self.total}"
            self.report(Progress("checkpoint", self.start.done, self.total, note=note))
        shots, together = self.setup.shots, self.setup.batch
        with Prefetcher(gear.simulation, [shots[n : n + together] for n in self.batches]) as ahead:
            for number, first in list(enumerate(self.batches))[self.start.batch :]:
                try:
                    self._batch(gear, ahead, number, first)
                except UnstableError as error:
                    if not self.identity:
                        raise
                    return self._keep(error, gear, first)
        return None

    def _keep(self, error: UnstableError, gear: RunContext, first: int) -> UnstableError:
        """Store the traces of a batch up to the last look that found it sound."""
        names = self.names[first : first + self.setup.batch]
        removal = self.setup.scenario.time.dispersion_removal
        steps = trace_processing.complete_steps(error.good, removal)
        gear.send_traces(first, len(names), steps)
        kept = f"the traces until {with_unit(steps * self.setup.clock.dt, 's')}"
        if len(self.names) > 1:
            kept += " of " + " to ".join(dict.fromkeys((names[0], names[-1])))
            kept += f", and {first} shot{'s' * (first > 1)} before" if first else ""
        return UnstableError(f"{error}; kept are {kept}", error.good)

    @property
    def total(self) -> int:
        """Steps over all batches."""
        return self.per_batch * len(self.batches)

    def _batch(self, gear: RunContext, ahead: Prefetcher, number: int, first: int) -> None:
        shots = ahead.load(number)
        names = self.names[first : first + len(shots)]
        watch = self._watch(gear.simulation, shots)
        begun = self._take_up(gear, watch, number)
        watch.look(gear.simulation.step)  # whatever has to be compiled for it is compiled now
        ahead.look_ahead(number)
        try:
            self._steps(gear, watch, number, names, begun)
        except DiskSpaceError as error:
            # The first rank alone meets a full disk: the others cannot store with it.
            if self.checkpoints is None or self.ranks.several:
                raise
            stopped = self._store(gear, watch, number)
            raise DiskSpaceError(f"{error}; {stopped}; {self.checkpoints.onwards}") from None
        gear.send_traces(first, len(shots), self.setup.clock.steps)
        if number + 1 < len(self.batches):
            self._store_if_due(gear, None, number + 1)

    def _steps(
        self, gear: RunContext, watch: StabilityMonitor, number: int, names: list[str], begun: int
    ) -> None:
        """Take the steps of a batch after step `begun`."""
        for step in (step for step in self._stops(gear.taker) if step > begun):
            for _ in self._advance(gear, step, number, names):
                self._store_if_due(gear, watch, number)
            if step % stability_monitor.EVERY == 0 or step == self.per_batch:
                watch.look(step)
            if step in gear.taker.events:
                with self.noted("snapshots"):
                    gear.taker.take(step, gear.simulation.left, gear.pipeline, names)
            if step == self.setup.clock.steps:
                gear.send_maps(number * self.setup.batch, len(names))
            if step < self.per_batch:
                self._store_if_due(gear, watch, number)
        watch.finish()

    def _stops(self, taker: SnapshotRecorder) -> list[int]:
        """List the steps after which something is to be done, the last one included."""
        steps = self.per_batch
        due = self.checkpoints.stops(steps) if self.checkpoints else ()
        looks = range(stability_monitor.EVERY, steps, stability_monitor.EVERY)
        return sorted({*looks, steps, self.setup.clock.steps, *taker.events, *due})

    def _take_up(self, gear: RunContext, watch: StabilityMonitor, number: int) -> int:
        """Go back to where a checkpoint left a batch, and give the step; -1 where none did."""
        step = self.start.step_of(number)
        if step is None:
            return -1
        gear.simulation.step = step
        self.start.fill(self.ranks, gear.state(), self.backend.array)
        watch.recall(self.start.header["watch"])
        return step

    def _store_if_due(self, gear: RunContext, watch: StabilityMonitor | None, number: int) -> None:
        """Store a checkpoint if one is due, and stop there if that is asked for.

        Args:
            gear: what the run works with.
            watch: of the batch under way, None between two batches.
            number: of the batch that is under way, or comes next.

        Raises:
            StoppedError: the run was asked to stop.
        """
        due = self.checkpoints
        if due is not None and due.due(gear.simulation.step if watch else 0):
            ending = due.ending
            with self.noted("checkpoint"):
                stopped = self._store(gear, watch, number)
            if ending:
                raise StoppedError(f"{stopped}, {ending}; {due.onwards}")

    def _store(self, gear: RunContext, watch: StabilityMonitor | None, number: int) -> str:
        """Store a checkpoint, once everything before it is sound and on the disk; say where."""
        assert self.checkpoints is not None
        begin = time.monotonic()
        self.pace.settle()
        step = gear.simulation.step if watch else None
        done = number * self.per_batch + (step or 0)
        if watch is not None:
            watch.look(gear.simulation.step)
            watch.finish()
        first = number * self.setup.batch
        gear.pipeline.seal(done, file_contents.marks_of(self.setup, first, step))
        facts: dict[str, Any] = {"batch": number, "step": step, "elapsed": self._elapsed}
        if watch is not None:
            facts["watch"] = watch.found()
        state = gear.state() if watch is not None else {}
        self.checkpoints.write(done, facts, state, self.backend.fetch, begin)
        self.report(Progress("checkpoint", done, self.total, note=f"checkpoint at step {done}"))
        return f"stopped after step {done} of {self.total}"

    def _advance(self, gear: RunContext, to: int, number: int, names: list[str]) -> Iterator[None]:
        """Step to a step, halting now and then; the very first, which may compile, is not timed."""
        simulation = gear.simulation
        if not self.started and to > simulation.step:
            with self.compiling.watched():
                simulation.advance(1)
                self.backend.wait()
            if self.checkpoints is not None:
                self.checkpoints.begin()
            self.started = self.reported = time.perf_counter()
        points, last = self.setup.grid.size * len(names), self.per_batch
        while simulation.step < to:
            gear.pipeline.check()
            count = min(to - simulation.step, self.pace.room if simulation.paced else to)
            self.pace.queue(simulation.advance, count, points)
            if not self.pace.room or simulation.step == last:
                self.pace.settle()
                now = time.perf_counter()
                if now - self.reported > REPORT_EVERY or simulation.step == last:
                    self.reported = now
                    self.report(self._progress(gear, number, names, now))
                if simulation.step < to and not self.ranks.several:  # these halt together
                    yield

    def _progress(self, gear: RunContext, number: int, names: list[str], now: float) -> Progress:
        """Take a sample of how the run and its device are, and say where it is."""
        simulation, several = gear.simulation, len(self.names) > 1
        last = number * self.setup.batch + len(names)
        elapsed, moved = self.before + now - self.started, simulation.bytes_per_point
        health = self.telemetry.sample(elapsed, moved, gear.pipeline.waiting())
        return Progress(
            "step", number * self.per_batch + simulation.step, self.total,
            min(simulation.step, self.setup.clock.steps) * self.setup.clock.dt, elapsed,
            self.pace.rate,
            f"shots {last - len(names) + 1}-{last} of {len(self.names)}" if several else "",
            share=self.telemetry.share(self.pace.rate * moved), health=health,
        )  # fmt: skip

    @staticmethod
    def _watch(simulation: Simulation, shots: list) -> StabilityMonitor:
        quiet = max(source.end for shot in shots for source in shot.sources)
        return StabilityMonitor(simulation, simulation.setup.physics.fields[0].name, quiet)

    @property
    def _elapsed(self) -> float:
        """Seconds on the wall, those before the checkpoint it began with included."""
        return self.before + time.perf_counter() - self.since

    def _summary(self, simulation: Simulation) -> dict[str, Any]:
        moved = self.pace.rate * simulation.bytes_per_point
        summary = self.backend.describe() | {
            "steps": self.setup.clock.steps,
            "steps_taken": self.total,
            "shots": len(self.names),
            "elapsed_s": self._elapsed,
            "stepping_s": self.pace.seconds,
            "points": self.setup.grid.size,
            "points_per_second": self.pace.rate,
            "bytes_per_second": moved,
        }
        peak = machine.peak_memory()
        if peak is not None:
            summary["peak_memory_bytes"] = peak
        if self.ranks.several:
            summary |= simulation.division.describe()
        elif share := self.telemetry.share(moved):
            summary["bandwidth_share"] = share
        others = self.others.share()
        if others is not None and not self.ranks.several:
            summary["share_of_others"] = others
        return summary
