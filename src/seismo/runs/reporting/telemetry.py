"""What a run and its device do while it steps: sampled at every report, kept as series.

A run of days is sampled as often as one of minutes; when there are too many samples every other one
goes, and from then on half as many are taken.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.backends.base import Backend
from seismo.runs.reporting.step_timer import StepTimer

MOST = 4096  # samples that are kept
UNITS = {
    "points_per_second": "points/s",
    "bandwidth_share": "",
    "utilisation": "",
    "memory": "B",
    "power": "W",
    "temperature": "degC",
    "output_waiting": "B",
    "output_stalls": "",
}


class Telemetry:
    """Collect samples of what is in `UNITS`; not every machine has all of it.

    Attributes:
        health: of the device in the last sample.
    """

    def __init__(self, backend: Backend, timer: StepTimer, several: bool) -> None:
        """Begin with none.

        Args:
            backend: asked how its device is.
            timer: of the run.
            several: whether it has several ranks, whose bandwidth nobody knows.
        """
        self._backend = backend
        self._timer = timer
        self._several = several
        self._bandwidth: float | None = None
        self.health: Mapping[str, float] = {}
        self._rows: list[dict[str, float]] = []
        self._every = 1
        self._seen = 0

    def share(self, moved: float) -> float:
        """Return the share that `moved` bytes a second are of what copies move.

        That is measured once the run has stepped for a while; 0 before, and on several ranks.
        """
        if self._bandwidth is None:
            if self._several or self._timer.seconds <= self._backend.measured_from:
                return 0.0
            self._bandwidth = self._backend.bandwidth()
        return moved / self._bandwidth

    def sample(self, time: float, bytes_per_point: float, waiting: Mapping[str, float]) -> None:
        """Take a sample.

        Args:
            time: seconds after the first step.
            bytes_per_point: that a perfect kernel moves.
            waiting: about the output.
        """
        self.health = self._backend.health()
        speed = self._timer.recent
        share = self.share(speed * bytes_per_point)
        known = {"bandwidth_share": share} if share else {}
        self.add(time, {"points_per_second": speed, **known, **self.health, **waiting})

    def add(self, time: float, quantities: Mapping[str, float]) -> None:
        """Keep a sample, if it is one of those to be kept."""
        self._seen += 1
        if self._seen % self._every:
            return
        self._rows.append({"time": time, **quantities})
        if len(self._rows) > MOST:
            self._rows = self._rows[1::2]
            self._every *= 2

    def series(self) -> dict[str, np.ndarray]:
        """Return the samples by name, `time` (s) first; what a sample did not have is NaN."""
        names = ["time", *(n for n in UNITS if any(n in row for row in self._rows))]
        return {n: np.array([row.get(n, np.nan) for row in self._rows], float) for n in names}
