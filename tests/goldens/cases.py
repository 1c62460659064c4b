"""The recorded cases: scenarios of the package made small, and combinations of equations."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import seismo
import test_every_combination as matrix
from goldens.small import changes_to_small
from seismo.errors import ScenarioError
from seismo.scenario import Scenario

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "scenarios"
PRECISIONS = ("float32", "float64")
UPDATES = 30_000_000  # of points in a scenario: waves have come to most receivers
STEPS = 80  # of a combination: waves have come to the receivers


def copy_scenarios(folder: Path) -> None:
    """Copy the scenarios of the package, with a file that Marmousi's can be replaced by."""
    shutil.copytree(SCENARIOS, folder, dirs_exist_ok=True)
    x, z = np.linspace(0.0, 1.0, 1601), np.linspace(0.0, 1.0, 401)
    speeds = 1.5 + 3.0 * z + 0.3 * np.sin(40.0 * (z + 0.2 * x[:, np.newaxis]))
    (folder / "marmousi").mkdir(exist_ok=True)
    np.round(speeds, 2).astype("<f4").tofile(folder / "marmousi" / "vp_1601x401_7.5m_km_s.f32")


def read_cases() -> dict[str, Any]:
    """Return the recorded cases."""
    return json.loads((HERE / "cases.json").read_text(encoding="utf-8"))


def choose_cases(folder: Path) -> dict[str, Any]:
    """Choose the cases anew; the folder has the package's scenarios."""
    paths = sorted(folder.glob("*.yaml"))
    shipped = {path.stem: changes_to_small(seismo.load(path), UPDATES) for path in paths}
    return {"shipped": shipped, "equations": [list(c) for c in chosen_combinations()]}


def chosen_combinations() -> list[tuple]:
    """Choose one combination of each equation and precision, of pairs that were chosen least."""
    had: Counter = Counter()
    chosen = []
    for name, dimensions in matrix.VARIANTS:
        for precision in PRECISIONS:
            every = matrix.product_of(name, dimensions, matrix.OUTPUTS)
            every = [(*c[:-1], *c[-1]) for c in every if c[-1][0] == precision]
            every.sort(key=lambda c: sum(had[pair] for pair in pairs(c)))
            chosen.append(next(c for c in every if is_accepted(c)))
            had.update(pairs(chosen[-1]))
    return chosen


def pairs(chosen: tuple) -> list:
    """Return the pairs of what meets in a combination, but for the equation's name."""
    return list(combinations(enumerate(chosen[1:]), 2))


def is_accepted(chosen: tuple) -> bool:
    """Whether no feature refuses a combination."""
    try:
        seismo.check(combination(*chosen), backend="cpu")
    except ScenarioError:
        return False
    return True


def combination(*chosen: Any) -> dict[str, Any]:
    """Return the scenario of a combination."""
    *factors, precision, storage = chosen
    document = matrix.combination(*factors, (precision, storage))
    document["time"]["duration"] = STEPS * matrix.STEP
    if storage == 16:  # bits do for sources that are alike
        document["sources"] = document["sources"][:1]
    return document


def shipped(name: str, changes: dict[str, Any]) -> Scenario:
    """Return a scenario of the package, whose copy is in the current folder, with changes."""
    return seismo.load(f"{name}.yaml").changed(changes)
