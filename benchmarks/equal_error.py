"""Time codes to equal error: cubes of 100 shortest wavelengths, exact traces beside (`cubes.py`).

    python benchmarks/equal_error.py --json results/equal_error.json [--peers-python PYTHON]
    python benchmarks/equal_error.py --wavelengths 8 --backend cpu --repeats 1     # a small form

Points a second say little where one code needs more points than another. Here each gets the grid
that keeps its traces to a wanted error: seismo what `seismo check` asks for at an order, a peer
what its differences (Taylor, order 8) and time steps ask for by the law of their dispersion,
integrated over the spectrum of the traces. The error is measured then.

whole   seismo: from the command to its end, results on the disk, of a run whose kernels were
        compiled before; a peer: from the arrays of its model to its traces, imports left out
loop    time steps alone

Deepwave runs as its documentation has it, with time steps short enough for the error (`plain`),
and by an expert, who calls its functions against time dispersion and steps near the limit
(`transformed`). Devito steps on the CPU. What would take too long takes some steps, of which all
are inferred (`inferred`): then the error is what the law says. Peers' traces may take the factor
that suits them best. Bandwidth is measured before and after.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cubes
import numpy as np
from rich.console import Console
from tables import print_table

import seismo
from seismo.backends.select import choose
from seismo.runs.tools import bench

HERE = Path(__file__).parent
CONSOLE = Console(width=150)
LIMIT = 0.43  # Courant number in 3-D of an expert, of order 8: the limit is 0.449 or more
PEER_LAYER = 20
TIMED = 40  # steps of a run that is inferred


@dataclass
class Result:
    """How long a code took for a cube, and how far its traces were off.

    Attributes:
        code: with its way of running.
        physics: "acoustic" or "elastic".
        wanted: error.
        order: of the differences.
        points: in a shortest wavelength.
        nodes: of the grid, layers included.
        steps: in time.
        errors: of the three traces, none where the run was inferred.
        expected: error, by what was known before.
        loop: seconds of the steps, of each repeat.
        whole: seconds of the whole, of each repeat.
        first: seconds of the whole where kernels had to be compiled, 0 where it was not timed.
        inferred: whether a part of the steps was taken.
    """

    code: str
    physics: str
    wanted: float
    order: int
    points: float
    nodes: int
    steps: int
    errors: list[float]
    expected: float
    loop: list[float]
    whole: list[float]
    first: float = 0.0
    inferred: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    def row(self) -> list[str]:
        """Return the cells of its line in the table."""
        errors = ", ".join(f"{100.0 * error:.2g}" for error in self.errors) or "by law"
        return [
            self.physics, f"{100.0 * self.wanted:g}", self.code, str(self.order),
            f"{self.points:.2f}", f"{self.nodes / 1e6:.1f}", str(self.steps),
            f"{100.0 * self.expected:.2g}", errors, spread(self.loop), spread(self.whole),
            f"{self.nodes * self.steps / np.median(self.loop) / 1e9:.1f}" + " *" * self.inferred,
        ]  # fmt: skip


COLUMNS = (
    "physics", "wanted %", "code", "order", "points", "Mpoints", "steps", "expected %", "errors %",
    "loop s", "whole s", "Gpoint/s",
)  # fmt: skip


def spread(seconds: list[float]) -> str:
    """Format the median, and the least and the largest of several."""
    if not seconds:
        return "-"
    text = f"{np.median(seconds):.3g}"
    return text + f" ({min(seconds):.3g} to {max(seconds):.3g})" * (len(seconds) > 1)


def run_seismo(advice: cubes.Advice, wanted: float, options: argparse.Namespace) -> Result:
    """Run a cube by the command line, once to compile and then `repeats` times."""
    cube = advice.cube
    loop = []
    whole = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "cube.yaml"
        scenario.write_text(json.dumps(cube.scenario(wanted, advice.order, advice.layer)))
        path = Path(folder) / "cube.h5"
        command = [sys.executable, "-m", "seismo", "run", str(scenario), "--output", str(path)]
        command += ["--backend", options.backend]
        for _ in range(options.repeats + 1):
            path.unlink(missing_ok=True)
            start = time.perf_counter()
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, check=True, **quiet)
            whole.append(time.perf_counter() - start)
            with seismo.open_results(path) as results:
                loop.append(results.summary["stepping_s"])
                traces = results.traces["far"]
                times = traces.time
                values = traces.values_of("vz" if cube.physics == "elastic" else "pressure")
        steps = advice.discretization.total_steps
        errors = cube.errors(values.reshape(3, -1), times, times[1] - times[0])
    return Result(
        "seismo", cube.physics, wanted, advice.order, cube.points, advice.discretization.grid.size,
        steps,
        errors, advice.expected, loop[1:], whole[1:], whole[0],
        notes={"layer": advice.layer, "tolerance": advice.discretization.stencil.tolerance},
    )  # fmt: skip


def peer_case(
    cube: cubes.Cube, courant: float, transformed: bool, options: argparse.Namespace
) -> dict[str, Any]:
    """Return a cube as the peers' scripts read it, axes z, y, x."""
    step = courant * cube.spacing / cubes.VP
    steps = int(np.ceil(cube.duration / step)) + 1
    rock = ["vp", "vs", "rho"] if cube.physics == "elastic" else ["vp"]
    return {
        "name": "cube", "physics": cube.physics, "order": 8, "shape": [cube.nodes] * 3,
        "layer": PEER_LAYER, "spacing": cube.spacing, "step": step, "steps": steps,
        "frequency": cubes.FREQUENCY, "delay": cubes.DELAY, "rock": rock, "vp": cubes.VP,
        "vs": cubes.VS, "rho": cubes.RHO, "scale": 1.0, "transform": transformed,
        "courant_number": max(0.6, 1.02 * courant * 3**0.5),
        "source": cube.source[::-1].tolist(), "receivers": cube.receivers[:, ::-1].tolist(),
        "device": "cuda" if options.backend == "gpu" else "cpu", "repeats": options.repeats,
    }  # fmt: skip


