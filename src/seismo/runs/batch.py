"""Batch jobs for SLURM: a machine profile and a scenario become a script.

A machine profile is a YAML file of its own: the resources that a job asks of a cluster. SLURM asks
the script to end, before the time is up or when another job takes its place. The script asks the
runs, which stop at a checkpoint and say so by exit code 85; then it is queued again, and begins
with `--resume`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ValidationError
from pydantic_core import core_schema

from seismo.errors import CHECKPOINTED, ScenarioError
from seismo.features import acting
from seismo.output.run_directory import write_new
from seismo.runs.resources.placement import FeasibleRanks
from seismo.scenario import Scenario
from seismo.scenario.mistakes import error_messages
from seismo.scenario.quantities import Field, Integer, Name, PositiveTime, ScenarioSection, Truth
from seismo.scenario.strict_yaml import read_file

Count = Annotated[Integer, Field(ge=1, le=100_000)]


@dataclass(frozen=True)
class Matching:
    """Annotation of a text: the pattern it must match, and its description in `words`."""

    pattern: str
    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Take texts that match as a whole."""
        return core_schema.no_info_after_validator_function(self._matched, handler(source))

    def _matched(self, value: str) -> str:
        if not re.fullmatch(self.pattern, value):
            raise ValueError(f"must be {self.words}")
        return value


SbatchOption = Annotated[
    str, Matching(r"--[^\x00-\x1f]{1,500}", "an option such as --constraint=a100")
]
ShellLine = Annotated[str, Matching(r"[^\x00-\x1f]{1,2000}", "one line of shell")]
MemorySize = Annotated[
    str, Matching(r"[1-9][0-9]{0,8}[KMGT]", "a whole number with K, M, G or T, such as 64G")
]


class MachineProfile(ScenarioSection):
    """The resources of a job."""

    backend: Literal["cpu", "gpu"] = Field("cpu", description="where the run goes")
    nodes: Count = Field(1, description="nodes of the job")
    ranks: Count = Field(1, description="processes on each node; several of them share a run")
    cpus: Count = Field(4, description="cores on each node")
    gpus: Annotated[Integer, Field(ge=0, le=64)] = Field(
        0,
        description="GPUs of each node: they share the shots of a survey, or the grid of one shot; "
        "of several ranks each has one",
    )
    memory: MemorySize | None = Field(None, description="memory of the job, such as 64G")
    time: PositiveTime = Field(3600.0, description="longest time of the job on the wall")
    warning: PositiveTime = Field(
        240.0, description="so long before that end the run is asked to stop at a checkpoint"
    )
    exclusive: Truth = Field(False, description="whether the node is shared with no one")
    partition: Name | None = Field(None, description="partition to submit to")
    account: Name | None = Field(None, description="account that pays")
    options: tuple[SbatchOption, ...] = Field((), description="further options of sbatch")
    setup: tuple[ShellLine, ...] = Field(
        (), description="lines of shell run first, such as `module load cuda`"
    )
    progress: Annotated[Integer, Field(ge=1, le=100)] = Field(
        5, description="a line in the log every so many per cent"
    )


def load_profile(path: str | os.PathLike[str]) -> MachineProfile:
    """Read and check a profile.

    Raises:
        ScenarioError: it cannot be read; or every mistake in it, a line each.
    """
    file = Path(path)
    document = read_file(file)
    mistakes = []
    try:
        profile = MachineProfile.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        mistakes = error_messages.translate(error, MachineProfile, document)
    if mistakes or document.mistakes:
        raise error_messages.scenario_error(document, mistakes)
    least = {"gpu": 1}.get(profile.backend, 0)
    devices = profile.gpus
    if devices < least:
        raise ScenarioError(f"{file}: backend: {profile.backend} needs one: give gpus: {least}")
    if profile.nodes * profile.ranks > 1 and devices not in (0, profile.ranks):
        raise ScenarioError(
            f"{file}: gpus: {devices} for {profile.ranks} ranks on each node; each rank takes one: "
            f"give ranks: {devices}"
        )
    if profile.ranks > profile.cpus:
        raise ScenarioError(f"{file}: ranks: must not exceed the cores of a node (cpus)")
    if profile.warning >= profile.time:
        raise ScenarioError(f"{file}: warning: must be shorter than time ({profile.time:g} s)")
    return profile


# All ranks end where any does, and each may use its share of the cores.
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
    """Return the commands: a single run on all ranks or GPUs, or a run for each GPU of a survey."""
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
    if scenario.survey is None or _has_several_runs(scenario):
        return [shlex.join([*words, "--gpus", str(devices)])]
    return [
        f"{shlex.join(words)}{_shots(array, n + 1, devices)} --device {n}" for n in range(devices)
    ]


