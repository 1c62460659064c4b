"""Requests to a run: of its caller, beside the scenario, and of the outside, meanwhile.

SIGUSR1 asks to save, SIGTERM to save and stop. A handler only sets a flag, which the run reads
between steps; a signal that comes twice, as batch systems send them, asks once. Before the first
step, while the model is sampled and kernels are compiled, nothing is lost that would have to be
saved: there SIGTERM ends the run at once.

The end of a batch job and a limit of the user are such requests, too. A run stops at a checkpoint:
as long before the end as that takes to write, with half as much and a minute to spare. Before the
first is written, that is estimated from its size.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

from seismo.acquisition.sources import Share
from seismo.errors import ScenarioWarning, StoppedError
from seismo.runs.progress import Progress, Reporter
from seismo.scenario import Scenario


class _StopNow(BaseException):
    """The run ends here; no `except Exception` on the way takes it for an error."""


class Signals:
    """Flags that signals set while it is open; use as a context manager.

    Attributes:
        save: a checkpoint is asked for; whoever writes it takes the flag back.
        stop: the run shall stop at a checkpoint.
        stepping: whether steps are being taken, and stopping has to wait.
    """

    def __init__(self) -> None:
        self.save = self.stop = self.stepping = False

    def __enter__(self) -> Signals:
        """Listen instead of earlier handlers."""
        self._before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGUSR1, signal.SIGTERM)
        }
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Let earlier handlers listen again.

        Raises:
            StoppedError: the run was asked to stop before its first step.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is _StopNow:
            raise StoppedError(
                "stopped before the first step, on SIGTERM; go on with the same command"
            ) from None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
        elif not self.stop:
            self.stop = True
            if not self.stepping:
                raise _StopNow


SPARE = 60.0  # s before the machine is taken away, or a tenth of the time there is
SLOW_DISK = 2e8  # bytes a second, assumed before a measurement
_SLACK = 1.5  # of the longest that a checkpoint took
_LEFT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)\Z")  # [[days-]hours:]minutes:seconds


def time_of_end(limit: float | None = None) -> float | None:
    """Return the time (s since 1970) at which the run will be ended, None where nothing tells.

    Args:
        limit: seconds from now on that the user allows.
    """
    ends = [job_end(), None if limit is None else time.time() + limit]
    return min((end for end in ends if end is not None), default=None)


class StopRequest:
    """Why a run has to stop.

    Attributes:
        signals: requests of the outside.
    """

    def __init__(self, signals: Signals, end: float | None, size: int) -> None:
        """Begin to count.

        Args:
            signals: requests of the outside.
            end: time (s since 1970) at which the machine is taken away, or None.
            size: bytes of a checkpoint.
        """
        there_is = math.inf if end is None else max(0.0, end - time.time())
        self.signals = signals
        self._end = end
        self._spare = min(SPARE, there_is / 10)
        self._expected = min(size / SLOW_DISK, there_is / 3)
        self._slowest = 0.0

    def wrote(self, seconds: float) -> None:
        """Take the time of writing a checkpoint into account."""
        self._slowest = max(self._slowest, seconds)

    @property
    def reason(self) -> str:
        """Why the run has to stop now; nothing where it may go on."""
        if self.signals.stop:
            return "on SIGTERM"
        remaining = math.inf if self._end is None else self._end - time.time()
        if remaining < _SLACK * (self._slowest or self._expected) + self._spare:
            return f"{max(0.0, remaining):.0f} s before its time is up"
        return ""


def job_end() -> float | None:
    """Ask SLURM when the job ends: newer versions say so, older ones have to be asked."""
    end_time = os.environ.get("SLURM_JOB_END_TIME", "")
    if end_time.isdecimal():
        return float(end_time)
    job = os.environ.get("SLURM_JOB_ID", "")
    remaining = seconds(_output_of("squeue", "-h", "-j", job, "-o", "%L")) if job else None
    return None if remaining is None else time.time() + remaining


def seconds(text: str) -> int | None:
    """Read a duration as SLURM writes it, such as 1-02:03:04; None for UNLIMITED and the like."""
    match = _LEFT.match(text.strip())
    if match is None:
        return None
    days, hours, minutes, rest = (int(field or 0) for field in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _output_of(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def silent(progress: Progress) -> None:
    """Report nothing."""


def warning(report: Reporter) -> Reporter:
    """Return a reporter that tells warnings as Python's too, for who runs from Python."""

    def report_and_warn(progress: Progress) -> None:
        report(progress)
        if progress.phase in ("caution", "warning"):
            warnings.warn(progress.note, ScenarioWarning, stacklevel=_levels_outside())

    return report_and_warn


def _levels_outside() -> int:
    """Count the frames from the caller's to the first that is not in this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "seismo":
        frame = frame.f_back
        level = level + 1
    return level


@dataclass(frozen=True)
class Request:
    """How to run. `seismo.run` explains its arguments, which these are."""

    output: str | os.PathLike[str] | None = None
    report: Reporter = silent
    backend: str = "auto"
    device: int | None = None
    gpus: int | Literal["auto"] | None = None
    threads: int | None = None
    resume: bool | None = None
    shots: str | None = None
    member: int | None = None
    time_limit: float | None = None
    signals: Signals = field(default_factory=Signals)
    profile: bool = False
    accuracy: str | float | None = None

    @property
    def share(self) -> Share | None:
        """The share of the shots that is asked for, None for all of them."""
        return None if self.shots is None else Share.read(self.shots)

    def path_of(self, scenario: Scenario) -> Path | None:
        """Return the results file; each share of a survey has its own."""
        if self.output is not None:
            return Path(self.output)
        path = scenario.results_path
        share = self.share
        if path is None or share is None:
            return path
        return path.with_name(f"{path.stem}-{share.number}of{share.of}{path.suffix}")
