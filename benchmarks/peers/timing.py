"""What the peer scripts share: read a case, deal its shots, time the repeats, print a line of JSON.

The scripts run in a Python of their own that has no seismo, so this imports numpy alone. A script
gives `make(case, settings) -> (loop, notes)`, where `loop(sources)` runs the case once for every
source position and returns the seconds of its time loops; what `make` does is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

Loop = Callable[[list[list[int]]], float]
Make = Callable[[dict[str, Any], dict[str, str]], tuple[Loop, dict[str, Any]]]

_loop: Loop | None = None  # of a worker process: it lives there from the warm-up to the last repeat


def two_layers(case: dict[str, Any], key: str) -> np.ndarray:
    """Return one parameter of the model (z, [y,] x) on the interior nodes, float32."""
    field = np.full(case["shape"], case["upper"][key], np.float32)
    field[case["interface"] :] = case["lower"][key]
    return field


def ricker(case: dict[str, Any], count: int) -> np.ndarray:
    """Return the Ricker wavelet (count,) at the case's frequency, float32."""
    times = np.arange(count) * case["step"] - 1.2 / case["frequency"]
    squared = (np.pi * case["frequency"] * times) ** 2
    return ((1.0 - 2.0 * squared) * np.exp(-squared)).astype(np.float32)


def _start(make: Make, case: dict[str, Any], settings: dict[str, str]) -> None:
    global _loop
    _loop, _ = make(case, settings)


def _deal(sources: list[list[int]]) -> float:
    assert _loop is not None
    return _loop(sources)


def _timed_in_processes(
    make: Make, case: dict[str, Any], settings: dict[str, str], repeats: int, processes: int
) -> list[float]:
    """Deal the shots to processes; the slowest process is the time of a repeat."""
    hands = [case["sources"][number::processes] for number in range(processes)]
    arguments = (make, case, settings)
    pools = [ProcessPoolExecutor(1, get_context("spawn"), _start, arguments) for _ in hands]
    for pool in pools:  # the warm-up, one after the other: tuning wants its core undisturbed
        pool.submit(_deal, case["sources"][:1]).result()
    seconds = []
    for _ in range(repeats):
        futures = [pool.submit(_deal, hand) for pool, hand in zip(pools, hands, strict=True)]
        seconds.append(max(future.result() for future in futures))
    for pool in pools:
        pool.shutdown()
    return seconds


def main(peer: str, version: str, description: str, make: Make) -> None:
    """Read the command line, warm up, time, print the line that `run.py` reads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("case", help="one case as JSON, or a file that holds it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1, help="that share the threads and shots")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    text = options.case
    case = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
    settings = dict(item.split("=", 1) for item in options.set)
    os.environ["OMP_NUM_THREADS"] = str(options.threads // options.processes)
    notes: dict[str, Any] = {}
    if options.processes == 1:
        loop, notes = make(case, settings)
        seconds = [loop(case["sources"]) for _ in range(options.repeats)]
    else:
        seconds = _timed_in_processes(make, case, settings, options.repeats, options.processes)
    rate = case["points"] * case["steps"] / statistics.median(seconds) / 1e6
    print(
        json.dumps(
            {
                "peer": peer,
                "version": version,
                "case": case["name"],
                "points": case["points"],
                "steps": case["steps"],
                "threads": options.threads,
                "seconds": [round(value, 5) for value in seconds],
                "mpoints_per_s": round(rate, 1),
                "settings": settings | notes | {"processes": options.processes},
            }
        ),
        flush=True,
    )
