"""The course of a task from its start, or from its journal, to its results, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from seismo.errors import ScenarioError
from seismo.inversion.survey.journal import Journal
from seismo.inversion.survey.preparation import PreparedTask
from seismo.inversion.survey.results_file import COMPLETE, attributes_of, is_results_of
from seismo.output.run_directory import final_path
from seismo.output.run_directory.lock import Lock
from seismo.output.run_directory.partial_files import run_folder
from seismo.runs.progress import TerminalBar, clock_time

if TYPE_CHECKING:
    from rich.console import Console


class TaskStage(Protocol):
    """Where a task is; as text, a line.

    Attributes:
        seconds: since this process began to compute.
        replayed: whether the last result is of an earlier process.
    """

    seconds: float
    replayed: bool

    @property
    def fraction(self) -> float:
        """Share of the task that is done."""


StageReporter = Callable[[Any], None]


def _nothing(stage: TaskStage) -> None:
    """Report nothing."""


class StageLines:
    """A line of a log for each stage; use as a context manager."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream."""
        self._stream = stream

    def __enter__(self) -> StageLines:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: every line is out already."""

    def __call__(self, stage: TaskStage) -> None:
        """Write a line, but of stages that are known already."""
        if not stage.replayed:
            line = f"{100 * stage.fraction:3.0f} %  {stage}  {clock_time(stage.seconds)}"
            print(line, file=self._stream, flush=True)


class StageBar(TerminalBar):
    """The progress bar of a task on a terminal."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        super().__init__(console, 20)

    def __call__(self, stage: TaskStage) -> None:
        """Show where the task is."""
        self.show(stage.fraction, f"{stage}  {clock_time(stage.seconds)}")


@dataclass(frozen=True)
class TaskRequest:
    """How to run a task.

    Attributes:
        output: the results; None for those that the settings name.
        resume: True to go on where there is something to go on from, False to start over, None to
            refuse where there is.
        report: called with each `TaskStage`.
        is_stopping: asked before each step whether the run shall stop.
    """

    output: Path | None = None
    resume: bool | None = None
    report: StageReporter = _nothing
    is_stopping: Callable[[], bool] = lambda: False


J = TypeVar("J", bound=Journal)


def complete(
    prepared: PreparedTask, request: TaskRequest, journal_of: Callable[[Path], J],
    run: Callable[[J, Path], None],
) -> Path:  # fmt: skip
    """Run a task to its end, and return the path of its results.

    Args:
        prepared: the task.
        request: how to run it.
        journal_of: function of the run directory to its journal.
        run: function of the journal and the path of the results, which writes them.

    Raises:
        ScenarioError: results of something else are there, or a task that has not ended.
        StorageError: the disk is full or failing.
        StoppedError: it was asked to stop.
    """
    final = final_path(request.output or prepared.settings.results_path)
    noun = prepared.noun
    if final.exists() and final.stat().st_size and not is_results_of(final, noun):
        raise ScenarioError(f"{final}: is there and holds no {noun}; choose another name")
    folder = run_folder(final)
    with Lock(folder):
        journal = journal_of(folder)
        if journal.has_begun and request.resume is None:
            raise ScenarioError(
                f"{folder}: the {noun} here has not ended; go on with --resume, or start over "
                "with --no-resume"
            )
        if not request.resume:
            journal.clear()
        elif not journal.has_begun and _is_complete(final, prepared):
            journal.clear()
            return final
        elif not journal.has_begun and final.exists() and final.stat().st_size:
            raise ScenarioError(
                f"{final}: holds another {noun}; choose another --output, or replace it with "
                "--no-resume"
            )
        journal.begin(prepared.facts)
        run(journal, final)
        journal.clear()
    return final


def _is_complete(final: Path, prepared: PreparedTask) -> bool:
    """Whether complete results of this very task are there."""
    if not final.exists():
        return False
    attributes = attributes_of(final)
    return attributes["status"] == COMPLETE and attributes["identity"] == prepared.identity
