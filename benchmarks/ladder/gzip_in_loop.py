"""Snapshots compressed and written by the loop that steps.

What is wrong: HDF5's own filter compresses on one core, under HDF5's lock, and the loop waits for
it, with the card idle. (The product: a ring of buffers, a pool of threads that compress, one that
writes, all beside the steps.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ladder.stand import Stand, difference, layered, simulate
from ladder.worth import Side, Worth
from seismo.backends.base import Copy
from seismo.output.pipeline import Pipeline, SnapshotRecorder, ring_bytes
from seismo.output.results import open_results
from seismo.output.results_file import ResultsWriter
from seismo.solver.sampling.output_sets import make_series

EVERY, FRAMES = 10, 10


class InLoop:
    """Stand in for writer and pipeline."""

    def __init__(self, file: h5py.File, backend: Any, shape: tuple[int, ...]) -> None:
        """Lay out the file."""
        self._backend, self._shape = backend, shape
        self._data = file.create_dataset(
            "vz", (FRAMES + 1, *shape), "f4", chunks=(1, *(min(64, n) for n in shape)),
            compression="gzip", shuffle=True,
        )  # fmt: skip

    def create_snapshots(self, name: str, **layout: Any) -> str:
        """Name a series."""
        return name

    def send(self, array: Any, names: Sequence[str], index: int) -> Copy:
        """Fetch a frame and write it."""
        self._data[index] = self._backend.fetch(array).reshape(self._shape)
        return Copy(lambda: None, lambda: None)


def measure(stand: Stand) -> Worth:
    """Compare it with the product's pipeline."""
    n, backend = stand.scale.elastic // 2, stand.backend
    output = {"snapshots": [{"name": "volume", "fields": ["vz"], "steps": EVERY}]}
    document = layered("elastic", 3, 4, n) | {"output": output}
    simulation = simulate(backend, document, EVERY * FRAMES + 1)
    discretization = simulation.discretization
    entry = discretization.scenario.output.snapshots[0]
    series = make_series(entry, discretization.grid, discretization.physics, discretization.clock)

    def step(writer: Any, pipeline: Any) -> None:
        taker = SnapshotRecorder(writer, [(series, simulation.sampled)], ["shot"])
        for stop in sorted(taker.events):
            simulation.advance(stop - simulation.step)
            taker.take(stop, simulation.last_parity, pipeline, ["shot"])
        backend.wait()

    with tempfile.TemporaryDirectory() as name:
        off, on = Path(name) / "off.h5", Path(name) / "on.h5"

        def in_the_loop(count: int) -> None:
            with h5py.File(off, "w") as file:
                sink = InLoop(file, backend, series.cut.shape)
                step(sink, sink)

        def beside_it(count: int) -> None:
            frame = 4 * series.cut.points
            writer = ResultsWriter(on, scenario_text="", resolved="", attributes={})
            ring = ring_bytes(frame, frame * len(series.steps))
            with writer, Pipeline(writer, backend, ring) as pipeline:
                step(writer, pipeline)

        beside_it(1)  # everything is compiled by then
        sides = []
        for label, run in (("in the loop", in_the_loop), ("beside the steps", beside_it)):
            simulation.load(discretization.shots)
            sides.append(Side(label, stand.once(run)))
        with h5py.File(off) as file, open_results(on) as results:
            apart = difference(file["vz"][...], results.snapshots["volume"].values_of("vz"))
    size = np.prod(series.cut.shape) * 4 * len(series.steps) / 1e6
    scenario = f"{EVERY * FRAMES} steps of elastic 3-D, {n}^3, {size:.0f} MB of vz to the disk"
    return Worth(scenario, "s", tuple(sides), apart)
