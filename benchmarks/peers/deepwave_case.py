"""Time one case with Deepwave's scalar and elastic propagators, on CPU threads, no gradients.

Deepwave's wheel holds compiled kernels, so there is nothing to compile. Given to it: `no_grad`
(no wavefield is stored), no check of the output for NaN, all shots of a survey in one batch, and
huge pages through `THP_MEM_ALLOC_ENABLE`, an environment variable of PyTorch. One call does set-up
and time loop; the time of the same call for one step is subtracted, so that the loop alone counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import deepwave
import timing
import torch

Run = Callable[[list[list[int]], int], Any]


def common(case: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords common to both propagators."""
    return {
        "grid_spacing": case["spacing"],
        "dt": case["step"],
        "accuracy": case["order"],
        "pml_width": case["layer"],
        "pml_freq": case["frequency"],
        "check_output_finite": False,
    }


def positions(case: dict[str, Any], shots: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return source (shot, 1, axis) and receiver (shot, receiver, axis) indices."""
    receivers = torch.tensor(case["receivers"])[None].repeat(len(shots), 1, 1)
    return torch.tensor(shots)[:, None, :], receivers


def wavelets(case: dict[str, Any], shots: list[list[int]], steps: int) -> torch.Tensor:
    """Return the source time functions (shot, 1, time)."""
    return torch.from_numpy(timing.ricker(case, steps)).repeat(len(shots), 1, 1)


def acoustic(case: dict[str, Any]) -> Run:
    """Return a function of source positions and steps that runs the acoustic case."""
    vp = torch.from_numpy(timing.two_layers(case, "vp"))

    def run(shots: list[list[int]], steps: int) -> Any:
        sources, receivers = positions(case, shots)
        return deepwave.scalar(
            vp,
            source_amplitudes=wavelets(case, shots, steps),
            source_locations=sources,
            receiver_locations=receivers,
            **common(case),
        )

    return run


def elastic(case: dict[str, Any]) -> Run:
    """Return a function of source positions and steps that runs the elastic case: explosion, vz."""
    vp, vs, rho = (torch.from_numpy(timing.two_layers(case, key)) for key in ("vp", "vs", "rho"))
    mu = rho * vs**2
    lamb, buoyancy = rho * vp**2 - 2 * mu, 1 / rho
    down = f"receiver_locations_{'z' if lamb.ndim == 3 else 'y'}"  # 2-D axes are called y, x

    def run(shots: list[list[int]], steps: int) -> Any:
        sources, receivers = positions(case, shots)
        return deepwave.elastic(
            lamb,
            mu,
            buoyancy,
            **common(case),
            **{down: receivers},
            source_amplitudes_pressure_rate=wavelets(case, shots, steps),
            source_locations_pressure_rate=sources,
        )

    return run


def make(case: dict[str, Any], settings: dict[str, str]) -> tuple[timing.Loop, dict[str, Any]]:
    """Return the loop of the case, warmed up, and what to note of it."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_grad_enabled(False)
    run = elastic(case) if case["physics"] == "elastic" else acoustic(case)
    run(case["sources"][:1], max(2, case["steps"] // 10))

    def timed(sources: list[list[int]], steps: int) -> float:
        start = time.perf_counter()
        run(sources, steps)
        return time.perf_counter() - start

    def loop(sources: list[list[int]]) -> float:
        set_up = min(timed(sources, 1) for _ in range(2))
        return timed(sources, case["steps"] + 1) - set_up

    return loop, {"torch": torch.__version__, "absorbing": "CPML"}


if __name__ == "__main__":
    timing.main("deepwave", deepwave.__version__, __doc__, make)
