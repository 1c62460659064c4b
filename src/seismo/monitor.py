"""What is watched while a run steps: how far it is, how fast, and whether it blows up.

`Progress` is a plain record handed to any function; `Bar` and `Lines` are two such functions, for a
terminal and for a log. `Watch` looks for a wavefield that grows without reason. An instability
grows by a factor at every step and spreads, so that looking at every few planes every `EVERY` steps
finds it soon; the exact place is sought only then.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

from seismo.errors import UnstableError
from seismo.grid import AXES, Box, Triple, triple
from seismo.output.quantities import with_unit
from seismo.ranks import Alone

EVERY = 50  # steps between two looks
GROWTH = 1e3  # by focusing, a wavefield may exceed what it was while its sources acted
OVERFLOW = 1e30  # near the end of float32
SHARE_OF_LINES = 0.05
BUSY = 0.1  # part of the processor above which other programs are worth a word
COMPILING = "compiling kernels (first run of this kind) ..."

Index = Triple  # x, y, z
Pieces = Iterable[tuple[Box, Any]]  # owned points, and what gives arrays where it is indexed


@dataclass(frozen=True)
class Progress:
    """Where a run is.

    Attributes:
        phase: what it does: "device", "model", "build", "compile", "step", "checkpoint" or "done";
            "profile", "caution" or "warning".
        step: steps taken, over all batches of shots.
        steps: steps to take.
        time: simulated time in s, within the batch.
        elapsed: seconds since the first step.
        points_per_second: point updates a second; 0 before there is a number.
        share: of the bandwidth that copies reach; 0 before it has been measured.
        shots: the shots that advance now, such as "shots 1-4 of 13"; empty with one.
        health: of the device (`seismo.backends.base.Backend.health`).
        note: what to say: in the phase "device" where the run goes, and why.
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

    @property
    def fraction(self) -> float:
        """Share of the steps taken."""
        return self.step / self.steps if self.steps else 0.0

    @property
    def remaining(self) -> float:
        """Estimated seconds to the end."""
        return self.elapsed * (1.0 / self.fraction - 1.0) if self.fraction else math.inf


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


def _facts(progress: Progress) -> str:
    speed = progress.points_per_second
    parts = [
        f"step {progress.step}/{progress.steps}",
        f"t = {with_unit(progress.time, 's')}",
        rate(speed) if speed else "",
        f"{progress.share:.0%} of the copy bandwidth" if progress.share else "",
        f"{clock_time(progress.remaining)} left" if progress.step < progress.steps else "",
        progress.shots,
        ", ".join(_HEALTH[n](v) for n, v in progress.health.items() if n in _HEALTH),
    ]
    return "  ".join(part for part in parts if part)


def clock_time(seconds: float) -> str:
    """Format a duration: 42 s, 3 min 10 s, 2 h 05 min."""
    if not math.isfinite(seconds):
        return "unknown time"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def warnings_only(progress: Progress) -> None:
    """Write a warning to stderr, and nothing else."""
    if progress.phase == "warning":
        print(_SAID["warning"](progress), file=sys.stderr, flush=True)


