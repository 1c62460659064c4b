"""Recorded answers: what stays the same while modules are moved, merged and renamed.

| file | holds |
|---|---|
| `cases.json` | how scenarios of the package are made small; combinations of equations |
| `runs.json` | hashes and norms of the results of both, on one CPU |
| `structure.json` | groups, datasets, types, shapes and attributes of results files |
| `checks.json` | what `check` gives for scenarios of the package, whole and small, as plain data |
| `messages.json` | all lines about the mistakes of `scenario_mistakes.yaml` |
| `kernels.json` | hashes of the PTX of the benchmark's cases for GPUs |

`record.py` compares or writes all but the last, `kernels.py` the last.
"""

import sys
from pathlib import Path

# Tests whose cases and mistakes are recorded are found by their names, as pytest finds them.
_TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(folder) for folder in _TESTS.rglob("*") if any(folder.glob("*.py"))]
