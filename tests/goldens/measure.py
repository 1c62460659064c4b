"""What is recorded of a run, a plan and a mistake."""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numba.core.registry import cpu_target

import seismo
import test_scenario_mistakes as mistakes
from seismo.scenario import Scenario

DIGITS = 10
# Parts of a plan that cannot be equal, and why.
LEFT_OUT = {
    "device": "names the processor",
    "points_per_second": "follows from the bandwidth measured on the machine",
    "seconds": "follows from points_per_second",
    "map_seconds": "follows from points_per_second",
    "memory_needed": "names the free memory of the machine",
    "refusals": "follow from free memory and disk",
    "exit_code": "follows from the refusals",
}
OF_THREADS = ("blocks", "stepping", "total")  # bytes of memory: each thread has blocks of its own
LEAST = 1e-9  # of errors that a plan is recorded with
TELEMETRY = "telemetry"  # how fast the machine was, if the run took long enough to tell
# Rotation of what only explodes is the rounding error of a difference: no norm of it.
ROUNDING = {"rad/s"}


def machine() -> dict[str, str]:
    """Return all that bits depend on beside the code: what Numba compiles for, and versions."""
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    on = " ".join(sorted(f[1:] for f in features.split(",") if f.startswith("+")))
    return {"processor": processor, "features": on} | {
        name: version(name) for name in ("numba", "llvmlite", "numpy", "scipy", "h5py")
    }


def recorded_run(
    scenario: Scenario | dict[str, Any], threads: int | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Run, and return hashes and norms of the results, and the structure of their file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.h5"
        seismo.run(scenario, path, backend="cpu", threads=threads).close()
        with h5py.File(path) as file:
            return hashes_and_norms(file), structure(file)


def hashes_and_norms(file: h5py.File) -> dict[str, Any]:
    """Return the hash of traces, hashes of all groups, and norms of what has the same unit."""
    hashes: dict[str, Any] = defaultdict(hashlib.sha256)
    squares: dict[str, float] = defaultdict(float)

    def add(name: str, item: h5py.HLObject) -> None:
        group = name.partition("/")[0]
        if not isinstance(item, h5py.Dataset) or group == TELEMETRY:
            return
        values = np.asarray(item[...])
        text = values.dtype == object
        hashes[group].update(name.encode())
        hashes[group].update(repr(values.tolist()).encode() if text else values.tobytes())
        if group in ("traces", "maps", "snapshots") and values.ndim > 1:
            unit = item.attrs.get("units", "")
            squares[f"{group} in {unit}"] += float(np.sum(values.astype(float) ** 2))

    file.visititems(add)
    return {
        "traces_sha256": str(file.attrs["traces_sha256"]),
        "sha256": {name: digest.hexdigest()[:16] for name, digest in hashes.items()},
        "norms": {
            name: rounded(float(np.sqrt(square)))
            for name, square in squares.items()
            if name.rpartition(" ")[2] not in ROUNDING
        },
    }


def structure(file: h5py.File) -> dict[str, str]:
    """Return type, shape, attributes and unit of every object of a results file, in a line."""
    lines = {"": attributes(file)}

    def add(name: str, item: h5py.HLObject) -> None:
        if name.startswith(TELEMETRY):
            return
        kind = "group"
        if isinstance(item, h5py.Dataset):
            is_text = h5py.check_string_dtype(item.dtype) is not None
            kind = f"{'text' if is_text else item.dtype.str} {list(item.shape)}"
        lines[name] = f"{kind}; {attributes(item)}"

    file.visititems(add)
    return lines


def attributes(item: h5py.HLObject) -> str:
    """List the attributes of an object, and its unit."""
    unit = item.attrs.get("units")
    return " ".join(
        f"{name}={unit}" if name == "units" else name for name in sorted(item.attrs.keys())
    )


def recorded_plan(scenario: Scenario) -> dict[str, Any]:
    """Return what `check` gives as plain data, rounded."""
    plan = seismo.check(scenario, backend="cpu").as_dict()
    expected = plan["expected"]
    causes = {one["cause"]: one["error"] for one in expected["causes"]}
    expected["causes"] = {name: error for name, error in causes.items() if error > LEAST}
    memory = plan["memory_bytes"]
    plan["memory_bytes"] = {key: memory[key] for key in memory if key not in OF_THREADS}
    plan["warnings"] = [line for line in plan["warnings"] if line not in plan["refusals"]]
    return rounded({key: value for key, value in plan.items() if key not in LEFT_OUT})


def recorded_messages() -> dict[str, list[str]]:
    """Return all lines about each of the mistakes that tests know, and about two at once.

    Of two, those are recorded of which other things are told than of each alone.
    """
    cases = [(f"{n:03d} {case['case']}", case) for n, case in enumerate(mistakes.CASES)]
    alone = {name: list(mistakes.mistakes(mistakes.spoiled(case))) for name, case in cases}
    together = {}
    for (name, case), (other, beside) in pairwise(cases):
        if case["base"] != beside["base"]:
            continue
        try:
            text = mistakes.spoiled(case | {"replace": case["replace"] + beside["replace"]})
        except AssertionError:  # one replaces what the other would
            continue
        lines = list(mistakes.mistakes(text))
        of_each = alone[name] + alone[other]
        if sorted(map(without_place, lines)) != sorted(map(without_place, of_each)):
            together[f"{name} + {other}"] = lines
    return alone | together


def without_place(line: str) -> str:
    """Return a message without its line and column, which another mistake may move."""
    return line.partition(": ")[2]


def rounded(value: Any) -> Any:
    """Round all floats of plain data to `DIGITS`."""
    if isinstance(value, dict):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
