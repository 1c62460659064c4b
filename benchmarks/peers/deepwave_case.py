"""Time one case with a propagator of Deepwave, on CPU threads, no gradients.

Deepwave's wheel holds compiled kernels, so there is nothing to compile. Given to it: `no_grad`
(no wavefield is stored), no check of the output for NaN, all shots of a survey in one batch, and
huge pages through `THP_MEM_ALLOC_ENABLE`, an environment variable of PyTorch. One call does set-up
and time loop; the time of the same call for one step is subtracted, so that the loop alone counts.
Of anisotropic rock, whose waves are faster than vp, it is told a Courant number of 0.7, with which
it takes the case's step, which is stable, and not two of half of it.
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
    """Return the keywords common to all propagators."""
    faster = {"courant_number": 0.7} if "epsilon" in case["further"] else {}
    return faster | {
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


def viscoacoustic(case: dict[str, Any]) -> Run:
    """Return a function that runs the visco-acoustic case, of any density: volume, pressure."""
    rock = [torch.from_numpy(timing.two_layers(case, key)) for key in ("vp", "rho", "qp")]
    one = case["mechanisms"] == 1
    fit = {"q_freq": case["frequency"]} if one else {"q_band": (2.0, 50.0)}

    def run(shots: list[list[int]], steps: int) -> Any:
        sources, receivers = positions(case, shots)
        return deepwave.viscoacoustic(
            *rock,
            **common(case),
            source_amplitudes_pressure_rate=wavelets(case, shots, steps),
            source_locations_pressure_rate=sources,
            receiver_locations_p=receivers,
            q_n_mechanisms=case["mechanisms"],
            **fit,
        )

    return run


def vti(case: dict[str, Any]) -> Run:
    """Return a function that runs an acoustic case of vertical axis, or an elastic one."""
    rock = {
        key: torch.from_numpy(timing.two_layers(case, key))
        for key in ("vp", "vs", "rho", "epsilon", "delta", "gamma")
    }
    elastic = case["physics"] == "elastic"
    c33 = rock["rho"] * rock["vp"] ** 2
    c44 = rock["rho"] * rock["vs"] ** 2 * elastic
    c13 = torch.sqrt(2 * rock["delta"] * c33 * (c33 - c44) + (c33 - c44) ** 2) - c44
    c11, buoyancy = c33 * (1 + 2 * rock["epsilon"]), 1 / rock["rho"]

    def run(shots: list[list[int]], steps: int) -> Any:
        sources, receivers = positions(case, shots)
        given: dict[str, Any] = {
            **common(case),
            "sources": {"pressure_rate": (wavelets(case, shots, steps), sources)},
            "receivers": {"z" if elastic else "p": receivers},
        }
        if elastic:
            c66 = c44 * (1 + 2 * rock["gamma"])
            return deepwave.elastic_vti(c11, c13, c33, c44, buoyancy, c66=c66, **given)
        return deepwave.acoustic_vti(c11, c13, c33, buoyancy, **given)

    return run


def propagator(case: dict[str, Any]) -> Run:
    """Return a function that runs the case.

    Raises:
        SystemExit: Deepwave has no such equation.
    """
    further = set(case["further"])
    if not further:
        return elastic(case) if case["physics"] == "elastic" else acoustic(case)
    if further == {"qp"}:
        return viscoacoustic(case)
    if further <= {"epsilon", "delta", "gamma"}:
        return vti(case)
    raise SystemExit(f"Deepwave has no {case['physics']} equation of {', '.join(further)}")


def make(case: dict[str, Any], settings: dict[str, str]) -> tuple[timing.Loop, dict[str, Any]]:
    """Return the loop of the case, warmed up, and what to note of it."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_grad_enabled(False)
    run = propagator(case)
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
