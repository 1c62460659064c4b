"""The writer of results: one HDF5 file that exists either whole or not at all.

Everything is written under a hidden, unique name beside the final one, synchronised to the disk
and renamed at the end; an exception on the way removes it. Every dimension has its coordinate
attached as an HDF5 dimension scale with units, so that a group opens in xarray as it is::

    /traces/<set>/<quantity>      (shot, receiver, time)
    /snapshots/<name>/<field>     (time, [z, y, x]) ; several shots: /snapshots/<name>/shot_000/
    /model/<parameter>            (z, [y,] x)
    /sources/<property>           (source)
    /wavelets/wavelet             (source, time)
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

import h5py
import numpy as np

from seismo.errors import ScenarioError, StorageError
from seismo.output.chunks import chunk_shape, create_chunked, write_block
from seismo.output.hidden_file import HiddenFile, final_path, refusal
from seismo.output.provenance import provenance
from seismo.output.scales import attach_scales, write_coordinate, write_scale, write_table

FORMAT = "seismo results"
FORMAT_VERSION = 1
COMPLETE = "complete"


class ResultsWriter:
    """A results file being written; use as a context manager, publish by leaving it normally."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scenario_text: str,
        resolved: str,
        attributes: Mapping[str, object],
    ) -> None:
        """Check that `path` can be written, before anything expensive happens.

        Args:
            path: the final name.
            scenario_text: the scenario as the user wrote it.
            resolved: the scenario with every default filled in, as YAML.
            attributes: attributes of the root, such as title, physics, dt.

        Raises:
            ScenarioError: the folder is missing, is not writable, or the name is a folder.
            StorageError: the disk is full or failing.
        """
        self.path = final_path(path)
        self._root_attributes = {
            "scenario_text": scenario_text,
            "scenario": resolved,
            **attributes,
        }
        self._file: h5py.File | None = None
        self._peaks: dict[str, float] = {}
        self._finished = False
        # Creating a file is the only honest test: permissions, quotas and mounts differ.
        HiddenFile(self.path).discard()

    def __enter__(self) -> ResultsWriter:
        """Create the hidden file and write the root attributes."""
        self._hidden = HiddenFile(self.path)
        try:
            with self._storing():
                self._file = h5py.File(self._hidden, "w")
                self._write_root()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Publish the file, or remove every trace of it if anything went wrong."""
        if kind is not None:
            self._discard()
            return
        try:
            if not self._finished:
                self.finish({})
            with self._storing():
                self._publish()
        except BaseException:
            self._discard()
            raise

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
        with self._storing():
            group = self._open.create_group("model")
            scales = [write_scale(group, name, values, "m") for name, values in axes.items()]
            for name, (array, unit) in parameters.items():
                values = np.asarray(array)
                block = chunk_shape(values.shape, values.dtype.itemsize)
                dataset = create_chunked(group, name, values.shape, values.dtype, block)
                attach_scales(dataset, scales, unit)
                dataset.attrs["actual_range"] = [values.min(), values.max()]
                write_block(dataset, (), values)

    def write_sources(self, sources: Sequence[Mapping[str, object]]) -> None:
        """Store one row per source; a key becomes a column, nested keys are joined by ``_``.

        The figures read ``name``, ``type``, ``x``, ``y``, ``z`` (m) and, in a survey, ``shot``:
        the name of the shot the row belongs to. Everything else is kept as it is.
        """
        with self._storing():
            write_table(self._open.create_group("sources"), "source", sources)

    def write_wavelets(
        self, time: np.ndarray, samples: np.ndarray, names: Sequence[str], unit: str = ""
    ) -> None:
        """Store the source time functions as injected: time (time) s, samples (source, time)."""
        with self._storing():
            group = self._open.create_group("wavelets")
            scales = [write_scale(group, "source", names), write_scale(group, "time", time, "s")]
            dataset = group.create_dataset("wavelet", data=np.asarray(samples))
            attach_scales(dataset, scales, unit)

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
    ) -> None:
        """Lay out the seismograms of one receiver set.

        Args:
            set_name: name of the set.
            shots: names of the shots.
            codes: receiver codes, NET.STA.LOC where there is one.
            positions: name -> (receiver); x, y, z in m as used, longitude and latitude in degrees.
            requested: the same names as asked for in the scenario.
            time: (time) s.
            quantities: name -> unit.
            dtype: float type on disk.
        """
        with self._storing():
            group = self._new_group("traces", set_name)
            scales = [
                write_scale(group, "shot", shots),
                write_scale(group, "receiver", codes),
                write_scale(group, "time", time, "s"),
            ]
            places = {**positions, **{f"{k}_requested": v for k, v in requested.items()}}
            for name, values in places.items():
                write_coordinate(group, name, values, scales[1])
            block = chunk_shape((len(codes), len(time)), np.dtype(dtype).itemsize, keep_last=True)
            shape = (len(shots), len(codes), len(time))
            for name, unit in quantities.items():
                dataset = create_chunked(group, name, shape, np.dtype(dtype), block)
                attach_scales(dataset, scales, unit, coordinates=places)

    def write_traces(
        self, set_name: str, shot_index: int, arrays: Mapping[str, np.ndarray]
    ) -> None:
        """Store the seismograms of one shot: name -> array (receiver, time).

        Where the array ends early, as when a run was given up, NaN follows.
        """
        with self._storing():
            for name, array in arrays.items():
                self._write(f"traces/{set_name}/{name}", shot_index, array)

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
    ) -> None:
        """Lay out a series of wavefield snapshots.

        Args:
            name: name of the series.
            shot: name of the shot when there are several, else None.
            axes: coordinates in m by name, in the order of the array axes.
            times: (time) s.
            fields: name -> unit.
            dtype: float type on disk.
            plane: coordinate in m of the axis that was cut, as {"y": 500.0}.
        """
        with self._storing():
            group = self._new_snapshot_group(name, shot)
            group.attrs.update({f"plane_{axis}": value for axis, value in (plane or {}).items()})
            scales = [write_scale(group, "time", times, "s")]
            scales += [write_scale(group, axis, values, "m") for axis, values in axes.items()]
            shape = tuple(len(scale) for scale in scales)
            block = chunk_shape(shape[1:], np.dtype(dtype).itemsize)
            for field, unit in fields.items():
                dataset = create_chunked(group, field, shape, np.dtype(dtype), block)
                attach_scales(dataset, scales, unit)

    def write_snapshot(
        self, name: str, shot: str | None, index: int, fields: Mapping[str, np.ndarray]
    ) -> None:
        """Store one snapshot: field -> array over the axes of the series."""
        with self._storing():
            folder = self._snapshot_folders[name, shot]
            for field, array in fields.items():
                self._write(f"{folder}/{field}", index, array)

    def finish(
        self, summary: Mapping[str, object], marks: Mapping[str, object] | None = None
    ) -> None:
        """Add the summary of the run (steps, seconds, points per second ...) and the peaks.

        `marks` are attributes of the root that say how it ended, if not well: `status`, `message`.
        """
        with self._storing():
            self._open.attrs["summary"] = json.dumps(summary, default=_plain)
            self._open.attrs.update({"status": COMPLETE, **(marks or {})})
            for name, peak in self._peaks.items():
                self._open[name].attrs["peak"] = peak
        self._finished = True

    @property
    def _open(self) -> h5py.File:
        if self._file is None:
            raise RuntimeError("the results file is not open: use the writer in a with statement")
        return self._file

    def _write_root(self) -> None:
        origin = provenance()
        root = self._open.attrs
        root["format"] = FORMAT
        root["format_version"] = FORMAT_VERSION
        root["seismo_version"] = str(origin["seismo"])
        root["created"] = str(origin["created"])
        root["provenance"] = json.dumps(origin)
        root["units"] = "SI; axes in m with z positive down, time in s"
        for name, value in self._root_attributes.items():
            root[name] = value
        self._snapshot_folders: dict[tuple[str, str | None], str] = {}

    def _write(self, name: str, index: int, array: np.ndarray) -> None:
        dataset, block = self._open[name], np.asarray(array)
        missing = dataset.shape[-1] - block.shape[-1]
        if missing > 0:
            rest = [(0, 0)] * (block.ndim - 1) + [(0, missing)]
            write_block(dataset, (index,), np.pad(block, rest, constant_values=np.nan))
            peak = float(np.abs(block).max(initial=0.0))
        else:
            peak = write_block(dataset, (index,), block)
        self._peaks[name] = float(np.maximum(self._peaks.get(name, 0.0), peak))

    def _new_group(self, kind: str, name: str) -> h5py.Group:
        if not name or "/" in name or name in (".", ".."):
            raise ScenarioError(f"{kind} name {name!r}: use letters, digits, '-' and '_'")
        # The order of the scenario is kept: the first set is the one that is drawn by default.
        root = self._open
        parent = root[kind] if kind in root else root.create_group(kind, track_order=True)
        if name in parent:
            raise ScenarioError(f"{kind} name {name!r} is used twice; give each set its own name")
        return parent.create_group(name)

    def _new_snapshot_group(self, name: str, shot: str | None) -> h5py.Group:
        series = [key for key in self._snapshot_folders if key[0] == name]
        if shot is None or not series:
            group = self._new_group("snapshots", name)
        if shot is not None:
            group = self._open["snapshots"][name].create_group(f"shot_{len(series):03d}")
            group.attrs["shot"] = shot
        self._snapshot_folders[name, shot] = group.name
        return group

    def _publish(self) -> None:
        self._close()
        if self._hidden.error is None:
            self._hidden.publish()

    def _discard(self) -> None:
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._close()
        self._hidden.discard()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._storage_error(self._hidden.error or error) from error
        if self._hidden.error is not None:
            raise self._storage_error(self._hidden.error)

    def _storage_error(self, error: OSError) -> StorageError:
        return StorageError(str(refusal(self.path, error)))


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)
