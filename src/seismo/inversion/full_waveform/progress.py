"""Progress of an inversion: a bar on a terminal, a line for each iteration in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from seismo.inversion.full_waveform.run import Advance
from seismo.runs.progress import TerminalBar, clock_time

if TYPE_CHECKING:
    from rich.console import Console


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


class InversionBar(TerminalBar):
    """The progress bar of an inversion."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        super().__init__(console, 20)

    def __call__(self, advance: Advance) -> None:
        """Show where the inversion is."""
        self.show(advance.fraction, f"{advance}  {clock_time(advance.seconds)}")
