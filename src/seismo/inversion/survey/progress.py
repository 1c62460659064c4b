"""Progress of a task: a bar on a terminal, a line for each stage in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from seismo.inversion.survey.course import TaskStage
from seismo.runs.progress import TerminalBar, clock_time

if TYPE_CHECKING:
    from rich.console import Console


class StageLines:
    """A line for each stage; use as a context manager."""

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
    """The progress bar of a task."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        super().__init__(console, 20)

    def __call__(self, stage: TaskStage) -> None:
        """Show where the task is."""
        self.show(stage.fraction, f"{stage}  {clock_time(stage.seconds)}")
