"""Other orders than the product's: one stream for all, two for what depends, two for what fills.

What is wrong: with `OneStream` the layers wait for the interior and the receivers for both, though
they touch other numbers. With `TwoStreams` launches that depend on one another change streams and
wait for events: nothing can overlap, and the card does what one stream would do. A second stream
beside a kernel that fills the card (`side_by_side`) finds no room.
"""

from __future__ import annotations

from typing import Any

import cupy

from ladder.stand import Interior, Stand, difference, layered, run_of, simulate, whole
from ladder.worth import Side, Worth
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.card import Card, load_together
from seismo.backends.gpu.launches import Graphs

STEPS = 64


class OneStream(Graphs):
    """Graphs of one line."""

    def _record(self, first: int, count: int) -> Any:
        main = self._first.main
        with main:
            main.begin_capture()
            for work in self._works(first, count):
                work()
            return main.end_capture()

    def _works(self, first: int, count: int) -> list:
        (member,) = self._members
        steps = (member.steps[n % self._period] for n in range(first, first + count))
        return [work for step in steps for group in step for work in group]


class TwoStreams(OneStream):
    """Graphs whose launches change streams each time, in order."""

    def _record(self, first: int, count: int) -> Any:
        main, streams = self._first.main, [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        with main:
            main.begin_capture()
            done = main.record()
            for n, work in enumerate(self._works(first, count)):
                streams[n % 2].wait_event(done)
                with streams[n % 2]:
                    work()
                done = streams[n % 2].record()
            main.wait_event(done)
            return main.end_capture()


class OtherCard(Card):
    """A card that records other graphs than the product's."""

    graphs: type[Graphs] = Graphs

    def program(self, members: list) -> Any:
        """Record steps."""
        load_together([self])
        return self.graphs(members).advance


def on(graphs: type[Graphs], backend: Any) -> GpuBackend:
    """Make a backend like one there is, with streams of its own and other graphs."""
    card = OtherCard(cupy.cuda.Device().id)
    card.graphs = graphs
    return GpuBackend(backend.precision, card)


def dependent(stand: Stand) -> Worth:
    """Velocity, then stress, then velocity: in two streams, and in one."""
    n, found = stand.scale.elastic, []
    for backend in (on(TwoStreams, stand.backend), stand.backend):
        interior = Interior(backend, whole("elastic", 3, 4, n))
        take = backend.program(interior.steps(interior.product))
        answer = interior.answer(take)
        seconds = stand.seconds(lambda count, take=take: take(0, count), backend.wait)
        found.append((answer, interior.points / seconds / 1e9))
        del interior
    (off, slow), (wanted, fast) = found
    sides = (Side("two streams and events", slow), Side("one stream", fast))
    scenario = f"elastic 3-D, order 4, {n}^3"
    return Worth(scenario, "Gpoint/s", sides, difference(off, wanted))


def independent(stand: Stand) -> Worth:
    """The interior, the layers and the receivers: in one stream, and side by side."""
    n, found = stand.scale.plane, []
    document = layered("acoustic", 2, 8, n)
    for backend in (on(OneStream, stand.backend), stand.backend):
        simulation = simulate(backend, document, STEPS)
        simulation.advance(simulation.total_steps)
        answer = simulation.field("p")
        updates = simulation.points * simulation.total_steps / 1e9
        take = run_of(simulation, part=STEPS)
        found.append((answer, updates / stand.seconds(take, backend.wait)))
    (off, slow), (wanted, fast) = found
    sides = (Side("one stream", slow), Side("what is independent side by side", fast))
    scenario = f"acoustic 2-D, order 8, {n}^2 and layers"
    return Worth(scenario, "Gpoint/s", sides, difference(off, wanted))


def side_by_side(stand: Stand) -> Worth:
    """Two large shots: both at once in two streams, and one after the other."""
    n = stand.scale.space
    backends = [stand.backend, on(Graphs, stand.backend)]
    both = [Interior(backend, whole("acoustic", 3, 8, n)) for backend in backends]
    takes = [i.backend.program(i.steps(i.product)) for i in both]
    answers = [i.answer(take) for i, take in zip(both, takes, strict=True)]

    def together(count: int) -> None:
        for first in range(0, count, 16):
            for take in takes:
                take(first, min(16, count - first))

    def in_turn(count: int) -> None:
        for take, backend in zip(takes, backends, strict=True):
            take(0, count)
            backend.wait()

    def wait() -> None:
        for backend in backends:
            backend.wait()

    sides = tuple(
        Side(name, 2 * both[0].points / stand.seconds(take, wait) / 1e9)
        for name, take in (("in two streams", together), ("one after the other", in_turn))
    )
    scenario = f"two shots of acoustic 3-D, order 8, {n}^3"
    return Worth(scenario, "Gpoint/s", sides, difference(*answers))
