"""What a caller asks of a run, beside the scenario: passed on as one thing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from seismo.monitor import Progress, Reporter
from seismo.runner.signals import Signals
from seismo.scenario import Scenario
from seismo.survey import Share


def silent(progress: Progress) -> None:
    """Report nothing."""


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
        """Give the results file; each share of a survey has its own."""
        if self.output is not None:
            return Path(self.output)
        path, share = scenario.results_path, self.share
        if path is None or share is None:
            return path
        return path.with_name(f"{path.stem}-{share.number}of{share.of}{path.suffix}")
