"""Commands that start runs, and that observe them from outside: status and watch."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seismo.cli.arguments import (
    AccuracyOption,
    BackendName,
    DeviceNumber,
    ForceOption,
    GpuCountOption,
    ProfileOption,
    ProgressShare,
    Quiet,
    ResumeOption,
    ScenarioFile,
    ThreadCount,
    TimeLimit,
    existing_scenario,
)
from seismo.errors import ScenarioError, printable

if TYPE_CHECKING:
    from seismo.output.results import Results
    from seismo.runs.check.planned_run import PlannedRun
    from seismo.runs.progress import Reporter
    from seismo.runs.tools.convergence import ComparedRuns, Planner, SetError
    from seismo.scenario import Scenario


def run(
    file: ScenarioFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file [default: output.path of FILE, or its name with .h5].",
        ),
    ] = None,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    gpus: GpuCountOption = None,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    resume: ResumeOption = None,
    shots: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF", help="Only a share of a survey's shots: 2/4, the second of four."
        ),
    ] = None,
    member: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Only a member of an ensemble, by itself."),
    ] = None,
    time_limit: TimeLimit = None,
    progress: ProgressShare = 5,
    profile: ProfileOption = False,
    accuracy: AccuracyOption = None,
) -> None:
    """Run a scenario and write its results. Under mpiexec or srun, on all ranks together."""
    from seismo.backends.gpu.compile_server import start_early

    start_early(backend, threads)
    from seismo.backends.communicator import join
    from seismo.runs.run import run_on

    ranks = join()
    _run(
        partial(run_on, ranks), file, quiet, progress, time_limit, ranks.first, output=output,
        resume=resume, shots=shots, member=member, backend=backend, device=device, gpus=gpus,
        threads=threads, profile=profile, accuracy=accuracy,
    )  # fmt: skip


def resume(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of an unfinished run (RESULTS.run).")
    ],
    device: DeviceNumber = None,
    gpus: GpuCountOption = None,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    time_limit: TimeLimit = None,
    progress: ProgressShare = 5,
    profile: ProfileOption = False,
) -> None:
    """Resume an unfinished run from its last checkpoint, on any number of ranks."""
    from seismo.backends.gpu.compile_server import start_early

    start_early("auto", threads)
    from seismo.backends.communicator import join
    from seismo.runs.run import resume_on

    ranks = join()
    _run(
        partial(resume_on, ranks), folder, quiet, progress, time_limit, ranks.first, device=device,
        gpus=gpus, threads=threads, profile=profile,
    )  # fmt: skip


def _run(
    execute: Any, source: Path, quiet: bool, share: int, time_limit: str | None, first: bool = True,
    **keys: Any,
) -> None:  # fmt: skip
    """Run with signal handlers; on rank 0 report progress and print the results' path."""
    from seismo.runs.request import Request, Signals, silent
    from seismo.scenario import units

    try:
        limit = None if time_limit is None else units.to_si(time_limit, units.TIME)
    except units.UnitError as error:
        raise ScenarioError(f"--time-limit {time_limit}: {error}") from None
    reporter = _reporter(quiet, share / 100) if first else contextlib.nullcontext(silent)
    with Signals() as signals, reporter as report:
        request = Request(report=report, signals=signals, time_limit=limit, **keys)
        results = execute(source, request)
    if first:
        with results:
            if not quiet:
                print(results.path)


@contextlib.contextmanager
def _reporter(quiet: bool, share: float = 0.05) -> Iterator[Reporter]:
    from rich.console import Console

    from seismo.runs.progress import (
        Bar,
        Lines,
        warnings_only,
    )

    if quiet:
        yield warnings_only
        return
    lines = Lines(sys.stderr, share)
    with Bar(Console(stderr=True)) if sys.stderr.isatty() else lines as report:
        yield report


