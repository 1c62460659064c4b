"""What output costs: a core's time to compress and store, and what snapshots take from the steps.

    python benchmarks/output.py store                    # beside h5py's own gzip filter
    python benchmarks/output.py steps --backend gpu      # elastic 3-D 384^3, vz every 50 steps

`store` makes wavefields first: vz of an elastic run at three times. Both ways store the same chunks
to the same disk with one thread; what counts is the processor's time. `steps` takes the same steps
with and without snapshots, by turns, and says what part of the speed is left; the clock stops when
the device is done, and again when the last snapshot is on the disk (fsync included).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from rich.console import Console
from rich.table import Table

from seismo.backends.row_kernels import shorten
from seismo.backends.select import BackendChoice, choose
from seismo.output.pipeline import Pipeline, SnapshotRecorder, masks, ring_bytes
from seismo.output.results_file import ResultsWriter
from seismo.output.store.chunks import (
    Frame,
    create_frames,
    frame_of,
    write_block,
)
from seismo.runs.tools import bench
from seismo.scenario import Scenario, from_dict
from seismo.solver.discretize import discretize
from seismo.solver.sampling.output_sets import make_series
from seismo.solver.simulation import Simulation

CONSOLE = Console(width=110)
MEGA = 1e6


def elastic(points: int, steps: int, every: int) -> Scenario:
    """Give an elastic 3-D scenario of so many points along each axis, with snapshots of vz."""
    scenario: dict[str, Any] = dict(bench.select(["G3"])[0].scenario)
    length = (points - 1) * bench.SPACING
    middle = dict.fromkeys("xyz", length / 2)
    source = {**scenario["sources"][0], "position": middle}
    line = {
        "start": {"x": 0.0, "y": length / 2, "z": 0.0},
        "end": {**middle, "x": length, "z": 0.0},
    }
    receivers = [{**scenario["receivers"][0], **line, "count": points}]
    snapshots = [{"name": "volume", "fields": ["vz"], "steps": every}]
    return from_dict(
        scenario
        | {
            "grid": {**scenario["grid"], "extent": dict.fromkeys("xyz", length)},
            "time": {**scenario["time"], "duration": steps * bench.STEP},
            "sources": [source],
            "receivers": receivers,
            "output": {"model": False, "snapshots": snapshots},
        }
    )


def wavefields(points: int, threads: int | None) -> dict[str, np.ndarray]:
    """Give vz early, in the middle and late in a run."""
    # A wave of 4 km/s from the middle reaches the faces at the last of them.
    last = int(points / 2 * bench.SPACING / 4000.0 / bench.STEP)
    discretization = discretize(elastic(points, last, last))
    simulation = Simulation(discretization, choose("cpu", None, threads).make("float32"))
    found = {}
    for name, step in (("early", last // 4), ("middle", last // 2), ("late", last)):
        simulation.advance(step - simulation.step)
        (_, view), inside = simulation.views("vz")[0], discretization.grid.extent
        cut = tuple(slice(a, b) for a, b in zip(inside.lo, inside.hi, strict=True))[::-1]
        found[name] = np.ascontiguousarray(view[(0, *cut)])
    return found


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Round mantissas as a run does."""
    found = values.copy()
    rows = np.arange(values.size // values.shape[-1]) * values.shape[-1]
    held = (found.ravel().view("u4"), rows, *masks(bits))
    choose("cpu").make("float32").each_row(shorten, rows.size, values.shape[-1], held, (0,))()
    return found


def by_h5py(level: int) -> Callable[[h5py.File, np.ndarray, Frame], None]:
    """Store by assignment, through h5py's gzip filter."""

    def store(file: h5py.File, values: np.ndarray, frame: Frame) -> None:
        file.create_dataset(
            "v", data=values, chunks=frame.chunk, compression="gzip", compression_opts=level,
            shuffle=True,
        )  # fmt: skip

    return store


def by_seismo(file: h5py.File, values: np.ndarray, frame: Frame) -> None:
    """Store as the writer of results does."""
    write_block(create_frames(file, "v", (), frame), (), values)


def timed_store(store: Callable, values: np.ndarray, folder: Path) -> tuple[float, float]:
    """Give the processor's seconds to store an array, and how many times smaller it is then."""
    frame, path = frame_of(values.shape, values.dtype), folder / "stored.h5"
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        with h5py.File(path, "w") as file:
            store(file, values, frame)
        seconds.append(time.process_time() - begin)
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["v"][...], values)
            ratio = values.nbytes / file["v"].id.get_storage_size()
    return min(seconds), ratio


