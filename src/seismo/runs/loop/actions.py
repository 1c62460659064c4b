"""Actions between steps, and the batches of shots whose results they hand on.

Each action knows itself only (`seismo.runs.loop`). The shots of the next batch are
prepared in a thread while another is under way: to compute injections, wavelets sampled, points and
weights found for every source, takes longer than to load them, and the device, or the cores, need
not wait for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.backends.timeline import SpanRecorder
from seismo.errors import StoppedError
from seismo.grid.decomposition import CheckpointArray
from seismo.output.pipeline import Pipeline, SnapshotRecorder
from seismo.output.results_file import NullWriter
from seismo.runs import file_contents
from seismo.runs.checkpoints import Checkpoints
from seismo.runs.loop.time_loop import StepTimer, Telemetry
from seismo.runs.progress import (
    Progress,
    Reporter,
    WavefieldPeak,
)
from seismo.solver.accuracy.stability_monitor import StabilityMonitor
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.recording import traces_of
from seismo.solver.simulation import Prepared, Simulation


@dataclass(frozen=True)
class Batch:
    """The shots that advance together.

    Attributes:
        number: of the batch.
        first: number of its first shot.
        names: of its shots.
        done: steps of all batches before it.
    """

    number: int
    first: int
    names: list[str]
    done: int


def batches_of(discretization: Discretization) -> list[Batch]:
    """List the batches of a run."""
    names = [shot.name for shot in discretization.shots]
    together = discretization.batch
    return [
        Batch(number, first, names[first : first + together], number * discretization.total_steps)
        for number, first in enumerate(range(0, len(names), together))
    ]


@dataclass(frozen=True)
class RunContext:
    """The objects that a run works with.

    Attributes:
        simulation: of the run.
        snapshots: takes them.
        pipeline: where results go.
        timer: counts steps and their time.
        report: receives the progress.
        noted: records the spans of actions.
        total: steps of all batches.
    """

    simulation: Simulation
    snapshots: SnapshotRecorder
    pipeline: Pipeline | NullWriter
    timer: StepTimer
    report: Reporter
    noted: SpanRecorder
    total: int

    def stopped(self, done: int) -> str:
        """Describe where the run stopped."""
        return f"stopped after step {done} of {self.total}"

    def state(self) -> dict[str, CheckpointArray]:
        """Return all arrays that the run goes on from, by name."""
        kept = {f"snapshots/{name}": array for name, array in self.snapshots.state().items()}
        return self.simulation.state() | kept

    def send_traces(self, batch: Batch, steps: int) -> None:
        """Send the traces of a batch, of so many steps.

        They are finished beside the next batch, whose own wait until these are stored.
        """
        self.pipeline.drain()
        for shot, shot_name in enumerate(batch.names):
            simulation = self.simulation
            sections = traces_of(
                simulation.discretization, simulation.recorder, shot, shot_name, steps
            )
            for group, name, finish in sections:
                self.pipeline.write(f"traces/{group}/{name}", batch.first + shot, finish)


class Prefetcher:
    """Load batches of shots, each prepared during the batch before; use as a context manager."""

    def __init__(self, simulation: Simulation, batches: list[list[Shot]]) -> None:
        """Prepare nothing yet: the first batch was loaded when the simulation was built."""
        self._simulation = simulation
        self._batches = batches
        self._pool = ThreadPoolExecutor(1, "seismo-prepare", simulation.backend.use_in_thread)
        self._prepared: dict[int, Future[Prepared]] = {}

    def __enter__(self) -> Prefetcher:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel preparations that nobody waits for."""
        self._pool.shutdown(cancel_futures=True)

    def load(self, number: int) -> list[Shot]:
        """Load a batch, and give its shots."""
        if number:
            self._begin(number)
            self._simulation.start(self._prepared.pop(number).result())
        return self._batches[number]

    def look_ahead(self, number: int) -> None:
        """Begin to prepare the batch that follows."""
        if number + 1 < len(self._batches):
            self._begin(number + 1)

    def _begin(self, number: int) -> None:
        if number not in self._prepared:
            shots = self._batches[number]
            self._prepared[number] = self._pool.submit(self._simulation.prepare, shots)


@dataclass(frozen=True)
class TakeSnapshots:
    """Take the snapshots that are due, and send them to the disk."""

    context: RunContext
    batch: Batch

    def __call__(self, step: int) -> None:
        """Act after a step."""
        context = self.context
        with context.noted("snapshots"):
            parity = context.simulation.last_parity
            context.snapshots.take(step, parity, context.pipeline, self.batch.names)


