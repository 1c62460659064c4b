"""Commands about machines: devices, benchmarks, tuning, compiled kernels."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from seismo.cli.arguments import BackendName, DeviceNumber, ScenarioFile
from seismo.errors import DeviceError

WIDE = 160  # columns of a table that goes to a file or another program


def table_console() -> Any:
    """Return the console of standard output, wide where no terminal or COLUMNS sets its width.

    Rich would cut tables to 80 columns there.
    """
    from rich.console import Console

    is_set = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if is_set else WIDE)


WRONG = 1  # exit code of `verify`


def devices() -> None:
    """List devices, missing components, and the choice of --backend auto."""
    from seismo.backends.gpu.detect import detect
    from seismo.backends.select import report

    for line in report(detect()):
        print(line)


def verify_installation(
    words: list[str], backend: str, device: int | None, threads: int | None
) -> None:
    """Compare small runs with exact solutions; exit code 1 if an error exceeds its bar."""
    from seismo.runs.run import run_on
    from seismo.runs.tools import verification

    selected = verification.select_cases(words)
    missed = 0
    print(f"{'case':<44}{'backend':<9}{'error':>9}{'bar':>8}{'time':>8}")
    for target in verification.targets_of(backend, device, threads):
        print(target.note, file=sys.stderr)
        for verdict in verification.verify(selected, target, run_on):
            print(verdict, flush=True)
            missed += not verdict.passed
    if missed:
        print(f"{missed} of the errors exceed their bars: do not trust results of this machine")
        raise typer.Exit(WRONG)
    print("all errors are below their bars")


BenchmarkCases = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CASE]...",
        help="W1 to W5 [default on CPUs], G1 to G31 [default on GPUs], or a 3-D scenario of "
        "`seismo examples`, such as loh1; of the ladder its rows.",
    ),
]


def bench(
    cases: BenchmarkCases = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times each case is measured.")] = 3,
    output: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON too.")
    ] = None,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    ladder: Annotated[
        bool,
        typer.Option("--ladder", help="Measure the gain of each optimisation instead."),
    ] = False,
) -> None:
    """Measure the speed of this machine, and its memory bandwidth."""
    from seismo.backends.select import choose

    pass
    from seismo.runs.tools import bench as benchmarks

    if ladder:
        _climb(cases or [], output, lambda: choose(backend, device))
        return
    benchmarks.select(cases or ())
    choice = choose(backend, device)
    names = cases or benchmarks.usual(choice)
    print(choice.note, file=sys.stderr)
    yardstick = benchmarks.yardstick(choice)
    measurements: list[benchmarks.Row] = []
    for measurement in benchmarks.run_cases(names, repeats, yardstick, choice):
        measurements.append(measurement)
        print(
            f"{measurement.case}: {measurement.mpoints_per_s:.0f} million points/s",
            file=sys.stderr,
            flush=True,
        )
        if output is not None:
            benchmarks.write_json(output, measurements, yardstick, choice)
    benchmarks.print_table(measurements, table_console())
    print(f"memory bandwidth {yardstick.best:.1f} GB/s")


def _climb(row_names: list[str], output: Path | None, choose_backend: Callable[[], Any]) -> None:
    """Measure rows of the ladder."""
    from rich.console import Console

    pass
    from seismo.runs.tools.bench import find_ladder

    report = find_ladder()
    report.chosen(row_names)
    choice = choose_backend()
    print(choice.note, file=sys.stderr)
    rows = report.climb(choice, row_names, output, Console(stderr=True))
    report.print_rows(rows, table_console())


def tune(
    physics: Annotated[
        str | None,
        typer.Argument(
            metavar="PHYSICS",
            help="Equation of the cases to time; others follow that of their kind [default: all].",
        ),
    ] = None,
    dimensions: Annotated[
        Literal["2", "3"] | None, typer.Option(help="Of the grid [default: both].")
    ] = None,
    order: Annotated[
        Literal["4", "8", "12", "16"] | None,
        typer.Option(help="Of the differences; others use the closest [default: 4 and 8]."),
    ] = None,
    device: DeviceNumber = None,
) -> None:
    """Find the fastest thread layouts of a GPU and store them for later runs."""
    from seismo.backends.gpu.backend import GpuBackend
    from seismo.backends.gpu.sweeps.layouts import keep_shapes, shapes_file
    from seismo.backends.select import choose
    from seismo.runs.tools.bench import tune as tuning
    from seismo.runs.tools.bench.cases import TUNED

    if physics not in (None, *TUNED):
        raise typer.BadParameter(f"{physics} is not timed; there are {', '.join(TUNED)}")
    equations = [name for name in TUNED if physics in (None, name)]
    axes = [a for a in tuning.BOXES if dimensions in (None, str(len(a)))]
    orders = [int(order)] if order else list(tuning.ORDERS)
    choice = choose("gpu", device)
    print(choice.note, file=sys.stderr)
    backend = cast(GpuBackend, choice.make("float32"))
    card = backend.card
    shapes = backend.shapes
    for event in _with_bar(tuning.tune(card, shapes, product(equations, axes, orders))):
        if isinstance(event, tuning.Tuned):
            keep_shapes(card.name, shapes)
        print(event, flush=True)
    print(shapes_file(card.name))


def _with_bar(events: Iterable[Any]) -> Iterator[Any]:
    """Show on a bar how far tuning has come; yield all events but trials."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from seismo.runs.tools.bench import tune as tuning

    columns = (
        BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    )  # fmt: skip
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()
    ) as bar:
        task = bar.add_task("")
        for event in events:
            match event:
                case tuning.Wave():
                    bar.update(task, completed=0, total=event.layouts, description="compiling")
                case tuning.Trial():
                    bar.update(task, completed=event.number, description=str(event))
                    continue
            yield event


