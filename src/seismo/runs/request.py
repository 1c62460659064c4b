"""The request of a caller beside the scenario: backend, output, progress, passed on together."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

from seismo.acquisition.sources import Share
from seismo.errors import ScenarioWarning
from seismo.runs.reporting.progress import Progress, Reporter
from seismo.runs.resuming.stopping import Signals
from seismo.scenario import Scenario


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
    time_limit: float | None = None
    signals: Signals = field(default_factory=Signals)
    profile: bool = False

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
