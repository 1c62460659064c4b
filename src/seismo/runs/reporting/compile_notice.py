"""Report once that kernels are being compiled, and why they cannot be kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from seismo.backends.code.kernel_cache import kernel_cache
from seismo.runs.reporting.progress import Progress, Reporter

AFTER = 2.0  # s, and for each point: without compiling, preparing takes less
AFTER_POINT = 5e-7


class Compiling:
    """Watch the clock while kernels may be compiled."""

    def __init__(self, report: Reporter, points: int) -> None:
        """Report to `report`; the grid has so many points."""
        self._report = report
        self._after = AFTER + AFTER_POINT * points
        self._is_announced = False
        self._problem = ""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Report if what is done meanwhile takes long, and what was wrong with the kernel cache."""
        timer = threading.Timer(self._after, self._tell)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if kernel_cache().problem != self._problem:
            self._problem = kernel_cache().problem
            self._report(Progress("warning", note=self._problem))

    def _tell(self) -> None:
        if not self._is_announced:
            self._is_announced = True
            self._report(Progress("compile"))
