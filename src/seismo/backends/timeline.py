"""Timelines of runs: spans on several tracks, which any viewer of Chrome traces shows.

A track is a thread of the host, or a device's work in order. Times are of `time.perf_counter`;
times that a device has yet to reach are asked for after a wait for them. A span then is two
numbers, whatever the device had to keep for them. Of very long runs only the first spans are kept.

A `Profiled` backend notes when its work was done. Steps go on as they do otherwise, in graphs or
laid out for threads: on the track `STEPS` there is a span for each stretch of them. Now and then a
step goes group by group, each by itself between two marks: the track `GROUPS` has the times of
velocity, stress, layers, halos, sources and receivers. Groups are in no hurry there, and launches
that would run side by side run in turn. The same names are ranges of NVTX on a GPU, so that
NVIDIA's profilers show them too. Of several ranks, whose steps wait for one another, none goes
group by group.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from seismo.backends.base import Backend, Copy, Step

MOST = 200_000  # spans that are kept: some 30 MB of JSON

When = Callable[[], float]
SpanRecorder = Callable[[str], AbstractContextManager[Any]]


def no_span(name: str) -> AbstractContextManager[Any]:
    """Note nothing; stands where there is no timeline."""
    return nullcontext()


class _Span(NamedTuple):
    track: str
    name: str
    begin: float
    end: float


class Timeline:
    """Collect spans from any thread."""

    def __init__(self) -> None:
        """Begin now."""
        self._origin = time.perf_counter()
        self._open: deque[tuple[str, str, When, When]] = deque()  # safe in any thread
        self._spans: list[_Span] = []

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Note a span of this thread."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            end = time.perf_counter()
            self.note(threading.current_thread().name, name, lambda: begin, lambda: end)

    def note(self, track: str, name: str, begin: When, end: When) -> None:
        """Note a span whose ends can be asked for once all launches are complete."""
        self._open.append((track, name, begin, end))

    def settle(self) -> None:
        """Ask for the ends of all spans, whose work is complete."""
        # Ends of device spans are known only once the device has reached them: resolve them late.
        for _ in range(len(self._open)):
            track, name, begin, end = self._open.popleft()
            span = _Span(track, name, begin(), end())
            if len(self._spans) < MOST:
                self._spans.append(span)

    def seconds(self, track: str) -> dict[str, float]:
        """Return how long the spans of each name take in all, as far as kept, the longest first.

        All of a name count as its median does: now and then one waits for something else.
        """
        # Median times count: outliers (a first launch, a page fault) do not dominate a name's sum.
        self.settle()
        lengths: dict[str, list[float]] = defaultdict(list)
        for span in self._spans:
            if span.track == track:
                lengths[span.name].append(span.end - span.begin)
        # Longest total first.
        totals = {
            name: len(lengths_of_name) * median(lengths_of_name)
            for name, lengths_of_name in lengths.items()
        }
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    def events(self) -> Iterator[dict[str, Any]]:
        """Return the events of a Chrome trace: times in microseconds."""
        self.settle()
        # Chrome trace format: "M" names a thread, "X" is a complete event with begin and duration
        # in us.
        tracks = {track: n for n, track in enumerate(dict.fromkeys(s.track for s in self._spans))}
        for track, n in tracks.items():
            name = {"name": "thread_name", "ph": "M", "pid": 0, "tid": n}
            yield name | {"args": {"name": track}}
        for span in self._spans:
            yield {
                "name": span.name, "ph": "X", "pid": 0, "tid": tracks[span.track],
                "ts": 1e6 * (span.begin - self._origin), "dur": 1e6 * (span.end - span.begin),
            }  # fmt: skip

    def text(self) -> str:
        """Return all of it as a Chrome trace."""
        return json.dumps({"traceEvents": list(self.events())})


STEPS = "steps"
GROUPS = "one step, group by group"
COPIES = "copies to the host"
EVERY = 51  # steps between two that go group by group: odd, for both parities
ALONE = 50  # the first of these


class Profiled:
    """Record a backend's work."""

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
        """Wait, and note how long; all spans noted before are complete."""
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
    """Cut steps first <= n < last before and after each step that goes by itself."""
    # Cut before and after each single step.
    singles = [n for n in range(first, last) if n % EVERY == ALONE]
    cuts = sorted({first, last, *singles, *(n + 1 for n in singles)})
    return list(pairwise(cuts))
