"""The time loop of a batch of shots: it halts between steps, where actions are due.

    for halt in halts:                      # after planned steps, and whenever the queue is done
        for schedule, action in plan:
            if schedule.is_due(halt):
                action(halt.step)           # or several, in order

A backend may return before its work is done. Steps are therefore queued, about as many as take the
time between two reports, and counted once the backend says that they are done (`StepTimer`).

The device is sampled at every report (`Telemetry`). A run of days is sampled as often as a run of
minutes; when there are too many samples every second is dropped, and from then on half as many are
taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.kernel_cache import kernel_cache
from seismo.runs.loop import Halt, ScheduledActions, act
from seismo.runs.progress import Progress, Reporter
from seismo.solver.simulation import Simulation

REPORT_EVERY = 0.2  # s
_FASTER = 16  # the most by which the next stretch may be longer than the last


class StepTimer:
    """Queue steps, and count the steps that are done and their time.

    Attributes:
        started: clock (s) after the very first step, 0 before.
        seconds: of stepping, and of cutting snapshots between two steps of a stretch.
        updates: point updates in that time.
        recent: point updates a second of the last stretch.
    """

    def __init__(self, backend: Backend, before: float = 0.0) -> None:
        """Begin to count.

        Args:
            backend: that steps.
            before: seconds that an earlier run took up to the checkpoint that this run begins with.
        """
        self._backend = backend
        self._before = before
        self._created = time.perf_counter()
        self.started = 0.0
        self.seconds = 0.0
        self.updates = 0
        self.recent = 0.0
        self._stretch = 1  # steps that take about as long as the time between two reports
        self._begin = 0.0
        self._steps = self._points = 0  # queued

    def start(self) -> None:
        """Count `stepping` from now on."""
        self.started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Wall-clock time in s since the run began, an earlier run included."""
        return self._before + time.perf_counter() - self._created

    @property
    def stepping(self) -> float:
        """Wall-clock time in s since the first step, the run before included."""
        return self._before + time.perf_counter() - self.started

    @property
    def rate(self) -> float:
        """Point updates a second, 0 before there is a number."""
        return self.updates / self.seconds if self.seconds else 0.0

    @property
    def queueable_steps(self) -> int:
        """Steps that may be queued before `settle`."""
        return self._stretch - self._steps

    def queue(self, advance: Callable[[int], None], steps: int, updates: int) -> None:
        """Take steps that update so many points in all."""
        if not self._steps:
            self._begin = time.perf_counter()
        advance(steps)
        self._steps += steps
        self._points += updates

    def settle(self) -> None:
        """Wait until the queued steps are done, and count them."""
        if not self._steps:
            return
        self._backend.wait()
        took = max(time.perf_counter() - self._begin, 1e-9)
        self.seconds += took
        self.updates += self._points
        self.recent = self._points / took
        wanted = int(REPORT_EVERY * self._steps / took)
        self._stretch = max(1, min(wanted, _FASTER * self._steps))
        self._steps = self._points = 0


MOST = 4096  # samples that are kept
UNITS = {
    "points_per_second": "points/s",
    "bandwidth_share": "",
    "utilisation": "",
    "memory": "B",
    "power": "W",
    "temperature": "degC",
    "output_waiting": "B",
    "output_stalls": "",
}


