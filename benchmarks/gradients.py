"""What the gradient of a model costs, beside the forward run and beside Deepwave.

    python benchmarks/gradients.py out.json --backend gpu
    python benchmarks/gradients.py out.json --backend cpu --cases rock_2d
    python benchmarks/gradients.py out.json --peer        # Deepwave, where it is installed

Every case is run forward, forward with its fields kept, and backward, as often as `REPEATS` says;
the best and the spread are written, with the machine's own copy bandwidth in the same run. What a
propagator does besides (taking a model in, and the chain rule out) is left out. Speed is the points
of the grid, absorbing layers and shots included, times the steps over the time of a gradient;
`updated` is the share of these that both runs step, which leave out points that no wave has
reached. `held` is the memory that a case held on the card at most, of the first or a single case.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import seismo

REPEATS = 3
SPACING = 10.0
STEP = 0.0008
LAYER = 20
FREQUENCY = 20.0
ROCK = {"vp": 2500.0, "vs": 1400.0, "rho": 2100.0}
BOUNDS = {"vp": (2000.0, 4000.0), "vs": (1000.0, 2300.0), "rho": (1800.0, 2600.0)}
NEEDS = {"acoustic": ("vp",), "elastic": ("vp", "vs", "rho")}
# equation, nodes with layers along z, (y,) x, order, shots, steps, snapshots, memory in bytes
CASES: dict[str, tuple[str, tuple[int, ...], int, int, int, int | None, int | None]] = {
    "acoustic_512": ("acoustic", (512, 512, 512), 8, 1, 2000, 8, None),
    "acoustic_256": ("acoustic", (256, 256, 256), 8, 1, 1000, 8, None),
    "elastic_384": ("elastic", (384, 384, 384), 4, 1, 1500, 8, None),
    "elastic_384_checkpoints": ("elastic", (384, 384, 384), 4, 1, 2000, 8, 25_000_000_000),
    "elastic_160": ("elastic", (160, 160, 160), 4, 1, 800, 8, None),
    "acoustic_2d": ("acoustic", (401, 1001), 8, 16, 1000, 8, None),
    "rock_2d": ("elastic", (241, 441), 4, 1, 1000, 8, None),
    "water_2d": ("acoustic", (241, 441), 8, 1, 1000, 8, None),
}


def scenario(name: str) -> dict[str, Any]:
    """Return the scenario of a case: even rock, a line of receivers, all faces absorbing."""
    equation, nodes, order, shots, steps, _, _ = CASES[name]
    axes = "zyx" if len(nodes) == 3 else "zx"
    extent = {a: (n - 2 * LAYER - 1) * SPACING for a, n in zip(axes, nodes, strict=True)}
    middle = {a: length / 2 for a, length in extent.items()}
    near = middle | {"z": 100.0}
    source = {"acoustic": {"type": "pressure", "amplitude": 1.0}}.get(
        equation, {"type": "force", "force": {"z": 1.0}}
    )
    xs = np.linspace(100.0, extent["x"] - 100.0, shots)
    quantity = "pressure" if equation == "acoustic" else "velocity"
    return {
        "physics": equation,
        "averaging": "point",
        "grid": {"extent": extent, "spacing": SPACING, "order": order},
        "time": {"duration": steps * STEP, "step": STEP, "dispersion_removal": False},
        "boundaries": {"layer": {"points": LAYER}},
        "model": [{"type": "uniform", **{key: ROCK[key] for key in NEEDS[equation]}}],
        "sources": [
            {**source, "position": near, "wavelet": {"type": "ricker", "frequency": FREQUENCY}}
        ],
        "survey": {"shots": [{"position": near | {"x": float(x)}} for x in xs], "batch": shots},
        "receivers": [
            {"type": "line", "name": "line", "start": near | {"x": 100.0},
             "end": near | {"x": extent["x"] - 100.0}, "count": 100, "quantities": [quantity]}
        ],
    }  # fmt: skip


def measure(name: str, backend: str, threads: int | None) -> dict[str, Any]:
    """Return the seconds of a case's parts, each as often as it was measured."""
    equation, _, _, _, _, snapshots, memory = CASES[name]
    names = NEEDS[equation]
    wave = seismo.Propagator(
        scenario(name), names, {key: BOUNDS[key] for key in names}, backend=backend,
        threads=threads, snapshots=snapshots, memory=memory,
    )  # fmt: skip
    simulation = wave.simulation
    model = {key: np.full(wave.shape, ROCK[key]) for key in names}
    begin = time.perf_counter()
    traces = wave(keep=True, **model)
    wave.pullback(traces)
    whole = time.perf_counter() - begin
    adjoint = wave._adjoint
    times: dict[str, list[float]] = {"forward": [], "kept": [], "backward": []}
    shots = wave.batches[0]
    residuals = adjoint.residuals(0, traces)
    for _ in range(REPEATS):
        simulation.load(shots)
        begin = _now(simulation)
        simulation.advance(simulation.total_steps)
        times["forward"].append(_now(simulation) - begin)
        simulation.load(shots)
        begin = _now(simulation)
        kept = adjoint.gradient.run()
        middle = _now(simulation)
        adjoint.gradient.add(shots, kept, residuals)
        times["kept"].append(middle - begin)
        times["backward"].append(_now(simulation) - middle)
        del kept
    steps = simulation.total_steps
    best = min(times["kept"]) + min(times["backward"])
    forward = min(times["forward"])
    points = simulation.points * steps
    both = (simulation, adjoint.gradient.adjoint.simulation)
    updates = sum(s.updates(0, steps) * s.discretization.batch for s in both) / 2
    rate = points / best / 1e9
    held = _held(simulation)
    print(f"{name}: forward {forward:.3f} s, gradient {best / forward:.2f} of it, {rate:.2f} "
          f"Gpoint/s, {updates / points:.2f} of them updated, {adjoint.plan.segments} segments, "
          f"{adjoint.plan.bytes / 1e9:.1f} GB of {held / 1e9:.1f} held; first "
          f"call and gradient with the model {whole:.1f} s", flush=True)  # fmt: skip
    return {
        "case": name, "points": simulation.points, "steps": steps, "updated": updates / points,
        **times, "segments": adjoint.plan.segments, "bytes": adjoint.plan.bytes, "held": held,
        "gpoints": rate, "ratio": best / forward,
    }  # fmt: skip


