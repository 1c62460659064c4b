"""What a feature that is no part of seismo is taken through, in a process that finds its folder.

Run by `test_feature_elsewhere.py`; the last line of the output holds the findings as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import seismo
from seismo.cli import main
from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.scenario.reference import reference_of

DELAY, SHARE = 0.05, 1.5
SCENARIO: dict[str, Any] = {
    "physics": "elastic",
    "precision": "float64",
    "grid": {"extent": {"x": 400.0, "z": 300.0}, "spacing": 5.0},
    "time": {"duration": 0.2, "step": 5e-4},
    "model": [{"type": "uniform", "vp": 2000.0, "vs": 1200.0, "rho": 2000.0}],
    "sources": [{
        "type": "force", "force": {"z": 1e9}, "position": {"x": 100.0, "z": 150.0},
        "wavelet": {"type": "ricker", "frequency": 30.0},
    }],
    "receivers": [{"name": "line", "type": "points", "positions": [{"x": 180.0, "z": 120.0}]}],
}  # fmt: skip
ECHO = {"echo": {"delay": f"{DELAY} s", "share": SHARE}}


def called(*arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def traces(document: dict[str, Any], output: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the times and the traces (component, time) of a run."""
    with seismo.run(document, output=output, backend="cpu", threads=1) as results:
        line = results.traces["line"]
        both = np.stack([np.asarray(line[name]).reshape(-1) for name in ("vx", "vz")])
        return np.asarray(line.time), both


def superposed(folder: Path) -> float:
    """Return how far a run with echoes is from the sum of two without, of the largest value."""
    times, single = traces(SCENARIO, folder / "single.h5")
    _, double = traces(SCENARIO | ECHO, folder / "double.h5")
    delayed = np.stack([np.interp(times - DELAY, times, trace, left=0.0) for trace in single])
    return float(abs(double - single - SHARE * delayed).max() / abs(double).max())


def refused(document: dict[str, Any]) -> str:
    """Return what is said of a mistake."""
    try:
        from_dict(document)
    except ScenarioError as error:
        return str(error)
    return ""


folder = Path(sys.argv[1])
plan = seismo.check(SCENARIO | ECHO, backend="cpu")
difference = superposed(folder)
codes = [
    called("plot", str(folder / "double.h5"), "traces", "--output", str(folder)),
    called("schema", "echo"),
]
late = {"echo": {"delay": "1 s"}}
print(json.dumps({
    "difference": difference, "codes": codes, "figures": len(list(folder.glob("*.png"))),
    "causes": [name for name, _ in plan.expected.causes],
    "warnings": plan.warnings, "report": str(plan), "late": refused(SCENARIO | late),
    "unknown": refused(SCENARIO | {"echo": {"delay": "10 ms", "shares": 1.0}}),
    "reference": reference_of("echo"),
    "kept": "share: 1.5" in seismo.open_results(folder / "double.h5").scenario,
}))  # fmt: skip
