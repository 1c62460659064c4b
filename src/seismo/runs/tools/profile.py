"""The profile of a run: a timeline beside its results, and a line on where a step's time goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from seismo.backends.base import Backend
from seismo.backends.timeline import (
    GROUPS,
    Profiled,
    SpanRecorder,
    Timeline,
    no_span,
)
from seismo.output.run_directory.atomic_file import write_new
from seismo.runs.progress import Progress, Reporter

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
        """Keep nothing of what is done meanwhile."""
        yield


class RunProfile(Unprofiled):
    """Own the timeline of a run; its `backend` and `noted` write to it."""

    def __init__(self, backend: Backend, several: bool) -> None:
        """Begin one; of several ranks it is that of the first."""
        self._timeline = Timeline()
        # It leaves what it does not note to the backend, which no type says.
        super().__init__(cast(Backend, Profiled(backend, self._timeline, several)))
        self.noted = self._timeline.span

    @contextmanager
    def kept(self, results: Path, report: Reporter) -> Iterator[None]:
        """Write the timeline of what is done meanwhile, however that ends, and report it."""
        try:
            yield
        except BaseException:
            with suppress(Exception):  # what ended the run is what counts
                self._keep(results, report)
            raise
        self._keep(results, report)

    def _keep(self, results: Path, report: Reporter) -> None:
        path = results.with_name(results.stem + SUFFIX)
        self.backend.wait()
        write_new(path, self._timeline.text(), replace=True)
        report(Progress("profile", note=f"{path}: {self._shares()}"))

    def _shares(self) -> str:
        """Describe what the steps that went group by group spent their time on."""
        seconds = self._timeline.seconds(GROUPS)
        total = sum(seconds.values())
        if not total:
            return "no step went group by group"
        named = [f"{name} {s / total:.0%}" for name, s in list(seconds.items())[:_MOST_NAMED]]
        return f"of a step, group by group: {', '.join(named)}"


def watch(backend: Backend, wanted: bool, several: bool) -> Unprofiled:
    """Return what a run writes its profile with, if one is wanted."""
    return RunProfile(backend, several) if wanted else Unprofiled(backend)
