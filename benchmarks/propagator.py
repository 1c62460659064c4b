"""Time in ms that a call of a propagator takes beside its steps: `benchmarks/propagator.py`.

A grid of 301 x 201 points, one shot and 100 receivers, on one thread of the CPU. Prints a line of
JSON for each equation: the parts of a call, and all of it but the steps.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np

import seismo
from seismo.inversion.traces import empty_traces, read_traces

NEEDS = {"acoustic": ("vp",), "acoustic_variable_density": ("vp", "rho"),
         "elastic": ("vp", "vs", "rho")}  # fmt: skip
BOUNDS = {"vp": (1500.0, 4000.0), "vs": (500.0, 2000.0), "rho": (1500.0, 2600.0)}
REPEATED = 20


def scenario(equation: str) -> dict:
    """Return the run: layers of 12 points around 3 x 2 km, a second."""
    middle = {name: 0.5 * sum(BOUNDS[name]) for name in NEEDS[equation]}
    return {
        "physics": equation,
        "averaging": "point",
        "grid": {"extent": {"x": 3000.0, "z": 2000.0}, "spacing": 10.0, "order": 8},
        "time": {"duration": 1.0},
        "model": [{"type": "uniform", **middle}],
        "sources": [{"type": "explosion", "position": {"x": 1500.0, "z": 500.0}, "moment": 1e12,
                     "wavelet": {"type": "ricker", "frequency": 8.0}}],
        "receivers": [{"type": "line", "name": "line", "start": {"x": 10.0, "z": 50.0},
                       "end": {"x": 2990.0, "z": 50.0}, "count": 100, "interval": 4e-3,
                       "quantities": ["pressure"]}],
    }  # fmt: skip


def milliseconds(work: Callable[[], object]) -> float:
    """Return the least time of a piece of work."""
    times = []
    for _ in range(REPEATED):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return 1e3 * min(times)


def measured(equation: str) -> dict[str, float]:
    """Return the parts of a call in ms."""
    bounds = {name: BOUNDS[name] for name in NEEDS[equation]}
    propagator = seismo.Propagator(
        scenario(equation), NEEDS[equation], bounds, backend="cpu", threads=1
    )
    random = np.random.default_rng(0)
    models = {name: 0.5 * sum(b) * (0.95 + 0.1 * random.random(propagator.shape))
              for name, b in bounds.items()}  # fmt: skip
    propagator(**models)
    simulation = propagator.simulation
    traces = empty_traces(propagator.discretization, simulation.backend.precision)
    (shots,) = propagator.batches
    parts = {
        "model": milliseconds(lambda: propagator.load(models)),
        "sources": milliseconds(lambda: simulation.load(shots)),
        "traces": milliseconds(lambda: read_traces(simulation, 0, shots, traces)),
    }
    return parts | {"beside the steps": sum(parts.values()), "steps": simulation.total_steps}


if __name__ == "__main__":
    for name in sys.argv[1:] or NEEDS:
        print(json.dumps({"equation": name} | measured(name)), flush=True)