def store(points: int, folder: Path, threads: int | None) -> None:
    """Compare the ways to store the same wavefields."""
    table = Table("vz", "zeros", "way", "MB/s of a core", "times smaller", "beside gzip-4")
    for name, values in wavefields(points, threads).items():
        ways: list[tuple[str, Callable, np.ndarray]] = [
            ("h5py, gzip-4", by_h5py(4), values),
            ("h5py, gzip-1", by_h5py(1), values),
            ("seismo", by_seismo, values),
            ("seismo, rounded to 1e-3", by_seismo, rounded(values, 9)),
        ]
        base = 0.0
        for way, function, given in ways:
            seconds, ratio = timed_store(function, given, folder)
            rate = values.nbytes / seconds / MEGA
            base = base or rate
            zeros = f"{np.mean(values == 0):.0%}"
            table.add_row(name, zeros, way, f"{rate:.0f}", f"{ratio:.2f}", f"{rate / base:.1f} x")
    CONSOLE.print(f"{points}^3 float32, {points**3 * 4 / MEGA:.0f} MB")
    CONSOLE.print(table)


def steps(scenario: Scenario, rounds: int, folder: Path, choice: BackendChoice) -> None:
    """Compare the speed with and without snapshots."""
    machine, discretization = choice.make(scenario.precision), discretize(scenario)
    simulation, count = Simulation(discretization, machine), discretization.clock.steps
    every = scenario.output.snapshots[0].steps
    shape = " x ".join(map(str, discretization.grid.extent.shape))
    CONSOLE.print(f"{choice.note}; {shape}, {count} steps, vz every {every}")
    stops = sorted({n + k for n in range(0, count + 1, every) for k in (0, 1)})
    _with_snapshots(simulation, stops[:4], folder / "snapshots.h5")  # what compiles does so here
    without, beside, results = [], [], []
    for _ in range(rounds):
        simulation.load(discretization.shots)
        without.append(_stepped(simulation, stops, lambda step: None))
        results.append(_with_snapshots(simulation, stops, folder / "snapshots.h5"))
        beside.append(results[-1]["stepping_s"])
    points = discretization.grid.size * count / 1e9
    for name, seconds in (("without", without), ("with", beside)):
        middle, each = statistics.median(seconds), ", ".join(f"{s:.3f}" for s in seconds)
        CONSOLE.print(f"{name:8}{middle:.3f} s, {points / middle:.2f} Gpoint/s ({each})")
    left = statistics.median(without) / statistics.median(beside)
    CONSOLE.print(f"speed left: {left:.1%}")
    for result in results:
        CONSOLE.print({key: round(value, 3) for key, value in result.items()})


def _stepped(simulation: Simulation, stops: list[int], take: Callable[[int], None]) -> float:
    begin = time.perf_counter()
    for step in stops:
        simulation.advance(step - simulation.step)
        take(step)
    simulation.backend.wait()
    return time.perf_counter() - begin


def _with_snapshots(simulation: Simulation, stops: list[int], path: Path) -> dict[str, float]:
    discretization, names = simulation.discretization, ["shot"]
    entries = discretization.scenario.output.snapshots
    series = [
        make_series(s, discretization.grid, discretization.physics, discretization.clock)
        for s in entries
    ]
    frame = 4 * series[0].cut.points
    writer = ResultsWriter(path, scenario_text="", resolved="", attributes={})
    with writer:
        sampled = [(one, simulation.sampled) for one in series]
        taker = SnapshotRecorder(writer, sampled, names)
        ring = ring_bytes(frame, frame * len(series[0].steps))
        with Pipeline(writer, simulation.backend, ring) as pipeline:
            simulation.load(discretization.shots)

            def take(step: int) -> None:
                if step in taker.events:
                    taker.take(step, simulation.last_parity, pipeline, names)

            begin = time.perf_counter()
            stepping = _stepped(simulation, stops, take)
        stored = time.perf_counter() - begin
        described = pipeline.describe()
    published = time.perf_counter() - begin
    raw, on_disk = frame * len(series[0].steps), described["snapshot_bytes"]
    path.unlink()
    return {
        "stepping_s": stepping,
        "stored_s": stored,
        "published_s": published,
        "raw_MB": raw / MEGA,
        "stored_MB": on_disk / MEGA,
        "stored_MB_per_s": on_disk / stored / MEGA,
        "stalls": described["output_stalls"],
        "stalled_s": described["output_stalled_s"],
    }


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("store", "steps"))
    parser.add_argument("--points", type=int, help="along each axis [256 to store, 384 to step]")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--folder", type=Path, help="on the disk to measure [the temporary folder]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if given.what == "store":
            store(given.points or 256, folder, given.threads)
        else:
            scenario = elastic(given.points or 384, given.steps, given.every)
            choice = choose(given.backend, None, given.threads)
            steps(scenario, given.rounds, folder, choice)


if __name__ == "__main__":
    main()
