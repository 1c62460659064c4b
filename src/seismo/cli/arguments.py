"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

ScenarioFile = Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, a YAML file.")]
BackendName = Annotated[
    Literal["auto", "cpu", "gpu"],
    typer.Option("--backend", help="Where to run; auto takes a GPU if there is one that helps."),
]
DeviceNumber = Annotated[
    int | None, typer.Option(min=0, help="Number of the GPU [default: the first that will do].")
]


def _count(text: str) -> int | str:
    if text == "auto" or (text.isdigit() and int(text) > 0):
        return text if text == "auto" else int(text)
    raise typer.BadParameter(f"{text!r}: give a number of GPUs from 1 on, or auto")


GpuCountOption = Annotated[
    Any,
    typer.Option(
        "--gpus", metavar="N|auto", parser=_count,
        help="How many GPUs share the run; auto takes as many as help [default: one].",
    ),
]  # fmt: skip
ThreadCount = Annotated[
    int | None, typer.Option(min=1, help="Threads to use on the CPU [default: all cores].")
]
ResumeOption = Annotated[
    bool | None,
    typer.Option(
        "--resume/--no-resume",
        help="Go on from a checkpoint if there is one; or start over [default: refuse to choose].",
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="Stop at a checkpoint before this is over, such as '4 h'."
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace a file of this name that reads otherwise.")
]
ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Write a timeline beside the results (a Chrome trace).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
ProgressShare = Annotated[
    int, typer.Option("--progress", min=1, max=100, help="Per cent between two lines of a log.")
]
ResultsFile = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results file (.h5).")]