def run_peer(
    code: str, cube: cubes.Cube, courant: float, wanted: float, expected: float,
    options: argparse.Namespace,
) -> Result | None:  # fmt: skip
    """Run a cube with a peer in its own Python, or some steps of it where it would take long.

    Returns None where it fails, as for lack of memory.
    """
    name, _, way = code.partition(", ")
    case = peer_case(cube, courant, way == "transformed", options)
    nodes = (cube.nodes + 2 * PEER_LAYER) ** 3
    limit = options.most if name == "deepwave" else options.most_cpu
    inferred = nodes * case["steps"] > limit
    case["steps_taken"] = min(TIMED, case["steps"]) if inferred else case["steps"]
    case["repeats"] = 1 if nodes * case["steps_taken"] > limit / 4 else options.repeats
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        file.write_text(json.dumps(case))
        traces_file = Path(folder) / "traces.npy"
        command = [options.peers_python, str(HERE / "peers" / f"{name}_cube.py")]
        done = subprocess.run(
            [*command, str(file), str(traces_file)], capture_output=True, text=True
        )
        if done.returncode:
            CONSOLE.print(f"{code}, {cube.physics}, {wanted:g}: {done.stderr.strip()[-400:]}")
            return None
        said = json.loads(done.stdout.splitlines()[-1])
        errors = []
        if not inferred and (cube.physics == "acoustic" or name == "deepwave"):
            traces = np.load(traces_file)[:, : case["steps"]]
            # Deepwave records velocity half a step early.
            times = (np.arange(case["steps"]) - 0.5 * (cube.physics == "elastic")) * case["step"]
            errors = cube.errors(traces, times, case["step"], scaled=True)
    factor = case["steps"] / case["steps_taken"]
    loop = [factor * seconds for seconds in said["loop"]]
    rest = [seconds - loop for seconds, loop in zip(said["whole"], said["loop"], strict=True)]
    whole = [seconds + least for seconds, least in zip(loop, rest, strict=True)]
    return Result(
        code, cube.physics, wanted, 8, cube.points, nodes, case["steps"], errors, expected, loop,
        whole, inferred=inferred, notes={"version": said["version"], "courant": courant},
    )  # fmt: skip


def results_of(physics: str, wanted: float, options: argparse.Namespace) -> list[Result]:
    """Run all codes on the cubes of an equation and an error."""
    results = []
    advices = [cubes.advised(physics, options.wavelengths, wanted, o) for o in options.orders]
    for advice in advices if "seismo" in options.codes else []:
        results.append(run_seismo(advice, wanted, options))
    discretization = advices[0].discretization
    for code in ("deepwave, transformed", "deepwave, plain", "devito"):
        if code.partition(",")[0] not in options.codes:
            continue
        removed = code == "deepwave, transformed"
        points, courant = cubes.peer_grid(discretization, wanted, removed, LIMIT)
        cube = cubes.Cube(physics, options.wavelengths, points)
        expected = cubes.dispersion(discretization, points, courant, removed)
        found = run_peer(code, cube, courant, wanted, expected, options)
        results += [found] if found else []
    return results


def main() -> None:
    """Run what is asked for, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wavelengths", type=float, default=100.0, help="along a side")
    parser.add_argument("--physics", nargs="+", default=["acoustic", "elastic"])
    parser.add_argument("--accuracy", nargs="+", type=float, default=[0.01, 0.001])
    parser.add_argument("--orders", nargs="+", type=int, default=[8, 12, 16])
    parser.add_argument("--codes", nargs="+", default=["seismo"])
    parser.add_argument("--backend", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--most", type=float, default=3e11, help="points times steps of a run")
    parser.add_argument("--most-cpu", type=float, default=3e10, help="the same of Devito")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    choice = choose(options.backend)
    bandwidth = [bench.yardstick(choice).best]
    results: list[Result] = []
    for physics in options.physics:
        for wanted in options.accuracy:
            results += results_of(physics, wanted, options)
            title = "time to equal error (* steps inferred from some)"
            print_table(CONSOLE, title, COLUMNS, (result.row() for result in results))
    bandwidth.append(bench.yardstick(choice).best)
    record = {
        "machine": bench.describe_machine() | choice.make("float32").describe(),
        "wavelengths": options.wavelengths,
        "bandwidth_gb_per_s": bandwidth,
        "results": [vars(result) for result in results],
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
