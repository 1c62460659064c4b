"""Progress of an inversion: a bar on a terminal, a line for each iteration in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from seismo.inversion.full_waveform.run import Advance
from seismo.runs.progress import clock_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


class InversionLines:
    """A line for each iteration; use as a context manager."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream."""
        self._stream = stream

    def __enter__(self) -> InversionLines:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: every line is out already."""

    def __call__(self, advance: Advance) -> None:
        """Write a line, but of iterations that are known already."""
        if not advance.replayed:
            line = f"{100 * advance.fraction:3.0f} %  {advance}  {clock_time(advance.seconds)}"
            print(line, file=self._stream, flush=True)


class InversionBar:
    """A progress bar on a terminal; use as a context manager."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.percentage:3.0f} %"), BarColumn(20), TextColumn("{task.description}"),
            console=console, transient=True,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> InversionBar:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def __call__(self, advance: Advance) -> None:
        """Show where the inversion is."""
        if self._task is None:
            self._task = self._bar.add_task("", total=1.0)
        text = f"{advance}  {clock_time(advance.seconds)}"
        self._bar.update(self._task, completed=advance.fraction, description=text)
