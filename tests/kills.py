"""Kills and resumes by the thousand: `python tests/kills.py COUNT [SEED]`.

Every scenario that comes with seismo, on a coarser grid and for some sixty steps, is run by a
process that dies (SIGKILL) before an operation on files chosen at random, and goes on with the
next one, until it ends. What it leaves is compared with an unbroken run, to the last bit.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import seismo
from goldens.small import changes_to_small
from seismo.errors import SeismoError
from test_resume import contents

ROOT = Path(__file__).resolve().parents[1]
OPERATIONS = 120  # of a run that ends: about
UNBROKEN = 0.15  # of the attempts, so that each run comes to its end


def killed(worker: subprocess.Popen, scenario: Path, output: Path, at: int | None) -> bool:
    """Run, or go on, until an operation on files; return whether it was killed there."""
    order = {"scenario": str(scenario), "output": str(output)}
    order |= {} if at is None else {"at": at}
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(order) + "\n")
    worker.stdin.flush()
    answer = json.loads(worker.stdout.readline())
    if answer["code"] not in (0, -9):
        raise AssertionError(f"{scenario.name}: {answer}")
    return answer["code"] != 0


def main(count: int, seed: int) -> int:
    """Kill so many times; return how many runs did not end as the unbroken ones."""
    chosen = random.Random(seed)
    kills, runs, wrong = 0, 0, []
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        os.environ.setdefault("SEISMO_CACHE_DIR", str(folder / "cache"))
        os.environ["PYTHONWARNINGS"] = "ignore"
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU has other bits than the whole run
        known = {}
        shutil.copytree(ROOT / "scenarios", folder / "scenarios")
        for path in sorted((folder / "scenarios").glob("*.yaml")):
            try:
                whole = seismo.load(path)
                small = whole.changed(changes_to_small(whole) | {"checkpoint": {"steps": 7}})
            except SeismoError as error:
                print(f"{path.stem}: {str(error)[:150]}", flush=True)
                continue
            path.write_text(small.to_yaml())
            seismo.run(path, folder / "whole.h5", backend="cpu", resume=False).close()
            known[path] = contents(folder / "whole.h5")
        print(f"{len(known)} scenarios", flush=True)
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, str(ROOT / "tests/support/crash_worker.py")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        ) as worker:  # fmt: skip
            while kills < count:
                target = chosen.choice(list(known))
                output = folder / "x.h5"
                output.unlink(missing_ok=True)
                at: int | None = 0
                while killed(worker, target, output, at):
                    kills += 1
                    is_last = chosen.random() < UNBROKEN
                    at = None if is_last else chosen.randrange(OPERATIONS)
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
