"""Time a soft basin on 20 km of rock with and without a finer grid above a plane below it.

    python benchmarks/soft_basin.py --json results/soft_basin.json
    python benchmarks/soft_basin.py --highest 0.25 --width 6000 --backend cpu      # a small form

Layers of 300, 600 and 1000 m/s, together 1 km deep, over 20 km of rock, and a thrust 6 km deep
whose spectrum is at 5 % at the highest frequency, where the slowest waves have 8 points. The even
grid has that spacing everywhere; the other one above a plane, two rows of the coarser grid
above the rock, and three times that below it. Rock that reached above the plane would shorten
the time step, which follows the fastest waves of the smaller cells. Both run by the same call,
results on the disk, with kernels that were compiled before; traces on the surface are compared
with the exact solution (`seismo.exact.layered`), and with each other.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import seismo
from seismo.acquisition import wavelets
from seismo.backends.select import choose
from seismo.exact import layered, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack
from seismo.runs import bench
from seismo.scenario import from_dict
from seismo.scenario.wavelet import RickerWavelet
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
LAYER = 12  # points of absorbing layers, the default; those above the plane have three times that
DURATION = 9.0  # s, and 2.8 periods of the wavelet
COLUMNS = ("grid", "Mpoints", "steps", "Gpoint steps", "steps s", "whole s", "Gpoint/s", "error %",
           "from even %")  # fmt: skip


def place(point: np.ndarray) -> dict[str, float]:
    """Write a point (3) in m."""
    return dict(zip("xyz", point.tolist(), strict=True))


@dataclass(frozen=True)
class Problem:
    """The basin at one size.

    Attributes:
        highest: frequency in Hz.
        width: of the region in m, both ways.
        layer: points of absorbing layers; above the plane they have three times as many.
    """

    highest: float
    width: float
    layer: int = LAYER

    @property
    def spacing(self) -> float:
        """Distance between points in m, of the even grid and above the plane."""
        return EARTH.media[0].vs / self.highest / POINTS

    @property
    def plane(self) -> float:
        """Depth in m of the plane, above the rock where that leaves rows enough."""
        coarse = FACTOR * self.spacing
        return float(coarse * max(LEAST, np.floor(SOFT / coarse) - ABOVE_ROCK + 1))

    @property
    def frequency(self) -> float:
        """Of the Ricker wavelet in Hz, 5 % of whose spectrum is left at the highest frequency."""
        return self.highest / 2.5

    @property
    def stations(self) -> np.ndarray:
        """Stations (3, axis) in m on the surface, within a third of the width."""
        return self.width * np.array([[0.08, 0.04, 0.0], [0.2, -0.1, 0.0], [-0.25, 0.2, 0.0]])

    def scenario(self, refined: bool) -> dict[str, Any]:
        """Return the scenario with the plane or without."""
        coarse = FACTOR * self.spacing
        half = float(coarse * np.ceil(0.5 * self.width / coarse))
        grid: dict[str, Any] = {
            "extent": {"x": 2 * half, "y": 2 * half, "z": float(coarse * np.ceil(DEPTH / coarse))},
            "origin": {"x": -half, "y": -half}, "spacing": self.spacing, "order": 8,
        }  # fmt: skip
        if refined:
            grid["refinement"] = [{"below": self.plane}]
        return {
            "title": "soft basin on rock", "physics": "elastic", "grid": grid,
            "time": {"duration": DURATION + 2.8 / self.frequency},
            "boundaries": {"top": "free_surface", "layer": {"points": self.layer}},
            "model": [{"type": "layers", "layers": [
                {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
                for m, top in zip(EARTH.media, EARTH.depths, strict=True)]}],
            "sources": [{
                "type": "moment_tensor", "position": place(HYPOCENTRE), "components": MOMENT,
                "time_function": "moment_rate",
                "wavelet": {"type": "ricker", "frequency": self.frequency},
            }],
            "receivers": [{
                "type": "points", "name": "ground", "quantities": ["velocity"],
                "positions": [place(station) for station in self.stations],
            }],
        }  # fmt: skip

    def exact(self, times: np.ndarray, wavelet: np.ndarray) -> np.ndarray:
        """Return the exact velocities (station, component, time) in m/s of a moment rate (time)."""
        moment = np.zeros((3, 3))
        for pair, value in MOMENT.items():
            row, column = ("xyz".index(axis) for axis in pair)
            moment[row, column] = moment[column, row] = value
        return layered.moment_response(
            EARTH, HYPOCENTRE, self.stations, moment, wavelet, times[1] - times[0], "velocity",
            "moment_rate",
        )  # fmt: skip


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
    errors: list[float] = field(default_factory=list)
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


Traces = tuple[np.ndarray, np.ndarray]  # times (time) s, (station, component, time) m/s


def measure(problem: Problem, refined: bool, backend: str, repeats: int) -> tuple[Result, Traces]:
    """Run a grid once to compile and then some times; return what it took, and its traces."""
    document = problem.scenario(refined)
    setup = discretize(from_dict(document))
    loop = []
    whole = []
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are compiled by a few steps of it.
        first = document | {"time": {"duration": 10 * setup.clock.dt, "step": setup.clock.dt}}
        seismo.run(first, Path(folder) / "first.h5", backend=backend).close()
        for n in range(repeats):
            start = time.perf_counter()
            with seismo.run(document, Path(folder) / f"{n}.h5", backend=backend) as results:
                whole.append(time.perf_counter() - start)
                loop.append(results.summary["stepping_s"])
                found = results.traces["ground"]
                times = found.time
                values = np.stack([found.values_of(f"v{axis}") for axis in "xyz"], axis=-2)
    result = Result("refined" if refined else "even", setup.points, setup.total_steps, loop, whole)
    return result, (times, values.reshape(len(problem.stations), 3, -1))


def compare(problem: Problem, even: tuple[Result, Traces], refined: tuple[Result, Traces]) -> None:
    """Set the errors of both results, on the times of the refined grid's traces."""
    times, fine = refined[1]
    uniform = np.apply_along_axis(lambda trace: np.interp(times, even[1][0], trace), -1, even[1][1])
    source = problem.scenario(True)["sources"][0]["wavelet"]
    exact = problem.exact(times, wavelets.evaluate(RickerWavelet(**source), times))
    for (result, _), traces in ((even, uniform), (refined, fine)):
        result.errors = errors(traces, exact)
        result.apart = errors(traces, uniform)


def errors(traces: np.ndarray, exact: np.ndarray) -> list[float]:
    """Return the relative L2 of the vector at each station."""
    return [float(metrics.relative_l2(a, b)) for a, b in zip(traces, exact, strict=True)]


def main() -> None:
    """Run both grids, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--highest", type=float, default=1.0, help="frequency in Hz")
    parser.add_argument("--width", type=float, default=9000.0, help="of the region in m")
    parser.add_argument("--layer", type=int, default=LAYER, help="points of absorbing layers")
    parser.add_argument("--backend", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    problem = Problem(options.highest, options.width, options.layer)
    warnings.simplefilter("ignore", seismo.ScenarioWarning)
    refined = measure(problem, True, options.backend, options.repeats)
    even = measure(problem, False, options.backend, options.repeats)
    compare(problem, even, refined)
    results = even[0], refined[0]
    table = Table(title="soft basin on 20 km of rock")
    for heading in COLUMNS:
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(*result.row())
    CONSOLE.print(table)
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
        "spacing": problem.spacing, "plane": problem.plane, "times_less": times_faster,
        "results": [vars(result) for result in results],
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
