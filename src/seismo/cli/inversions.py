"""The commands that invert and migrate traces, and compute their sensitivity kernels."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seismo.cli.arguments import BackendName, DeviceNumber, Quiet, ResumeOption, ThreadCount
from seismo.errors import printable

if TYPE_CHECKING:
    from seismo.inversion.survey.course import StageReporter, TaskRequest
    from seismo.inversion.survey.preparation import PreparedTask, SurveyMachine

SettingsFile = Annotated[Path, typer.Argument(metavar="FILE", help="The settings, a YAML file.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="The results [default: output of FILE, or its name with .h5]."
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option("--check", help="Check all files, report memory and time, and end there."),
]


def invert(
    file: SettingsFile, output: OutputOption = None, check: CheckOption = False,
    backend: BackendName = "auto", device: DeviceNumber = None, threads: ThreadCount = None,
    quiet: Quiet = False, resume: ResumeOption = None,
) -> None:  # fmt: skip
    """Invert observed traces for the model of a scenario (full-waveform inversion).

    Writes a model, its misfit and gradient for each iteration. Under mpiexec or srun the ranks
    share the shots.
    """
    from seismo.inversion.full_waveform.preparation import PreparedInversion
    from seismo.inversion.full_waveform.run import invert as run_inversion
    from seismo.inversion.full_waveform.settings import load_inversion
    from seismo.inversion.propagator import Propagator

    machine = _machine(backend, device, threads)
    prepared = PreparedInversion(load_inversion(file), Propagator, machine)
    _carry_out(prepared, run_inversion, output, check, quiet, resume)


def image(
    file: SettingsFile, output: OutputOption = None, check: CheckOption = False,
    backend: BackendName = "auto", device: DeviceNumber = None, threads: ThreadCount = None,
    quiet: Quiet = False, resume: ResumeOption = None,
) -> None:  # fmt: skip
    """Make an image of contacts from observed traces (reverse-time migration).

    Under mpiexec or srun the ranks share the shots.
    """
    from seismo.inversion.imaging.migration import PreparedMigration
    from seismo.inversion.imaging.run import add_shots
    from seismo.inversion.imaging.settings import load_migration
    from seismo.inversion.propagator import Propagator

    machine = _machine(backend, device, threads)
    prepared = PreparedMigration(load_migration(file), Propagator, machine)
    _carry_out(prepared, add_shots, output, check, quiet, resume)


def kernel(
    file: SettingsFile, output: OutputOption = None, check: CheckOption = False,
    backend: BackendName = "auto", device: DeviceNumber = None, threads: ThreadCount = None,
    quiet: Quiet = False, resume: ResumeOption = None,
) -> None:  # fmt: skip
    """Compute sensitivity kernels of travel times, amplitudes or waveforms by the model.

    Under mpiexec or srun the ranks share the shots.
    """
    from seismo.inversion.imaging.kernels import PreparedKernel
    from seismo.inversion.imaging.run import add_shots
    from seismo.inversion.imaging.settings import load_kernel
    from seismo.inversion.propagator import Propagator

    machine = _machine(backend, device, threads)
    prepared = PreparedKernel(load_kernel(file), Propagator, machine)
    _carry_out(prepared, add_shots, output, check, quiet, resume)


def _machine(backend: str, device: int | None, threads: int | None) -> SurveyMachine:
    from seismo.backends.communicator import join
    from seismo.inversion.survey.preparation import SurveyMachine

    return SurveyMachine(backend, device, threads, join())


def _carry_out(
    prepared: PreparedTask, run: Callable[[Any, TaskRequest], Path], output: Path | None,
    check: bool, quiet: bool, resume: bool | None,
) -> None:  # fmt: skip
    """Print the plan of a task, and run it unless it is to be checked only."""
    from seismo.inversion.survey.course import TaskRequest
    from seismo.runs.request import Signals

    if not prepared.machine.ranks.first:
        if not check:
            prepared.shot_sum().serve()
        return
    if check or not quiet:
        stream = sys.stdout if check else sys.stderr
        for name, text in prepared.plan_lines():
            print(f"{name:<12}{printable(text)}", file=stream, flush=True)
    if check:
        return
    with Signals() as signals, _reporter(quiet) as report:
        signals.stepping = True
        request = TaskRequest(output, resume, report, lambda: signals.stop)
        results = run(prepared, request)
    if not quiet:
        print(results)


def _reporter(quiet: bool) -> contextlib.AbstractContextManager[StageReporter]:
    from seismo.inversion.survey.course import StageBar, StageLines

    if quiet:
        return contextlib.nullcontext(lambda stage: None)
    if sys.stderr.isatty():
        from rich.console import Console

        return StageBar(Console(stderr=True))
    return StageLines(sys.stderr)
