"""The contents of a results file, read from disk when they are asked for.

Units are SI and every array carries its own. `seismo.output.results` draws and exports them.
Files that are none of seismo's, or cannot be read, are refused with a clear line.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

import h5py
import numpy as np
import yaml

from seismo.errors import ScenarioError
from seismo.features import giving
from seismo.formats.reading import similar_name
from seismo.formats.reading.arrays import open_hdf5
from seismo.output.results_file import COMPLETE, FORMAT, FORMAT_VERSION
from seismo.output.run_directory import checkpoint, final_path
from seismo.output.run_directory.partial_files import MANIFEST, run_folder
from seismo.output.store.array_sets import (
    GroundRecord,
    MapSet,
    Model,
    SnapshotSeries,
    TelemetryRecord,
    TraceSet,
    Wavelets,
)
from seismo.output.store.arrays import (
    AGAIN,
    NamedArrays,
    NamedItems,
    children,
    hash_of_file,
    reading,
    text_attribute,
    verified,
)

_OTHERS = (  # suffixes of files that are no results
    ".yaml", ".yml", ".json", ".txt", ".csv", ".png", ".pdf", ".svg", ".gif", ".html", ".npy",
    ".npz", ".sgy", ".segy", ".su", ".sac", ".mseed", ".xml", ".vtkhdf", ".tif", ".zarr", ".run",
)  # fmt: skip
_FOREIGN = "not an HDF5 file; name what `seismo run` wrote, or copy it again"
PREVIEW = "preview"  # status of results of which nothing has been computed


def results_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that results go to: a new one, or one that holds results.

    Raises:
        ScenarioError: as `final_path` does, its name is that of a file of another format, or it
            holds something else, which would be lost.
    """
    final = final_path(path)
    if final.exists() and final.stat().st_size and not _holds_results(final):
        raise ScenarioError(
            f"{final}: is there and holds no results of seismo that can be read, or another "
            "program writes to it; choose another name"
        )
    if final.suffix.lower() in _OTHERS:
        problem = f"results are an HDF5 file: name it {final.with_suffix('.h5').name}"
        raise ScenarioError(f"{path}: {problem}; `seismo export` writes other formats of it")
    return final


def _holds_results(path: Path) -> bool:
    try:
        with _opened_file(path) as file:
            return text_attribute(file, "format") in {FORMAT, *formats_of_features()}
    except (OSError, ValueError, ScenarioError):
        return False


def _opened_file(path: Path) -> h5py.File:
    try:
        # HDF5's default, so that xarray can open the same file in the same process.
        return open_hdf5(path, is_ours=True)
    except OSError:
        # A published file is never written again: where the file system has no locks, or another
        # program holds one, reading without is safe.
        return open_hdf5(path, is_ours=True, locking=False)


def _folder(path: Path) -> str:
    if not (path / MANIFEST).exists():
        return "is a folder; name a file, such as results.h5"
    onwards = f"`seismo resume {path}` goes on with it"
    if not checkpoint.checkpoint_files(path):
        onwards = "it holds no checkpoint to go on from"
    return (
        f"is the folder of a run that has not ended; {onwards}, and "
        "its parts (part-000.h5, ...) open by themselves"
    )


@dataclass(frozen=True)
class FeatureResults:
    """Results of a feature, in files of a format of their own: its hook `results`.

    Attributes:
        format: attribute of the root.
        remedy: how they are read instead, for who takes them for results of a run.
        reader: function(path) -> object with `info() -> str`, a context manager.
        figures: function() -> `figures.FigureKind` of its figures, by name.
    """

    format: str
    remedy: str
    reader: Callable[[Path], Any]
    figures: Callable[[], Mapping[str, Any]]


def formats_of_features() -> dict[str, FeatureResults]:
    """Return the results of features by the formats of their files."""
    every = (feature["results"] for feature in giving("results"))
    return {results.format: results for results in every}


def feature_results(path: Path) -> FeatureResults | None:
    """Return the feature that has written a file, None where it is none's."""
    try:
        with _opened_file(path) as file:
            return formats_of_features().get(text_attribute(file, "format"))
    except (OSError, ValueError, ScenarioError):
        return None


