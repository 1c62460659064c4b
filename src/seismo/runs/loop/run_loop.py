"""A run from its discretization to its results file: build, step, send due output.

    model -> [batch of shots: steps, snapshots, traces; checkpoints on the way] -> file

Results appear under their name when the run is complete. A run whose wavefield blows up is an
error, but the records until then are kept, and say so: every earlier batch of shots, the traces of
this batch up to the last look that found it sound, and the snapshots taken. A run that ends in any
other way leaves its last checkpoint and the results up to it, if there are any.
Of several ranks the first writes the results of all; the others run along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seismo.acquisition import trace_processing
from seismo.backends import machine
from seismo.backends.communicator import SerialCommunicator
from seismo.errors import DiskSpaceError, UnstableError
from seismo.output.pipeline import Pipeline, SnapshotRecorder
from seismo.output.results_file import UNSTABLE, NullWriter, ResultsWriter
from seismo.runs import file_contents, progress
from seismo.runs.checkpoints import Checkpoints, Start
from seismo.runs.loop import AtSteps, EverySeconds, Halt, ScheduledActions, act
from seismo.runs.loop.actions import (
    Batch,
    Prefetcher,
    ReportProgress,
    RunContext,
    SampleTelemetry,
    SendMaps,
    StopRun,
    StoreCheckpoint,
    TakeSnapshots,
    batches_of,
)
from seismo.runs.loop.time_loop import (
    REPORT_EVERY,
    UNITS,
    Compiling,
    StepTimer,
    Telemetry,
    TimeLoop,
)
from seismo.runs.progress import Progress, Reporter, Unprofiled
from seismo.runs.resources.memory import Memory, output_of, ring_of
from seismo.runs.resources.memory_fit import refuse_what_does_not_fit
from seismo.scenario.units import with_unit
from seismo.solver.accuracy import stability_monitor
from seismo.solver.accuracy.stability_monitor import StabilityMonitor
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation


@dataclass(eq=False)
class Run:
    """The state of a run.

    Attributes:
        discretization: of the run.
        memory: its bytes.
        path: the results file.
        report: receives the progress.
        profile: with the backend, and the timeline that spans are noted in.
        ranks: that take part.
        identity: digest that tells this run from others, for the results.
        start: where it begins.
        checkpoints: written on the way; a run without them leaves nothing unless it is done.
    """

    discretization: Discretization
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
        self.backend = self.profile.backend
        self.noted = self.profile.noted
        self.batches = batches_of(self.discretization)
        self.total = len(self.batches) * self.discretization.total_steps
        self.timer = StepTimer(self.backend, self.start.header.get("elapsed", 0.0))
        self.telemetry = Telemetry(self.backend, self.timer, self.ranks.has_others)
        self.reports = EverySeconds(REPORT_EVERY)
        self.others = machine.ExternalLoad()
        self.compiling = Compiling(self.report, self.discretization.points)

    def go(self) -> None:
        """Run the part of this rank."""
        try:
            (self.write if self.ranks.first else self.follow)()
        except BaseException as error:
            if self.checkpoints is not None:
                self._leave(self.checkpoints, isinstance(error, KeyboardInterrupt))
            raise

    def _leave(self, checkpoints: Checkpoints, is_interrupted: bool) -> None:
        """Leave nothing without a checkpoint; tell whoever interrupts how to go on."""
        if not checkpoints.exist and self.ranks.first:
            checkpoints.remove()
        elif checkpoints.exist and is_interrupted:
            self.report(Progress("checkpoint", note=checkpoints.resume_command))

    def write(self) -> None:
        """Run everything and publish the results file."""
        writer = self.new_file()
        memory = self.memory
        written = self.checkpoints is not None
        refuse_what_does_not_fit(
            self.discretization,
            memory,
            self.backend,
            writer.path,
            memory.checkpoints * written,
            self.ranks,
        )
        with writer:
            self.lay_out(writer)
            self.report(Progress("build"))
            with self.compiling.watched():
                simulation, snapshots = self._built(writer)
            end = output_of(self.discretization)
            reserve = end.traces + end.maps + memory.state * written
            pipeline_options = (ring_of(self.discretization), reserve, self.noted)
            with Pipeline(writer, self.backend, *pipeline_options) as pipeline:
                failure = self._run_batches(self._context(simulation, snapshots, pipeline))
            marks = {"status": UNSTABLE, "message": str(failure)} if failure else None
            summary = self._summary(simulation) | pipeline.describe()
            writer.write_telemetry(self.telemetry.series(), UNITS)
            writer.finish(summary, marks)
        if self.checkpoints is not None:
            self.checkpoints.remove()
        self.ranks.wait()
        if failure is not None:
            raise UnstableError(f"{failure}, in {self.path}", failure.good)
        self.report(self._ending(summary))

    def _ending(self, summary: Mapping[str, Any]) -> Progress:
        """Return the last report, with the speed of the whole run."""
        clock = self.discretization.clock
        return Progress(
            "done", self.total, self.total, clock.steps * clock.dt,
            self.timer.stepping, self.timer.rate, note=progress.closing_line(summary),
            share=summary.get("bandwidth_share", 0.0), health=self.telemetry.health,
        )  # fmt: skip

    def follow(self) -> None:
        """Run along with the first rank, until it has published the results."""
        writer = NullWriter()
        failure = self._run_batches(self._context(*self._built(writer), writer))
        self.ranks.wait()
        if failure is not None:
            raise failure

    def new_file(self) -> ResultsWriter:
        """Assess the run, and return its results file, not begun yet."""
        # Runs in memory, and refused runs, go without an assessment.
        from seismo.runs.prediction.assess import assess, unsought

        scenario = self.discretization.scenario
        assessment = assess(self.discretization, unsought)
        for warning in assessment.warnings if self.start.done is None else ():
            self.report(Progress("caution", note=warning))
        return ResultsWriter(
            self.path,
            scenario_text=scenario.text,
            resolved=scenario.to_yaml(),
            attributes=file_contents.attributes_of(self.discretization)
            | assessment.attributes
            | {"identity": self.identity},
            done=self.start.done,
        )

    def lay_out(self, writer: ResultsWriter) -> None:
        """Write the facts known before the first step, and create the datasets that steps fill."""
        self.report(Progress("model"))
        if self.discretization.scenario.output.model:
            writer.write_model(*file_contents.model_of(self.discretization))
        file_contents.write_ground(writer, self.discretization)
        file_contents.write_sources(writer, self.discretization)
        file_contents.create_traces(writer, self.discretization)
        file_contents.create_maps(writer, self.discretization)

    def _built(self, writer: ResultsWriter | NullWriter) -> tuple[Simulation, SnapshotRecorder]:
        simulation = Simulation(self.discretization, self.backend, ranks=self.ranks, from_rest=True)
        names = [shot.name for shot in self.discretization.shots]
        series = [
            (series, level.sampled)
            for level in simulation.levels
            for series in level.discretization.series
        ]
        return simulation, SnapshotRecorder(writer, series, names)

    def _context(
        self, simulation: Simulation, snapshots: SnapshotRecorder, pipeline: Pipeline | NullWriter
    ) -> RunContext:
        return RunContext(
            simulation, snapshots, pipeline, self.timer, self.report, self.noted, self.total
        )

    def _run_batches(self, context: RunContext) -> UnstableError | None:
        """Run all batches; return the error of a batch that blew up, once its traces are kept."""
        if self.start.done is not None:
            note = f"going on from step {self.start.done} of {self.total}"
            self.report(Progress("checkpoint", self.start.done, self.total, note=note))
        shots = [self.discretization.shots[b.first : b.first + len(b.names)] for b in self.batches]
        with Prefetcher(context.simulation, shots) as prefetcher:
            for batch in self.batches[self.start.batch :]:
                try:
                    self._run_batch(context, prefetcher, batch)
                except UnstableError as error:
                    if not self.identity:
                        raise
                    return self._keep(error, context, batch)
        return None

    def _keep(self, error: UnstableError, context: RunContext, batch: Batch) -> UnstableError:
        """Store the traces of a batch up to the last check that found it sound."""
        names = batch.names
        first = batch.first
        removal = self.discretization.scenario.time.dispersion_removal
        steps = trace_processing.complete_steps(error.good, removal)
        context.send_traces(batch, steps)
        kept = f"the traces until {with_unit(steps * self.discretization.clock.dt, 's')}"
        if len(self.discretization.shots) > 1:
            kept += " of " + " to ".join(dict.fromkeys((names[0], names[-1])))
            kept += f", and {first} shot{'s' * (first > 1)} before" if first else ""
        return UnstableError(f"{error}; kept are {kept}", error.good)

    def _run_batch(self, context: RunContext, prefetcher: Prefetcher, batch: Batch) -> None:
        simulation = context.simulation
        shots = prefetcher.load(batch.number)
        quiet = max(source.silent_after for shot in shots for source in shot.sources)
        monitor = StabilityMonitor(simulation, self.discretization.physics.fields[0].name, quiet)
        begun = self._resume(context, monitor, batch.number)
        monitor.look(simulation.step)  # whatever has to be compiled for it is compiled now
        prefetcher.look_ahead(batch.number)
        first_step = partial(self._first_step, simulation)
        loop = TimeLoop(simulation, self.timer, context.pipeline.check, first_step)
        try:
            loop.run(self._plan(context, batch, monitor), begun, len(shots))
            monitor.finish()
            if weakness := monitor.weakness():
                self.report(Progress("caution", note=weakness))
        except DiskSpaceError as error:
            # The first rank alone meets a full disk: the others cannot store with it.
            if self.checkpoints is None or self.ranks.has_others:
                raise
            step = simulation.step
            StoreCheckpoint(context, batch, self.checkpoints, monitor.confirm).store(step)
            stopped = context.stopped(batch.done + step)
            resume = self.checkpoints.resume_command
            raise DiskSpaceError(f"{error}; {stopped}; {resume}", True) from None
        context.send_traces(batch, self.discretization.clock.steps)
        if batch is not self.batches[-1]:
            following = self.batches[batch.number + 1]
            act(self._checkpointing(context, following, None), Halt(0))

    def _plan(
        self, context: RunContext, batch: Batch, monitor: StabilityMonitor
    ) -> ScheduledActions:
        """Return the actions of a batch and their schedules, in their order at a halt."""
        last = context.simulation.total_steps
        checks = {*range(stability_monitor.EVERY, last, stability_monitor.EVERY), last}
        telemetry = self.telemetry
        return [
            (
                self.reports,
                SampleTelemetry(context, telemetry),
                ReportProgress(context, batch, telemetry, monitor),
            ),
            (AtSteps(checks), monitor.look),
            (AtSteps(context.snapshots.events), TakeSnapshots(context, batch)),
            # Acceleration at the end is known a step later.
            (AtSteps({self.discretization.clock.steps + 1}), SendMaps(context, batch)),
            *self._checkpointing(context, batch, monitor.confirm),
        ]

    def _checkpointing(
        self, context: RunContext, batch: Batch, confirm: Callable[[int], dict[str, Any]] | None
    ) -> ScheduledActions:
        """Return the part of the plan that stores checkpoints, and stops the run there."""
        if self.checkpoints is None:
            return []
        store = StoreCheckpoint(context, batch, self.checkpoints, confirm)
        return [(self.checkpoints, store, StopRun(context, batch, self.checkpoints))]

    def _resume(self, context: RunContext, monitor: StabilityMonitor, number: int) -> int:
        """Go back to where a checkpoint left a batch, and return the step; -1 where none did."""
        step = self.start.step_of(number)
        if step is None:
            return -1
        context.simulation.step = step
        self.start.fill(self.ranks, context.state(), self.backend.array)
        monitor.recall(self.start.header["watch"])
        return step

    def _first_step(self, simulation: Simulation) -> None:
        """Take the very first step, which may compile and is not timed."""
        with self.compiling.watched():
            simulation.advance(1)
            self.backend.wait()
        if self.checkpoints is not None:
            self.checkpoints.begin()
        self.timer.start()
        self.reports.restart()

    def _summary(self, simulation: Simulation) -> dict[str, Any]:
        moved = self.timer.rate * simulation.bytes_per_point
        summary = self.backend.describe() | {
            "steps": self.discretization.clock.steps,
            "steps_taken": self.total,
            "shots": len(self.discretization.shots),
            "elapsed_s": self.timer.elapsed,
            "stepping_s": self.timer.seconds,
            "points": self.discretization.points,
            "points_per_second": self.timer.rate,
            "bytes_per_second": moved,
        }
        peak = machine.peak_memory()
        if peak is not None:
            summary["peak_memory_bytes"] = peak
        if self.ranks.has_others:
            summary |= simulation.division.describe()
        elif share := self.telemetry.share(moved):
            summary["bandwidth_share"] = share
        others = self.others.share()
        if others is not None and not self.ranks.has_others:
            summary["share_of_others"] = others
        return summary
