"""The command that makes a scenario of another program's input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from seismo.cli.arguments import ForceOption
from seismo.errors import ScenarioError, printable

ALTERED = 1  # exit code

ConvertedInput = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT", help="Input file of SW4, run folder of SPECFEM3D, or .npz of arrays."
    ),
]
ConvertedOutput = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="NAME.yaml", help="The scenario [default: INPUT's name]."
    ),
]
ArrayAxes = Annotated[
    Literal["zx", "xz", "zyx", "zxy", "yzx", "yxz", "xzy", "xyz"] | None,
    typer.Option(help="Axes of the arrays of an .npz [default: zx, or zyx]."),
]
VelocityUnits = Annotated[
    Literal["m/s", "km/s"] | None,
    typer.Option(help="Units of its velocities [default: by their size]."),
]


def convert(
    source: ConvertedInput, output: ConvertedOutput = None, axes: ArrayAxes = None,
    units: VelocityUnits = None, force: ForceOption = False,
) -> None:  # fmt: skip
    """Make a scenario of a run of another program; list what cannot be carried over, and why.

    Exit code 1 if the earth or a source is another one by it.
    """
    from seismo.formats.conversion.convert import convert as converted
    from seismo.output.run_directory.atomic_file import write_file, write_new
    from seismo.scenario import load

    named = Path(os.path.realpath(source))
    if named.name == "Par_file":
        named = named.parents[1]  # the run of its folder DATA
    target = output or Path(f"{named.stem}.yaml")
    run = converted(source, target, axes, units)
    if not force and (occupied := run.occupied()):
        raise ScenarioError(f"{occupied[0]}: exists with other content; use --force to replace it")
    write_new(target, run.text(), force)
    for name, content in run.side_files.items():
        write_file(target.parent / name, content)
        print(target.parent / name)
    print(target)
    for message in run.messages():
        print(printable(message), file=sys.stderr)
    if run.left_out:
        count = len(run.left_out)
        print(f"{target}: {count} not carried over (listed in it, too)", file=sys.stderr)
    try:
        load(target)
    except ScenarioError as error:
        problem = f"{target}: was written, and needs your hand before it runs:"
        raise ScenarioError(problem, *error.messages) from None
    if run.is_altered:
        raise typer.Exit(ALTERED)