def _held(simulation: Any) -> int:
    """Return the bytes that arrays took on a card at most; 0 on a processor."""
    if simulation.backend.free_memory() is None:
        return 0
    import cupy

    return int(cupy.get_default_memory_pool().total_bytes())


def _now(simulation: Any) -> float:
    """Return the time once all that was launched is done."""
    simulation.backend.wait()
    return time.perf_counter()


def peer(name: str, every: int) -> dict[str, Any]:
    """Return what Deepwave takes for the same case on a card, forward and gradient."""
    import deepwave
    import torch

    equation, nodes, order, shots, steps, _, _ = CASES[name]
    device = torch.device("cuda")
    inner = tuple(n - 2 * LAYER for n in nodes)
    rock = {
        key: torch.full(inner, ROCK[key], device=device, requires_grad=True)
        for key in NEEDS[equation]
    }
    delayed = np.arange(steps) * STEP - 1.2 / FREQUENCY
    squared = (np.pi * FREQUENCY * delayed) ** 2
    wavelet = torch.tensor((1.0 - 2.0 * squared) * np.exp(-squared), dtype=torch.float32)
    xs = np.linspace(10, inner[-1] - 11, shots).astype(int)
    places = [[10, *[n // 2 for n in inner[1:-1]], int(x)] for x in xs]
    source = torch.tensor(places, device=device)[:, None]
    line = np.linspace(10, inner[-1] - 11, 100).astype(int)
    receiver = torch.tensor([[10, *[n // 2 for n in inner[1:-1]], int(x)] for x in line])
    common: dict[str, Any] = {
        "accuracy": order, "pml_width": LAYER, "pml_freq": FREQUENCY,
        "model_gradient_sampling_interval": every,
    }  # fmt: skip
    amplitudes = wavelet.to(device).repeat(shots, 1, 1)
    receivers = receiver.to(device).repeat(shots, 1, 1)

    def traces() -> torch.Tensor:
        if equation == "acoustic":
            return deepwave.scalar(
                rock["vp"], SPACING, STEP, source_amplitudes=amplitudes, source_locations=source,
                receiver_locations=receivers, **common,
            )[-1]  # fmt: skip
        mu = rock["rho"] * rock["vs"] ** 2
        lamb = rock["rho"] * rock["vp"] ** 2 - 2 * mu
        out = deepwave.elastic(
            lamb, mu, 1 / rock["rho"], SPACING, STEP, source_amplitudes_z=amplitudes,
            source_locations_z=source, receiver_locations_z=receivers, **common,
        )  # fmt: skip
        return next(t for t in reversed(out) if t.numel() and t.ndim == 3)

    times: dict[str, list[float]] = {"forward": [], "gradient": []}
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.no_grad():
            traces()
        torch.cuda.synchronize()
        times["forward"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        (traces() ** 2).sum().backward()
        torch.cuda.synchronize()
        times["gradient"].append(time.perf_counter() - begin)
    points = int(np.prod(nodes)) * shots
    best = min(times["gradient"])
    memory = torch.cuda.max_memory_allocated() / 1e9
    rate = points * steps / best / 1e9
    print(f"Deepwave {name} every {every}: forward {min(times['forward']):.3f} s, gradient "
          f"{best / min(times['forward']):.2f} of it, {rate:.2f} Gpoint/s, {memory:.1f} GB",
          flush=True)  # fmt: skip
    return {"case": name, "every": every, "gpoints": rate, "bytes": memory * 1e9, **times}


def main() -> None:
    """Measure the cases, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--every", type=int, default=5)
    options = parser.parse_args()
    results: dict[str, Any] = {"cases": []}
    for name in options.cases:
        if options.peer:
            results["cases"].append(peer(name, options.every))
        else:
            results["cases"].append(measure(name, options.backend, options.threads))
        options.output.write_text(json.dumps(results, indent=1, default=str) + "\n")
    if not options.peer:
        from seismo.backends.select import choose

        backend = choose(options.backend, threads=options.threads).make("float32")
        results["bandwidth"] = backend.bandwidth()
        results["device"] = backend.describe()
    options.output.write_text(json.dumps(results, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
