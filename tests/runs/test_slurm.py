"""Batch jobs on a real SLURM: submitted, asked to end, pre-empted, queued again, and finished.

`.ci/slurm` sets one up on this machine, and runs these tests.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import seismo
from seismo.scenario import from_dict
from test_resume import SCENARIO, contents

pytestmark = pytest.mark.slurm

PATIENCE = 60.0  # s
# Some 10 s on one core: long enough to be interrupted twice.
LONG = SCENARIO | {
    "grid": {"extent": {"x": 4000.0, "z": 2000.0}, "spacing": 10.0, "order": 8},
    "time": {"duration": 10.0},
    "output": {"snapshots": [{"fields": ["velocity"], "interval": 0.5, "decimate": 4}]},
    "checkpoint": {},
}
PROFILE = """\
cpus: 1
time: 10 min
partition: low
progress: 1
options: [--nodelist=n1]
"""


def command(*words: str, folder: Path) -> str:
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout.strip()


def state(job: str, folder: Path) -> str:
    return command("squeue", "-h", "-j", job, "-t", "all", "-o", "%T", folder=folder)


def queue() -> str:
    """Show all jobs, for the message of a failure."""
    return command("squeue", "-t", "all", "-o", "%i %P %T %r %S %e", folder=Path())


def wait_for(what, log: Path) -> None:
    begin = time.monotonic()
    while not what():
        said = log.read_text() if log.exists() else "nothing"
        assert time.monotonic() - begin < PATIENCE, f"{queue()}\n{said}"
        time.sleep(0.1)


def test_a_job_survives_signals_and_preemption(tmp_path):
    scenario, log = tmp_path / "wave.yaml", Path()
    scenario.write_text(from_dict(LONG).to_yaml())
    (tmp_path / "profile.yaml").write_text(PROFILE)
    seismo.run(scenario, tmp_path / "alone.h5", threads=1).close()

    words = (sys.executable, "-m", "seismo", "submit", "wave.yaml", "--profile", "profile.yaml")
    script, _, job = command(*words, folder=tmp_path).partition(": job ")
    assert (tmp_path / script).read_text().startswith("#!/bin/bash\n#SBATCH --job-name=wave\n")
    log = tmp_path / f"wave-{job}.log"

    def lines(words: str) -> int:
        return log.read_text().count(words) if log.exists() else 0

    hurried: list[str] = []

    def goes_on(times: int) -> bool:
        """Wait no two minutes, as SLURM has it, before a job that was queued again begins."""
        if state(job, tmp_path) == "PENDING" and not hurried:
            time.sleep(3)  # the end of its first life has yet to be heard of
            command("scontrol", "update", f"JobId={job}", "StartTime=now", folder=tmp_path)
            hurried.append(job)
        return lines("going on from step") == times

    # As before the end of its time: SLURM tells the batch script, and no one else.
    wait_for(lambda: lines("  step ") > 2, log)
    command("scancel", "--batch", "--signal=USR1", job, folder=tmp_path)
    wait_for(lambda: lines("on SIGTERM") == 1, log)
    wait_for(lambda: goes_on(1), log)
    hurried.clear()
    # As when a job of more weight takes the place.
    seen = lines("  step ")
    wait_for(lambda: lines("  step ") > seen, log)
    urgent = ("sbatch", "--parsable", "-p", "high", "--nodelist=n1", "-o/dev/null")
    other = command(*urgent, "--wrap", "sleep 1", folder=tmp_path)
    wait_for(lambda: lines("on SIGTERM") == 2, log)
    wait_for(lambda: state(other, tmp_path) == "COMPLETED", log)
    wait_for(lambda: goes_on(2), log)
    wait_for(lambda: state(job, tmp_path) == "COMPLETED", log)
    assert contents(tmp_path / "wave.h5") == contents(tmp_path / "alone.h5")
    assert not (tmp_path / "wave.h5.run").exists()


def test_an_array_shares_a_survey(tmp_path):
    """The example in `scripts/`, as it is shipped."""
    example = Path(__file__).parents[2] / "scripts" / "survey_array.sbatch"
    (tmp_path / "survey.yaml").write_text(from_dict(SCENARIO).to_yaml())
    seismo.run(tmp_path / "survey.yaml", tmp_path / "whole.h5").close()
    words = ["sbatch", "--parsable", "--array=1-3", "--time=5", "--cpus-per-task=1", "-p", "low"]
    environment = os.environ | {"SCENARIO": "survey.yaml", "SEISMO": f"{sys.executable} -m seismo"}
    job = subprocess.run(
        [*words, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=True,
    ).stdout.strip()  # fmt: skip
    wait_for(lambda: set(state(job, tmp_path).split()) == {"COMPLETED"}, tmp_path / "none")
    with seismo.open_results(tmp_path / "whole.h5") as whole:
        wanted = whole.traces["receivers"].values_of("pressure")
    for number in (1, 2, 3):
        with seismo.open_results(tmp_path / f"survey-{number}of3.h5") as share:
            found = share.traces["receivers"].values_of("pressure")
            assert share.traces["receivers"].shots == [f"shot_{number - 1:03d}"]
        assert (found == wanted[number - 1 : number]).all()