@dataclass(frozen=True)
class SendMaps:
    """Send the maps of a batch, whose duration is over."""

    context: RunContext
    batch: Batch

    def __call__(self, step: int) -> None:
        """Act after a step."""
        pipeline = self.context.pipeline
        shots = range(len(self.batch.names))
        for maps, shot in product((level.maps for level in self.context.simulation.levels), shots):
            for name, peaks in maps.peaks(shot).items():
                pipeline.write(f"maps/{name}", self.batch.first + shot, partial(np.asarray, peaks))


@dataclass(frozen=True)
class SampleTelemetry:
    """Sample how the run and its device are."""

    context: RunContext
    telemetry: Telemetry

    def __call__(self, step: int) -> None:
        """Act after a step."""
        moved = self.context.simulation.bytes_per_point
        waiting = self.context.pipeline.waiting()
        self.telemetry.sample(self.context.timer.stepping, moved, waiting)


@dataclass(frozen=True)
class ReportProgress:
    """Report how far the run is."""

    context: RunContext
    batch: Batch
    telemetry: Telemetry
    monitor: StabilityMonitor

    def __call__(self, step: int) -> None:
        """Act after a step."""
        simulation = self.context.simulation
        timer = self.context.timer
        batch = self.batch
        clock = simulation.discretization.clock
        shots = len(simulation.discretization.shots)
        last = batch.first + len(batch.names)
        # Steps of a batch update the more points the further its waves have come.
        steps = simulation.total_steps
        share = simulation.updates(0, step) / simulation.updates(0, steps)
        self.context.report(Progress(
            "step", batch.done + step, self.context.total, min(step, clock.steps) * clock.dt,
            timer.stepping, timer.rate,
            f"shots {batch.first + 1}-{last} of {shots}" if shots > 1 else "",
            share=self.telemetry.share(timer.rate * simulation.bytes_per_point),
            health=self.telemetry.health, peak=self._peak(),
            work=(batch.done + share * steps) / self.context.total,
        ))  # fmt: skip

    def _peak(self) -> WavefieldPeak | None:
        monitor = self.monitor
        if not monitor.largest:
            return None
        unit = self.context.simulation.discretization.physics.named(monitor.field).unit
        return WavefieldPeak(monitor.field, unit, monitor.latest, monitor.largest)


@dataclass(frozen=True)
class StoreCheckpoint:
    """Store a checkpoint, once everything before it is sound and on the disk.

    Attributes:
        batch: that is under way, or comes next.
        checkpoints: of the run.
        confirm: sees to it that the wavefield of a step is sound, and returns facts about it;
            None between two batches, where there is no wavefield to keep.
    """

    context: RunContext
    batch: Batch
    checkpoints: Checkpoints
    confirm: Callable[[int], dict[str, Any]] | None

    def __call__(self, step: int) -> None:
        """Act after a step."""
        with self.context.noted("checkpoint"):
            self.store(step)

    def store(self, step: int) -> None:
        """Store a checkpoint; see above."""
        context = self.context
        begin = time.monotonic()
        batch = self.batch
        context.timer.settle()
        backend = context.simulation.backend
        discretization = context.simulation.discretization
        done = batch.done + step
        reached = step if self.confirm else None
        confirmed = self.confirm(step) if self.confirm else {}
        context.pipeline.seal(done, file_contents.marks_of(discretization, batch.first, reached))
        facts: dict[str, Any] = {"batch": batch.number, "step": reached}
        facts |= {"elapsed": context.timer.elapsed} | confirmed
        state = context.state() if self.confirm else {}
        self.checkpoints.write(done, facts, state, backend.fetch, begin)
        note = f"checkpoint at step {done}"
        time_reached = (reached or 0) * discretization.clock.dt
        context.report(Progress("checkpoint", done, context.total, time_reached, note=note))


@dataclass(frozen=True)
class StopRun:
    """Stop the run at a checkpoint, where that is asked for or its time is up."""

    context: RunContext
    batch: Batch
    checkpoints: Checkpoints

    def __call__(self, step: int) -> None:
        """Raise `StoppedError` where the ranks have agreed to stop."""
        if self.checkpoints.ending:
            stopped = self.context.stopped(self.batch.done + step)
            command = self.checkpoints.resume_command
            raise StoppedError(f"{stopped}, {self.checkpoints.ending}; {command}")
