"""The commands about machines: what there is to compute on, and how fast it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from seismo.cli.arguments import BackendName, DeviceNumber


def devices() -> None:
    """Say what there is to compute on, what is missing, and where --backend auto would go."""
    from seismo.backends.cuda_facts import look
    from seismo.backends.devices import report

    for line in report(look()):
        print(line)


def bench(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE]...",
            help="W1 to W5 [default on CPUs], G1 to G8 [default on GPUs]; of the ladder its rows.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times each case is measured.")] = 3,
    output: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON too.")
    ] = None,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    ladder: Annotated[
        bool,
        typer.Option(
            "--ladder", help="Measure what each optimisation is worth instead (in the sources)."
        ),
    ] = False,
) -> None:
    """Measure how fast this machine steps, beside its memory bandwidth."""
    from seismo import bench as benchmarks
    from seismo.backends.choice import choose

    if ladder:
        _climb(cases or [], output, lambda: choose(backend, device))
        return
    benchmarks.select(cases or ())
    choice = choose(backend, device)
    names = cases or benchmarks.usual(choice)
    print(choice.note, file=sys.stderr)
    yardstick = benchmarks.yardstick(choice)
    rows: list[benchmarks.Row] = []
    for row in benchmarks.run_cases(names, repeats, yardstick, choice):
        rows.append(row)
        print(f"{row.case}: {row.mpoints_per_s:.0f} million points/s", file=sys.stderr, flush=True)
        if output is not None:
            benchmarks.write_json(output, rows, yardstick, choice)
    benchmarks.print_table(rows)
    print(f"memory bandwidth {yardstick.best:.1f} GB/s")


def _climb(rows: list[str], output: Path | None, chosen: Callable[[], Any]) -> None:
    """Measure rows of the ladder."""
    from rich.console import Console

    from seismo.bench import ladder

    report = ladder.find()
    report.chosen(rows)
    choice = chosen()
    print(choice.note, file=sys.stderr)
    report.print_rows(report.climb(choice, rows, output, Console(stderr=True)), Console())
