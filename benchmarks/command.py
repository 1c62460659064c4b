"""Time the command line: `--help`, `check`, and runs from the command to results on the disk.

    python benchmarks/command.py --json results/command.json
    python benchmarks/command.py --backend gpu       # and the cubes of `equal_error.py` at 1 %

Each command runs once to compile, then `--repeats` times. Python keeps its own compiled modules: a
machine where PYTHONDONTWRITEBYTECODE is set needs up to a second more.

whole     until the process has gone, s
results   until the results file has its name, s
stepping  time steps alone, s
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cubes

import seismo
from seismo.backends.select import choose
from seismo.runs.tools import bench

SCENARIOS = Path(__file__).parents[1] / "scenarios"
ACCURACY = 0.01
ORDERS = {"acoustic": 16, "elastic": 12}


def commands(folder: Path, backend: str) -> dict[str, list[str]]:
    """Return what is timed by its name; runs end with the results file."""
    known = {"--help": ["--help"]}
    for name in ("quickstart", "survey_2d", "loh1"):
        known[f"check {name}.yaml"] = ["check", str(SCENARIOS / f"{name}.yaml")]
    runs = {f"{name}.yaml": SCENARIOS / f"{name}.yaml" for name in ("quickstart", "survey_2d")}
    for physics, order in ORDERS.items() if backend == "gpu" else ():
        advice = cubes.advised(physics, 100.0, ACCURACY, order)
        path = folder / f"{physics}.yaml"
        path.write_text(json.dumps(advice.cube.scenario(ACCURACY, order, advice.layer)))
        runs[f"{physics} cube"] = path
    for name, path in runs.items():
        output = str(folder / f"{path.stem}.h5")
        known[f"run {name}"] = ["run", str(path), "--backend", backend, "--output", output]
    return known


def timed(arguments: list[str]) -> dict[str, float]:
    """Run a command; return its seconds."""
    results = Path(arguments[-1])
    is_run = arguments[0] == "run"
    if is_run:
        results.unlink(missing_ok=True)
    begun = time.time()
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "seismo", *arguments], check=True, capture_output=True)
    seconds = {"whole": time.perf_counter() - start}
    if is_run:
        # A file's status changes last when it is renamed.
        seconds["results"] = results.stat().st_ctime - begun
        with seismo.open_results(results) as opened:
            seconds["stepping"] = opened.summary["stepping_s"]
    return seconds


def main() -> None:
    """Time all, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cpu", choices=["gpu", "cpu"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="commands whose name has this text")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in commands(Path(folder), options.backend).items():
            if options.only not in name:
                continue
            first = timed(arguments)
            repeats = [timed(arguments) for _ in range(options.repeats)]
            rows[name] = {"first": first["whole"]}
            rows[name] |= {key: [one[key] for one in repeats] for key in first}
            texts = [
                f"{key} {statistics.median(rows[name][key]):.2f} ({min(rows[name][key]):.2f} to "
                f"{max(rows[name][key]):.2f})"
                for key in first
            ]
            print(f"{name:<24}" + ", ".join(texts), flush=True)
    machine = bench.describe_machine() | choose(options.backend).make("float32").describe()
    if options.json:
        record = {"machine": machine, "seconds": rows}
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
