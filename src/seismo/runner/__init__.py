"""One run from a scenario to its results file: `run(scenario) -> Results`.

    prepare -> refuse what does not fit -> model -> [batch: steps, snapshots, traces] -> file

The results are written under a hidden name and appear when the run is complete, so that an error or
an interrupt leaves nothing behind.
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
from pathlib import Path
from typing import Any

from seismo import machine, monitor
from seismo.backends.base import Backend
from seismo.backends.choice import choose
from seismo.errors import InsufficientMemoryError, StorageError
from seismo.monitor import Progress, Reporter
from seismo.output.quantities import with_unit
from seismo.output.results import Results, open_results
from seismo.output.results_file import ResultsWriter
from seismo.output.snapshots import SnapshotTaker
from seismo.plan.memory import PYTHON_BYTES, memory_of, output_of, series_of
from seismo.runner import contents
from seismo.scenario import Scenario, from_dict, load
from seismo.setup import Setup, prepare
from seismo.simulation import Simulation

COMPILING_AFTER = 2.0  # s, and for each point: without compiling, preparing takes less
COMPILING_AFTER_POINT = 5e-7
REPORT_EVERY = 0.2  # s


def run(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    progress: Reporter | None = None,
    *,
    backend: str = "auto",
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
        UnstableError: the wavefield blew up.
    """
    checked, report = _checked(scenario), progress or (lambda _: None)
    choice = choose(backend, device, threads)
    report(Progress("device", note=choice.note))
    chosen = choice.make(checked.precision)
    setup = prepare(checked, chosen.batch_points)
    folder = None
    path = _output_path(checked, output)
    if path is None:
        folder = tempfile.mkdtemp(prefix="seismo-")
        path = Path(folder) / "results.h5"
    try:
        _Run(setup, path, report, chosen).write()
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


def refuse_what_does_not_fit(setup: Setup, folder: Path) -> None:
    """Compare what a run needs with what the machine has.

    Raises:
        InsufficientMemoryError: too little memory.
        StorageError: too little room in the folder of the results.
    """
    need, have = memory_of(setup).total + PYTHON_BYTES, machine.available_memory()
    if have is not None and need > have:
        raise InsufficientMemoryError(
            f"the run needs {with_unit(need, 'B')} of memory, {with_unit(have, 'B')} are free; use "
            " a coarser grid.spacing, a smaller grid.extent, or a larger machine"
        )
    size, room = output_of(setup), machine.free_disk(folder)
    if room is not None and size.total > room:
        raise StorageError(
            f"output.path: the results take up to {with_unit(size.total, 'B')}, {folder} has "
            f"{with_unit(room, 'B')} left; use fewer or decimated snapshots, or write elsewhere"
        )


class _Run:
    """The state of one run."""

    def __init__(self, setup: Setup, path: Path, report: Reporter, backend: Backend) -> None:
        self.setup, self.path, self.report, self.backend = setup, path, report, backend
        self.series = series_of(setup)
        self.names = [shot.name for shot in setup.shots]
        self.per_batch = setup.clock.steps + setup.extra_steps
        self.batches = range(0, len(setup.shots), setup.batch)
        self.stepping = self.started = 0.0
        self.updates = 0
        self.told = False

    def write(self) -> None:
        """Run everything and publish the results file."""
        scenario = self.setup.scenario
        begin = time.perf_counter()
        writer = ResultsWriter(
            self.path,
            scenario_text=scenario.text,
            resolved=scenario.to_yaml(),
            attributes=contents.attributes_of(self.setup),
        )
        refuse_what_does_not_fit(self.setup, writer.path.parent)
        with writer:
            self.report(Progress("model"))
            if scenario.output.model:
                writer.write_model(*contents.model_of(self.setup))
            contents.write_sources(writer, self.setup)
            contents.create_traces(writer, self.setup)
            self.report(Progress("build"))
            with self._told_when_compiling():
                simulation = Simulation(self.setup, self.backend)
            taker = SnapshotTaker(writer, self.series, self.names)
            for number, first in enumerate(self.batches):
                self._batch(simulation, taker, writer, number, first)
            writer.finish(self._summary(simulation, time.perf_counter() - begin))
        self.report(Progress("done", self.total, self.total))

    @property
    def total(self) -> int:
        """Steps over all batches."""
        return self.per_batch * len(self.batches)

    def _batch(self, simulation: Simulation, taker: SnapshotTaker, writer: ResultsWriter,
               number: int, first: int) -> None:  # fmt: skip
        shots = self.setup.shots[first : first + self.setup.batch]
        names = self.names[first : first + len(shots)]
        if number:
            simulation.load(shots)
        watch = self._watch(shots)
        for step in _stops(self.per_batch, taker):
            self._advance(simulation, step, number, names)
            if step % monitor.EVERY == 0 or step == self.per_batch:
                pieces = simulation.views(watch.field)
                watch.check(step, pieces, self.setup.earth.sample)
            if step <= self.setup.clock.steps + 1:
                taker.take(step, simulation.views, names)
        contents.write_traces(writer, simulation, first, len(shots))

    def _advance(self, simulation: Simulation, to: int, number: int, names: list[str]) -> None:
        """Step to a step; the very first one, which may compile, is not timed."""
        if not self.started and to > simulation.step:
            with self._told_when_compiling():
                simulation.advance(1)
            self.started = self.reported = time.perf_counter()
        while simulation.step < to:
            count = min(to - simulation.step, self._block())
            begin = time.perf_counter()
            simulation.advance(count)
            now = time.perf_counter()
            self.stepping += now - begin
            self.updates += count * self.setup.grid.size * len(names)
            if now - self.reported > REPORT_EVERY or simulation.step == self.per_batch:
                self.reported = now
                self.report(self._progress(simulation, number, names, now))

    def _block(self) -> int:
        """Give the steps that take about as long as the time between two reports."""
        if not self.stepping:
            return 1
        points = self.setup.grid.size * self.setup.batch
        return max(1, int(REPORT_EVERY * self.updates / self.stepping / points))

    def _progress(self, simulation: Simulation, number: int, names: list[str], now: float):
        several = len(self.names) > 1
        last = number * self.setup.batch + len(names)
        return Progress(
            "step",
            number * self.per_batch + simulation.step,
            self.total,
            simulation.step * self.setup.clock.dt,
            now - self.started,
            self.updates / self.stepping,
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

    def _watch(self, shots: list) -> monitor.Watch:
        quiet = max(source.end for shot in shots for source in shot.sources)
        stride = max(1, self.setup.scenario.grid.order // 2)
        field = self.setup.physics.fields[0].name
        return monitor.Watch(self.setup.grid, field, self.setup.clock.dt, quiet, stride)

    def _summary(self, simulation: Simulation, elapsed: float) -> dict[str, Any]:
        speed = self.updates / self.stepping if self.stepping else 0.0
        moved = speed * simulation.bytes_per_point
        summary = self.backend.describe() | {
            "steps": self.setup.clock.steps,
            "shots": len(self.names),
            "elapsed_s": elapsed,
            "stepping_s": self.stepping,
            "points": self.setup.grid.size,
            "points_per_second": speed,
            "bytes_per_second": moved,
        }
        peak = machine.peak_memory()
        if peak is not None:
            summary["peak_memory_bytes"] = peak
        if self.stepping > self.backend.measured_from:
            summary["bandwidth_share"] = moved / self.backend.bandwidth()
        return summary


def _stops(steps: int, taker: SnapshotTaker) -> list[int]:
    """List the steps after which something is to be done, the last one included."""
    return sorted({*range(monitor.EVERY, steps, monitor.EVERY), steps, *taker.events})