def submit(
    file: ScenarioFile,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A machine profile, such as configs/one_gpu.yaml."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the batch script without submitting it.")
    ] = False,
    array: Annotated[
        str | None,
        typer.Option(
            metavar="N[%M]",
            help="Share the shots of a survey out to N tasks of a job array, M at a time.",
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a batch script for SLURM that runs a scenario to its end, and submit it."""
    from seismo.runs import batch as jobs
    from seismo.runs.check import load_placed

    machine_profile = jobs.MachineProfile() if profile is None else jobs.load_profile(profile)
    tasks = None if array is None else jobs.JobArray.read(array)
    script = jobs.write_script(load_placed(file), machine_profile, Path(), force, tasks)
    print(script if dry_run else f"{script}: job {jobs.submit(script)}")


MISSED = 1  # exit code of `verify` where a measured error exceeds the wanted accuracy


def verify_scenario(
    name: str, plan: Planner, accuracy: str | None, output: Path | None, as_json: bool,
    quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Run a scenario and a finer one, after the cost of both was printed; print the errors."""
    from seismo.runs.tools.convergence import finer_path, measured_errors, plan_comparison

    comparison = plan_comparison(existing_scenario(Path(name)), plan, accuracy)
    path = output or comparison.scenario.results_path or Path("results.h5")
    finer = finer_path(path)
    if not quiet:
        print(f"this run   {_cost(comparison.coarse)}; to {path}", file=sys.stderr)
        print(f"finer run  {_cost(comparison.fine)}; to {finer}", file=sys.stderr)
    coarse = _verified(comparison.scenario, quiet, output=path, **options)
    fine = _verified(comparison.finer, quiet, output=finer, **options)
    with coarse, fine:
        errors = list(measured_errors(comparison, coarse, fine))
    if as_json:
        rows = {"receivers": [error.as_dict() for error in errors]}
        print(json.dumps(comparison.as_dict() | rows, indent=1))
    else:
        print("\n".join(_lines(comparison, errors)))
    if any(error.measured > comparison.wanted for error in errors):
        raise typer.Exit(MISSED)


def _verified(scenario: Scenario, quiet: bool, **options: Any) -> Results:
    """Run one of two runs that are compared."""
    from seismo.backends.communicator import SerialCommunicator
    from seismo.runs.request import Request, Signals
    from seismo.runs.run import run_on

    with Signals() as signals, _reporter(quiet) as report:
        request = Request(report=report, signals=signals, **options)
        results = run_on(SerialCommunicator(), scenario, request)
    assert results is not None  # there is no other rank
    return results


def _cost(plan: PlannedRun) -> str:
    from seismo.runs.check.budget import duration
    from seismo.scenario.units import with_unit

    run = plan.discretization
    return (
        f"grid.spacing {max(run.waves.spacing):.6g} m, {run.points / 1e6:.3g} million points, "
        f"{run.clock.steps} steps, about {duration(plan.seconds)}, "
        f"{with_unit(plan.largest_need, 'B')}"
    )


def _lines(comparison: ComparedRuns, errors: list[SetError]) -> Iterator[str]:
    """Yield the table of sets of receivers, and the result."""
    from seismo.runs.prediction.lines import percent

    width = max(len(error.name) for error in errors)
    yield f"{'receivers':<{max(width, 9)}}{'expected':>12}{'measured':>12}   worst receiver"
    for error in errors:
        yield (
            f"{error.name:<{max(width, 9)}}{percent(error.expected):>12}"
            f"{percent(error.measured):>12}   {error.receiver} ({error.quantity})"
        )
    yield f"the finer run itself is expected to err by {percent(comparison.fine.expected.error)}"
    for name, share in comparison.shared:
        yield f"both runs are expected to err alike by {name} ({percent(share)}): that comes on top"
    missed = sum(error.measured > comparison.wanted for error in errors)
    wanted = percent(comparison.wanted)
    if missed:
        yield f"{missed} of {len(errors)} measured errors exceed {wanted} (grid.accuracy)"
    else:
        yield f"all measured errors keep to {wanted} (grid.accuracy)"


_RUN = "A results file, a run folder (RESULTS.run) or a scenario."
LOST = 1  # exit code of `watch` where a run left nothing


def status(
    names: Annotated[list[Path], typer.Argument(metavar="RUN...", help=_RUN)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Report how far runs are: step, speed, time left, peaks, last checkpoint, dead or alive."""
    from seismo.runs.status import status_of

    states = [state for name in names for state in status_of(name)]
    if as_json:
        print(json.dumps([state.as_dict() for state in states], indent=1))
        return
    for state in states:
        print(*map(printable, str(state).split("\n")), sep="\n")


def watch(
    name: Annotated[Path, typer.Argument(metavar="RUN", help=_RUN)],
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 5.0,
) -> None:
    """Follow a run to its end, a line at each look; on a terminal the line is overwritten.

    Ends with the exit code of the run; 1 where it died or failed.
    """
    from seismo.runs.status import status_of

    overwrite = sys.stdout.isatty()
    states = status_of(name)
    while any(state.running for state in states):
        line = printable("; ".join(state.line for state in states))
        if overwrite:
            print(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}", end="", flush=True)
        else:
            print(line, flush=True)
        time.sleep(every)
        try:
            states = status_of(name)
        except ScenarioError as error:
            print("\n" * overwrite + str(error), file=sys.stderr)
            raise typer.Exit(LOST) from None
    if overwrite:
        print("\r\x1b[K", end="")
    for state in states:
        print(*map(printable, str(state).split("\n")), sep="\n")
    raise typer.Exit(max(state.exit_code for state in states))
