"""The time loop of a batch of shots: it halts between steps, where actions are due.

    for halt in halts:                      # after planned steps, and whenever the queue is done
        for schedule, action in plan:
            if schedule.is_due(halt):
                action(halt.step)           # or several, one after the other

A schedule and an action know themselves only: not the loop, not one another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from seismo.runs.reporting.telemetry import StepTimer
from seismo.solver.simulation import Simulation


@dataclass(frozen=True)
class Halt:
    """A moment between two steps.

    Attributes:
        step: steps taken of the batch.
        is_last: whether these are all.
        is_planned: whether all ranks halt here, and not only this one, whose queue is done.
        is_settled: whether the backend has done all steps.
    """

    step: int
    is_last: bool = False
    is_planned: bool = True
    is_settled: bool = True


class Schedule(Protocol):
    """When an action is due."""

    @property
    def steps(self) -> Collection[int]:
        """Steps after which the loop has to halt for it."""

    def is_due(self, halt: Halt) -> bool:
        """Whether to act; asked once at each halt."""


Action = Callable[[int], object]  # after a step
ScheduledActions = Sequence[tuple[Schedule, *tuple[Action, ...]]]


@dataclass(frozen=True)
class AtSteps:
    """After given steps."""

    steps: Collection[int]

    def is_due(self, halt: Halt) -> bool:
        """Whether the halt is after such a step."""
        return halt.is_planned and halt.step in self.steps


class EverySeconds:
    """Some seconds after the last time, as soon as the queue is done; and after all steps."""

    steps = ()

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self._last = time.perf_counter()

    def is_due(self, halt: Halt) -> bool:
        """Whether they are over."""
        now = time.perf_counter()
        if not halt.is_settled or not (halt.is_last or now - self._last > self._seconds):
            return False
        self._last = now
        return True


def act(plan: ScheduledActions, halt: Halt) -> None:
    """Act as due, in the order of the plan."""
    for schedule, *actions in plan:
        if schedule.is_due(halt):
            for action in actions:
                action(halt.step)


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
