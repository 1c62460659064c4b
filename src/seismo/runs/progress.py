"""Progress of a run: how far it is, and how fast.

`Progress` is a plain record handed to any function; `Bar`, `Lines` and `NotebookBar` are such
functions, for a terminal, a log and a cell of a notebook.

A run may have a profile (`watch`): a timeline beside its results, and a line on where the time of a
step goes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from seismo.backends.base import Backend
from seismo.backends.timeline import (
    GROUPS,
    Profiled,
    SpanRecorder,
    Timeline,
    no_span,
)
from seismo.output.run_directory import write_new
from seismo.scenario.units import with_unit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


SHARE_OF_LINES = 0.05
BUSY = 0.1  # part of the processor above which other programs are worth a word
COMPILING = "compiling kernels (first run of this kind) ..."


@dataclass(frozen=True)
class WavefieldPeak:
    """Largest absolute value of a field on the grid, as the stability check finds it.

    Attributes:
        field: such as vx.
        unit: of it.
        latest: at the last check.
        largest: at all checks of the shots that advance now.
    """

    field: str
    unit: str
    latest: float
    largest: float

    def __str__(self) -> str:
        """Name both."""
        so_far = with_unit(self.largest, self.unit)
        return f"largest {self.field} {with_unit(self.latest, self.unit)} now, {so_far} so far"


@dataclass(frozen=True)
class Progress:
    """Where a run is.

    Attributes:
        phase: its activity: "device", "model", "build", "compile", "step", "checkpoint" or "done";
            "profile", "caution" or "warning".
        step: steps taken, over all batches of shots.
        steps: steps to take.
        time: simulated time in s, within the batch.
        elapsed: seconds since the first step.
        points_per_second: point updates a second; 0 before there is a number.
        share: of the bandwidth that copies reach; 0 before it has been measured.
        shots: the shots that advance now, such as "shots 1-4 of 13"; empty for a single shot.
        health: of the device (`seismo.backends.base.Backend.health`).
        note: a text: in the phase "device" where the run goes, and why.
        peak: of the wavefield; None before the first look.
        work: share of the point updates done, where steps differ in them; 0 where it is not known.
    """

    phase: str
    step: int = 0
    steps: int = 0
    time: float = 0.0
    elapsed: float = 0.0
    points_per_second: float = 0.0
    shots: str = ""
    note: str = ""
    share: float = 0.0
    health: Mapping[str, float] = field(default_factory=dict)
    peak: WavefieldPeak | None = None
    work: float = 0.0

    @property
    def fraction(self) -> float:
        """Share of the steps taken."""
        return self.step / self.steps if self.steps else 0.0

    @property
    def remaining(self) -> float:
        """Estimated seconds to the end."""
        done = self.work or self.fraction
        return self.elapsed * (1.0 / done - 1.0) if done else math.inf


Reporter = Callable[[Progress], None]
_PHASES = {
    "device": "starting",
    "model": "sampling the earth model",
    "build": "preparing",
    "compile": COMPILING,
    "done": "done",
}


_SAID = {
    "device": lambda progress: progress.note,
    "checkpoint": lambda progress: progress.note,
    "done": lambda progress: progress.note,
    "profile": lambda progress: progress.note,
    "caution": lambda progress: f"warning: {progress.note}",
    "warning": lambda progress: f"warning: {progress.note}",
    "compile": lambda progress: COMPILING,
}


def rate(points_per_second: float) -> str:
    """Format a speed: 331 Mpoint/s, 214 Gpoint/s."""
    millions = points_per_second / 1e6
    return f"{millions:.0f} Mpoint/s" if millions < 1e4 else f"{millions / 1e3:.3g} Gpoint/s"


_HEALTH: dict[str, Callable[[float], str]] = {
    "utilisation": lambda share: f"{share:.0%} busy",
    "memory": lambda size: with_unit(size, "B"),
    "power": lambda watts: f"{watts:.0f} W",
    "temperature": lambda degrees: f"{degrees:.0f} °C",
}


def facts(progress: Progress) -> str:
    """Describe where a run is, and how fast, in a line."""
    speed = progress.points_per_second
    phrases = [
        f"step {progress.step}/{progress.steps}",
        f"t = {with_unit(progress.time, 's')}",
        rate(speed) if speed else "",
        f"{progress.share:.0%} of the copy bandwidth" if progress.share else "",
        f"{clock_time(progress.remaining)} left" if progress.step < progress.steps else "",
        progress.shots,
        ", ".join(_HEALTH[n](v) for n, v in progress.health.items() if n in _HEALTH),
    ]
    return "  ".join(phrase for phrase in phrases if phrase)


def clock_time(seconds: float) -> str:
    """Format a duration: 42 s, 3 min 10 s, 2 h 05 min."""
    if not math.isfinite(seconds):
        return "unknown time"
    if seconds < 10:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


def warnings_only(progress: Progress) -> None:
    """Write a warning to stderr, and nothing else."""
    if progress.phase == "warning":
        print(_SAID["warning"](progress), file=sys.stderr, flush=True)


def label(progress: Progress) -> str:
    """Describe the activity of a run."""
    text = _SAID[progress.phase](progress) if progress.phase in _SAID else ""
    return text or _PHASES.get(progress.phase) or facts(progress)


class TerminalBar:
    """A progress bar on a terminal; use as a context manager."""

    def __init__(self, console: Console, width: int) -> None:
        """Prepare a bar of so many characters; nothing shows before the first report."""
        # Runs without a bar start sooner without rich.
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._console = console
        self._bar = RichProgress(
            TextColumn("{task.percentage:3.0f} %"), BarColumn(width),
            TextColumn("{task.description}"), console=console, transient=True,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def show(self, fraction: float, text: str) -> None:
        """Show the share that is done, and a description."""
        if self._task is None:
            self._task = self._bar.add_task("", total=1.0)
        self._bar.update(self._task, completed=fraction, description=text)


class Bar(TerminalBar):
    """The progress bar of a run."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        super().__init__(console, 30)

    def __call__(self, progress: Progress) -> None:
        """Show where the run is."""
        if progress.phase in _SAID:
            text = _SAID[progress.phase](progress)
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        self.show(progress.fraction, _PHASES.get(progress.phase) or facts(progress))


