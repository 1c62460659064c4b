"""Kills and resumes by the thousand: `python tests/kills.py COUNT [SEED]`.

Every scenario that comes with seismo, on a coarser grid and for some sixty steps, is run by a
process that dies (SIGKILL) before an operation on files chosen at random, and goes on with the
next one, until it ends. What it leaves is compared with an unbroken run, to the last bit. What a
scenario comes down to before the first step is found once: most of the time is that of files.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import seismo
from goldens import cases
from goldens.small import STEPS
from seismo.scenario import Scenario
from seismo.solver.discretize import discretize
from test_resume import contents

ROOT = Path(__file__).resolve().parents[1]
OPERATIONS = 120  # of a run that ends: about
UNBROKEN = 0.15  # of the attempts, so that each run comes to its end


def killed(worker: subprocess.Popen, scenario: Path, output: Path, **how: int) -> bool:
    """Run, or go on, as `crash_worker` is told; return whether it was killed."""
    order = {"scenario": str(scenario), "output": str(output), **how}
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(order) + "\n")
    worker.stdin.flush()
    answer = json.loads(worker.stdout.readline())
    if answer["code"] not in (0, -9):
        raise AssertionError(f"{scenario.name}: {answer}")
    return answer["code"] != 0


def small(path: Path) -> Scenario:
    """Return a scenario of few points, as goldens have it, and of few steps."""
    whole = seismo.load(path)
    spacing = {"grid.spacing": cases.read_cases()["shipped"][path.stem]["grid.spacing"]}
    duration = STEPS * discretize(whole.changed(spacing)).clock.dt
    changes = {"time.duration": min(whole.time.duration, duration), "checkpoint": {"steps": 7}}
    return whole.changed(spacing | changes)


def main(count: int, seed: int) -> int:
    """Kill so many times; return how many runs did not end as the unbroken ones."""
    chosen = random.Random(seed)
    kills, runs, wrong = 0, 0, []
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        os.environ.setdefault("SEISMO_CACHE_DIR", str(folder / "cache"))
        os.environ |= {
            "PYTHONWARNINGS": "ignore",
            "CUDA_VISIBLE_DEVICES": "",  # a GPU has other bits than the whole run
            "NUMBA_NUM_THREADS": "1",  # campaigns run side by side
        }
        cases.copy_scenarios(folder)
        output = folder / "x.h5"
        known = {}
        words = [sys.executable, str(ROOT / "tests/support/crash_worker.py"), "--remember"]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            for path in sorted(folder.glob("*.yaml")):
                path.write_text(small(path).to_yaml())
                killed(worker, path, output, first=True)
                known[path] = contents(output)
            print(f"{len(known)} scenarios", flush=True)
            began = time.monotonic()
            while kills < count:
                target = chosen.choice(list(known))
                output.unlink(missing_ok=True)
                how = {"at": 0}
                while killed(worker, target, output, **how):
                    kills += 1
                    is_last = chosen.random() < UNBROKEN
                    how = {} if is_last else {"at": chosen.randrange(OPERATIONS)}
                runs += 1
                print(f"{kills} kills of {runs} runs", end="\r", flush=True)
                if contents(output) != known[target]:
                    wrong.append(target.name)
                    print(f"wrong: {target.name}", flush=True)
            assert worker.stdin is not None
            worker.stdin.close()
    took = time.monotonic() - began
    print(*wrong, sep="\n")
    print(f"{kills} kills of {runs} runs, {len(wrong)} wrong, {took:.0f} s")
    return len(wrong)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    many, *first = [int(n) for n in sys.argv[1:]] or [100]
    sys.exit(bool(main(many, *(first or [0]))))
