"""What a run works with, once it is built, and how it hands on the results of a batch of shots."""

from __future__ import annotations

from dataclasses import dataclass

from seismo.backends.timing.trace_events import SpanRecorder
from seismo.grid.global_index import CheckpointArray
from seismo.output.null_writer import NullWriter
from seismo.output.pipeline import Pipeline
from seismo.output.snapshots import SnapshotRecorder
from seismo.runs.contents import file_contents
from seismo.runs.reporting.progress import Reporter
from seismo.runs.reporting.step_timer import StepTimer
from seismo.solver.discretization import Discretization
from seismo.solver.simulation import Simulation


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
    """What a run works with.

    Attributes:
        simulation: what steps.
        snapshots: takes them.
        pipeline: where results go.
        timer: counts steps and their time.
        report: told of the progress.
        noted: told what is done when.
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
            traces = file_contents.traces_of(self.simulation, shot, shot_name, steps)
            for name, finish in traces:
                self.pipeline.write(name, batch.first + shot, finish)
