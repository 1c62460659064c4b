"""What happened when, on several tracks: spans that any viewer of Chrome traces shows.

A track is a thread of the host, or what a device does in order. Times are those of
`time.perf_counter`; what a device has yet to reach is asked for when everything is written.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

When = Callable[[], float]
Noted = Callable[[str], AbstractContextManager[Any]]


def unnoted(name: str) -> AbstractContextManager[Any]:
    """Note nothing; stands where there is no timeline."""
    return nullcontext()


class _Span(NamedTuple):
    track: str
    name: str
    begin: When
    end: When


class Timeline:
    """Collect spans from any thread."""

    def __init__(self) -> None:
        """Begin now."""
        self._origin = time.perf_counter()
        self._spans: list[_Span] = []  # to append is safe in any thread

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
        """Note a span whose ends can be asked for once everything is done."""
        self._spans.append(_Span(track, name, begin, end))

    def seconds(self, track: str) -> dict[str, float]:
        """Give how long the spans of each name took altogether, the longest first."""
        found: dict[str, float] = defaultdict(float)
        for span in self._spans:
            if span.track == track:
                found[span.name] += span.end() - span.begin()
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def events(self) -> Iterator[dict[str, Any]]:
        """Give the events of a Chrome trace: times in microseconds."""
        tracks = {track: n for n, track in enumerate(dict.fromkeys(s.track for s in self._spans))}
        for track, n in tracks.items():
            name = {"name": "thread_name", "ph": "M", "pid": 0, "tid": n}
            yield name | {"args": {"name": track}}
        for span in self._spans:
            begin, end = span.begin(), span.end()
            yield {
                "name": span.name, "ph": "X", "pid": 0, "tid": tracks[span.track],
                "ts": 1e6 * (begin - self._origin), "dur": 1e6 * (end - begin),
            }  # fmt: skip

    def text(self) -> str:
        """Give all of it as a Chrome trace."""
        return json.dumps({"traceEvents": list(self.events())})
