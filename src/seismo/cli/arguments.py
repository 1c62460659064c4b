"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from seismo.errors import ScenarioError


def existing_scenario(path: Path) -> Path:
    """Return the path of a scenario; name the command that copies a shipped one to there."""
    if not path.exists():
        from seismo.examples import examples

        if any((e.kind, e.name) == ("scenarios", path.name) for e in examples()):
            raise ScenarioError(
                f"{path}: no such file; `seismo examples {path.stem}` copies it here"
            )
    return path


ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="The scenario, a YAML file.", callback=existing_scenario),
]
BackendName = Annotated[
    Literal["auto", "cpu", "gpu"],
    typer.Option("--backend", help="Where to run; auto: a GPU if it is faster, else the CPU."),
]
DeviceNumber = Annotated[
    int | None, typer.Option(min=0, help="Number of the GPU [default: the first supported one].")
]


def _count(text: str) -> int | str:
    if text == "auto" or (text.isdigit() and int(text) > 0):
        return text if text == "auto" else int(text)
    raise typer.BadParameter(f"{text!r}: give a number of GPUs from 1 on, or auto")


GpuCountOption = Annotated[
    Any,
    typer.Option(
        "--gpus", metavar="N|auto", parser=_count,
        help="Number of GPUs; auto: the number that is fastest [default: one].",
    ),
]  # fmt: skip
ThreadCount = Annotated[
    int | None, typer.Option(min=1, help="Threads to use on the CPU [default: all cores].")
]
ResumeOption = Annotated[
    bool | None,
    typer.Option(
        "--resume/--no-resume",
        help="Resume from a checkpoint if there is one, or start over [default: an error then].",
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="Stop at a checkpoint before this time is over, such as '4 h'."
    ),
]
AccuracyOption = Annotated[
    str | None,
    typer.Option(
        metavar="ERROR", help="Wanted error of the traces, in place of grid.accuracy: '0.5 %'."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Write a timeline next to the results (Chrome trace).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
ProgressShare = Annotated[
    int, typer.Option("--progress", min=1, max=100, help="Percentage between two lines of a log.")
]
ResultsFile = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results file (.h5).")]
