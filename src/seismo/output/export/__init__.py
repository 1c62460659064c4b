"""Results in the formats of other programs, by the table of formats (`seismo.formats`).

A format gives an `ExportFormat` for the use `export`, whose module is imported once it is asked
for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.formats import giving
from seismo.output.export.selection import ExportFormat, ExportSelection, quantities_of
from seismo.output.run_directory.atomic_file import (
    final_path,
    make_folder,
    refusal,
    write_hidden,
)
from seismo.output.run_results import RunResults
from seismo.output.store.arrays import choose

FORMATS = {known.name: known for known in giving("export")}
_OF_FILES = (
    ".asdf", ".csv", ".h5", ".mseed", ".nc", ".sac", ".segy", ".sgy", ".su", ".tif", ".txt", ".xml",
)  # fmt: skip


def export(
    results: RunResults,
    format_name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    receivers: str | None = None,
    shot: str | None = None,
    quantity: str | None = None,
    periods: Sequence[float] | None = None,
    damping: float = 0.05,
) -> Iterator[Path]:
    """Write results in the format of other programs; return the paths, one by one.

    Args:
        results: the results file.
        format_name: a name in FORMATS.
        folder: of the files, which is made (default: that of the results).
        receivers: name of a receiver set (default: all, with a file for each).
        shot: name of a shot (default: all).
        quantity: velocity, displacement, acceleration, rotation, or a trace such as pressure
            (default: all that the format has room for).
        periods: of response spectra in s, in the format ground-motion.
        damping: of these, as a share of the critical one.

    Raises:
        ScenarioError: the format, set, shot or quantity does not exist, the format cannot hold
            them, a package is not installed, or the folder cannot be made or has a file's name.
        StorageError: a file cannot be written.
    """
    chosen = _format(format_name)
    directory = results.path.parent if folder is None else Path(folder)
    if directory.suffix.lower() in _OF_FILES and not directory.is_dir():
        raise ScenarioError(
            f"{directory}: files go to a folder, and this is a file's name; name a folder, such as "
            f"{directory.with_suffix('')}"
        )
    if periods is not None and not chosen.has_spectra:
        (able,) = (name for name in FORMATS if _format(name).has_spectra)
        raise ScenarioError(f"periods: {format_name} has no spectra; {able} has")
    chosen_periods = None if periods is None else tuple(periods)
    selection = ExportSelection(results, receivers, shot, quantity, chosen_periods, damping)
    for file in chosen.files(selection):
        path = directory / file.name
        make_folder(path.parent)
        try:
            write_hidden(final_path(path), file.write)
        except OSError as error:
            raise refusal(path, error) from error
        yield path


def _format(name: str) -> ExportFormat:
    chosen: ExportFormat = choose(FORMATS, name, "formats")["export"]
    return chosen


def remarks(results: RunResults, format_name: str, quantity: str | None = None) -> Iterator[str]:
    """Return what an exported file does not hold, or holds in place of what is missing."""
    chosen = _format(format_name)
    if chosen.dated and not results.event:
        yield (
            "the scenario has no event: t = 0 is 1970-01-01T00:00:00Z in the files; add "
            "event: {time: ...} for dates"
        )
    if chosen.quantities is not None and quantity is None:
        available = {name for traces in results.traces.values() for name in quantities_of(traces)}
        if left_out := sorted(available - set(chosen.quantities)):
            yield f"{format_name} has no codes for {', '.join(left_out)}, which are left out"
    if chosen.remarks is not None:
        yield from chosen.remarks(results)
