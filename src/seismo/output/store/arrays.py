"""Named arrays of a results file, read on access; the hash of all traces, and all checksums.

A group of the file becomes a mapping from names to arrays: ``xarray.DataArray`` with named axes
and units where xarray is installed, NumPy arrays elsewhere. Only the indexed part is read: series
may exceed the memory. Links are not followed.

Parts of stored arrays follow NumPy's indexing. HDF5 takes positive steps only, and places in
increasing order, a single list at most. Other selections of NumPy are read as the smallest box
around them, of which NumPy takes the rest.

The hash of all traces is that of the hashes of frames, which are stored in any order.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.reading.arrays import bytes_of, members, refuse_what_does_not_fit
from seismo.output.store.chunks import stored_chunks
from seismo.output.store.layout import rank

ReadFunction = Callable[[Any], np.ndarray]
_INDEX = "{!r} is not an integer or slice; the index of a name is that in `shots` or `codes`"
AGAIN = "copy it again, or run again"


def select(read: ReadFunction, shape: tuple[int, ...], index: Any) -> np.ndarray:
    """Return ``array[index]`` of an array of this shape, of which parts are read.

    Args:
        read: gives the part of whole numbers and slices ahead.
        shape: of the array.
        index: as NumPy takes it.
    """
    indices = index if isinstance(index, tuple) else (index,)
    count = sum(item is not ... for item in indices)
    splits_lists = (
        count == len(shape) < len(indices)
    )  # an ellipsis of no axes still sets lists apart
    if splits_lists or any(
        item is None or isinstance(item, bool | np.bool_) or _dimensions(item) > 1
        for item in indices
    ):
        return read(...)[index]
    if all(item is ... or isinstance(item, int) or _is_ahead(item) for item in indices):
        return read(index)
    full_slices = [slice(None)] * (len(shape) - count)
    ellipsis = next((k for k, item in enumerate(indices) if item is ...), len(indices))
    expanded = [*indices[:ellipsis], *full_slices, *indices[ellipsis + 1 :]]
    box, inner = zip(*map(_along, expanded, shape), strict=True)
    return read(box)[inner]


def _is_ahead(item: Any) -> bool:
    return isinstance(item, slice) and (item.step is None or item.step > 0)


def _dimensions(item: Any) -> int:
    return 0 if item is ... or isinstance(item, slice) else np.ndim(item)


def _along(item: Any, count: int) -> tuple[slice, Any]:
    """Return the slice read along an axis, and the index into that."""
    if _is_ahead(item):
        return item, slice(None)
    if isinstance(item, slice):
        forward = range(count)[item][::-1] or range(0)
        return slice(forward.start, forward.stop, forward.step), slice(None, None, -1)
    positions = np.asarray(item)
    positions = (
        np.flatnonzero(positions)
        if positions.dtype == bool
        else positions.astype(int) % max(count, 1)
    )
    low = int(positions.min(initial=count))
    high = int(positions.max(initial=-1))
    return slice(low, high + 1), positions - low if positions.ndim else 0


class UnknownNameError(ScenarioError, KeyError):
    """A name that is not in a results file."""

    def __str__(self) -> str:
        """Show the message itself, where KeyError would show its quoted form."""
        return "\n".join(self.messages)


class NamedArrays(Mapping[str, Any]):
    """The arrays of a group by name; indexing reads a whole array."""

    def __init__(self, group: h5py.Group | None, name: str) -> None:
        """Look up the content of the group without reading it."""
        self.name = name
        self._group = group
        datasets = dict(children(group, h5py.Dataset))
        arrays = sorted(datasets, key=lambda k: (rank(k), k))
        self._arrays = {k: datasets[k] for k in arrays if datasets[k].ndim > 1}
        self._columns = {k: d for k, d in datasets.items() if d.ndim == 1}

    def __getitem__(self, name: str) -> Any:
        """Read an array: an xarray.DataArray when xarray is installed, else numpy.ndarray."""
        array = self.values_of(name)
        with contextlib.suppress(ImportError):
            return self._labelled(name, array)
        return array

    def __iter__(self) -> Iterator[str]:
        """Walk through the names of the arrays."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Count the arrays."""
        return len(self._arrays)

    def __repr__(self) -> str:
        """Name the group, its arrays and their shapes."""
        inside = ", ".join(f"{name} {self.shape(name)}" for name in self)
        return f"<{type(self).__name__} {self.name}: {inside}>"

    def values_of(self, name: str, index: Any = ...) -> np.ndarray:
        """Read an array, or its part `index`, with the indexing rules of NumPy.

        Raises:
            ScenarioError: there is no such array or index, or the file is damaged.
        """
        dataset = self._dataset(name)
        with reading(dataset):
            self._check_index(name, index)
        return select(partial(read, dataset), self.shape(name), index)

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return text_attribute(self._dataset(name), "units")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array."""
        return tuple(self._dataset(name).shape)

    def type_of(self, name: str) -> np.dtype:
        """Return the number type of an array."""
        return np.dtype(self._dataset(name).dtype)

    def dimensions(self, name: str) -> tuple[str, ...]:
        """Return the names of an array's axes."""
        dataset = self._dataset(name)
        with reading(dataset):
            return tuple(_scale_name(dim) for dim in dataset.dims)

    def attribute(self, array: str, attribute: str) -> Any:
        """Return an attribute of an array, None where it is absent."""
        with reading(self._group):
            return self._dataset(array).attrs.get(attribute)

    def fact(self, attribute: str) -> Any:
        """Return an attribute of the group, None where it is absent."""
        with reading(self._group):
            return self._group.attrs.get(attribute) if self._group else None

    def stored(self, name: str) -> list[int]:
        """List the shots (or times) of an array with stored values; others are NaN."""
        dataset = self._dataset(name)
        with reading(dataset):
            corners = stored_chunks(dataset.id) if dataset.chunks else np.ndindex(len(dataset))
            return sorted({corner[0] for corner in corners})

    def column(self, name: str) -> np.ndarray | None:
        """Read a coordinate such as x, time or receiver; None where it is absent."""
        return read(self._columns[name]) if name in self._columns else None

    def numbers(self, name: str) -> np.ndarray:
        """Read a coordinate of numbers that every undamaged file has.

        Raises:
            ScenarioError: it is missing, or not numeric.
        """
        coordinate = self.column(name)
        if coordinate is None or coordinate.dtype.kind not in "fiu":
            location = _location(self._group) if self._group else self.name
            raise ScenarioError(f"{location}: {name} is missing, the file is damaged; {AGAIN}")
        return coordinate

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return tuple(self._columns)

    def _dataset(self, name: str) -> h5py.Dataset:
        return choose(self._arrays, name, self.name)

    def _check_index(self, name: str, index: Any) -> None:
        """Raise for an index that NumPy refuses: h5py's errors look like those of damaged files."""
        shape = self.shape(name)
        try:
            _ = np.broadcast_to(np.int8(0), shape)[index]
        except IndexError as error:
            axes = zip(self.dimensions(name), shape, strict=True)
            extent = listed(f"{axis} 0 to {n - 1}" if n else f"no {axis}" for axis, n in axes)
            reason = _INDEX.format(index) if "only integers" in str(error) else error
            raise ScenarioError(f"{self.name}: {name} has {extent}: {reason}") from None

    def _labelled(self, name: str, array: np.ndarray) -> Any:
        import xarray

        dimensions = self.dimensions(name)
        sizes = dict(zip(dimensions, array.shape, strict=True))
        coordinates = {}
        for column, dataset in self._columns.items():
            with reading(dataset):
                axes = [column] if dataset.is_scale else [_scale_name(dim) for dim in dataset.dims]
            if [sizes.get(axis) for axis in axes] == list(dataset.shape):
                unit = text_attribute(dataset, "units")
                coordinates[column] = (axes, read(dataset), {"units": unit} if unit else {})
        attributes = {"units": self.unit(name), "long_name": str(self.attribute(name, "long_name"))}
        return xarray.DataArray(array, coordinates, dimensions, name=name, attrs=attributes)


