"""The command that inverts traces for a model."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seismo.cli.arguments import BackendName, DeviceNumber, Quiet, ResumeOption, ThreadCount
from seismo.errors import printable

if TYPE_CHECKING:
    from seismo.inversion.full_waveform.run import InversionReporter


def invert(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The settings of the inversion, a YAML file.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The results [default: output of FILE, or its name with .h5]."
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check all files, report memory and time, and end there."),
    ] = False,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    resume: ResumeOption = None,
) -> None:
    """Invert observed traces for the model of a scenario (full-waveform inversion).

    Writes a model, its misfit and gradient for each iteration. Under mpiexec or srun the ranks
    share the shots.
    """
    from seismo.backends.communicator import join
    from seismo.inversion.full_waveform.plan import plan_lines
    from seismo.inversion.full_waveform.preparation import InversionMachine, PreparedInversion
    from seismo.inversion.full_waveform.run import InversionRequest
    from seismo.inversion.full_waveform.run import invert as run_inversion
    from seismo.inversion.full_waveform.settings import load_inversion
    from seismo.inversion.propagator import Propagator
    from seismo.runs.request import Signals

    ranks = join()
    machine = InversionMachine(backend, device, threads, ranks)
    prepared = PreparedInversion(load_inversion(file), Propagator, machine)
    if not ranks.first:
        if not check:
            prepared.shot_sum().serve()
        return
    if check or not quiet:
        stream = sys.stdout if check else sys.stderr
        for name, text in plan_lines(prepared):
            print(f"{name:<12}{printable(text)}", file=stream, flush=True)
    if check:
        return
    with Signals() as signals, _reporter(quiet) as report:
        signals.stepping = True
        request = InversionRequest(output, resume, report, lambda: signals.stop)
        results = run_inversion(prepared, request)
    if not quiet:
        print(results)


def _reporter(quiet: bool) -> contextlib.AbstractContextManager[InversionReporter]:
    from seismo.inversion.full_waveform.progress import InversionBar, InversionLines

    if quiet:
        return contextlib.nullcontext(lambda advance: None)
    if sys.stderr.isatty():
        from rich.console import Console

        return InversionBar(Console(stderr=True))
    return InversionLines(sys.stderr)
