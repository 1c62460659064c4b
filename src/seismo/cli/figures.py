"""The commands that draw: figures of results and of scenarios, files for ParaView."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seismo.cli.arguments import ResultsFile
from seismo.errors import ScenarioError, ScenarioWarning

if TYPE_CHECKING:
    from seismo.output.results import Results


DrawnFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A results file, or a scenario that is to be run.")
]
FigureKinds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KIND]...",
        help="model, snapshot, peaks, gather, traces, spectra [default: all of these that the file "
        "has the data for]; movie, wavelets, telemetry. Of a scenario: model, wavelets.",
    ),
]
FigureOutput = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="File name of a single figure, or a folder [default: next to FILE]."
    ),
]
FigureOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="An option such as field=vz of the figures that have it; repeatable. An unknown name "
        "is an error that lists the known ones.",
    ),
]


def plot(
    results: DrawnFile, kinds: FigureKinds = None, output: FigureOutput = None,
    option: FigureOptions = None,
) -> None:  # fmt: skip
    """Draw figures of a results file, or of a scenario before it is run."""
    import matplotlib as mpl

    mpl.use("agg")
    if results.suffix in (".yaml", ".yml"):
        _plot_scenario(results, kinds, output, option)
        return
    from seismo.output.figures import KINDS, too_short
    from seismo.output.results import open_results

    settings = dict(_setting(text) for text in option or ())
    with open_results(results) as opened:
        if opened.message:
            print(f"{results}: {opened.status}: {opened.message}", file=sys.stderr)
        chosen_kinds = kinds or [name for name, kind in KINDS.items() if kind.available(opened)]
        for why in [] if kinds else map(too_short, opened.traces.values()):
            if why:
                print(f"{results}: {why}", file=sys.stderr)
        if not chosen_kinds:
            raise ScenarioError(f"{results}: has no data to draw")
        _draw(opened, chosen_kinds, output, settings, skips_empty=not kinds)
        _say_what_else(opened, chosen_kinds, settings)
        if not kinds and KINDS["snapshot"].available(opened):
            others = f"others by their names, such as the movie: seismo plot {results} movie"
            print(f"{results}: drawn are {', '.join(chosen_kinds)}; {others}", file=sys.stderr)


def _plot_scenario(
    file: Path, kinds: list[str] | None, output: Path | None, option: list[str] | None
) -> None:
    from seismo.output.figures import KINDS
    from seismo.runs.preview import PREVIEWED, preview

    chosen_kinds = kinds or list(PREVIEWED)
    for kind in chosen_kinds:
        if kind in KINDS and kind not in PREVIEWED:
            raise ScenarioError(f"plot {kind}: {file} has no waves yet; run it first")
    settings = dict(_setting(text) for text in option or ())
    with preview(file) as opened:
        _draw(opened, chosen_kinds, output or file.parent, settings)


def _draw(
    results: Results, kinds: list[str], output: Path | None, settings: dict[str, Any],
    skips_empty: bool = False,
) -> None:  # fmt: skip
    """Draw kinds of figures, each with those of the settings that it knows; print the files."""
    from seismo.output.figures import (
        EmptyFigureError,
        UnusedOptionError,
        draw,
        picture_name,
        shared,
    )

    notes_of_figures = dict[str, None]()
    for kind, options in shared(kinds, settings).items():
        name = picture_name(results, kind, options)
        try:
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", ScenarioWarning)
                print(draw(results, kind, _picture(output, name, len(kinds)), **options))
            notes_of_figures.update({str(note.message): None for note in notes})
        except (EmptyFigureError, UnusedOptionError) as error:
            if not skips_empty:
                raise
            print(f"{error}; {kind} is skipped", file=sys.stderr)
    for note in notes_of_figures:  # once of all kinds
        print(f"{results.path}: {note}", file=sys.stderr)


def _say_what_else(results: Results, kinds: list[str], settings: dict[str, Any]) -> None:
    """Print which of several shots, sets and series is shown, and how to select another."""
    from seismo.output.figures import KINDS, alternatives

    # A series such as wavefield/shot_000 is of one shot.
    fixed = settings.keys() | ({"shot"} if "/" in str(settings.get("series")) else set())
    selectable = {name for kind in kinds for name in KINDS[kind].options} - fixed
    for name, (word, choices) in alternatives(results).items():
        if name in selectable and len(choices) > 1:
            shown = f"{len(choices)} {word}, of which {choices[0]} is shown"
            another = f"another with --option {name}={choices[1]}"
            print(f"{results.path}: {shown}; {another}", file=sys.stderr)


def paraview(
    results: ResultsFile,
    kind: Annotated[
        Literal["vtkhdf", "xdmf"],
        typer.Option("--format", help="xdmf for ParaView before 5.13, and for VisIt."),
    ] = "vtkhdf",
) -> None:
    """Write files for ParaView, of all snapshots and maps."""
    from seismo.output.paraview import write_side_files
    from seismo.output.results import open_results

    with open_results(results) as opened:
        for path in write_side_files(opened, kind):
            print(path)


def _setting(text: str) -> tuple[str, Any]:
    import yaml

    name, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f"--option {text}: give NAME=VALUE, such as field=vz")
    try:
        return name.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        return name.strip(), value


def _picture(output: Path | None, name: str, count: int) -> Path | None:
    """Return the picture's file; None leaves the name to the figure."""
    if output is None:
        return None
    if output.is_dir():
        return output / name
    if count > 1:
        raise ScenarioError(f"--output {output}: {count} figures need a folder that exists")
    return output
