"""How fast a run steps, measured without waiting for every step.

A backend may return before its work is done. Steps are therefore queued, about as many as take the
time between two reports, and counted once the backend says that they are done.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from seismo.backends.base import Backend

REPORT_EVERY = 0.2  # s
_FASTER = 16  # the most by which the next stretch may be longer than the last


class StepTimer:
    """Queue steps, and count those that are done and the time they took.

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
            before: seconds that an earlier run took up to the checkpoint this one begins with.
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
        """Wall-clock time in s since the run began, the one before included."""
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
        """Wait until what is queued is done, and count it."""
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
