"""Commands that write files: exports, reports, converted scenarios, copies of examples."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

import typer

from seismo.cli.arguments import ForceOption, ResultsFile
from seismo.errors import ScenarioError, printable
from seismo.formats import names

_FORMATS = names("export")
FormatName = Annotated[
    str,
    typer.Argument(
        metavar="FORMAT",
        show_default=False,
        help=f"{', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}.",
    ),
]
ExportFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Folder of the files; it is made [default: next to RESULTS]."
    ),
]


def export(
    results: ResultsFile,
    format_name: FormatName = "",  # so that the formats are named where none is given
    output: ExportFolder = None,
    receivers: Annotated[
        str | None, typer.Option(metavar="NAME", help="A set of receivers [default: all].")
    ] = None,
    shot: Annotated[str | None, typer.Option(metavar="NAME", help="A shot [default: all].")] = None,
    quantity: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Such as velocity or pressure [default: all]."),
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Periods of spectra in s, such as 0.3,1,3."),
    ] = None,
    damping: Annotated[float, typer.Option(min=0.0, max=0.99, help="Damping of spectra.")] = 0.05,
) -> None:
    """Write traces, maps and fields in formats of other programs."""
    from seismo.output import export as exports
    from seismo.output.results import open_results

    if not format_name:
        raise ScenarioError(f"name a format after {results}: {', '.join(exports.FORMATS)}")
    with open_results(results) as opened:
        if opened.message:
            print(f"{results}: {opened.status}: {opened.message}", file=sys.stderr)
        for remark in exports.remarks(opened, format_name, quantity):
            print(f"{results}: {remark}", file=sys.stderr)
        for path in exports.export(
            opened, format_name, output, receivers=receivers, shot=shot, quantity=quantity,
            periods=_numbers(periods), damping=damping,
        ):  # fmt: skip
            print(path)


def report(
    results: ResultsFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The report [default: RESULTS-report.html]."),
    ] = None,
) -> None:
    """Write one HTML file about a run: scenario, figures, accuracy, resources, provenance."""
    from seismo.output.reports.html_report import write_report
    from seismo.output.results import open_results

    with open_results(results) as opened:
        print(write_report(opened, output))


def _numbers(text: str | None) -> list[float] | None:
    """Return the numbers of a list such as 0.3,1,3."""
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ScenarioError(f"--periods {text}: give numbers in s, such as 0.3,1,3") from None


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
    from seismo.formats.converted_run import convert as converted
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


def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A file, such as quickstart, or all of a kind: scenarios, configs, scripts, "
            "notebooks, ladder [default: list them].",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to copy to; it is made.")
    ] = Path(),
    force: ForceOption = False,
) -> None:
    """List scenarios, machine profiles, scripts, notebooks and the ladder, or copy them."""
    from seismo import examples as shipped

    if name is not None:
        for path in shipped.copy_examples(name, folder, force):
            print(path)
        return
    for kind, members in groupby(shipped.examples(), key=lambda example: example.kind):
        print(kind)
        # The ladder is one program, of no use in parts; its first file says what it is.
        for example in [next(members)] if kind == "ladder" else members:
            name = "ladder" if kind == "ladder" else example.name
            print(f"  {name:<30}{example.summary}".rstrip())
    print("copy one with `seismo examples NAME`, all of a kind with `seismo examples scenarios`")
