"""What happened when, on several tracks: spans that any viewer of Chrome traces shows.

A track is a thread of the host, or what a device does in order. Times are those of
`time.perf_counter`; what a device has yet to reach is asked for once somebody has waited for it.
A span then is two numbers, whatever the device had to keep for them. Of very long runs only the
first spans are kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median
from typing import Any, NamedTuple

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
        """Note what this thread does meanwhile."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            end = time.perf_counter()
            self.note(threading.current_thread().name, name, lambda: begin, lambda: end)

    def note(self, track: str, name: str, begin: When, end: When) -> None:
        """Note a span whose ends can be asked for once what was launched by now is done."""
        self._open.append((track, name, begin, end))

    def settle(self) -> None:
        """Ask for the ends of all spans; what they are of is done."""
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
