"""The commands of `seismo`; each imports its modules when it is called."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from seismo.cli import files, inversions, machines, runs
from seismo.cli.arguments import (
    AccuracyOption,
    BackendName,
    DeviceNumber,
    ForceOption,
    GpuCountOption,
    Quiet,
    ResultsFile,
    ResumeOption,
    ScenarioFile,
    ThreadCount,
)
from seismo.cli.task_results import task_of
from seismo.errors import ScenarioError, printable

DIFFERENT = UNCARRIED = 1


class Commands(TyperGroup):
    """The commands, with errors of arguments in plain words."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; take the words of a validator out of its errors."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            words = error.message.removeprefix("Value error, ").partition(", unable to ")[0]
            error.message = words.replace("Input should be", "must be")
            raise


app = typer.Typer(
    name="seismo",
    cls=Commands,
    help="Simulate seismic waves by finite differences, from one YAML file.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that `seismo.cli.main` reads."""


for _command in (runs.run, runs.resume, runs.submit, runs.status, runs.watch):
    app.command()(_command)


@app.command()
def check(
    file: ScenarioFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    gpus: GpuCountOption = None,
    accuracy: AccuracyOption = None,
    prices: Annotated[
        bool,
        typer.Option("--prices", help="Also list grids for other errors, and what they take."),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Choose the grid of the least error that takes no longer: '10 min'.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The same for memory: '70 GB'."),
    ] = None,
) -> None:
    """Validate a scenario; report time step, resolution, expected error, memory and run time.

    Exit code 1 if the grid does not resolve the waves; that of `run` if it would not start here.
    """
    from seismo.runs.check.budget import read_budget
    from seismo.runs.check.plan import plan_on

    budget = read_budget(within, memory)
    plan, why = plan_on((backend, device, gpus), file, accuracy, prices, budget)
    if why:
        print(why, file=sys.stderr)
    if as_json:
        print(json.dumps(plan.as_dict(), indent=1))
    else:
        from seismo.cli.machines import table_console
        from seismo.runs.check.report import print_plan

        print_plan(plan, table_console())
    if plan.exit_code or plan.errors:
        raise typer.Exit(plan.exit_code or UNCARRIED)


@app.command()
def verify(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO|CASE]...",
            help="A scenario, or words of the names of cases [default: all cases].",
        ),
    ] = None,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    threads: ThreadCount = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Results of a scenario, as of `seismo run`."),
    ] = None,
    accuracy: AccuracyOption = None,
    resume: ResumeOption = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print errors of a scenario as JSON.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Verify this installation by small runs with exact solutions, or a scenario by a finer run.

    Cases run on the CPU and, if present, on a GPU, in one to two minutes. A scenario runs as it is
    and at a finer setting; expected and measured errors of its receivers are compared. Exit code 1
    if an error exceeds its bar, or the wanted accuracy.
    """
    words = cases or []
    if not any(word.endswith((".yaml", ".yml")) for word in words):
        machines.verify_installation(words, backend, device, threads)
        return
    if len(words) > 1:
        raise ScenarioError(f"{' '.join(words)}: give a single scenario, or words of cases")
    from seismo.runs.check.plan import plan_on

    runs.verify_scenario(
        words[0], lambda scenario: plan_on((backend, device, None), scenario)[0], accuracy, output,
        as_json, quiet, backend=backend, device=device, threads=threads, resume=resume,
    )  # fmt: skip


@app.command()
def info(
    results: ResultsFile,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Also read all data and verify checksums and hash."),
    ] = False,
) -> None:
    """Describe a results file: scenario, versions, grid, steps, traces, peaks."""
    from seismo.output.results import open_any
    from seismo.runs.status import results_named, unfinished

    task = task_of(results)
    if task is not None:
        if verify:
            raise ScenarioError(f"{results}: {task.noun}s have no checksums; leave --verify out")
        with task.open(results) as of_task:
            print(*map(printable, of_task.info().split("\n")), sep="\n")
        return
    run_status = unfinished(results_named(results))
    if run_status is not None:
        print(*map(printable, str(run_status).split("\n")), sep="\n")
        if results.is_dir() or not results.exists():
            if verify:
                raise ScenarioError(f"{results}: there are no results to verify before the end")
            return
        print("It is going to replace these results:")
    with open_any(results) as opened:
        print(*map(printable, opened.info().split("\n")), sep="\n")
        if verify:
            print(f"  {'verified':<12}all {opened.verify():,} values match their checksums")


@app.command()
def compare(
    first: ResultsFile,
    second: Annotated[Path, typer.Argument(metavar="OTHER", help="Another results file.")],
) -> None:
    """Compare two results files. Exit code 1 if they are not identical."""
    from seismo.output import report
    from seismo.output.results import open_results

    with open_results(first) as first_file, open_results(second) as second_file:
        differences = list(report.compare(first_file, second_file))
    if not differences:
        raise ScenarioError(f"{first}, {second}: no arrays to compare")
    if all(array.identical for array in differences):
        print(f"identical: {len(differences)} array{'s' * (len(differences) > 1)}")
        return
    for array in differences:
        print(array)
    raise typer.Exit(DIFFERENT)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario.")],
    force: ForceOption = False,
) -> None:
    """Write a commented scenario as a starting point, NAME.yaml in the current folder."""
    from seismo.output.run_directory import write_new
    from seismo.scenario import template

    name = name.removesuffix(".yaml")
    path = Path(f"{name}.yaml")
    write_new(path, template(name), force)
    print(path)


@app.command()
def schema(
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="A key, such as sources or time.step [default: all]."),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the reference as Markdown.")
    ] = False,
) -> None:
    """Describe a key of the scenario; without a key, print the JSON schema."""
    from seismo.scenario import json_schema
    from seismo.scenario.reference import reference, reference_of

    if key is None:
        print(reference() if markdown else json.dumps(json_schema(), indent=1))
        return
    text = reference_of(key)
    if markdown:
        print(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


app.command()(inversions.invert)
app.command()(inversions.image)
app.command()(inversions.kernel)
app.command()(files.plot)
app.command()(files.paraview)
app.command()(files.convert)
app.command()(files.examples)
app.command()(files.export)
app.command()(files.report)
app.command()(machines.devices)
app.command()(machines.bench)
app.command()(machines.tune)
app.add_typer(machines.app, name="show")
