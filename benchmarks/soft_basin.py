"""Time a soft basin on 20 km of rock with and without a finer grid above a plane below it.

    python benchmarks/soft_basin.py --exact exact.npz --exact-only    # takes minutes
    python benchmarks/soft_basin.py --exact exact.npz --repeats 3 --json results/soft_basin.json
    python benchmarks/soft_basin.py --section --backend cpu          # in 2-D, takes a minute

Layers of 300, 600 and 1000 m/s, together 1 km deep, over 20 km of rock, and a thrust 6 km deep
whose spectrum is at 5 % at the highest frequency, where the slowest waves have 8 points. The even
grid has that spacing everywhere; the other one above a plane, two rows of the coarser grid
above the rock, and three times that below it. Rock that reached above the plane would shorten
the time step, which follows the fastest waves of the smaller cells. Absorbing layers are as thick
in metres on both, or the thinner ones would rule the error: waves in the rock are up to 14 km long.
Both run by the same call, results on the disk, with kernels that were compiled before; traces on
the surface are compared with the exact solution (`seismo.exact.layered`), and with each
other.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from tables import print_table

import seismo
from seismo.acquisition import wavelets
from seismo.backends.select import choose
from seismo.exact import layered, layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.runs.tools import bench
from seismo.scenario import from_dict
from seismo.scenario.sections.wavelet import RickerWavelet
from seismo.solver.discretize import discretize

CONSOLE = Console(width=120)
EARTH = Stack(
    (Medium(1500.0, 300.0, 1800.0), Medium(1900.0, 600.0, 2000.0), Medium(2600.0, 1000.0, 2200.0),
     Medium(4200.0, 2400.0, 2500.0), Medium(5600.0, 3200.0, 2700.0)),
    (0.0, 200.0, 450.0, 1000.0, 5000.0),
)  # fmt: skip
SOFT = 1000.0  # m, depth of the layers above rock
DEPTH = 21000.0
POINTS = 8  # in the shortest wavelength
ABOVE_ROCK = 2  # rows of the coarser grid between the plane and the rock
LEAST = 7  # rows of it down to the plane
FACTOR = 3  # spacing below the plane over that above
HYPOCENTRE = np.array([0.0, 0.0, 6000.0])
MOMENT = {"xx": -0.9e16, "yy": -0.1e16, "zz": 1e16, "xy": -0.3e16}  # N m, a thrust
WIDTH = 12000.0  # m, of the region
LAYER = 24  # points of absorbing layers below the plane; all others have three times that
STATIONS = np.array([[720.0, 360.0, 0.0], [1800.0, -900.0, 0.0], [-2250.0, 1800.0, 0.0]])  # m
DURATION = 9.0  # s, and 2.8 periods of the wavelet
Traces = tuple[np.ndarray, np.ndarray]  # times (time) s, (station, component, time) m/s
COLUMNS = ("grid", "Mpoints", "steps", "Gpoint steps", "steps s", "whole s", "Gpoint/s", "error %",
           "from even %")  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """The basin at one size.

    Attributes:
        highest: frequency in Hz.
        width: of the region in m, both ways.
        layer: points of absorbing layers below the plane; above it, and on the even grid, they have
            three times as many.
        below: depth in m of the plane, None for one above the rock.
        axes: of the region: "xz" is a section of it, with the thrust a line of moments.
    """

    highest: float
    width: float = WIDTH
    layer: int = LAYER
    below: float | None = None
    axes: str = "xyz"

    @property
    def spacing(self) -> float:
        """Distance between points in m, of the even grid and above the plane."""
        return EARTH.media[0].vs / self.highest / POINTS

    @property
    def plane(self) -> float:
        """Depth in m of the plane, above the rock where that leaves rows enough."""
        if self.below is not None:
            return self.below
        coarse = FACTOR * self.spacing
        return float(coarse * max(LEAST, np.floor(SOFT / coarse) - ABOVE_ROCK + 1))

    @property
    def frequency(self) -> float:
        """Of the Ricker wavelet in Hz, 5 % of whose spectrum is left at the highest frequency."""
        return self.highest / 2.5

    def place(self, point: np.ndarray) -> dict[str, float]:
        """Write a point (3) in m."""
        return {a: float(n) for a, n in zip("xyz", point, strict=True) if a in self.axes}

    def scenario(self, refined: bool) -> dict[str, Any]:
        """Return the scenario with the plane or without."""
        coarse = FACTOR * self.spacing
        half = coarse * np.ceil(0.5 * self.width / coarse)
        deep = coarse * np.ceil(DEPTH / coarse)
        grid: dict[str, Any] = {
            "extent": self.place(np.array([2 * half, 2 * half, deep])),
            "origin": self.place(np.array([-half, -half, 0.0])),
            "spacing": self.spacing, "order": 8,
        }  # fmt: skip
        points = FACTOR * self.layer
        if refined:
            grid["refinement"] = [{"below": self.plane}]
            points = self.layer
        return {
            "title": "soft basin on rock", "physics": "elastic", "grid": grid,
            "time": {"duration": DURATION + 2.8 / self.frequency},
            "boundaries": {"top": "free_surface", "layer": {"points": points}},
            "model": [{"type": "layers", "layers": [
                {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
                for m, top in zip(EARTH.media, EARTH.depths, strict=True)]}],
            "sources": [{
                "type": "moment_tensor", "position": self.place(HYPOCENTRE),
                "components": {n: m for n, m in MOMENT.items() if set(n) <= set(self.axes)},
                "time_function": "moment_rate",
                "wavelet": {"type": "ricker", "frequency": self.frequency},
            }],
            "receivers": [{
                "type": "points", "name": "ground", "quantities": ["velocity"],
                "positions": [self.place(station) for station in STATIONS],
            }],
        }  # fmt: skip

    def exact(self) -> Traces:
        """Return the exact velocities of the stations at the steps of the refined grid."""
        document = self.scenario(True)
        clock = discretize(from_dict(document)).clock
        times = np.arange(clock.steps + 1) * clock.dt
        wavelet = RickerWavelet(**document["sources"][0]["wavelet"])
        axes = ["xyz".index(axis) for axis in self.axes]
        moment = np.zeros((3, 3))
        for pair, value in MOMENT.items():
            row, column = ("xyz".index(axis) for axis in pair)
            moment[row, column] = moment[column, row] = value
        solution = layered if len(axes) == 3 else layered_plane
        return times, solution.moment_response(
            EARTH, HYPOCENTRE[axes], STATIONS[:, axes], moment[np.ix_(axes, axes)],
            wavelets.evaluate(wavelet, times), clock.dt, "velocity", "moment_rate",
        )  # fmt: skip


def read_or_compute(problem: Problem, path: Path | None) -> Traces:
    """Return the exact traces of a file, computed and written where there is none yet."""
    if path is None:
        return problem.exact()
    if not path.exists():
        times, exact = problem.exact()
        np.savez(path, times=times, exact=exact)
    with np.load(path) as file:
        return file["times"], file["exact"]


@dataclass
class Result:
    """How long a grid took, and how far its traces were off.

    Attributes:
        grid: "even" or "refined".
        points: that a step updates, layers included.
        steps: in time.
        loop: seconds of the steps, of each repeat.
        whole: seconds from the call to the results on the disk, of each repeat.
        errors: of the stations against the exact solution, relative L2 of the vector.
        apart: likewise from the even grid.
    """

    grid: str
    points: int
    steps: int
    loop: list[float]
    whole: list[float]
    errors: list[float]
    apart: list[float] = field(default_factory=list)

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        updates = self.points * self.steps
        loop = np.median(self.loop)
        return [
            self.grid, f"{self.points / 1e6:.2f}", str(self.steps), f"{updates / 1e9:.1f}",
            f"{loop:.3g}", f"{np.median(self.whole):.3g}", f"{updates / loop / 1e9:.2f}",
            *(", ".join(f"{100.0 * e:.2g}" for e in some) for some in (self.errors, self.apart)),
        ]  # fmt: skip


def measure(
    problem: Problem, refined: bool, backend: str, repeats: int, exact: Traces
) -> tuple[Result, np.ndarray]:
    """Run a grid once to compile and then some times; return what it took, and its traces.

    Traces (station, component, time) are interpolated to the times of the exact ones.
    """
    name = "refined" if refined else "even"
    document = problem.scenario(refined)
    discretization = discretize(from_dict(document))
    loop = []
    whole = []
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are compiled by a few steps of it.
        first = document | {
            "time": {"duration": 10 * discretization.clock.dt, "step": discretization.clock.dt}
        }
        seismo.run(first, Path(folder) / "first.h5", backend=backend).close()
        for n in range(repeats):
            start = time.perf_counter()
            with seismo.run(document, Path(folder) / f"{n}.h5", backend=backend) as results:
                whole.append(time.perf_counter() - start)
                loop.append(results.summary["stepping_s"])
                ground = results.traces["ground"]
                motion = [ground.values_of(f"v{axis}") for axis in problem.axes]
                traces = at_times(exact[0], ground.time, np.stack(motion, axis=-2))
            off = errors(traces, exact[1])
            CONSOLE.print(f"{name}: {loop[-1]:.4g} s of steps, {whole[-1]:.4g} s, errors {off}")
    return Result(name, discretization.points, discretization.total_steps, loop, whole, off), traces


def at_times(times: np.ndarray, old: np.ndarray, traces: np.ndarray) -> np.ndarray:
    """Return traces (..., station, component, old time) at other times."""
    stations = traces.reshape(len(STATIONS), -1, old.size)
    return np.apply_along_axis(partial(np.interp, times, old), -1, stations)


def errors(traces: np.ndarray, exact: np.ndarray) -> list[float]:
    """Return the relative L2 of the vector at each station."""
    return [float(metrics.relative_l2(a, b)) for a, b in zip(traces, exact, strict=True)]


def main() -> None:
    """Run both grids, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--highest", type=float, default=1.0, help="frequency in Hz")
    parser.add_argument("--width", type=float, default=WIDTH, help="of the region in m")
    parser.add_argument("--layer", type=int, default=LAYER, help="points of layers below the plane")
    parser.add_argument("--exact", type=Path, help="file of the exact traces, written if missing")
    parser.add_argument("--exact-only", action="store_true", help="write that file")
    parser.add_argument("--backend", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--below", type=float, help="depth of the plane in m")
    parser.add_argument("--section", action="store_true", help="a section in x and z")
    options = parser.parse_args()
    axes = "xz" if options.section else "xyz"
    problem = Problem(options.highest, options.width, options.layer, options.below, axes)
    warnings.simplefilter("ignore", seismo.ScenarioWarning)
    exact = read_or_compute(problem, options.exact)
    if options.exact_only:
        return
    even, refined = (
        measure(problem, is_refined, options.backend, options.repeats, exact)
        for is_refined in (False, True)
    )
    results = even[0], refined[0]
    for result, traces in (even, refined):
        result.apart = errors(traces, even[1])
    rows = (result.row() for result in results)
    print_table(CONSOLE, "soft basin on 20 km of rock", COLUMNS, rows)
    costs = {
        "points x steps": [one.points * one.steps for one in results],
        "steps": [float(np.median(one.loop)) for one in results],
        "whole": [float(np.median(one.whole)) for one in results],
    }
    times_faster = {name: long / short for name, (long, short) in costs.items()}
    CONSOLE.print("times less: " + ", ".join(f"{k} {v:.3g}" for k, v in times_faster.items()))
    record = {
        "machine": bench.describe_machine() | choose(options.backend).make("float32").describe(),
        "highest": options.highest, "width": options.width, "layer": options.layer,
        "axes": axes, "spacing": problem.spacing, "plane": problem.plane,
        "times_less": times_faster,
        "results": [vars(result) for result in results],
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
