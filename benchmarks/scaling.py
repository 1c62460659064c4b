"""How well several GPUs share a run: weak and strong scaling, and what halos cost.

    python benchmarks/scaling.py out.json --gpus 1 2 4              # the cards of one process
    mpiexec -n 2 python benchmarks/scaling.py out.json --gpus 2     # a process for each card
    python benchmarks/scaling.py out.json --gpus 2 --cases exchange

Weak scaling gives each GPU as many points whatever their number, strong scaling shares the same
ones out. Efficiency is the speed of a GPU beside that of one alone; a point in an absorbing layer
counts as what it costs (`seismo.backends.base.PML_COST`). The same steps are taken in other ways:

    alone    without the halos: what they take when nobody waits for others (the waves are wrong)
    halos    nothing but the halos
    turns    edges, halos and core one after the other
    host     halos through pinned memory of the host, as between cards that do not see each other
    even     cut even in points, whatever they cost

The share of the halos' time that is hidden is 1 - (overlapped - alone) / halos. `exchange` moves
the halo of an elastic 384^3 both ways at once, in four ways. `survey` takes whole
runs of 256 shots of an acoustic 256^3, dealt out to the cards (`survey.spread: shots`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import seismo
from seismo.backends.base import PML_COST, Group, Step
from seismo.backends.communicator import (
    SerialCommunicator,
    join,
    rank_barrier,
)
from seismo.backends.select import choose_all, spread
from seismo.grid.decomposition import PointCosts, cost
from seismo.runs.tools import bench
from seismo.runs.tools.bench.cases import (
    LAYER_POINTS,
    SPACING,
    STEP,
)
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

REPEATS = 3
CASES: dict[str, tuple[str, int, int, bool, int]] = {
    # wave equation, order, points along each axis, whether for each GPU, steps
    "weak_elastic": ("elastic", 4, 384, True, 48),
    "weak_acoustic": ("acoustic", 8, 512, True, 96),
    "strong_elastic": ("elastic", 4, 512, False, 32),
    "small_acoustic": ("acoustic", 8, 256, True, 320),
    "strong_128": ("acoustic", 8, 128, False, 640),
    "strong_256": ("acoustic", 8, 256, False, 320),
    "surface_384": ("acoustic", 8, 384, False, 160),  # no layer on top
    "large_acoustic": ("acoustic", 8, 1024, False, 24),
    "large_elastic": ("elastic", 4, 768, False, 16),
}
SHOTS, SHOT_STEPS = 256, 600  # of the survey, acoustic, order 8, 256^3
BETWEEN = ("message", "halo")
WAYS: dict[str, Callable[[Step], Step]] = {
    "overlapped": lambda step: step,
    "alone": lambda step: [g for g in step if g.where not in BETWEEN or rank_barrier in g],
    "halos": lambda step: [g for g in step if g.where in BETWEEN],
    "turns": lambda step: [Group(g) for g in step],
    "host": lambda step: step,
    "even": lambda step: step,
}

STORING = r"""extern "C" __global__ void store(const float* given, float* taken) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    taken[i] = given[i];
}"""


def scenario(name: str, gpus: int) -> dict[str, Any]:
    """Give two layers of rock, absorbing layers on all faces included in the points."""
    physics, order, points, each, steps = CASES[name]
    case = bench.select(["G3" if physics == "elastic" else "G1"])[0].scenario
    whole = dict.fromkeys("xyz", points) | {"z": points * (gpus if each else 1)}
    top = "free_surface" if name.startswith("surface") else "absorbing"
    layers = dict.fromkeys("xyz", 2) | {"z": 2 - (top == "free_surface")}
    extent = {a: (n - layers[a] * LAYER_POINTS - 1) * SPACING for a, n in whole.items()}
    middle = {a: (whole[a] // 2 - LAYER_POINTS) * SPACING for a in whole}
    ends = {"start": middle | {"x": 0.0}, "end": middle | {"x": extent["x"]}}
    return case | {
        "grid": {**case["grid"], "extent": extent, "order": order},
        "boundaries": {**case["boundaries"], "top": top},
        "time": {**case["time"], "duration": 2 * REPEATS * steps * STEP},
        "sources": [{**case["sources"][0], "position": middle}],
        "receivers": [{**case["receivers"][0], **ends, "count": 100}],
    }


def costs(discretization: Any) -> float:
    """Return the time of a grid in that of interior points."""
    layer = PML_COST["gpu"][discretization.physics.differences]
    return cost(discretization.grid, discretization.grid.box, PointCosts(layer))


def measure(name: str, gpus: int, ways: list[str], ranks: SerialCommunicator) -> dict[str, Any]:
    """Give the seconds that a step takes in each way, as often as they were measured."""
    discretization = discretize(from_dict(scenario(name, gpus)))
    choices = choose_all(None if ranks.has_others else gpus, "gpu", ranks=ranks)

    def run(one: SerialCommunicator, choice: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"case": name, "gpus": gpus, "processes": ranks.count}
        for way in ways if gpus > 1 else ways[:1]:
            backend = choice.make("float32")
            if way == "host":
                backend.reaches = lambda other: False
            if way == "even":
                backend.pml_costs = dict.fromkeys(PML_COST["gpu"], 1.0)
            begin = time.perf_counter()
            simulation = _bound(way)(discretization, backend, (gpus, 1), one)
            simulation.advance(17)
            backend.wait()
            prepared = time.perf_counter() - begin
            found[way] = [_timed(simulation, one, CASES[name][-1]) for _ in range(REPEATS)]
            if one.first:
                best = min(found[way])
                rate = discretization.grid.size / best / 1e9
                print(f"{name} {gpus} GPUs, {way}: {best * 1e6:.0f} us a step, {rate:.1f} Gpoint/s "
                      f"(prepared in {prepared:.1f} s)", flush=True)  # fmt: skip
            one.wait()  # else the others take the interpreter from the one that looks at its clock
            del simulation, backend
            gc.collect()
        return found | {"costs": costs(discretization), "points": discretization.grid.size}

    return spread(ranks, choices, run)


def _bound(way: str) -> type[Simulation]:
    class Changed(Simulation):
        def _bind(self, parity: int, phase: int = 0) -> Step:
            return WAYS[way](super()._bind(parity, phase))

    return Changed


def _timed(simulation: Simulation, ranks: SerialCommunicator, steps: int) -> float:
    simulation.backend.wait()
    ranks.wait()
    begin = time.perf_counter()
    simulation.advance(steps)
    simulation.backend.wait()
    ranks.wait()
    return (time.perf_counter() - begin) / steps


def judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add efficiency, speed-up and the hidden share of halos to rows."""
    alone = {row["case"]: row for row in rows if row["gpus"] == 1}
    for row in rows:
        best = {way: min(row[way]) for way in WAYS if way in row}
        one = alone.get(row["case"])
        if one is not None:
            speed_up = min(one["overlapped"]) / one["costs"] * row["costs"] / best["overlapped"]
            row |= {"speed_up": speed_up, "efficiency": speed_up / row["gpus"]}
        if {"alone", "halos"} <= best.keys():
            row["hidden"] = 1.0 - (best["overlapped"] - best["alone"]) / best["halos"]
    return rows


