"""The loop over the steps of a run, and schedules of actions: the halts at which to act.

A schedule and an action do not know the loop, nor each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Halt:
    """A moment between two steps.

    Attributes:
        step: steps taken of the batch.
        is_last: whether these are all.
        is_planned: whether all ranks halt here, and not only this rank, whose queue is done.
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
    """Seconds after the last time, as soon as the queue is done; and after all steps."""

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
