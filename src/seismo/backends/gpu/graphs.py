"""Steps of one card, or of several, recorded as CUDA graphs and replayed.

In a graph each launch waits for no more than it must (`seismo.backends.gpu.launch_order`), on its
own card or on another, at less than a microsecond a kernel. A graph over several cards keeps them
in step
without the host: between its steps no event has to be told from that of the step before, which is
what graphs of single cards that wait for one another's events would need.

All launches but those of cores go on streams of high priority: they are small, and neighbours or
the next stage wait for them. Behind the thousands of blocks of a core they would come last.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy
from cuda.bindings import driver

from seismo.backends.gpu.launch_order import (
    CountedSteps,
    LaunchingCard,
    assign_streams,
    dependencies,
    merged,
)

SIZES = (16, 4)  # steps of the longer graphs
MOST_STREAMS = 24  # streams of one kind that record one on a card
BY_PRIORITY = 8  # CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY


class Graphs:
    """Own the graphs of some members' steps, all of the same number."""

    def __init__(self, members: list[CountedSteps]) -> None:
        """Record them; all after the first go along with it."""
        self._members = members
        self._at = -1
        self._first, *self._others = [member.card for member in members]
        self._period = len(members[0].steps)
        # Long graphs amortise the launch of a graph; single steps fill up the rest.
        self._graphs = {(0, size): self._record(0, size) for size in SIZES}
        self._graphs |= {(n, 1): self._record(n, 1) for n in range(self._period)}

    def advance(self, first: int, count: int) -> None:
        """Take steps."""
        last = first + count
        main = self._first.main
        # What other cards' streams hold comes before the first step.
        for card in self._others:
            with card.device:
                for stream in _streams(card):
                    main.wait_event(stream.record(_event()))
        with self._first.device, main:
            # The clocks on the cards count by themselves; set them only after a jump.
            if first != self._at:
                self._set_clocks(first)
            while first < last:
                # The largest graph that begins at the right time level and does not overshoot.
                parity = first % self._period
                size = next((n for n in SIZES if not parity and first + n <= last), 1)
                self._graphs[parity, size].launch(main)
                first += size
            self._at = last
            done = main.record(_event())
        # And launches after the steps, on any card, wait for the last one.
        for card in self._others:
            with card.device:
                for stream in _streams(card):
                    stream.wait_event(done)

    def _set_clocks(self, step: int) -> None:
        for member in self._members:
            card = member.card
            with card.device, card.main:
                member.clock.fill(step)
                self._first.main.wait_event(card.main.record(_event()))

    def _record(self, first: int, count: int) -> Any:
        # Merge the members' groups step by step, and derive the dependencies of all their launches.
        groups = merged([
            [group for n in range(first, first + count) for group in m.steps[n % self._period]]
            for m in self._members
        ])  # fmt: skip
        works: list[Any] = [work for group in groups for work in group]
        # Cores have low priority; edges, halos and sources, which others wait for, high priority.
        urgent = [group.where != "core" for group in groups for _ in group]
        kinds = [(work.card, soon) for work, soon in zip(works, urgent, strict=True)]
        needed = dependencies(groups)
        chosen = assign_streams(needed, kinds, MOST_STREAMS)
        main = self._first.main
        streams = dict[Any, Any]()
        done = list[Any]()
        with self._first.device, main, _capturing(main) as captured:
            # Fork: streams join the capture by an event of the main stream.
            start = main.record(_event())
            for work, waits, stream_key in zip(works, needed, chosen, strict=True):
                with work.card.device:
                    # Highest priority for launches that others wait for: CUDA would run a core's
                    # blocks before them.
                    if stream_key not in streams:
                        streams[stream_key] = _stream_of(stream_key)
                        streams[stream_key].wait_event(start)
                    # Predecessors on the same stream are ordered by it; others need an event.
                    for n in waits:
                        if chosen[n] != stream_key:
                            streams[stream_key].wait_event(done[n])
                    with streams[stream_key]:
                        work()
                    done.append(streams[stream_key].record(_event()))
            # Join: a capture ends when all its streams have come back to the first.
            for ((card, _), _), stream in streams.items():
                with card.device:
                    end = stream.record(_event())
                main.wait_event(end)
        with self._first.device:
            return _Graph(captured[0])


class _Graph:
    """A recorded graph that is launched by the priorities of the streams that recorded it.

    CuPy's own launches everything with that of one stream.
    """

    def __init__(self, captured: Any) -> None:
        """Make it executable; a driver that refuses priorities takes CuPy's own."""
        # Node priorities come from the capturing streams, and survive with this flag only.
        status, executable = driver.cuGraphInstantiate(captured.graph, BY_PRIORITY)
        if int(status):
            self._handle = captured.graphExec
            self._captured = captured
            return
        # An executable graph from the captured one.
        self._handle = int(executable)
        destroy = weakref.finalize(self, cupy.cuda.runtime.graphExecDestroy, self._handle)
        destroy.atexit = False  # the driver is gone by then

    def launch(self, stream: Any) -> None:
        """Launch it on a stream."""
        cupy.cuda.runtime.graphLaunch(self._handle, stream.ptr)


@contextmanager
def _capturing(stream: Any) -> Iterator[list[Any]]:
    """Record what a stream launches; the list has the graph in the end.

    If a launch is refused, the stream goes on without a graph.
    """
    graphs: list[Any] = []
    stream.begin_capture()
    try:
        yield graphs
    except BaseException:
        with contextlib.suppress(RuntimeError):  # streams that did not join in yet
            stream.end_capture()
        raise
    graphs.append(stream.end_capture())


def _streams(card: LaunchingCard) -> tuple[Any, Any]:
    """Return the streams of all launches but those of graphs."""
    return card.main, cupy.cuda.Stream.null


def _stream_of(stream_key: Any) -> Any:
    (card, urgent), number = stream_key
    return card.side(number, urgent)


def _event() -> Any:
    """Make an event on the card in use."""
    return cupy.cuda.Event(disable_timing=True)