def children(group: h5py.Group | None, kind: type) -> Iterator[tuple[str, Any]]:
    """Walk through the members of a kind of a group that are in its file."""
    if not isinstance(group, h5py.Group):
        return
    with reading(group):
        for name, member in members(group):
            if isinstance(member, kind):
                yield name, member


def choose(available: Mapping[str, Any], name: str, where: str) -> Any:
    """Return ``available[name]``; raise with all names and the closest match otherwise."""
    if name in available:
        return available[name]
    close_matches = difflib.get_close_matches(name, available, 1)
    hint = f"; did you mean {close_matches[0]!r}?" if close_matches else ""
    raise UnknownNameError(f"{where}: there is no {name!r} (available: {listed(available)}){hint}")


class NamedItems(dict[str, Any]):
    """A dictionary whose errors list its keys."""

    def __init__(self, where: str, items: Mapping[str, Any]) -> None:
        """Take the items, and their collective name."""
        super().__init__(items)
        self._where = where

    def __missing__(self, name: str) -> Any:
        """Raise UnknownNameError."""
        return choose(self, name, self._where)


def listed(names: Iterable[str]) -> str:
    """Join names for a message."""
    return ", ".join(names) or "none"


def read(dataset: h5py.Dataset, index: Any = ...) -> np.ndarray:
    """Read a dataset, text as str, with a single-line error when the file is damaged.

    Raises:
        ScenarioError: the file is damaged.
        InsufficientMemoryError: all of it is asked for, and there is not so much memory.
    """
    with reading(dataset):
        if index is ... and dataset.shape is not None:
            refuse_what_does_not_fit(_location(dataset), bytes_of(dataset))
        if h5py.check_string_dtype(dataset.dtype) is not None:
            return np.asarray(dataset.asstr()[index], dtype=object)
        return np.asarray(dataset[index])


