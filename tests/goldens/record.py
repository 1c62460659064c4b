"""Compare results, plans, files and messages with the recorded ones, or record them anew.

    python tests/goldens/record.py             print what differs; exit code 1 if anything does
    python tests/goldens/record.py --write     print what differs, and record everything anew
    python tests/goldens/record.py --choose    choose cases anew, too

What is recorded is told in `__init__.py`. Bits are those of one machine (`compare.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from goldens import cases, measure
from goldens.compare import differences

FILES = ("runs", "structure", "checks", "messages")


def work_in(folder: str) -> None:
    """Begin a process that measures, in the folder of the scenarios."""
    os.chdir(folder)
    warnings.simplefilter("ignore")


def measured(kind: str, name: str, case: Any, threads: int | None) -> dict[str, dict[str, Any]]:
    """Measure one case; return what belongs into which file."""
    if kind == "messages":
        return {"messages": measure.recorded_messages()}
    if kind == "equations":
        run, _ = measure.recorded_run(cases.combination(*case), threads)
        return {"runs": {name: run}}
    if kind == "checks":
        plan = measure.recorded_plan(cases.shipped(name.split()[0], case))
        return {"checks": {name: plan}}
    stem, precision = name.split()
    scenario = cases.shipped(stem, case | {"precision": precision})
    run, structure = measure.recorded_run(scenario, threads)
    parts = {"runs": {name: run}}
    return parts | {"structure": {stem: structure}} if precision == "float32" else parts


def tasks(chosen: dict[str, Any]) -> Iterable[tuple[str, str, Any]]:
    """List all that is measured, what takes long first."""
    for combination in chosen["equations"]:
        yield "equations", " ".join(map(str, combination)), combination
    for stem, changes in chosen["shipped"].items():
        yield "checks", f"{stem} whole", {}
        yield "checks", f"{stem} small", changes
        for precision in cases.PRECISIONS:
            yield "shipped", f"{stem} {precision}", changes
    yield "messages", "", None


def measure_all(chosen: dict[str, Any], folder: str, threads: int) -> dict[str, dict[str, Any]]:
    """Measure all cases in several processes."""
    found: dict[str, dict[str, Any]] = {name: {} for name in FILES}
    processes = max(1, len(os.sched_getaffinity(0)) // threads)
    with ProcessPoolExecutor(processes, get_context("spawn"), work_in, (folder,)) as pool:
        futures = {task[:2]: pool.submit(measured, *task, threads) for task in tasks(chosen)}
        for number, (task, future) in enumerate(futures.items()):
            if sys.stderr.isatty():
                line = f"{number} of {len(futures)}: {' '.join(task)}"
                print(line.ljust(99), end="\r", file=sys.stderr, flush=True)
            for name, part in future.result().items():
                found[name] |= part
    found["runs"] = {"machine": measure.machine(), "cases": found["runs"]}
    return found


def write(name: str, content: dict[str, Any]) -> None:
    """Write a file of recorded values, sorted."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    (cases.HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read(name: str) -> dict[str, Any]:
    """Read a file of recorded values."""
    return json.loads((cases.HERE / f"{name}.json").read_text(encoding="utf-8"))


def main() -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="record anew")
    parser.add_argument("--choose", action="store_true", help="choose cases and record anew")
    parser.add_argument("--threads", type=int, default=1, help="of a run (default: 1)")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="goldens-") as folder:
        cases.copy_scenarios(Path(folder))
        if options.choose:
            os.chdir(folder)
            write("cases", cases.choose_cases(Path(folder)))
        found = measure_all(cases.read_cases(), folder, options.threads)
    recorded = {name: read(name) for name in FILES}
    if options.write or options.choose:
        for name, content in found.items():
            write(name, content)
    same_machine = recorded["runs"].pop("machine") == found["runs"].pop("machine")
    lines = [
        f"{name}: {line}"
        for name in FILES
        for line in differences(recorded[name], found[name], same_machine)
    ]
    print(*lines, sep="\n", end="\n" * bool(lines))
    bits = "bits" if same_machine else "norms alone: recorded on another machine"
    print(f"{len(lines)} differences ({bits}), {time.monotonic() - began:.0f} s")
    return bool(lines) and not (options.write or options.choose)


if __name__ == "__main__":
    sys.exit(main())
