"""Run the cube of `equal_error.py` with Devito on the CPU, and print what it took.

The equations and the damping of 20 points are those of `devito_case.py`, as are what it is given:
OpenMP, `-O3 -march=native -ffast-math`, blocks by aggressive tuning. Steps are so short that second
order in time keeps to the wanted error: Devito has no transform. `loop` is the sum of its section
timers; compiling and tuning are not timed. Of a case too long to run, `steps_taken` are timed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import devito_case
import numpy as np
from deepwave_cube import ricker
from devito import Operator


def case_for_examples(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case as `devito_case` reads it: one rock above and below."""
    rock = {key: case[key] for key in case["rock"]}
    return case | {"upper": rock, "lower": rock, "interface": 0, "further": []}


def main() -> None:
    """Compile, tune, run, write the traces, print a line of JSON."""
    case = case_for_examples(json.loads(Path(sys.argv[1]).read_text()))
    start = time.perf_counter()
    model = devito_case.model_of(case)
    source, receiver = devito_case.geometry_of(case, model)
    wave = ricker(case | {"steps": case["steps"] + 2})
    source.data[:, 0] = case["scale"] / case["spacing"] ** 3 * wave
    source.coordinates.data[0] = np.array(case["source"]) * case["spacing"]
    equations = devito_case.equations_of(case)
    operator = Operator(
        equations(case, model, source, receiver), subs=model.spacing_map, name="Forward",
        opt=devito_case.options_of({}),
    )  # fmt: skip
    given = {"src": source, "rec": receiver, "dt": np.float32(case["step"] * 1e3), "time_m": 1}
    operator.apply(time_M=8, autotune="aggressive", **given)
    tuned = dict(operator._state["autotuning"][-1].get("tuned", {}))
    prepared = time.perf_counter() - start
    loop = []
    for _ in range(case["repeats"]):
        summary = operator.apply(time_M=case["steps_taken"], autotune="off", **given, **tuned)
        loop.append(sum(section.time for section in summary.values()))
    np.save(sys.argv[2], np.array(receiver.data).T)
    print(
        json.dumps(
            {"version": devito_case.devito.__version__, "loop": loop, "whole": loop,
             "prepared": prepared}
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
