"""The writer of results: an HDF5 file, complete or absent.

Data go to partial files in a folder beside the final name (`partial_files`), usually a single file,
which is flushed to disk and renamed at the end; an exception removes the open partial file. The
layout is a list of functions, called for every new partial file. Each dimension has its coordinate
attached as an HDF5 dimension scale with units, so that xarray opens each group::

    /traces/<set>/<quantity>      (shot, receiver, time)
    /snapshots/<name>/<field>     (time, [z, y, x]) ; several shots: /snapshots/<name>/shot_000/
    /maps/<name>/<quantity>       (shot, [z, y, x])
    /boxes/<name>/<face>/<field>  (time, z, [y,] x), fields about the faces of a box
    /model/<parameter>            (z, [y,] x)
    /sources/<property>           (source)
    /wavelets/wavelet             (source, time)
    /telemetry/<quantity>         (time), in wall-clock time
    /ground/ground                ([y,] x), z of ground that is not flat

Ranks other than 0 have a writer that writes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import h5py
import numpy as np

from seismo.backends.base import Copy
from seismo.output import provenance
from seismo.output.run_directory import HiddenFile, final_path
from seismo.output.run_directory.partial_files import PartialFiles
from seismo.output.store.arrays import hash_of_all, hash_of_frame
from seismo.output.store.chunks import (
    Frame,
    completed,
    create_frames,
    frame_of,
    packed,
    write_block,
)
from seismo.output.store.layout import (
    FileLayout,
    LayOut,
    attach_scales,
    plane_attributes,
    whole_arrays,
    write_scale,
    write_table,
)

FORMAT = "seismo results"
FORMAT_VERSION = 1
COMPLETE = "complete"  # values of the attribute `status`
UNSTABLE = "unstable"


class ResultsWriter:
    """A results file being written; as a context manager, which finalizes it on a normal exit."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scenario_text: str,
        resolved: str,
        attributes: Mapping[str, object],
        done: int | None = None,
    ) -> None:
        """Check that `path` can be written.

        Args:
            path: the final name.
            scenario_text: the scenario as the user wrote it.
            resolved: the scenario with every default filled in, as YAML.
            attributes: attributes of the root, such as title, physics, dt.
            done: the steps after which an earlier run is resumed, None for a new run.

        Raises:
            ScenarioError: the folder is missing, is not writable, or the name is a folder.
            StorageError: the disk is full or failing.
        """
        self.path = final_path(path)
        origin = provenance()
        root = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "seismo_version": str(origin["seismo"]),
            "created": str(origin["created"]),
            "provenance": json.dumps(origin),
            "units": "SI; axes in m with z positive down, time in s",
            "scenario_text": scenario_text,
            "scenario": resolved,
            **attributes,
        }
        self._layout = FileLayout(lambda file: file.attrs.update(root))
        self.parts = PartialFiles(self.path, self._layout.image)
        self._done = done
        self._peaks: dict[str, float] = {}
        self._hashes: dict[str, str] = {}
        self._finished = False
        # Create a file to test permissions, quotas and mounts.
        folder = self.parts.folder
        HiddenFile(self.path, folder if folder.is_dir() else None).discard()

    def __enter__(self) -> ResultsWriter:
        """Create or reopen the run directory; open the first partial file of a new run."""
        try:
            self.parts.begin(self._done)
            if not self.parts.sealed:
                _ = self.parts.file
        except BaseException:
            self.parts.discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Finalize the file, or remove the open partial file after an error."""
        try:
            if kind is None:
                if not self._finished:
                    self.finish({})
                self.parts.publish(self._layout.frames)
        finally:
            self.parts.discard()

    def seal(self, until: int, marks: Mapping[str, object]) -> None:
        """Close the open partial file and flush it to disk.

        Args:
            until: steps taken so far, over all batches.
            marks: attributes of the root with the state of the run.

        Raises:
            StorageError: the disk is full or failing.
        """
        if self.parts.is_open:
            self._store_peaks(self.parts.file)
            self.parts.seal(until, marks, peaks=self._peaks, hashes=self._hashes)
            self._peaks = {}
            self._hashes = {}

    def write_model(
        self,
        axes: Mapping[str, np.ndarray],
        parameters: Mapping[str, tuple[np.ndarray, str]],
    ) -> None:
        """Store the earth model.

        Args:
            axes: coordinates in m by name, in the order of the array axes (z, [y,] x).
            parameters: name -> (array (z, [y,] x), unit).
        """
        frames = {name: frame_of(a.shape, a.dtype) for name, (a, _) in parameters.items()}
        facts = {name: (unit, [a.min(), a.max()]) for name, (a, unit) in parameters.items()}
        self._layout.frames |= {f"model/{name}": frame for name, frame in frames.items()}

        def lay_out(file: h5py.File) -> None:
            group = file.create_group("model")
            scales = [write_scale(group, name, axis, "m") for name, axis in axes.items()]
            for name, (unit, limits) in facts.items():
                dataset = create_frames(group, name, (), frames[name])
                attach_scales(dataset, scales, unit)
                dataset.attrs["actual_range"] = limits

        self._lay_out(lay_out)
        with self.parts.storing():
            for name, (array, _) in () if self.parts.sealed else parameters.items():
                write_block(self.parts.file[f"model/{name}"], (), array)

    def write_sources(self, sources: Sequence[Mapping[str, object]], **units: str) -> None:
        """Store a row per source; a key becomes a column, nested keys are joined by ``_``.

        The figures read ``name``, ``type``, ``x``, ``y``, ``z`` (m) and, in a survey, ``shot``:
        the name of the shot of the row. Other columns are stored unchanged, in `units`.
        """
        self._lay_out(lambda file: write_table(file.create_group("sources"), sources, units))

    def write_wavelets(
        self, time: np.ndarray, samples: np.ndarray, names: Sequence[str], unit: str = ""
    ) -> None:
        """Store the source time functions as injected: time (time) s, samples (source, time)."""
        axes = {"source": (names, ""), "time": (time, "s")}
        self.write_arrays("wavelets", axes, {"wavelet": (samples, unit)})

    def write_telemetry(self, series: Mapping[str, np.ndarray], units: Mapping[str, str]) -> None:
        """Store time series of the run: `time` (time) s, wall-clock, and others along it."""
        arrays = {n: (series[n], units[n]) for n in series.keys() - {"time"}}
        self.write_arrays("telemetry", {"time": (series["time"], "s")}, arrays)

    def write_arrays(
        self, name: str, axes: Mapping[str, tuple[Any, str]],
        arrays: Mapping[str, tuple[np.ndarray, str]], facts: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Store arrays along the same axes in a group: numbers and unit, by name."""
        self._lay_out(whole_arrays(name, axes, arrays, facts or {}))

    def create_traces(
        self,
        set_name: str,
        *,
        shots: Sequence[str],
        codes: Sequence[str],
        positions: Mapping[str, np.ndarray],
        requested: Mapping[str, np.ndarray],
        time: np.ndarray,
        quantities: Mapping[str, str],
        dtype: str | np.dtype = "float32",
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Create the datasets of a receiver set's seismograms.

        Args:
            set_name: name of the set.
            shots: names of the shots.
            codes: receiver codes, NET.STA.LOC if any.
            positions: name -> (receiver), or (shot, receiver) of receivers that move; x, y, z in m
                as used, others in degrees.
            requested: the same as given in the scenario.
            time: (time) s.
            quantities: name -> unit.
            dtype: float type on disk.
            facts: attributes of the set.
        """
        coordinates = {**positions, **{f"{k}_requested": v for k, v in requested.items()}}
        self._lay_out(
            self._layout.traces(
                set_name, (shots, codes, time), coordinates, quantities, facts or {}, dtype
            )
        )

    def create_snapshots(
        self,
        name: str,
        *,
        shot: str | None,
        axes: Mapping[str, np.ndarray],
        times: np.ndarray,
        fields: Mapping[str, str],
        dtype: str | np.dtype = "float32",
        plane: Mapping[str, float] | None = None,
        error: float = 0.0,
        group: str = "snapshots",
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """Create a series of wavefield snapshots and return the path of its group.

        Args:
            name: name of the series.
            shot: name of the shot when there are several, else None.
            axes: coordinates in m by name, in the order of the array axes.
            times: (time) s.
            fields: name -> unit.
            dtype: float type on disk.
            plane: coordinate in m of the axis that was cut, as {"y": 500.0}.
            error: bound of the relative rounding error.
            group: of the file that holds it.
            facts: further attributes of its own group.
        """
        folder = self._layout.claim(group, name, shot)
        attributes = plane_attributes(plane or {}) | ({} if shot is None else {"shot": shot})
        attributes |= facts or {}
        times_axis = ("time", times)
        self._lay_out(
            self._layout.series(folder, times_axis, axes, fields, attributes, dtype, error)
        )
        return folder

    def create_maps(
        self,
        name: str,
        *,
        shots: Sequence[str],
        axes: Mapping[str, np.ndarray],
        quantities: Mapping[str, str],
        plane: Mapping[str, float],
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Create maps of largest values.

        Args:
            name: name of the set.
            shots: names of the shots.
            axes: coordinates in m by name, in the order of the array axes.
            quantities: name -> unit.
            plane: coordinate in m of the axis that was cut.
            facts: attributes of the group.
        """
        folder = self._layout.claim("maps", name)
        attributes = plane_attributes(plane) | dict(facts or {})
        self._lay_out(
            self._layout.series(folder, ("shot", shots), axes, quantities, attributes, "float32")
        )

    def write(self, name: str, index: int, array: np.ndarray) -> None:
        """Store a frame of a dataset, such as the traces (receiver, time) of a shot."""
        self.pack(name, index, array)()

    def pack(self, name: str, index: int, array: np.ndarray) -> Callable[[], None]:
        """Compress a frame, in any thread, and return the function that stores it.

        What is masked is stored as NaN.
        """
        frame = self._layout.frames[name]
        samples = np.ma.compressed(array) if np.ma.isMaskedArray(array) else array
        block = completed(np.ma.filled(array, np.nan), frame)
        tiles = list(packed(block, frame.chunk))
        digest = hash_of_frame(block)
        if block.size != samples.size:  # NaN after its end, or where it is masked
            peak = float(np.abs(samples).max(initial=0.0))
            tiles = [(corner, data, peak) for corner, data, _ in tiles]

        def store() -> None:
            for corner, data, peak in tiles:
                self.store(name, (index, *corner), data, peak)
            if name.startswith("traces/"):
                self._hashes[f"{name}/{index}"] = digest

        return store

    def frame(self, name: str) -> Frame:
        """Return the shape, the chunk and the type of a frame of a dataset."""
        return self._layout.frames[name]

    def store(self, name: str, corner: tuple[int, ...], data: bytes, peak: float) -> None:
        """Store a packed chunk of a dataset whose largest absolute value is `peak`."""
        with self.parts.storing():
            self.parts.file[name].id.write_direct_chunk(corner, data)
        self._raise_peak(name, peak)

    def finish(
        self, summary: Mapping[str, object], marks: Mapping[str, object] | None = None
    ) -> None:
        """Add the summary of the run (steps, seconds, points per second ...) and the peaks.

        `marks` are attributes of the root, `status` and `message`, of a run that ended early.
        """
        for row in self.parts.sealed:
            self._hashes |= row.get("hashes", {})
            for name, peak in row.get("peaks", {}).items():
                self._raise_peak(name, peak)
        traces = hash_of_all(self._hashes)

        def lay_out(file: h5py.File) -> None:
            file.attrs["summary"] = json.dumps(summary, default=_plain)
            file.attrs.update({"status": COMPLETE, **(marks or {})})
            file.attrs["traces_sha256"] = traces
            self._store_peaks(file)

        self._lay_out(lay_out)
        self._finished = True

    def _lay_out(self, function: LayOut) -> None:
        """Apply a layout function to the open partial file, if any, and to all later ones."""
        self._layout.functions.append(function)
        if self.parts.is_open:
            with self.parts.storing():
                function(self.parts.file)

    def _store_peaks(self, file: h5py.File) -> None:
        for name, peak in self._peaks.items():
            file[name].attrs["peak"] = peak

    def _raise_peak(self, name: str, peak: float) -> None:
        self._peaks[name] = float(np.maximum(self._peaks.get(name, 0.0), peak))


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)


class NullWriter:
    """Writer and pipeline of ranks other than 0, which write nothing."""

    def create_snapshots(self, name: str, **layout: Any) -> str:
        """Lay nothing out; see `ResultsWriter.create_snapshots`."""
        return name

    def write(self, name: str, index: int, make: Callable) -> None:
        """Write nothing; see `Pipeline.write`."""

    def drain(self) -> None:
        """Wait for nothing; see `Pipeline.drain`."""

    def send(self, array: Any, names: Sequence[str], index: int) -> Copy:
        """Send nothing; see `Pipeline.send`."""
        raise ValueError("only rank 0 sends gathered arrays")

    def check(self) -> None:
        """Find nothing wrong; see `Pipeline.check`."""

    def waiting(self) -> dict[str, float]:
        """Hold nothing; see `Pipeline.waiting`."""
        return {}

    def seal(self, until: int, marks: Mapping[str, object]) -> None:
        """Seal nothing; see `Pipeline.seal`."""