class Bar:
    """A progress bar on a terminal; use as a context manager."""

    def __init__(self, console: Console) -> None:
        """Prepare the bar; nothing shows before the first report."""
        self._console = console
        self._bar = RichProgress(
            TextColumn("{task.percentage:3.0f} %"), BarColumn(30), TextColumn("{task.description}"),
            console=console, transient=True,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show where the run is."""
        if progress.phase in _SAID:
            text = _SAID[progress.phase](progress)
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        if self._task is None:
            self._task = self._bar.add_task("", total=1.0)
        text = _PHASES.get(progress.phase) or _facts(progress)
        self._bar.update(self._task, completed=progress.fraction, description=text)


class Lines:
    """One line per so many per cent for a batch log; use as a context manager."""

    def __init__(self, stream: TextIO, share: float = SHARE_OF_LINES) -> None:
        """Write to a stream, a line for each such share of the steps."""
        self._stream, self._share, self._due = stream, share, share

    def __enter__(self) -> Lines:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: every line is out already."""

    def __call__(self, progress: Progress) -> None:
        """Write a line if one is due."""
        if progress.phase in _SAID:
            print(_SAID[progress.phase](progress), file=self._stream, flush=True)
        elif progress.phase == "step" and progress.fraction >= self._due - 1e-9:
            done = math.floor(progress.fraction / self._share + 1e-9)
            self._due = (done + 1) * self._share
            line = f"{100 * progress.fraction:3.0f} %  {_facts(progress)}"
            print(line, file=self._stream, flush=True)


def closing_line(summary: dict[str, Any]) -> str:
    """Say how fast a run was, from its summary."""
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


class Watch:
    """Look for a wavefield that blows up.

    The machine searches while it steps on; what it found is judged `Backend.looks_ahead` looks
    later, so that nobody waits.
    """

    def __init__(self, simulation: Any, field: str, quiet_after: float) -> None:
        """Watch one field.

        Args:
            simulation: what steps.
            field: name of a field that every instability reaches.
            quiet_after: time in s after which all sources are silent.
        """
        self.field = field
        self._simulation, self._quiet_after = simulation, quiet_after
        self._grid, self._dt = simulation.setup.grid, simulation.dt
        self._ahead = simulation.backend.looks_ahead
        self._looks: deque[tuple[int, Callable[[], tuple[float, Index]]]] = deque()
        self._good, self._place = 0, (0, 0, 0)
        self._peak = 0.0

    def found(self) -> dict[str, Any]:
        """Give what the looks so far have found, as JSON holds it."""
        return {"good": self._good, "place": list(self._place), "peak": self._peak}

    def recall(self, found: dict[str, Any]) -> None:
        """Go on from what an earlier watch has found."""
        self._good, self._peak = found["good"], found["peak"]
        self._place = triple(found["place"])

    def look(self, step: int) -> None:
        """Begin to look at the field after a step, and judge earlier looks.

        Raises:
            UnstableError: the field is NaN, infinite or far larger than its sources made it.
        """
        self._looks.append((step, self._simulation.largest(self.field)))
        while len(self._looks) > self._ahead:
            self._judge()

    def finish(self) -> None:
        """Judge all looks.

        Raises:
            UnstableError: as above.
        """
        while self._looks:
            self._judge()

    def _judge(self) -> None:
        step, largest = self._looks.popleft()
        (peak, place), time = largest(), step * self._dt
        bound = OVERFLOW
        if time > self._quiet_after and self._peak > 0.0:
            bound = min(bound, GROWTH * self._peak)
        if peak > bound:
            raise UnstableError(self._message(step, peak, place), self._good)
        if time <= self._quiet_after or self._peak == 0.0:
            self._peak = max(self._peak, peak)
        self._good, self._place = step, place

    def _message(self, step: int, peak: float, index: Index) -> str:
        """Say when and where it grew, and why.

        What is not finite any more began in the middle of it, as far as it has not spread to
        everywhere; then the place where the last sound look found most is named.
        """
        said = f"{self.field} reaches {peak:.3g}"
        if not math.isfinite(peak):
            lost = _middle_of_the_lost(self._simulation.views(self.field), self._simulation.ranks)
            said = (
                f"{self.field} is not finite"
                if lost
                else (f"{self.field} is finite nowhere; at step {self._good} it was largest")
            )
            index = lost or self._place
        when = f"the wavefield is unstable at step {step} (t = {with_unit(step * self._dt, 's')})"
        place = {a: float(self._grid.coordinate(a, index[AXES.index(a)])) for a in self._grid.axes}
        medium = self._simulation.setup.earth.sample(place["z"], place.get("y"), place["x"])
        around = {name: float(np.ravel(v)[0]) for name, v in medium.items()}
        where = ", ".join(f"{a} = {v:.6g} m" for a, v in place.items())
        return f"{when}: {said} at {where} ({_described(around)}); {self._cause(index, around)}"

    def _cause(self, index: tuple[int, int, int], around: dict[str, float]) -> str:
        """Name the likeliest cause and what to do."""
        inner = self._grid.extent
        outside = [
            a
            for a in self._grid.axes
            if not inner.lo[AXES.index(a)] <= index[AXES.index(a)] < inner.hi[AXES.index(a)]
        ]
        if outside:
            return (
                f"it grows in the absorbing layer along {', '.join(outside)}: "
                "make the model constant towards that face, or widen boundaries.layer.points"
            )
        vp, vs = around.get("vp"), around.get("vs")
        if vp and vs and vp / vs < math.sqrt(2.0):
            return f"vp/vs is {vp / vs:.2f} there, below sqrt(2): check vs"
        if vs == 0.0:
            return "it grows in the fluid (vs = 0): lower time.courant, or check the model there"
        return "check the model for extreme contrasts there, or lower time.courant"


def _described(around: dict[str, float]) -> str:
    units = {"vp": "m/s", "vs": "m/s", "rho": "kg/m3"}
    return ", ".join(f"{name} {value:.5g} {units[name]}" for name, value in around.items())


def _middle_of_the_lost(pieces: Pieces, ranks: Alone) -> Index | None:
    """Give x, y, z of the middle of what is not finite, None where all or nothing is."""
    lost, points, middle = 0, 0, np.zeros(3)
    for owned, array in pieces:
        for z in range(array.shape[1]):
            plane = array[:, z]
            _, ys, xs = np.nonzero(~np.isfinite(plane))
            corner = np.array([owned.lo[0], owned.lo[1], owned.lo[2] + z])
            middle += [xs.sum(), ys.sum(), 0.0] + corner * len(xs)
            lost, points = lost + len(xs), points + plane.size
    lost, points, middle = (
        sum(some) for some in zip(*ranks.share((lost, points, middle)), strict=True)
    )
    return triple([round(n / lost) for n in middle.tolist()]) if 0 < lost < points else None