def opened(path: Path, wanted: str = FORMAT) -> h5py.File:
    """Open a file for reading and check that it is ours, of a wanted format.

    Raises:
        ScenarioError: it is missing, damaged, or holds no results.
    """
    try:
        file = _opened_file(path)
    except FileNotFoundError as error:
        reason = similar_name(path, ".h5", ".hdf5") or "; run the scenario first"
        reason = f"no such file{reason}"
        if run_folder(path).is_dir():
            reason = f"is not there yet: its run has not ended; see `seismo status {path}`"
        raise ScenarioError(f"{path}: {reason}") from error
    except IsADirectoryError as error:
        raise ScenarioError(f"{path}: {_folder(path)}") from error
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else _FOREIGN
        if "truncated" in str(error):
            reason = "it is cut short; copy it again, or run the scenario again"
        if "open for write" in str(error):
            reason = "another program writes to it, or ended while it did; wait, or copy it again"
        raise ScenarioError(f"{path}: cannot be opened as results: {reason}") from error
    try:
        if (name := text_attribute(file, "format")) != wanted:
            other = formats_of_features().get(name)
            raise ScenarioError(f"{path}: {other.remedy if other else _unlike_ours(file, wanted)}")
        version = text_attribute(file, "format_version")
        if version != str(FORMAT_VERSION):
            raise ScenarioError(
                f"{path}: results of format {version or '?'}, this version reads {FORMAT_VERSION}; "
                "use the seismo that wrote it"
            )
    except BaseException:
        file.close()
        raise
    return file


def _unlike_ours(file: h5py.File, wanted: str) -> str:
    """Explain why a file without our mark is none of ours, or which attribute is damaged.

    Raises:
        ScenarioError: the attributes cannot be listed.
    """
    with reading(file):
        names = list(file.attrs)
    if "seismo_version" not in names:
        return "is an HDF5 file, but not one that seismo wrote"
    written = repr(text_attribute(file, "format")) if "format" in names else "missing"
    return f"is damaged: the attribute format is {written}, not {wanted!r}; {AGAIN}"


