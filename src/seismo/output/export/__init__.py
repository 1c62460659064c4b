"""Results in the formats of other programs, by the table of formats (`seismo.formats`).

A format gives an `ExportFormat` for the use `export`, whose module is imported once it is asked
for.

What is exported are receiver sets, shots and quantities. A quantity is one of `QUANTITIES`, a
vector whose components are traces (velocity: vx, vy, vz), or the name of a single trace such as
pressure or sxz.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.formats import giving
from seismo.output.run_directory import (
    HiddenFile,
    final_path,
    make_folder,
    plain_name,
    refusal,
    write_hidden,
)
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import TraceSet
from seismo.output.store.arrays import NamedArrays, choose

QUANTITIES = {  # vectors: names of their components in the results
    "velocity": "v{}",
    "displacement": "u{}",
    "acceleration": "a{}",
    "rotation": "rotation_{}",
}
FORMATS = {known.name: known for known in giving("export")}
_OF_FILES = (
    ".asdf", ".csv", ".h5", ".mseed", ".nc", ".sac", ".segy", ".sgy", ".su", ".tif", ".txt", ".xml",
)  # fmt: skip


@dataclass(frozen=True)
class ExportSelection:
    """The receiver sets, shots and quantities to export, all of them where None.

    Attributes:
        results: the results file.
        receivers: name of a receiver set.
        shot: name of a shot.
        quantity: velocity, displacement, acceleration, rotation, or a trace such as pressure.
        periods: of response spectra in s, None for the usual ones.
        damping: of response spectra, as a share of critical damping.
    """

    results: RunResults
    receivers: str | None = None
    shot: str | None = None
    quantity: str | None = None
    periods: tuple[float, ...] | None = None
    damping: float = 0.05

    @cached_property
    def sets(self) -> Mapping[str, TraceSet]:
        """The receiver sets by name.

        Raises:
            ScenarioError: there is no such set, or none at all.
        """
        sets = {name: traces for name, traces in self.results.traces.items() if len(traces)}
        if not sets:
            raise ScenarioError(
                f"{self.results.path}: holds no traces; add receivers to the scenario"
            )
        if self.receivers is None:
            return sets
        return {self.receivers: choose(sets, self.receivers, "receivers")}

    def quantities(self, traces: TraceSet) -> dict[str, dict[str, str]]:
        """Return quantity -> axis ("" of a single trace) -> name of the trace."""
        available = quantities_of(traces)
        if self.quantity is None:
            return available
        where = f"quantities of {traces.name}"
        return {self.quantity: choose(available, self.quantity, where)}

    def shots(self, traces: NamedArrays, names: list[str]) -> dict[str, int]:
        """Return the index of each shot of a group of arrays that has stored values.

        Raises:
            ScenarioError: there is no such shot, or no values.
        """
        indices = {shot: index for index, shot in enumerate(names)}
        if self.shot is not None:
            indices = {self.shot: choose(indices, self.shot, "shots")}
        stored = {index for name in traces for index in traces.stored(name)}
        complete = {shot: index for shot, index in indices.items() if index in stored}
        if not complete:
            raise ScenarioError(
                f"{self.results.path}: {traces.name} has no values yet: shots are stored when they "
                "are complete; resume the run"
            )
        return complete

    def file_name(self, *words: str, suffix: str = "") -> str:
        """Return ``<results>-<words><suffix>``, without the words that are empty.

        Raises:
            ScenarioError: a word, which the results may have, is no part of a file's name.
        """
        names = [plain_name(word, self.results.path) for word in words if word]
        return "-".join([self.results.path.stem, *names]) + suffix


def quantities_of(traces: TraceSet) -> dict[str, dict[str, str]]:
    """Return quantity -> axis ("" of a single trace) -> name of the trace, of a receiver set."""
    quantities: dict[str, dict[str, str]] = {}
    for quantity, pattern in QUANTITIES.items():
        components = {a: pattern.format(a) for a in "xyz" if pattern.format(a) in traces}
        if components:
            quantities[quantity] = components
    vectors = {name for components in quantities.values() for name in components.values()}
    return quantities | {name: {"": name} for name in traces if name not in vectors}


@dataclass(frozen=True)
class ExportFile:
    """A file to write: its name, below the folder of all, and the function that writes it."""

    name: str
    write: Callable[[HiddenFile], object]

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> ExportFile:
        """Return a file with this content."""
        return cls(name, lambda hidden: hidden.write(memoryview(data)))


FilesOfFormat = Iterator[ExportFile]


@dataclass(frozen=True)
class ExportFormat:
    """A format of results.

    Attributes:
        files: function(selection) -> its files.
        quantities: that it can hold; all of them if None.
        dated: whether it holds dates.
        has_spectra: whether it takes periods.
        remarks: function(results) -> further lines about missing data.
    """

    files: Callable[[ExportSelection], FilesOfFormat]
    quantities: tuple[str, ...] | None = None
    dated: bool = True
    has_spectra: bool = False
    remarks: Callable[[RunResults], Iterator[str]] | None = None


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
    """Write results in the format of other programs; yield the paths.

    Args:
        results: the results file.
        format_name: a name in FORMATS.
        folder: of the files, which is made (default: that of the results).
        receivers: name of a receiver set (default: all, with a file for each).
        shot: name of a shot (default: all).
        quantity: velocity, displacement, acceleration, rotation, or a trace such as pressure
            (default: all that the format has room for).
        periods: of response spectra in s, in the format ground-motion.
        damping: of these, as a share of critical damping.

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
    """Return notes on data that an exported file lacks or substitutes."""
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