def text_attribute(item: h5py.HLObject | None, name: str) -> str:
    """Return a text attribute, "" if absent; bytes that are not UTF-8 are replaced."""
    if item is None:
        return ""
    with reading(item):
        value = item.attrs.get(name, "")
    # h5py decodes other bytes to surrogates, which figures cannot draw.
    raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "replace")


@contextlib.contextmanager
def reading(item: h5py.HLObject | None) -> Iterator[None]:
    """Turn errors of h5py on a damaged file into a line with the file and the item."""
    try:
        yield
    except ScenarioError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, LookupError) as error:
        if not item:  # so h5py calls anything in a closed file
            raise ScenarioError("the results are closed: read before, or open them again") from None
        reason = " ".join(str(error).split())
        problem = f"cannot be read, the file is damaged: {reason}; {AGAIN}"
        raise ScenarioError(f"{_location(item)}: {problem}") from error


def _location(item: h5py.HLObject) -> str:
    return f"{item.file.filename}: {item.name}"


def _scale_name(dimension: Any) -> str:
    # The name stored in the scale: HDF5 would search the file for its path, damaged parts included.
    return str(dimension.keys()[0])


def hash_of_frame(traces: np.ndarray) -> str:
    """Return the hash of the traces (receiver, time) of a shot, as they are on disk."""
    return hashlib.sha256(traces.tobytes()).hexdigest()


def hash_of_all(frames: Mapping[str, str]) -> str:
    """Return the hash of all frames, given theirs by ``traces/<set>/<quantity>/<shot>``."""
    return hashlib.sha256(json.dumps(frames, sort_keys=True).encode()).hexdigest()


def hash_of_file(file: h5py.File) -> str:
    """Read all traces of a file and return their hash."""
    sets = children(dict(children(file, h5py.Group)).get("traces"), h5py.Group)
    arrays = (array for _, stored_set in sets for array in children(stored_set, h5py.Dataset))
    return hash_of_all(dict(frame for _, array in arrays for frame in _frames(array)))


def _frames(array: h5py.Dataset) -> Iterator[tuple[str, str]]:
    """Return the names and hashes of what was stored; a run given up leaves out its last shots."""
    with reading(array):
        if array.ndim != 3:
            return
        for shot in range(array.shape[0]):
            if array.id.get_chunk_info_by_coord((shot, 0, 0)).byte_offset is not None:
                yield f"{array.name.lstrip('/')}/{shot}", hash_of_frame(read(array, shot))


def verified(item: h5py.HLObject) -> int:
    """Read all of a dataset or a group, through the checksums; count the numbers."""
    with reading(item):
        dict(item.attrs)
        if isinstance(item, h5py.Dataset):
            for block in _blocks(item) if item.chunks else [...]:
                read(item, block)
            return int(item.size) if item.dtype.kind in "fiu" else 0
    return sum(verified(member) for _, member in children(item, h5py.HLObject))


def _blocks(dataset: h5py.Dataset) -> Iterator[tuple[slice, ...]]:
    for corner in stored_chunks(dataset.id):
        yield tuple(slice(k, k + n) for k, n in zip(corner, dataset.chunks, strict=True))