class RunResults:
    """One results file, open for reading; arrays are read when they are asked for."""

    _format: ClassVar = FORMAT

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file and check that it is ours."""
        self.path = Path(path)
        self._file = opened(self.path, self._format)

    def __enter__(self) -> Self:
        """Return itself; the file is closed on leaving."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self.close()

    def __repr__(self) -> str:
        """Name the file, its title and its content."""
        ended = "" if self.status == COMPLETE else f"{self.status.upper()}, "
        return (
            f"<Results {self.path.name} {self.title!r}: {ended}{self.physics}, "
            f"traces {list(self.traces)}, snapshots {list(self.snapshots)}>"
        )

    def close(self) -> None:
        """Close the file; arrays read before stay valid."""
        self._file.close()

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Every attribute of the root."""
        with reading(self._file):
            return dict(self._file.attrs)

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return text_attribute(self._file, "title")

    @property
    def status(self) -> str:
        """How the run ended: "complete", "unstable"; of its parts "unfinished" (see `message`)."""
        return text_attribute(self._file, "status") or COMPLETE

    @property
    def message(self) -> str:
        """The error of an incomplete run, and its kept part."""
        return text_attribute(self._file, "message")

    @property
    def physics(self) -> str:
        """The wave equation; of files of 0.1.0 the physics of the scenario."""
        return text_attribute(self._file, "equation") or text_attribute(self._file, "physics")

    @property
    def dt(self) -> float:
        """The time step in s, NaN where the file does not say."""
        value = self.attributes.get("dt", np.nan)
        return float(value) if isinstance(value, float | int | np.number) else float("nan")

    @property
    def scenario_text(self) -> str:
        """The scenario as the user wrote it, or as `scenario` where it was made in Python."""
        return text_attribute(self._file, "scenario_text")

    @property
    def scenario(self) -> str:
        """The scenario with every default filled in, as YAML."""
        return text_attribute(self._file, "scenario")

    @property
    def azimuth(self) -> float | None:
        """Azimuth of +x at x = 0, y = 0 in degrees; None where the grid has no place on earth."""
        geographic = self.section("geographic")
        return float(geographic["azimuth"]) if geographic else None

    @property
    def event(self) -> dict[str, Any]:
        """The event of the scenario: time (UTC, ISO 8601), at (s), id, name; empty if none."""
        return self.section("event")

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, machine, command line and time of the run."""
        return self._json("provenance", {})

    @property
    def warnings(self) -> list[str]:
        """What `check` frowned at in the scenario."""
        return [str(line) for line in self._json("warnings", [])]

    @property
    def chosen(self) -> dict[str, Any]:
        """Values that the scenario left to the program, by the paths of their keys."""
        return self._json("chosen", {})

    @property
    def wanted_error(self) -> float:
        """Relative error of the traces that was asked for; NaN where the file does not say."""
        return self._number("wanted_error")

    @property
    def expected_error(self) -> float:
        """Relative error of the traces, predicted before the run; NaN where there is none."""
        return self._number("expected_error")

    @property
    def traces_hash(self) -> str:
        """SHA-256 of all traces: equal where they are equal to the last bit."""
        return text_attribute(self._file, "traces_sha256")

    @property
    def summary(self) -> dict[str, Any]:
        """What the run reported at its end: steps, seconds, speed."""
        return self._json("summary", {})

    @cached_property
    def traces(self) -> Mapping[str, TraceSet]:
        """Receiver sets by name."""
        groups = self._groups("traces")
        sets = {name: TraceSet(group, name, lambda: self.sources) for name, group in groups}
        return NamedItems("traces", sets)

    @cached_property
    def snapshots(self) -> Mapping[str, SnapshotSeries]:
        """Snapshot series by name; of several shots as ``name/shot_000``."""
        by_name: dict[str, SnapshotSeries] = {}
        for name, group in self._groups("snapshots"):
            shots = list(children(group, h5py.Group))
            groups = {f"{name}/{shot}": shot_group for shot, shot_group in shots} or {name: group}
            by_name |= {
                key: SnapshotSeries(series_group, key, self.ground)
                for key, series_group in groups.items()
            }
        return NamedItems("snapshots", by_name)

    @cached_property
    def maps(self) -> Mapping[str, MapSet]:
        """Maps of largest values by name."""
        return NamedItems("maps", {k: MapSet(g, k, self.ground) for k, g in self._groups("maps")})

    @cached_property
    def boxes(self) -> Mapping[str, Mapping[str, SnapshotSeries]]:
        """Fields about the faces of recorded boxes: name -> face, such as "x_min" -> fields."""
        boxes = {
            name: {face: SnapshotSeries(slab, face) for face, slab in children(group, h5py.Group)}
            for name, group in self._groups("boxes")
        }
        return NamedItems("boxes", {k: NamedItems(f"box {k}", v) for k, v in boxes.items()})

    @cached_property
    def model(self) -> Model:
        """The earth model on the grid; empty when it was not written."""
        return Model(self._group("model"), "model", self.ground)

    @cached_property
    def ground(self) -> GroundRecord | None:
        """The ground, whose rows the grid follows; None where it is flat."""
        group = self._group("ground")
        return None if group is None else GroundRecord(group)

    @cached_property
    def wavelets(self) -> Wavelets | None:
        """The source time functions as injected, None when they were not written."""
        wavelets = Wavelets(self._group("wavelets"), "wavelets")
        return wavelets if "wavelet" in wavelets else None

    @cached_property
    def telemetry(self) -> TelemetryRecord:
        """Speed, and how the device was, while it ran; empty when it was not written."""
        return TelemetryRecord(self._group("telemetry"), "telemetry")

    @cached_property
    def sources(self) -> list[dict[str, Any]]:
        """The sources, a dictionary each (name, type, x, y, z in m, shot ...)."""
        table = NamedArrays(self._group("sources"), "sources")
        columns = {name: table.column(name) for name in table.columns}
        count = min((len(c) for c in columns.values() if c is not None), default=0)
        cells = {k: c.tolist() for k, c in columns.items() if c is not None}
        table_rows = [{k: column[i] for k, column in cells.items()} for i in range(count)]
        return [{k: v for k, v in row.items() if v == v and v != ""} for row in table_rows]

    @property
    def shots(self) -> list[str]:
        """Names of the shots that left traces, maps or snapshots."""
        shot_names = [arrays.shots for arrays in self.traces.values()]
        shot_names += [arrays.shots for arrays in self.maps.values()]
        shot_names += [[arrays.shot] for arrays in self.snapshots.values() if arrays.shot]
        return list(dict.fromkeys(chain(*shot_names)))

    def sources_of(self, shot: str | None) -> list[dict[str, Any]]:
        """Return the sources that fire in a shot (None: all of them)."""
        return [s for s in self.sources if shot is None or s.get("shot", shot) == shot]

    def verify(self, without: Collection[str] = ()) -> int:
        """Read all datasets, except skipped groups, through the checksums; count the numbers.

        The traces are held to their hash too.

        Raises:
            ScenarioError: something is not as it was written.
        """
        _ = self.attributes
        members = children(self._file, h5py.HLObject)
        count = sum(verified(member) for name, member in members if name not in without)
        if "traces" not in without and self.traces_hash:
            self._check_hash()
        return count

    def _check_hash(self) -> None:
        computed = hash_of_file(self._file)
        if computed != self.traces_hash:
            raise ScenarioError(
                f"{self.path}: the hash of the traces is {computed}, not {self.traces_hash!r} of "
                f"the attribute traces_sha256: one of them was changed; {AGAIN}"
            )

    def section(self, name: str) -> dict[str, Any]:
        """Return a section of the scenario, empty where it has none."""
        return self._resolved.get(name) or {}

    @cached_property
    def _resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        return yaml.safe_load(self.scenario) or {}

    def _json(self, name: str, default: Any) -> Any:
        """Read an attribute of the root that is JSON of the type of `default`."""
        try:
            value = json.loads(text_attribute(self._file, name) or "null")
        except ValueError:
            return default
        return value if isinstance(value, type(default)) else default

    def _number(self, name: str) -> float:
        value = self.attributes.get(name)
        return float(value) if isinstance(value, int | float | np.number) else math.nan

    def _groups(self, name: str) -> list[tuple[str, h5py.Group]]:
        return list(children(self._group(name), h5py.Group))

    def _group(self, name: str) -> h5py.Group | None:
        return dict(children(self._file, h5py.Group)).get(name)