# Compute capabilities that CUDA 13.0 compiles for.
OLDEST = (7, 5)
NEWEST = (12, 1)

app = typer.Typer(no_args_is_help=True)


@app.callback()
def show() -> None:
    """Show the parts of a run."""


@app.command()
def kernel(
    scenario: ScenarioFile,
    number: Annotated[
        int | None,
        typer.Argument(metavar="[NUMBER]", help="Print the PTX of this one [default: a table]."),
    ] = None,
    architecture: Annotated[
        str, typer.Option("--architecture", help="Of the GPU: 9.0 is Hopper, 8.0 Ampere.")
    ] = "9.0",
) -> None:
    """List the GPU kernels of a scenario: registers, loads and stores, bytes; or print their PTX.

    They are compiled here; no GPU is needed.
    """
    from seismo.backends.gpu.detect import refuse_without_compiler
    from seismo.runs.check import load_placed

    version = re.fullmatch(r"(\d+)\.?(\d)", architecture)
    target = (int(version[1]), int(version[2])) if version else (0, 0)
    if not OLDEST <= target <= NEWEST:
        oldest, newest = (".".join(map(str, limit)) for limit in (OLDEST, NEWEST))
        raise DeviceError(f"--architecture {architecture}: give a number from {oldest} to {newest}")
    refuse_without_compiler()
    from seismo.backends.gpu.code_cache import compile_ptx
    from seismo.runs.tools.kernels import facts_of, launched

    requests = launched(load_placed(scenario), target)
    if number is not None:
        if not 1 <= number <= len(requests):
            raise DeviceError(f"kernel {number}: there are 1 to {len(requests)}")
        print(compile_ptx(requests[number - 1]))
        return
    print(
        f"{'':>3} {'kernel':<28}{'points':<38}{'block, planes':<18}{'registers':>9}{'spilled':>8}"
        f"{'loads':>6}{'stores':>7}{'bytes a point':>14}"
    )
    for n, one in enumerate(map(facts_of, requests), 1):
        print(
            f"{n:>3} {one.name:<28}{one.where:<38}{one.layout:<18}{one.registers:>9}"
            f"{one.spilled:>8}{one.loads:>6}{one.stores:>7}{one.moved or '':>14}"
        )