def exchange() -> dict[str, Any]:
    """Give the seconds that two cards take to swap a halo, both ways at once."""
    import cupy

    size, runtime = 2 * 384 * 448 * 3, cupy.cuda.runtime
    given, taken, streams = [], [], []
    for n in range(2):
        with cupy.cuda.Device(n):
            if not runtime.deviceCanAccessPeer(n, 1 - n):
                return {}
            with contextlib.suppress(runtime.CUDARuntimeError):  # it is there already
                runtime.deviceEnablePeerAccess(1 - n)
            given.append(cupy.full(size, n, "float32"))
            taken.append(cupy.zeros(size, "float32"))
            streams.append(cupy.cuda.Stream(non_blocking=True))
    bytes_ = given[0].nbytes
    copy = cupy.RawKernel(STORING, "store")

    def synchronous() -> None:
        for n in range(2):
            runtime.memcpyPeer(taken[1 - n].data.ptr, 1 - n, given[n].data.ptr, n, bytes_)
            runtime.deviceSynchronize()

    def pageable() -> None:
        for n in range(2):
            with cupy.cuda.Device(n):
                host = given[n].get()
            with cupy.cuda.Device(1 - n):
                taken[1 - n].set(host)

    def copies() -> None:
        for n in range(2):
            with cupy.cuda.Device(n):
                runtime.memcpyAsync(
                    taken[1 - n].data.ptr, given[n].data.ptr, bytes_, 3, streams[n].ptr
                )

    def stores() -> None:
        for n in range(2):
            with cupy.cuda.Device(n), streams[n]:
                copy((size // 256,), (256,), (given[n], taken[1 - n]))

    found = {}
    for way in (synchronous, pageable, copies, stores):
        for repeats in (3, 50):
            begin = time.perf_counter()
            for _ in range(repeats):
                way()
            for stream in streams:
                stream.synchronize()
            found[way.__name__] = (time.perf_counter() - begin) / repeats
    print("swap of", bytes_, "bytes:", {k: f"{1e6 * v:.1f} us" for k, v in found.items()})
    return {"case": "exchange", "bytes": bytes_, "seconds": found}


def survey(gpus: int) -> dict[str, Any]:
    """Return the seconds of a survey from scenario to results file, and its points a second."""
    case = scenario("strong_256", 1)
    middle = case["sources"][0]["position"]
    places = [middle | {"x": middle["x"] + SPACING * n / 4} for n in range(SHOTS)]
    case |= {
        "time": case["time"] | {"duration": SHOT_STEPS * STEP},
        "survey": {"shots": [{"position": place} for place in places], "spread": "shots"},
    }
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        with seismo.run(case, Path(folder) / "survey.h5", backend="gpu", gpus=gpus) as results:
            whole = time.perf_counter() - begin
            rate = results.summary["points_per_second"]
    print(f"survey {gpus} GPUs: {whole:.2f} s, {rate / 1e9:.1f} Gpoint/s", flush=True)
    return {"case": "survey", "gpus": gpus, "seconds": whole, "points_per_second": rate}


OTHERS: dict[str, Callable[[list[int]], list[dict[str, Any]]]] = {
    "exchange": lambda gpus: [exchange()],
    "survey": lambda gpus: [survey(n) for n in gpus],
}


def main() -> None:
    """Measure what is asked for, and write it as it comes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=[*CASES, *OTHERS])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    given = parser.parse_args()
    ranks, rows = join(), list[dict[str, Any]]()
    other: list[dict[str, Any]] = []
    for name in given.cases:
        if name in OTHERS:
            other += OTHERS[name](given.gpus)
            continue
        for gpus in given.gpus:
            rows.append(measure(name, gpus, given.ways, ranks))
            if ranks.first:
                given.output.write_text(json.dumps(judged(rows) + other, indent=1))
                print({k: f"{v:.3f}" for k, v in rows[-1].items() if isinstance(v, float)})
    if ranks.first:
        given.output.write_text(json.dumps(judged(rows) + other, indent=1))


if __name__ == "__main__":
    main()
