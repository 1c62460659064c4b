"""A backend that notes when its work was done, on a timeline, with no profiler.

Steps go on as they do otherwise, in graphs or laid out for threads: on the track `STEPS` there is
a span for each stretch of them. Now and then one step goes group by group, each by itself between
two marks: the track `GROUPS` says what velocity, stress, layers, halos, sources and receivers take.
Groups are in no hurry there, and what would run side by side runs in turn. The same names are
ranges of NVTX on a GPU, so that NVIDIA's profilers show them too. Of several ranks, whose steps
wait for one another, none goes group by group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Copy, Step
from seismo.backends.timing.trace_events import Timeline

STEPS = "steps"
GROUPS = "one step, group by group"
COPIES = "copies to the host"
EVERY = 51  # steps from one that goes group by group to the next: odd, for both parities
ALONE = 50  # the first of these


class Profiled:
    """Note what a backend does."""

    def __init__(self, backend: Backend, timeline: Timeline, several: bool = False) -> None:
        """Take the backend, where to note it, and whether there are several ranks."""
        self._backend = backend
        self._timeline = timeline
        self._several = several

    def __getattr__(self, name: str) -> Any:
        """Leave the rest to the backend."""
        return getattr(self._backend, name)

    def program(self, steps: tuple[Step, ...], others: Sequence = ()) -> Callable[[int, int], None]:
        """Make a program whose steps are noted; see `Backend.program`."""
        # Of several ranks none may stop between groups: others would wait for its halos.
        advance = self._backend.program(steps, others)
        alone = self._backend.alone
        groups = [] if self._several else [[(g.name, alone(g)) for g in step] for step in steps]

        def take(first: int, count: int) -> None:
            # One step in EVERY is launched group by group; all others as the backend does it.
            for start, stop in _stretches(first, first + count):
                if start % EVERY != ALONE or not groups:
                    with self._noted(STEPS, _named(start, stop)):
                        advance(start, stop - start)
                    continue
                with self._noted(STEPS, _named(start, stop)):
                    for name, launch in groups[start % len(groups)]:
                        with self._noted(GROUPS, name):
                            launch(start)

        return take

    @contextmanager
    def _noted(self, track: str, name: str) -> Iterator[None]:
        begin = self._backend.moment()
        with self._backend.annotated(name):
            yield
        self._timeline.note(track, name, begin, self._backend.moment())

    def wait(self) -> None:
        """Wait, and note how long; what was noted until then is done."""
        with self._timeline.span("wait for the steps"):
            self._backend.wait()
        self._timeline.settle()

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Note a copy from its beginning to when somebody found it done; see `Backend.send`."""
        begin = self._backend.moment()
        with self._backend.annotated("output"):
            copy = self._backend.send(array, host)
        # A copy has arrived when the first waiter sees it: its span ends there.
        arrived: list[float] = []

        def wait() -> None:
            copy.wait()
            if not arrived:
                arrived.append(time.perf_counter())
                self._timeline.note(COPIES, "output", begin, lambda: arrived[0])

        return Copy(wait, copy.hold)


def _named(start: int, stop: int) -> str:
    return f"steps {start} to {stop - 1}" if stop > start + 1 else f"step {start}"


def _stretches(first: int, last: int) -> list[tuple[int, int]]:
    """Cut steps first <= n < last before and after each one that goes by itself."""
    # Cut before and after each single step.
    singles = [n for n in range(first, last) if n % EVERY == ALONE]
    cuts = sorted({first, last, *singles, *(n + 1 for n in singles)})
    return list(pairwise(cuts))
