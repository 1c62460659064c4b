"""Collection of the members of an ensemble in a file, with statistics of their maps.

::

    /traces/<set>/<quantity>          (member, shot, receiver, time)
    /maps/<name>/<quantity>           (member, shot, [z, y, x]), unless they are left out
    /statistics/<name>/<quantity>_mean, _deviation     (shot, [z, y, x])
    /statistics/<name>/<quantity>_percentile           (percentile, shot, [z, y, x])
    /draws/<key>                      (member), the drawn values
    /members/dt, steps, traces_sha256 (member)
    /ground                           as in the results of a run

Compressed chunks are copied from the members' files as they are. Statistics are computed in double
precision from all members, part of a map by part of a map: `deviation` is that of the sample (over
n - 1), and percentiles are interpolated linearly between members in order of their values (type 7
of Hyndman and Fan 1996).
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from seismo.errors import StorageError
from seismo.features.ensembles.draws import Draws
from seismo.features.ensembles.members import Members
from seismo.features.ensembles.section import section_of
from seismo.formats.reading.arrays import open_hdf5
from seismo.output import provenance
from seismo.output.results_file import COMPLETE
from seismo.output.run_directory import HiddenFile, refusal, write_hidden
from seismo.output.store.arrays import hash_of_all
from seismo.output.store.chunks import corners, stored_chunks
from seismo.output.store.layout import (
    BOUNDS,
    new_group,
    write_array,
    write_coordinate,
    write_scale,
)

FORMAT = "seismo ensemble"
FORMAT_VERSION = 1
_TOGETHER = 64 << 20  # bytes of all members' values of a part of a map
_MOST_OPEN = 64  # files


class MemberFiles:
    """The files of all members: the first, and the last that were asked for, are open."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Open the first."""
        self._paths = paths
        self._first = open_hdf5(paths[0], is_ours=True)
        self._opened: OrderedDict[int, h5py.File] = OrderedDict()

    def __len__(self) -> int:
        """Count them."""
        return len(self._paths)

    def __getitem__(self, member: int) -> h5py.File:
        """Return the open file of a member."""
        if member == 0:
            return self._first
        if member not in self._opened:
            while len(self._opened) >= _MOST_OPEN:
                self._opened.popitem(last=False)[1].close()
            self._opened[member] = open_hdf5(self._paths[member], is_ours=True)
        self._opened.move_to_end(member)
        return self._opened[member]

    def close(self) -> None:
        """Close all."""
        for file in (self._first, *self._opened.values()):
            file.close()


