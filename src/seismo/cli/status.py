"""The commands that look at runs from outside: status and watch."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from seismo.errors import ScenarioError, printable

_RUN = "A results file, a run folder (RESULTS.run) or a scenario."
LOST = 1  # exit code of `watch` where a run left nothing


def status(
    names: Annotated[list[Path], typer.Argument(metavar="RUN...", help=_RUN)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Report how far runs are: step, speed, time left, peaks, last checkpoint, dead or alive."""
    from seismo.runs.reporting.status import status_of

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
    from seismo.runs.reporting.status import status_of

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
