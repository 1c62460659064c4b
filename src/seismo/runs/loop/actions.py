"""What a run does between steps: each action knows itself only (`seismo.runs.loop.time_loop`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from seismo.errors import StoppedError
from seismo.runs.contents import file_contents
from seismo.runs.loop.context import Batch, RunContext
from seismo.runs.reporting.progress import Progress, WavefieldPeak
from seismo.runs.reporting.telemetry import Telemetry
from seismo.runs.resuming.checkpoints import Checkpoints
from seismo.solver.accuracy.stability_monitor import StabilityMonitor


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
        for maps, shot in product((one.maps for one in self.context.simulation.levels), shots):
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
        checkpoints: those of the run.
        confirm: sees to it that the wavefield of a step is sound, and returns what goes with it;
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
