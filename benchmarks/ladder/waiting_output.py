"""A snapshot is copied while the card waits, and the card while the host waits.

What is wrong: the copy engine and the cores work in turns. Both could work at once, since what is
copied has been cut out of the field before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ladder.stand import Stand, With, difference, layered, simulate
from ladder.worth import Side, Worth
from seismo.backends.base import Copy
from seismo.output.pipeline import SnapshotRecorder
from seismo.solver.sampling.output_sets import make_series

EVERY, FRAMES = 16, 8


class Nowhere:
    """Stand in for the results file and the pipeline: frames reach the host, and stay there."""

    def __init__(self, backend: Any, numbers: int) -> None:
        """Allocate two frames."""
        self._backend, self._sent = backend, 0
        self._frames = [backend.host_buffer(4 * numbers).view(np.float32) for _ in range(2)]
        self._copies: list[Copy | None] = [None, None]

    def create_snapshots(self, name: str, **layout: Any) -> str:
        """Name a series."""
        return name

    def send(self, array: Any, names: Sequence[str], index: int) -> Copy:
        """Copy a frame, once there is room."""
        n = self._sent % 2
        self._sent += 1
        self.finish(n)
        self._copies[n] = self._backend.send(array, self._frames[n])
        return self._copies[n]

    def finish(self, n: int) -> None:
        """Wait for a copy."""
        if (copy := self._copies[n]) is not None:
            copy.wait()

    @property
    def last(self) -> np.ndarray:
        """The last frame."""
        n = (self._sent - 1) % 2
        self.finish(n)
        return self._frames[n].copy()


def waiting(backend: Any) -> Any:
    """Make a backend whose copies are done when they return."""

    def send(array: Any, host: np.ndarray) -> Copy:
        backend.wait()
        copy = backend.send(array, host)
        copy.wait()
        return Copy(lambda: None, lambda: None)

    return With(backend, send=send)


def measure(stand: Stand) -> Worth:
    """Compare it with copies beside the steps."""
    n = stand.scale.elastic
    snapshots = {"snapshots": [{"name": "volume", "fields": ["p"], "steps": EVERY}]}
    document = layered("acoustic", 3, 8, n) | {"output": snapshots}
    simulation = simulate(stand.backend, document, EVERY * FRAMES)
    discretization, shots = simulation.discretization, simulation.discretization.shots
    entry = discretization.scenario.output.snapshots[0]
    series = make_series(entry, discretization.grid, discretization.physics, discretization.clock)

    def runner(backend: Any) -> tuple[Any, Nowhere]:
        sink = Nowhere(backend, series.cut.points)
        sampled = replace(simulation.sampled, backend=backend)
        taker = SnapshotRecorder(sink, [(series, sampled)], ["shot"])

        def run(count: int) -> None:
            for _ in range(count):
                simulation.step = 0
                for step in range(0, EVERY * FRAMES, EVERY):
                    simulation.advance(EVERY)
                    taker.take(step + EVERY, simulation.last_parity, sink, ["shot"])
                sink.finish(0)
                sink.finish(1)

        return run, sink

    frames, sides = [], []
    for name, backend in (
        ("the card waits for the copy", waiting(stand.backend)),
        ("copied beside the steps", stand.backend),
    ):
        run, sink = runner(backend)
        simulation.load(shots)
        run(1)
        frames.append(sink.last)
        sides.append(Side(name, 1e3 * stand.seconds(run, backend.wait)))
    scenario = f"{EVERY * FRAMES} steps of acoustic 3-D, order 8, {n}^3, p every {EVERY}"
    return Worth(scenario, "ms", tuple(sides), difference(*frames))
