"""Runs as batch jobs: a machine profile and a scenario become a script for SLURM."""

from __future__ import annotations

import subprocess
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.output.run_directory.atomic_file import write_new
from seismo.runs.batch.profile import MachineProfile, load_profile
from seismo.runs.batch.script import JobArray, batch_script, job_name
from seismo.runs.resources.feasible_ranks import FeasibleRanks
from seismo.scenario import Scenario

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
    ranks = profile.nodes * profile.ranks
    what = "ranks"
    shares = profile.gpus
    settings = f"nodes: {profile.nodes}, ranks: {profile.ranks}"
    if ranks == 1 and scenario.survey is None:  # the GPUs of a node share a run too
        ranks = shares
        what = "GPUs"
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
            f"{settings}: {ranks} {what} cannot share {scenario.path}, whose grid has "
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