class Lines:
    """A line per so many per cent for a batch log; use as a context manager."""

    def __init__(self, stream: TextIO, share: float = SHARE_OF_LINES) -> None:
        """Write to a stream, a line for each such share of the steps."""
        self._stream = stream
        self._share = share
        self._due = share

    def __enter__(self) -> Lines:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: every line is out already."""

    def __call__(self, progress: Progress) -> None:
        """Write a line if it is due."""
        if progress.phase in _SAID:
            print(_SAID[progress.phase](progress), file=self._stream, flush=True)
        elif progress.phase == "step" and progress.fraction >= self._due - 1e-9:
            done = math.floor(progress.fraction / self._share + 1e-9)
            self._due = (done + 1) * self._share
            line = f"{100 * progress.fraction:3.0f} %  {facts(progress)}"
            print(line, file=self._stream, flush=True)


def closing_line(summary: Mapping[str, Any]) -> str:
    """Describe how fast a run was, from its summary."""
    line = (
        f"{summary['steps_taken']} steps in {clock_time(summary['elapsed_s'])}, all included; "
        f"stepping at {rate(summary['points_per_second'])}, "
        f"{summary['bytes_per_second'] / 1e9:.1f} GB/s"
    )
    share = summary.get("bandwidth_share")
    line += f", {share:.0%} of the copy bandwidth" if share else ""
    others = summary.get("share_of_others", 0.0)
    if others > BUSY:
        line += f"; other programs used {others:.0%} of the processor"
    stalled = summary.get("output_stalled_s")
    return line + (f"; {clock_time(stalled)} of waiting for the disk" if stalled else "")


def in_notebook() -> bool:
    """Whether the caller is a cell of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class NotebookBar:
    """A progress bar of HTML that is replaced by each report."""

    def __init__(self) -> None:
        """Prepare it; nothing shows before the first report."""
        self._shown: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show where the run is."""
        from IPython.display import HTML, display

        share = 1.0 if progress.phase == "done" else progress.fraction
        page = HTML(
            f'<progress value="{share:.4f}" max="1"></progress> '
            f"<code>{escape(label(progress))}</code>"
        )
        if self._shown is None:
            self._shown = display(page, display_id=True)
        else:
            self._shown.update(page)


def notebook_bar() -> Reporter | None:
    """Return a bar where there is a notebook to show it, else None."""
    return NotebookBar() if in_notebook() else None


SUFFIX = ".profile.json"
_MOST_NAMED = 6  # in a line


class Unprofiled:
    """Stand where a run is not profiled."""

    noted: SpanRecorder = staticmethod(no_span)

    def __init__(self, backend: Backend) -> None:
        """Take the backend as it is."""
        self.backend = backend

    @contextmanager
    def kept(self, results: Path, report: Reporter) -> Iterator[None]:
        """Keep no timeline of the block."""
        yield


class RunProfile(Unprofiled):
    """Own the timeline of a run; its `backend` and `noted` write to it."""

    def __init__(self, backend: Backend, several: bool) -> None:
        """Begin a timeline; of several ranks, that of the first."""
        self._timeline = Timeline()
        # A proxy that passes other attributes on to the backend.
        super().__init__(cast(Backend, Profiled(backend, self._timeline, several)))
        self.noted = self._timeline.span

    @contextmanager
    def kept(self, results: Path, report: Reporter) -> Iterator[None]:
        """Write the timeline of the block, however that ends, and report it."""
        try:
            yield
        except BaseException:
            with suppress(Exception):  # the error that ended the run counts
                self._keep(results, report)
            raise
        self._keep(results, report)

    def _keep(self, results: Path, report: Reporter) -> None:
        path = results.with_name(results.stem + SUFFIX)
        self.backend.wait()
        write_new(path, self._timeline.text(), replace=True)
        report(Progress("profile", note=f"{path}: {self._shares()}"))

    def _shares(self) -> str:
        """Describe the shares of time of the groups of a step."""
        seconds = self._timeline.seconds(GROUPS)
        total = sum(seconds.values())
        if not total:
            return "no step went group by group"
        named = [f"{name} {s / total:.0%}" for name, s in list(seconds.items())[:_MOST_NAMED]]
        return f"of a step, group by group: {', '.join(named)}"


def watch(backend: Backend, wanted: bool, several: bool) -> Unprofiled:
    """Return the profile of a run, or its stand-in where none is wanted."""
    return RunProfile(backend, several) if wanted else Unprofiled(backend)
