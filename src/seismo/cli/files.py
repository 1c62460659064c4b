"""Commands that draw and write files: figures, exports, reports, converted scenarios, examples."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seismo.cli.arguments import ForceOption, ResultsFile
from seismo.cli.task_results import TaskResults, task_of
from seismo.errors import ScenarioError, ScenarioWarning, printable
from seismo.formats import names

if TYPE_CHECKING:
    from seismo.output.figures import FigureKind
    from seismo.output.results import Results
    from seismo.output.run_results import RunResults

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
    task = task_of(results)
    if task is not None:
        _plot_task(results, task, kinds, output, option)
        return
    from seismo.output.run_results import feature_results

    settings = dict(_setting(text) for text in option or ())
    if (other := feature_results(results)) is not None:
        figures = other.figures()
        with other.reader(results) as opened:
            _draw(opened, kinds or list(figures), output, settings, not kinds, figures)
        return
    from seismo.output.figures import KINDS, too_short
    from seismo.output.results import open_results

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


def _plot_task(
    file: Path, task: TaskResults, kinds: list[str] | None, output: Path | None,
    option: list[str] | None,
) -> None:  # fmt: skip
    from seismo.inversion.survey.section_figure import draw_kind

    if option:
        raise ScenarioError(f"--option {option[0]}: figures of {task.noun}s have no options")
    chosen_kinds = kinds or list(task.figures())
    with task.open(file) as opened:
        for kind in chosen_kinds:
            name = f"{file.stem}-{kind}.png"
            picture = _picture(output, name, len(chosen_kinds))
            print(draw_kind(opened, task.noun, task.figures(), kind, picture))


def _draw(
    results: RunResults, kinds: list[str], output: Path | None, settings: dict[str, Any],
    skips_empty: bool = False, figures: Mapping[str, FigureKind] | None = None,
) -> None:  # fmt: skip
    """Draw kinds of figures, each with the settings that it knows; print the files."""
    from seismo.output.figures import (
        KINDS,
        EmptyFigureError,
        UnusedOptionError,
        draw,
        picture_name,
        shared,
    )

    notes_of_figures = dict[str, None]()
    known = KINDS if figures is None else figures
    for kind, options in shared(kinds, settings, known).items():
        name = picture_name(results, kind, options, known)
        try:
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", ScenarioWarning)
                print(draw(results, kind, _picture(output, name, len(kinds)), known, **options))
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

    # A series such as wavefield/shot_000 belongs to a shot.
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
    """Write an HTML file about a run: scenario, figures, accuracy, resources, provenance."""
    from seismo.output.html_report import write_report
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


def convert(
    source: ConvertedInput, output: ConvertedOutput = None, axes: ArrayAxes = None,
    units: VelocityUnits = None, force: ForceOption = False,
) -> None:  # fmt: skip
    """Make a scenario of a run of another program; list what cannot be carried over, and why.

    Exit code 1 if that alters the earth or a source.
    """
    from seismo.formats.converted_run import convert as converted
    from seismo.output.run_directory import write_file, write_new
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
        # The ladder is a single program, of no use in parts, described in its first file.
        for example in [next(members)] if kind == "ladder" else members:
            name = "ladder" if kind == "ladder" else example.name
            print(f"  {name:<30}{example.summary}".rstrip())
    print("copy one with `seismo examples NAME`, all of a kind with `seismo examples scenarios`")
