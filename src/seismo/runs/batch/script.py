"""The batch script of a run: what it asks of SLURM, and how it stops, is queued again and goes on.

SLURM asks the script to end, before the time is up or when another job takes its place. The script
asks the runs, which stop at a checkpoint and say so by exit code 85; then it is queued again, and
begins with `--resume`.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from seismo.errors import CHECKPOINTED, ScenarioError
from seismo.runs.batch.profile import MachineProfile
from seismo.scenario import Scenario

# All ranks end where one does, and each may use its share of the cores.
_STEP = ("srun", "--kill-on-bad-exit=1", "--cpu-bind=cores")
_ENDING = f"""\
# Asked to end, a run stops at a checkpoint and exits with {CHECKPOINTED}: the job is queued again.
code=0
for run in "${{runs[@]}}"; do
    while wait "$run"; ended=$?; kill -0 "$run" 2>/dev/null; do :; done
    if [ "$ended" -ne 0 ] && {{ [ "$code" -eq 0 ] || [ "$code" -eq {CHECKPOINTED} ]; }}; then
        code=$ended
    fi
done
if [ "$code" -eq {CHECKPOINTED} ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
"""


@dataclass(frozen=True)
class JobArray:
    """A job array of SLURM, each of whose tasks has a share of the shots of a survey.

    Attributes:
        tasks: how many.
        at_once: tasks that run at a time, None for as many as SLURM lets.
    """

    tasks: int
    at_once: int | None = None

    @classmethod
    def read(cls, text: str) -> JobArray:
        """Read "16", or "16%4" for four at a time.

        Raises:
            ScenarioError: it is neither.
        """
        match = re.fullmatch(r"([1-9]\d*)(?:%([1-9]\d*))?", text)
        if match is None:
            raise ScenarioError(f"--array {text}: give tasks, such as 16, or 16%4 for 4 at a time")
        return cls(int(match[1]), int(match[2]) if match[2] else None)

    def __str__(self) -> str:
        """The numbers of the tasks, as SLURM reads them."""
        return f"1-{self.tasks}" + (f"%{self.at_once}" if self.at_once else "")


def batch_script(
    scenario: Scenario, profile: MachineProfile, folder: Path, array: JobArray | None = None
) -> str:
    """Write the batch script that runs a scenario, from a folder, with the means of a profile.

    Raises:
        ScenarioError: the scenario is no file.
    """
    if scenario.path is None:
        raise ScenarioError("a batch job needs a scenario that is a file")
    name = job_name(scenario)
    devices = profile.gpus
    options = [
        f"--job-name={name}",
        f"--nodes={profile.nodes}",
        f"--ntasks-per-node={profile.ranks}",
        f"--cpus-per-task={profile.cpus // profile.ranks}",
        *([f"--gpus-per-node={devices}"] if devices else []),
        *([f"--mem={profile.memory}"] if profile.memory else []),
        f"--time={slurm_time(profile.time)}",
        f"--signal=B:USR1@{round(profile.warning)}",
        "--requeue",
        "--open-mode=append",
        *([f"--array={array}"] if array else []),
        f"--output={name}-{'%A-%a' if array else '%j'}.log",
        *([f"--partition={profile.partition}"] if profile.partition else []),
        *([f"--account={profile.account}"] if profile.account else []),
        *(["--exclusive"] if profile.exclusive else []),
        *profile.options,
    ]
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options), ""]
    lines += [f"cd {shlex.quote(str(folder))} || exit", *profile.setup, "", "runs=()"]
    lines += ["""trap 'kill -TERM "${runs[@]}" 2>/dev/null' USR1 TERM"""]
    lines += [f"{command} & runs+=($!)" for command in _commands(scenario, profile, array)]
    return "\n".join([*lines, "", _ENDING])


def job_name(scenario: Scenario) -> str:
    """Return the name of the job: that of the scenario's file, as far as SLURM takes it."""
    stem = "" if scenario.path is None else scenario.path.stem
    return re.sub(r"[^A-Za-z0-9._-]", "_", stem)[:64].lstrip("-.") or "seismo"


def slurm_time(seconds: float) -> str:
    """Write a duration as days-hours:minutes:seconds.

    >>> slurm_time(100000)
    '1-03:46:40'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours // 24}-{hours % 24:02d}:{minutes:02d}:{rest:02d}"


def _commands(scenario: Scenario, profile: MachineProfile, array: JobArray | None) -> list[str]:
    """Return a command for each run: one, on all ranks or GPUs, or one for each GPU of a survey."""
    file = str(scenario.path)
    file = f"./{file}" if file.startswith("-") else file  # else it would be an option
    words = [sys.executable, "-m", "seismo", "run", file, "--resume"]
    words += ["--backend", profile.backend, "--progress", str(profile.progress)]
    threads = profile.cpus // profile.ranks
    words += {"cpu": ["--threads", str(threads)]}.get(profile.backend, [])
    if profile.nodes * profile.ranks > 1:
        words = [*_STEP, f"--cpus-per-task={threads}", *words]
        return [shlex.join(words) + _shots(array, 1, 1)]
    devices = profile.gpus
    if devices <= 1:
        return [shlex.join(words) + _shots(array, 1, 1)]
    if scenario.survey is None:
        return [shlex.join([*words, "--gpus", str(devices)])]
    return [
        f"{shlex.join(words)}{_shots(array, n + 1, devices)} --device {n}" for n in range(devices)
    ]


def _shots(array: JobArray | None, number: int, count: int) -> str:
    """Return the option for a share of a task's shots, of so many, which the shell may complete."""
    if array is None:
        return f" --shots {number}/{count}" if count > 1 else ""
    share = "$SLURM_ARRAY_TASK_ID"
    if count > 1:
        share = f"$(( (SLURM_ARRAY_TASK_ID - 1) * {count} + {number} ))"
    return f' --shots "{share}/{array.tasks * count}"'