def _has_several_runs(scenario: Scenario) -> bool:
    """Whether ranks and GPUs share runs, each of them whole, in place of a run."""
    return bool(acting("runs", scenario))


def _shots(array: JobArray | None, number: int, count: int) -> str:
    """Return the option for a share of a task's shots, of so many, which the shell may complete."""
    if array is None:
        return f" --shots {number}/{count}" if count > 1 else ""
    share = "$SLURM_ARRAY_TASK_ID"
    if count > 1:
        share = f"$(( (SLURM_ARRAY_TASK_ID - 1) * {count} + {number} ))"
    return f' --shots "{share}/{array.tasks * count}"'


__all__ = ["JobArray", "MachineProfile", "batch_script", "load_profile", "submit", "write_script"]


def write_script(
    scenario: Scenario,
    profile: MachineProfile,
    folder: Path,
    replace: bool = False,
    array: JobArray | None = None,
) -> Path:
    """Write the batch script into a folder, where the job will run.

    Raises:
        ScenarioError: the scenario does not fit the profile, as where so many ranks cannot share
            it, or the tasks of an array its shots; or there is another script of this name, and
            `replace` is not set.
        StorageError: the script cannot be written.
    """
    _refuse_too_many(scenario, profile)
    if array is not None:
        _refuse_too_many_tasks(scenario, profile, array)
    path = folder / f"{job_name(scenario)}.sbatch"
    write_new(path, batch_script(scenario, profile, folder.resolve(), array), replace)
    return path


def _refuse_too_many_tasks(scenario: Scenario, profile: MachineProfile, array: JobArray) -> None:
    """Refuse tasks that would have no shot."""
    if _has_several_runs(scenario):
        raise ScenarioError(
            f"--array {array.tasks}: {scenario.path} is of several runs, which the ranks and GPUs "
            "of one job share: leave --array out, see gpus, ranks and nodes of the profile"
        )
    if scenario.survey is None:
        raise ScenarioError(
            f"--array {array.tasks}: {scenario.path} has one shot: its tasks share the shots of a "
            "survey; leave --array out, or see gpus, ranks and nodes of the profile"
        )
    runs = max(1, profile.gpus) if profile.nodes * profile.ranks == 1 else 1
    shots = FeasibleRanks(scenario).shots
    if array.tasks * runs > shots:
        raise ScenarioError(
            f"--array {array.tasks}: {scenario.path} has {shots} shots to share out, and each task "
            f"has {runs} run{'s' * (runs > 1)}: give {shots // runs} or fewer"
        )


def _refuse_too_many(scenario: Scenario, profile: MachineProfile) -> None:
    """Refuse a job whose run would be refused when it begins."""
    if _has_several_runs(scenario):
        return
    ranks = profile.nodes * profile.ranks
    sharers = "ranks"
    shares = profile.gpus
    settings = f"nodes: {profile.nodes}, ranks: {profile.ranks}"
    if ranks == 1 and scenario.survey is None:  # the GPUs of a node share a run too
        ranks = shares
        sharers = "GPUs"
        settings = f"gpus: {shares}"
    if max(ranks, shares) <= 1:
        return
    feasible = FeasibleRanks(scenario)
    if ranks == 1:  # each GPU has a share of the shots
        if shares > feasible.shots:
            raise ScenarioError(
                f"gpus: {shares}: {scenario.path} has {feasible.shots} shots to share out: give "
                f"{feasible.shots} or fewer"
            )
    elif not feasible.suits(ranks):
        raise ScenarioError(
            f"{settings}: {ranks} {sharers} cannot share {scenario.path}, whose grid has "
            f"{feasible.points} points with its layers: use at most {feasible.most(ranks)}; see "
            "grid.decomposition, and survey.spread of a survey"
        )


def submit(script: Path) -> str:
    """Hand a script to SLURM and give the job's number.

    Raises:
        ScenarioError: there is no SLURM here, or it refuses the job.
    """
    try:
        done = subprocess.run(
            ["sbatch", "--parsable", str(script)], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise ScenarioError(
            f"sbatch: {error.strerror}; go where SLURM is, or look at the script with --dry-run"
        ) from error
    if done.returncode:
        reason = " ".join(done.stderr.split())
        raise ScenarioError(f"{script}: sbatch refuses the job: {reason}")
    return done.stdout.strip().partition(";")[0]