def collect(
    final: Path, members: Members, paths: Sequence[Path], attributes: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> None:  # fmt: skip
    """Write the results of an ensemble, which replace an earlier file when they are complete.

    Args:
        final: the file.
        members: of the ensemble.
        paths: of the members' files, in their order.
        attributes: of the root, besides those of the scenario.
        summary: of the run.

    Raises:
        StorageError: the disk is full or failing, or members differ in their layout.
    """

    def write(hidden: HiddenFile) -> None:
        with closing(MemberFiles(paths)) as files, h5py.File(hidden, "w", libver=BOUNDS) as file:
            Collection(file, files, members).write()
            file.attrs.update(_root(members, attributes, summary))

    try:
        write_hidden(final, write)
    except OSError as error:
        raise refusal(final, error) from error


def _root(
    members: Members, attributes: Mapping[str, Any], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attributes of the root."""
    origin = provenance()
    scenario = members.scenario
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "seismo_version": str(origin["seismo"]),
        "created": str(origin["created"]),
        "provenance": json.dumps(origin),
        "units": "SI; axes in m with z positive down, time in s",
        "title": scenario.title,
        "physics": scenario.physics,
        "equation": scenario.equation.name,
        "scenario_text": scenario.text,
        "scenario": scenario.to_yaml(),
        "members": len(members),
        "status": COMPLETE,
        "summary": json.dumps(summary, default=str),
        **attributes,
    }


class Collection:
    """The file of an ensemble being written."""

    def __init__(self, file: h5py.File, files: MemberFiles, members: Members) -> None:
        """Take an empty file, the files of the members, and the ensemble."""
        self._file = file
        self._files = files
        self._ensemble = section_of(members.scenario)
        self._draws = members.draws

    def write(self) -> None:
        """Write everything but the attributes of the root."""
        first = self._files[0]
        for name in first.get("traces", ()):
            self._copy_group(f"traces/{name}")
        for name in first.get("maps", ()):
            if self._ensemble.member_maps:
                self._copy_group(f"maps/{name}")
            self._write_statistics(name)
        if "ground" in first:
            first.copy("ground", self._file)
        self._write_draws(self._draws)
        self._write_members()

    def _copy_group(self, path: str) -> None:
        """Copy the arrays of a set of all members, and their coordinates."""
        source = self._files[0][path]
        group = new_group(self._file, path)
        group.attrs.update(dict(source.attrs))
        arrays = _arrays_of(source)
        axes = _axes_of(source[arrays[0]])
        scales = [self._member_scale(group), *(_copy_scale(group, source, a) for a in axes)]
        for name in source:
            if name not in arrays and name not in axes:
                self._copy_coordinate(group, path, name, axes, scales)
        for name in arrays:
            self._copy_array(group, path, name, scales)

    def _copy_array(self, group: h5py.Group, path: str, name: str, scales: list[Any]) -> None:
        """Copy the chunks of an array of all members as they are stored."""
        first = self._files[0][path][name]
        dataset = group.create_dataset(
            name, shape=(len(self._files), *first.shape), dtype=first.dtype,
            chunks=(1, *first.chunks), compression="gzip", compression_opts=1, shuffle=True,
            fillvalue=np.nan,
        )  # fmt: skip
        for axis, scale in enumerate(scales):
            dataset.dims[axis].attach_scale(scale)
        peak = 0.0
        for member in range(len(self._files)):
            source = self._files[member][path][name]
            self._refuse_other_layout(member, source, first)
            for corner in stored_chunks(source.id):
                mask, data = source.id.read_direct_chunk(corner)
                dataset.id.write_direct_chunk((member, *corner), data, mask)
            peak = max(peak, float(source.attrs.get("peak", 0.0)))
        kept = {n: v for n, v in first.attrs.items() if n in ("units", "long_name", "coordinates")}
        dataset.attrs.update({**kept, "peak": peak})

    def _refuse_other_layout(self, member: int, source: h5py.Dataset, first: h5py.Dataset) -> None:
        """Raise StorageError where the arrays of a member have another shape."""
        if source.shape != first.shape or source.chunks != first.chunks:
            raise StorageError(
                f"member {member}: {source.name} has the shape {source.shape}, and member 0 "
                f"{first.shape}; give receivers[].interval, or time.step"
            )

    def _copy_coordinate(
        self, group: h5py.Group, path: str, name: str, axes: list[str], scales: list[Any]
    ) -> None:
        """Copy a coordinate; where members differ in it, of all members."""
        first = self._files[0][path][name]
        own_axes = _axes_of(first)
        own_scales = [scales[1 + axes.index(axis)] for axis in own_axes]
        numbers = _numbers(first)
        others = (_numbers(self._files[k][path][name]) for k in range(1, len(self._files)))
        if all(np.array_equal(numbers, other, equal_nan=numbers.dtype.kind == "f")
               for other in others):  # fmt: skip
            write_coordinate(group, name, numbers, own_scales, first.attrs.get("units", ""))
            return
        stacked = np.stack([_numbers(self._files[k][path][name]) for k in range(len(self._files))])
        unit = first.attrs.get("units", "")
        write_coordinate(group, name, stacked, [scales[0], *own_scales], unit)

    def _member_scale(self, group: h5py.Group) -> h5py.Dataset:
        return write_scale(group, "member", np.arange(len(self._files), dtype=float))

    def _write_statistics(self, name: str) -> None:
        """Write the statistics of a set of maps over the members."""
        path = f"maps/{name}"
        source = self._files[0][path]
        group = new_group(self._file, f"statistics/{name}")
        group.attrs.update(dict(source.attrs))
        arrays = _arrays_of(source)
        axes = _axes_of(source[arrays[0]])
        percentiles = np.array(self._ensemble.percentiles)
        scales = [_copy_scale(group, source, axis) for axis in axes]
        leading = [write_scale(group, "percentile", percentiles, "%")] if percentiles.size else []
        for key in arrays:
            unit = source[key].attrs.get("units", "")
            mean, deviation, of_percent = self._statistics(path, key, percentiles)
            write_array(group, f"{key}_mean", mean, scales, unit)
            write_array(group, f"{key}_deviation", deviation, scales, unit)
            if leading:
                write_array(group, f"{key}_percentile", of_percent, [*leading, *scales], unit)

    def _statistics(
        self, path: str, key: str, percentiles: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean, deviation (shot, ...) and percentiles (percentile, shot, ...) of a map."""
        first = self._files[0][path][key]
        mean = np.empty(first.shape, np.float32)
        deviation = np.empty(first.shape, np.float32)
        of_percent = np.empty((percentiles.size, *first.shape), np.float32)
        for tile in _tiles(first.shape, first.chunks, len(self._files)):
            samples = np.array(
                [self._files[k][path][key][tile] for k in range(len(self._files))], np.float64
            )
            mean[tile] = samples.mean(axis=0)
            deviation[tile] = samples.std(axis=0, ddof=1)
            of_percent[(slice(None), *tile)] = np.percentile(samples, percentiles, axis=0)
        return mean, deviation, of_percent

    def _write_draws(self, draws: Draws) -> None:
        group = self._file.create_group("draws")
        scale = self._member_scale(group)
        for key, column in zip(draws.keys, draws.table.T, strict=True):
            write_array(group, str(key), np.ascontiguousarray(column), [scale], key.unit)

    def _write_members(self) -> None:
        """Write how each member was stepped, and the hash of its traces; of all in the root."""
        group = self._file.create_group("members")
        scale = self._member_scale(group)
        attributes = [dict(self._files[k].attrs) for k in range(len(self._files))]
        for name, unit in (("dt", "s"), ("steps", "")):
            column = np.array([float(facts[name]) for facts in attributes])
            write_array(group, name, column, [scale], unit)
        hashes = [str(facts["traces_sha256"]) for facts in attributes]
        write_coordinate(group, "traces_sha256", hashes, [scale])
        self._file.attrs["traces_sha256"] = hash_of_members(hashes)


def hash_of_members(hashes: Sequence[str]) -> str:
    """Return the hash of all traces, given those of the members."""
    return hash_of_all({str(number): text for number, text in enumerate(hashes)})


def _arrays_of(group: h5py.Group) -> list[str]:
    """Return the names of the arrays of a group, whose peaks are known; others are coordinates."""
    return [name for name in group if "peak" in group[name].attrs]


def _axes_of(dataset: h5py.Dataset) -> list[str]:
    """Return the names of the axes of an array or a coordinate."""
    return [str(dimension.keys()[0]) for dimension in dataset.dims]


def _numbers(dataset: h5py.Dataset) -> np.ndarray:
    """Read a coordinate, text as str."""
    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    return np.asarray(dataset.asstr()[...] if is_text else dataset[...])


def _copy_scale(group: h5py.Group, source: h5py.Group, axis: str) -> h5py.Dataset:
    return write_scale(group, axis, _numbers(source[axis]), source[axis].attrs.get("units", ""))


def _tiles(shape: tuple[int, ...], chunk: tuple[int, ...], members: int) -> list[tuple[slice, ...]]:
    """Cut a map into parts of which all members' values fit into memory, chunks or less."""
    tile = list(chunk)
    while members * int(np.prod(tile)) * 8 > _TOGETHER and max(tile) > 1:
        longest = tile.index(max(tile))
        tile[longest] = -(-tile[longest] // 2)
    return [
        tuple(slice(k, k + n) for k, n in zip(corner, tile, strict=True))
        for corner in corners(shape, tile)
    ]
