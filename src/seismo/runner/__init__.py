"""One run from a scenario to its results file: `run(scenario) -> Results`.

    prepare -> refuse what does not fit -> model -> [batch: steps, snapshots, traces] -> file

The results are written beside the time loop and appear when the run is complete, so that an error
or an interrupt leaves nothing behind. A run whose wavefield blows up is an error too, but what was
recorded until then is kept, and says so: every earlier batch of shots, the traces of this one up to
the last look that found it sound, and the snapshots taken. It is the same where the disk fills up.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seismo import machine, monitor, receivers
from seismo.backends.base import Backend
from seismo.backends.choice import choose
from seismo.errors import DiskSpaceError, InsufficientMemoryError, StorageError, UnstableError
from seismo.monitor import Progress, Reporter
from seismo.output.pipeline import Pipeline
from seismo.output.quantities import with_unit
from seismo.output.results import Results, open_results
from seismo.output.results_file import ResultsWriter
from seismo.output.snapshots import SnapshotTaker
from seismo.plan.memory import memory_of, output_of, ring_of, series_of
from seismo.plan.room import demands, fitted, remedy
from seismo.runner import contents
from seismo.runner.pace import REPORT_EVERY, Pace
from seismo.scenario import Scenario, from_dict, load
from seismo.setup import Setup, prepare
from seismo.simulation import Simulation

COMPILING_AFTER = 2.0  # s, and for each point: without compiling, preparing takes less
COMPILING_AFTER_POINT = 5e-7


def run(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    progress: Reporter | None = None,
    *,
    backend: str = "cpu",
    device: int | None = None,
    threads: int | None = None,
) -> Results:
    """Run a scenario and open its results.

    Args:
        scenario: a scenario, the same as nested dicts, or the path of its YAML file.
        output: the results file. Left out: `output.path` of the scenario (beginning at the
            scenario's folder), else its name with .h5 in the current folder; a scenario that is no
            file goes to a temporary one that lives as long as the returned object.
        progress: called with a `seismo.monitor.Progress` a few times a second.
        backend: "auto" (a GPU if there is one, else the CPU), "cpu" or "gpu".
        device: number of the GPU, the first that will do when None.
        threads: threads to use on the CPU, all cores when None.

    Raises:
        ScenarioError: the scenario, or a file that it names, will not do.
        DeviceError: there is no such backend or device, or it cannot be used.
        InsufficientMemoryError: the run needs more memory than there is.
        StorageError: the disk is too small or failing.
        UnstableError: the wavefield blew up; the results hold what was recorded until then, and
            their `status` is "unstable". Temporary results are removed.
    """
    checked, report = _checked(scenario), progress or (lambda _: None)
    choice = choose(backend, device, threads)
    report(Progress("device", note=choice.note))
    chosen = choice.make(checked.precision)
    setup = fitted(prepare(checked, chosen.batch_points), chosen)
    folder = None
    path = _output_path(checked, output)
    if path is None:
        folder = tempfile.mkdtemp(prefix="seismo-")
        path = Path(folder) / "results.h5"
    try:
        _Run(setup, path, report, chosen).write(keep=folder is None)
        results = open_results(path)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results


def _checked(scenario: Any) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    return from_dict(scenario) if isinstance(scenario, Mapping) else load(scenario)


def _output_path(scenario: Scenario, output: str | os.PathLike[str] | None) -> Path | None:
    return scenario.results_path if output is None else Path(output)


def refuse_what_does_not_fit(setup: Setup, backend: Backend, folder: Path) -> None:
    """Compare what a run needs with what the machines have.

    Raises:
        InsufficientMemoryError: too little memory.
        StorageError: too little room in the folder of the results.
    """
    for demand in demands(memory_of(setup), backend):
        if not demand.fits:
            raise InsufficientMemoryError(f"{demand}; {remedy(setup)}")
    size, room = output_of(setup), machine.free_disk(folder)
    if room is not None and size.total > room:
        raise StorageError(
            f"output.path: the results take up to {with_unit(size.total, 'B')}, {folder} has "
            f"{with_unit(room, 'B')} left; use fewer or decimated snapshots, or write elsewhere"
        )


@dataclass(frozen=True)
class _Gear:
    """What a run works with, once it is built."""

    simulation: Simulation
    taker: SnapshotTaker
    writer: ResultsWriter
    pipeline: Pipeline

    def send_traces(self, first: int, count: int, steps: int) -> None:
        """Send the traces of a batch, `count` shots from number `first` on, of so many steps."""
        for shot in range(count):
            for name, traces in contents.traces_of(self.simulation, shot, steps):
                self.pipeline.call(self.writer.write, name, first + shot, traces)

    def send_maps(self, first: int, count: int) -> None:
        """Send the maps of a batch."""
        for shot in range(count):
            for name, peaks in self.simulation.maps.peaks(shot).items():
                self.pipeline.call(self.writer.write, f"maps/{name}", first + shot, peaks)


class _Run:
    """The state of one run."""

    def __init__(self, setup: Setup, path: Path, report: Reporter, backend: Backend) -> None:
        self.setup, self.path, self.report, self.backend = setup, path, report, backend
        self.series = series_of(setup)
        self.names = [shot.name for shot in setup.shots]
        self.per_batch = setup.clock.steps + setup.extra_steps
        self.batches = range(0, len(setup.shots), setup.batch)
        self.pace = Pace(backend)
        self.started = self.reported = 0.0
        self.told = False

    def write(self, keep: bool) -> None:
        """Run everything and publish the results file; `keep` it when the run turns unstable."""
        scenario = self.setup.scenario
        begin = time.perf_counter()
        writer = ResultsWriter(
            self.path,
            scenario_text=scenario.text,
            resolved=scenario.to_yaml(),
            attributes=contents.attributes_of(self.setup),
        )
        refuse_what_does_not_fit(self.setup, self.backend, writer.path.parent)
        with writer:
            self.report(Progress("model"))
            if scenario.output.model:
                writer.write_model(*contents.model_of(self.setup))
            contents.write_sources(writer, self.setup)
            contents.create_traces(writer, self.setup)
            contents.create_maps(writer, self.setup)
            self.report(Progress("build"))
            with self._told_when_compiling():
                simulation = Simulation(self.setup, self.backend)
                taker = self._taker(writer, simulation)
            size = output_of(self.setup)
            reserve = size.traces + size.maps
            with Pipeline(writer, self.backend, ring_of(self.setup), reserve) as pipeline:
                gear = _Gear(simulation, taker, writer, pipeline)
                failure = self._waves(gear, keep)
            marks = {"status": failure.status, "message": str(failure)} if failure else None
            summary = self._summary(simulation, time.perf_counter() - begin)
            writer.finish(summary | pipeline.describe(), marks)
        if failure is not None:
            raise type(failure)(f"{failure}, in {self.path}", failure.good)
        self.report(Progress("done", self.total, self.total))

    def _taker(self, writer: ResultsWriter, simulation: Simulation) -> SnapshotTaker:
        fields = [part.fields for part in simulation.parts]
        batch = self.setup.batch
        return SnapshotTaker(writer, self.series, self.names, self.backend, fields, batch)

    def _waves(self, gear: _Gear, keep: bool) -> UnstableError | DiskSpaceError | None:
        """Run all batches; give the error of one that was stopped, once its waves are kept."""
        for number, first in enumerate(self.batches):
            try:
                self._batch(gear, number, first)
            except (UnstableError, DiskSpaceError) as error:
                if not keep:
                    raise
                return self._keep(error, gear, first)
        return None

    def _keep(
        self, error: UnstableError | DiskSpaceError, gear: _Gear, first: int
    ) -> UnstableError | DiskSpaceError:
        """Store the traces of a batch up to the last step that is sound."""
        names = self.names[first : first + self.setup.batch]
        removal = self.setup.scenario.time.dispersion_removal
        steps = receivers.complete_steps(error.good, removal)
        gear.send_traces(first, len(names), steps)
        sent = gear.simulation.step >= self.setup.clock.steps
        if isinstance(error, DiskSpaceError) and not sent:
            gear.send_maps(first, len(names))
        kept = f"the traces until {with_unit(steps * self.setup.clock.dt, 's')}"
        if len(self.names) > 1:
            kept += " of " + " to ".join(dict.fromkeys((names[0], names[-1])))
            kept += f", and {first} shot{'s' * (first > 1)} before" if first else ""
        return type(error)(f"{error}; kept are {kept}", error.good)

    @property
    def total(self) -> int:
        """Steps over all batches."""
        return self.per_batch * len(self.batches)

    def _batch(self, gear: _Gear, number: int, first: int) -> None:
        simulation, taker, pipeline = gear.simulation, gear.taker, gear.pipeline
        shots = self.setup.shots[first : first + self.setup.batch]
        names = self.names[first : first + len(shots)]
        if number:
            simulation.load(shots)
        watch = self._watch(simulation, shots)
        watch.look(0)  # whatever has to be compiled for it is compiled now
        for step in _stops(self.per_batch, taker.events | {self.setup.clock.steps}):
            self._advance(gear, step, number, names)
            if step % monitor.EVERY == 0 or step == self.per_batch:
                watch.look(step)
            if step in taker.events:
                taker.take(step, simulation.left, pipeline, names)
            if step == self.setup.clock.steps:
                gear.send_maps(first, len(shots))
        watch.finish()
        gear.send_traces(first, len(shots), self.setup.clock.steps)

    def _advance(self, gear: _Gear, to: int, number: int, names: list[str]) -> None:
        """Step to a step; the very first one, which may compile, is not timed."""
        simulation = gear.simulation
        if not self.started and to > simulation.step:
            with self._told_when_compiling():
                simulation.advance(1)
                self.backend.wait()
            self.started = self.reported = time.perf_counter()
        points, last = self.setup.grid.size * len(names), self.per_batch
        while simulation.step < to:
            gear.pipeline.check(simulation.step)
            count = min(to - simulation.step, self.pace.room)
            self.pace.queue(simulation.advance, count, points)
            if not self.pace.room or simulation.step == last:
                self.pace.settle()
                now = time.perf_counter()
                if now - self.reported > REPORT_EVERY or simulation.step == last:
                    self.reported = now
                    self.report(self._progress(simulation, number, names, now))

    def _progress(self, simulation: Simulation, number: int, names: list[str], now: float):
        several = len(self.names) > 1
        last = number * self.setup.batch + len(names)
        return Progress(
            "step",
            number * self.per_batch + simulation.step,
            self.total,
            simulation.step * self.setup.clock.dt,
            now - self.started,
            self.pace.rate,
            f"shots {last - len(names) + 1}-{last} of {len(self.names)}" if several else "",
        )

    @contextmanager
    def _told_when_compiling(self) -> Iterator[None]:
        after = COMPILING_AFTER + COMPILING_AFTER_POINT * self.setup.grid.size
        timer = threading.Timer(after, self._tell_of_compiling)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _tell_of_compiling(self) -> None:
        if not self.told:
            self.told = True
            self.report(Progress("compile"))

    @staticmethod
    def _watch(simulation: Simulation, shots: list) -> monitor.Watch:
        quiet = max(source.end for shot in shots for source in shot.sources)
        return monitor.Watch(simulation, simulation.setup.physics.fields[0].name, quiet)

    def _summary(self, simulation: Simulation, elapsed: float) -> dict[str, Any]:
        moved = self.pace.rate * simulation.bytes_per_point
        summary = self.backend.describe() | {
            "steps": self.setup.clock.steps,
            "shots": len(self.names),
            "elapsed_s": elapsed,
            "stepping_s": self.pace.seconds,
            "points": self.setup.grid.size,
            "points_per_second": self.pace.rate,
            "bytes_per_second": moved,
        }
        peak = machine.peak_memory()
        if peak is not None:
            summary["peak_memory_bytes"] = peak
        if self.pace.seconds > self.backend.measured_from:
            summary["bandwidth_share"] = moved / self.backend.bandwidth()
        return summary


def _stops(steps: int, events: set[int]) -> list[int]:
    """List the steps after which something is to be done, the last one included."""
    return sorted({*range(monitor.EVERY, steps, monitor.EVERY), steps, *events})
