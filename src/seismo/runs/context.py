"""What a run works with, once it is built, and how it hands on what a batch of shots has left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from seismo.grid.global_index import CheckpointArray
from seismo.output.null_writer import NullWriter
from seismo.output.pipeline import Pipeline
from seismo.output.results_file import ResultsWriter
from seismo.output.snapshots import SnapshotRecorder
from seismo.runs import file_contents
from seismo.solver.simulation import Simulation


@dataclass(frozen=True)
class RunContext:
    """What a run works with."""

    simulation: Simulation
    taker: SnapshotRecorder
    writer: ResultsWriter | NullWriter
    pipeline: Pipeline | NullWriter

    def state(self) -> dict[str, CheckpointArray]:
        """Name all arrays that the run goes on from."""
        kept = {f"snapshots/{name}": held for name, held in self.taker.state().items()}
        return self.simulation.state() | kept

    def send_maps(self, first: int, count: int) -> None:
        """Send the maps of a batch."""
        for shot in range(count):
            for name, peaks in self.simulation.maps.peaks(shot).items():
                self.pipeline.write(f"maps/{name}", first + shot, partial(np.asarray, peaks))

    def send_traces(self, first: int, count: int, steps: int) -> None:
        """Send the traces of a batch, `count` shots from number `first` on, of so many steps.

        They are finished beside the next batch, whose own wait until these are stored.
        """
        self.pipeline.drain()
        for shot in range(count):
            for name, finish in file_contents.traces_of(self.simulation, shot, steps):
                self.pipeline.write(name, first + shot, finish)
