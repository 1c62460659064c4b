"""The commands that write results for others: formats of other programs, a report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from seismo.cli.arguments import ResultsFile
from seismo.errors import ScenarioError

FormatName = Annotated[
    str,
    typer.Argument(
        metavar="FORMAT",
        show_default=False,
        help="miniseed, asdf, sac, segy, su, netcdf, geotiff or ground-motion.",
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
    from seismo.output.export import formats
    from seismo.output.results import open_results

    if not format_name:
        raise ScenarioError(f"name a format after {results}: {', '.join(formats.FORMATS)}")
    with open_results(results) as opened:
        if opened.message:
            print(f"{results}: {opened.status}: {opened.message}", file=sys.stderr)
        for remark in formats.remarks(opened, format_name, quantity):
            print(f"{results}: {remark}", file=sys.stderr)
        for path in formats.export(
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