class Telemetry:
    """Collect samples of the quantities in `UNITS`; not every machine has all of them.

    Attributes:
        health: of the device in the last sample.
    """

    def __init__(self, backend: Backend, timer: StepTimer, several: bool) -> None:
        """Begin with none.

        Args:
            backend: asked how its device is.
            timer: of the run.
            several: whether it has several ranks, whose bandwidth nobody knows.
        """
        self._backend = backend
        self._timer = timer
        self._several = several
        self._bandwidth: float | None = None
        self.health: Mapping[str, float] = {}
        self._rows: list[dict[str, float]] = []
        self._every = 1
        self._seen = 0

    def share(self, moved: float) -> float:
        """Return the share that `moved` bytes a second are of the bandwidth of copies.

        That is measured once the run has stepped for a while; 0 before, and on several ranks.
        """
        if self._bandwidth is None:
            if self._several or self._timer.seconds <= self._backend.measured_from:
                return 0.0
            self._bandwidth = self._backend.bandwidth()
        return moved / self._bandwidth

    def sample(self, time: float, bytes_per_point: float, waiting: Mapping[str, float]) -> None:
        """Take a sample.

        Args:
            time: seconds after the first step.
            bytes_per_point: that a perfect kernel moves.
            waiting: about the output.
        """
        self.health = self._backend.health()
        speed = self._timer.recent
        share = self.share(speed * bytes_per_point)
        known = {"bandwidth_share": share} if share else {}
        self.add(time, {"points_per_second": speed, **known, **self.health, **waiting})

    def add(self, time: float, quantities: Mapping[str, float]) -> None:
        """Keep a sample, if its turn has come."""
        self._seen += 1
        if self._seen % self._every:
            return
        self._rows.append({"time": time, **quantities})
        if len(self._rows) > MOST:
            self._rows = self._rows[1::2]
            self._every *= 2

    def series(self) -> dict[str, np.ndarray]:
        """Return the samples by name, `time` (s) first; missing quantities are NaN."""
        names = ["time", *(n for n in UNITS if any(n in row for row in self._rows))]
        return {n: np.array([row.get(n, np.nan) for row in self._rows], float) for n in names}


AFTER = 2.0  # s, and for each point: without compiling, preparing takes less
AFTER_POINT = 5e-7


class Compiling:
    """Watch the clock while kernels may be compiled."""

    def __init__(self, report: Reporter, points: int) -> None:
        """Report to `report`; the grid has so many points."""
        self._report = report
        self._after = AFTER + AFTER_POINT * points
        self._is_announced = False
        self._problem = ""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Report if the block takes long, and problems of the kernel cache."""
        timer = threading.Timer(self._after, self._tell)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if kernel_cache().problem != self._problem:
            self._problem = kernel_cache().problem
            self._report(Progress("warning", note=self._problem))

    def _tell(self) -> None:
        if not self._is_announced:
            self._is_announced = True
            self._report(Progress("compile"))


class TimeLoop:
    """Advance batches of shots from halt to halt.

    Steps are queued, about as many as take the time between two reports, before anything waits.
    """

    def __init__(
        self, simulation: Simulation, timer: StepTimer, check: Callable[[], None],
        first_step: Callable[[], None],
    ) -> None:  # fmt: skip
        """Advance a simulation.

        Args:
            simulation: of the batch.
            timer: counts steps and their time.
            check: raises errors of other threads; called between steps.
            first_step: takes the very first step of a run, which may compile and is not timed.
        """
        self._simulation = simulation
        self._timer = timer
        self._check = check
        self._first_step = first_step

    def run(self, plan: ScheduledActions, begun: int, shots: int) -> None:
        """Take the steps of a batch, and act as planned.

        Args:
            plan: actions and their schedules, in the order in which they act at a halt.
            begun: step up to which all has been done, -1 where nothing has.
            shots: that advance.
        """
        stops = {self._simulation.total_steps}.union(*(schedule.steps for schedule, *_ in plan))
        for stop in sorted(stops):
            if stop > begun:
                for halt in self._halts(stop, shots):
                    act(plan, halt)

    def _halts(self, stop: int, shots: int) -> Iterator[Halt]:
        """Step to a step, and yield where to halt."""
        simulation = self._simulation
        timer = self._timer
        last = simulation.total_steps
        if not timer.started and stop > simulation.step:
            self._first_step()
        is_settled = simulation.step == last
        while simulation.step < stop:
            self._check()
            count = min(stop - simulation.step, timer.queueable_steps if simulation.paced else stop)
            updates = simulation.updates(simulation.step, simulation.step + count)
            timer.queue(simulation.advance, count, updates * shots)
            is_settled = not timer.queueable_steps or simulation.step == last
            if is_settled:
                timer.settle()
                if simulation.step < stop:
                    yield Halt(simulation.step, is_planned=False)
        yield Halt(stop, stop == last, is_settled=is_settled)
