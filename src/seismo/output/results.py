"""The reader of results: a results file, opened with a call, described, drawn and exported.

Use it as::

    results = seismo.open_results("quickstart.h5")
    results.traces["surface"]["vz"].sel(receiver="R0010").plot()

Units are SI and every array carries its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from seismo.output.run_results import RunResults, feature_results


def open_results(path: str | os.PathLike[str]) -> Results:
    """Open a results file for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or not a results file.
    """
    return Results(path)


def open_any(path: Path) -> Any:
    """Open results of a run, or of a feature (`FeatureResults`), for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or not a results file.
    """
    other = feature_results(path)
    return other.reader(path) if other is not None else open_results(path)


class Results(RunResults):
    """One results file, open for reading; arrays are read when they are asked for."""

    def to_obspy(
        self, receivers: str | None = None, shot: str | None = None, quantity: str | None = None
    ) -> Any:
        """Return an ``obspy.Stream`` with components N, E, Z, of all sets, shots and quantities.

        Args:
            receivers: name of a receiver set.
            shot: name of a shot; others differ in ``trace.stats.seismo.shot``.
            quantity: velocity, displacement, acceleration, rotation or pressure.

        Raises:
            ScenarioError: there is no such thing, or ObsPy is not installed.
        """
        from seismo.formats.obspy_stream import stream_of_all

        return stream_of_all(self, receivers, shot, quantity)

    def ground_motion(
        self,
        receivers: str | None = None,
        shot: str | None = None,
        periods: Sequence[float] | None = None,
        damping: float = 0.05,
    ) -> list[dict[str, Any]]:
        """Return ground-motion measures, a row for each station and component.

        PGA, PGV, PGD, SA, RotD50 and RotD100, Arias intensity, CAV and significant durations, as
        far as acceleration, velocity and displacement are recorded.

        Args:
            receivers: name of a receiver set.
            shot: name of a shot.
            periods: of SA in s; by default the usual ones that the grid resolves.
            damping: of SA, as a share of critical damping.

        Raises:
            ScenarioError: nothing of this is recorded, or there is no such set or shot.
        """
        from seismo.output.export import ExportSelection
        from seismo.output.export.datasets import ground_motion_of

        chosen = None if periods is None else tuple(periods)
        return ground_motion_of(ExportSelection(self, receivers, shot, None, chosen, damping))

    def to_xarray(self) -> Any:
        """Return an ``xarray.DataTree`` of traces, snapshots, maps and model, read when used.

        Raises:
            ScenarioError: xarray is not installed.
        """
        from seismo.output.export.datasets import datatree_of

        return datatree_of(self)

    def plot(self, kind: str, **options: Any) -> Any:
        """Return a figure of Matplotlib, which notebooks show: "gather", "snapshot", "peaks", ...

        Args:
            kind: as for `seismo plot`, except the movie.
            options: of that figure, such as ``shot="shot_003"`` (`seismo.output.figures`).

        Raises:
            ScenarioError: there is no such kind or option, or nothing of it in the file.
        """
        from seismo.output.figures import figure_of

        return figure_of(self, kind, **options)

    def _repr_html_(self) -> str:
        """Return the description as notebooks show it."""
        return f"<pre>{escape(self.info())}</pre>"

    def info(self) -> str:
        """Describe the file in plain text: content, date, version, grid, steps, peaks."""
        from seismo.output.report import report

        return report(self)


def temporary_results(
    name: str, write: Callable[[Path], None], reader: Callable[[Path], Any] = open_results
) -> Any:
    """Return results that a function writes to a temporary file; a failure leaves none.

    The file lives as long as the object that reads it.
    """
    folder = tempfile.mkdtemp(prefix="seismo-")
    path = Path(folder) / name
    try:
        write(path)
        results = reader(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results
