"""The command line: `seismo run`, `resume`, `submit`, `check`, `info`, `plot`, `new`, ...

Commands import their modules when they are called, so that `seismo --help` is quick. Every error
a user can meet is one line a mistake on stderr and an exit code of its own; a traceback needs
--debug.
"""

from __future__ import annotations

import atexit
import errno
import gc
import json
import os
import signal
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from seismo.backends.communicator import end_all
from seismo.cli import files, inversions, machines, runs
from seismo.cli.arguments import (
    BackendName,
    DeviceNumber,
    ForceOption,
    GpuCountOption,
    ResultsFile,
    ScenarioFile,
)
from seismo.cli.task_results import task_of
from seismo.errors import (
    InsufficientMemoryError,
    ScenarioError,
    SeismoError,
    StorageError,
    printable,
)

DIFFERENT = UNCARRIED = 1
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
# EAGAIN: of a pipe that is full, and shall not be waited for.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EAGAIN)
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "can't start new thread")


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


def _show_version(requested: bool) -> None:
    if requested:
        from seismo.output import package_version

        print(f"seismo {package_version('seismo')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every command; `main` reads --debug."""


for _command in (runs.run, runs.resume, runs.submit, runs.status, runs.watch):
    app.command()(_command)


@app.command()
def check(
    file: ScenarioFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    backend: BackendName = "auto",
    device: DeviceNumber = None,
    gpus: GpuCountOption = None,
) -> None:
    """Validate a scenario; report time step, resolution, expected error, memory and run time.

    Exit code 1 if the grid does not resolve the waves; that of `run` if it would not start here.
    """
    from seismo.runs.check import load_placed
    from seismo.runs.check.plan import make_plan
    from seismo.runs.resources.placement import UnplacedRun, select_backends

    run = UnplacedRun(load_placed(file))
    choices, why = select_backends(run, backend, device, gpus)
    plan = make_plan(run, choices[0], len(choices))
    if why:
        print(f"{choices[0].note}; {why}", file=sys.stderr)
    if as_json:
        print(json.dumps(plan.as_dict(), indent=1))
    else:
        from seismo.cli.machines import table_console
        from seismo.runs.check.report import print_plan

        print_plan(plan, table_console())
    if plan.exit_code or plan.errors:
        raise typer.Exit(plan.exit_code or UNCARRIED)


@app.command()
def info(
    results: ResultsFile,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Also read all data and verify checksums and hash."),
    ] = False,
) -> None:
    """Describe a results file: scenario, versions, grid, steps, traces, peaks."""
    from seismo.output.results import open_results
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
    with open_results(results) as opened:
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
app.command()(files.plot)
app.command()(files.paraview)
app.command()(files.convert)
app.command()(files.examples)
app.command()(files.export)
app.command()(files.report)
app.command()(machines.devices)
app.command()(machines.verify)
app.command()(machines.bench)
app.command()(machines.tune)
app.add_typer(machines.app, name="show")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; the entry point of `seismo`."""
    command_line = sys.argv[1:] if arguments is None else arguments
    if arguments is None and not sys.warnoptions:
        # Those of libraries help nobody on a command line; `python -W error -m seismo` shows them.
        warnings.simplefilter("ignore")
    # A batch system ends a job with SIGTERM: leave as from an error, so that nothing stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    # Imports make 100,000 objects that stay: seldom search them for unreachable ones. The last
    # search takes 0.3 s, and the process ends anyway.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    sys.exit(_call([a for a in command_line if a != "--debug"], debug="--debug" in command_line))


def _call(arguments: list[str], debug: bool) -> int:
    try:
        try:
            app(arguments, prog_name="seismo")
        finally:
            sys.stdout.flush()
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            return 0
        return end_all(partial(_code_of, error, debug))
    return 0


def _goes_nowhere(*streams: TextIO) -> None:
    """Discard output that Python flushes at exit: it cannot be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error came of too little memory, for a library or a thread of it too."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in str(error).lower() for words in _NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_closed_pipe(error: BaseException) -> bool:
    """Whether output went nowhere; Click makes an exit with code 1 of it."""
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, BrokenPipeError)


def _code_of(error: BaseException, debug: bool) -> int:
    """Print the error to stderr and return the exit code."""
    if _is_closed_pipe(error):
        _goes_nowhere(sys.stdout, sys.stderr)
        return PIPE_CLOSED
    try:
        sys.stdout.flush()
    except OSError:
        _goes_nowhere(sys.stdout)
    try:
        return _report(error, debug)
    except OSError:  # stderr has no room either
        _goes_nowhere(sys.stderr)
        return code_of(error)


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, SeismoError):
        return error.exit_code
    if _is_out_of_memory(error):
        return InsufficientMemoryError.exit_code
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        return StorageError.exit_code
    return SeismoError.exit_code


def _report(error: BaseException, debug: bool) -> int:
    """Print an error to stderr and return its exit code."""
    code = code_of(error)
    if debug and not isinstance(error, SystemExit):
        traceback.print_exception(error)
    reason = printable(" ".join(f"{type(error).__name__}: {error}".split()))
    if isinstance(error, SystemExit):
        lines = ["interrupted"] if code == INTERRUPTED else []
    elif isinstance(error, SeismoError):
        lines = [printable(line) for line in str(error).split("\n")]
    elif code == InsufficientMemoryError.exit_code:
        why = "" if isinstance(error, MemoryError) else f" ({reason})"
        lines = [f"out of memory{why}; `seismo check` reports the memory of a run"]
    elif code == StorageError.exit_code:
        where = printable(getattr(error, "filename", None) or "output")
        lines = [f"{where}: cannot be written: {os.strerror(getattr(error, 'errno', 0))}"]
    else:
        lines = [f"internal error, please report it (seismo --debug ...): {reason}"]
    for line in lines:
        print(line, file=sys.stderr)
    sys.stderr.flush()
    return code
