"""Run the cube of `equal_error.py` with Deepwave, on a GPU or a CPU, and print what it took.

The model is even. Given to it: no gradients, no check for NaN, CPML of 20 points, and the time step
named in the case, which it need not divide. Where the case asks for it, the source and the traces
go through Deepwave's own functions against time dispersion, called by hand. Everything from the
arrays of the model on is in `whole`, imports are not; `loop` is the call, less one of a single
step. Of a case too long to run, `steps_taken` steps are timed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import deepwave
import numpy as np
import torch
from deepwave import time_dispersion


def ricker(case: dict[str, Any]) -> np.ndarray:
    """Return the wavelet (steps) of seismo's source, float64."""
    delayed = np.arange(case["steps"]) * case["step"] - case["delay"]
    squared = (np.pi * case["frequency"] * delayed) ** 2
    return (1.0 - 2.0 * squared) * np.exp(-squared)


def propagate(case: dict[str, Any], amplitudes: torch.Tensor) -> torch.Tensor:
    """Return the traces (receiver, time) of source amplitudes (1, 1, time)."""
    device = torch.device(case["device"])
    shape = tuple(case["shape"])
    rock = {key: torch.full(shape, case[key], device=device) for key in case["rock"]}
    source = torch.tensor(case["source"], device=device)[None, None]
    receivers = torch.tensor(case["receivers"], device=device)[None]
    common: dict[str, Any] = {
        "grid_spacing": case["spacing"], "dt": case["step"], "accuracy": case["order"],
        "pml_width": case["layer"], "pml_freq": case["frequency"], "check_output_finite": False,
        "courant_number": case["courant_number"],
    }  # fmt: skip
    given = amplitudes.to(device)
    if case["physics"] == "acoustic":
        return deepwave.scalar(
            rock["vp"], source_amplitudes=given, source_locations=source,
            receiver_locations=receivers, **common,
        )[-1][0]  # fmt: skip
    mu = rock["rho"] * rock["vs"] ** 2
    lamb = rock["rho"] * rock["vp"] ** 2 - 2 * mu
    buoyancy = 1 / rock["rho"]
    out = deepwave.elastic(
        lamb, mu, buoyancy, source_amplitudes_z=given, source_locations_z=source,
        receiver_locations_z=receivers, **common,
    )  # fmt: skip
    return next(traces for traces in reversed(out) if traces.numel() and traces.ndim == 3)[0]


def one(case: dict[str, Any], steps: int) -> tuple[float, np.ndarray]:
    """Run a case once; return its seconds and the traces (receiver, time)."""
    start = time.perf_counter()
    amplitudes = torch.from_numpy(ricker(case))[None, None]
    if case["transform"]:
        amplitudes = time_dispersion.correct_source(amplitudes, case["step"])
    # Source strengths are densities: of a cell's volume.
    scale = case["scale"] / case["spacing"] ** 3
    traces = propagate(case, (scale * amplitudes[..., :steps]).float()).double().cpu()
    if case["transform"] and steps == case["steps"]:
        traces = time_dispersion.correct_receivers(traces, case["step"])
    return time.perf_counter() - start, traces.numpy()


def main() -> None:
    """Warm up, run, write the traces, print a line of JSON."""
    case = json.loads(Path(sys.argv[1]).read_text())
    torch.set_grad_enabled(False)
    one(case, 2)
    single = min(one(case, 1)[0] for _ in range(2))
    steps = case["steps_taken"]
    timed = [one(case, steps) for _ in range(case["repeats"])]
    whole = [seconds for seconds, _ in timed]
    np.save(sys.argv[2], timed[-1][1])
    print(
        json.dumps(
            {
                "version": deepwave.__version__,
                "whole": whole,
                "loop": [seconds - single for seconds in whole],
                "single": single,
            }
        )
    )


if __name__ == "__main__":
    main()
