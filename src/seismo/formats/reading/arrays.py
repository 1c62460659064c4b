"""Arrays in files from outside: NumPy .npy and .npz, HDF5 and raw binary.

A reader takes the path and the specification and returns the array with the axes of the file. Files
are untrusted: headers are checked before data are read, links to other files and pickles are
refused, sizes are bounded, and names are shown as printable text.

Of NumPy's files headers and sizes are checked before any values. In HDF5 strings of any length
stand in collections of objects, each of which says how long it is. In a damaged file an object may
say that it is empty: the HDF5 library (2.0.0 and before) then looks at it again and again, and no
signal ends that. Collections are walked here before the library does, each byte of the file once:
collections of a sound file lie side by side.

A file may also lead to others: by links, by storage outside it, by virtual datasets. None of these
is followed (`members`, `is_elsewhere`).
"""

from __future__ import annotations

import math
import mmap
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from seismo.backends import machine
from seismo.errors import InsufficientMemoryError, ModelError, printable
from seismo.scenario.gridded_parts import GriddedFile

_SIGNATURE = b"GCOL\x01\x00\x00\x00"  # of a collection, version 1
_OBJECT = struct.Struct("<HHIQ")  # number, references, reserved, bytes of its data
_WHOLE = 1 << 30  # bytes of a file that is searched from end to end
_END = 32 << 20  # bytes searched at either end of a larger file
_DEFLATED = 1032  # bytes that a byte of deflate stands for at most
_FILLED = 64 << 20  # bytes of values that need not be stored


def open_hdf5(path: Path, is_ours: bool = False, **options: Any) -> Any:
    """Open an HDF5 file for reading.

    Args:
        path: of the file.
        is_ours: whether seismo wrote it, whose strings stand at the ends of a file.
        options: of `h5py.File`.

    Raises:
        OSError: it cannot be opened, is a pipe or a device, or reading its strings would not end.
    """
    import h5py

    if problem := _damage(path, 2 * _END if is_ours else _WHOLE):
        raise OSError(f"{path} is damaged: {problem}")
    return h5py.File(path, "r", **options)


def members(group: Any) -> Iterator[tuple[str, Any]]:
    """Walk through the members of a group of HDF5 that are in its file: no link is followed."""
    import h5py

    for name in group if isinstance(group, h5py.Group) else ():
        if is_stored_in(group, name) and not is_elsewhere(member := group[name]):
            yield name, member


def is_stored_in(group: Any, name: str) -> bool:
    """Whether a group of HDF5 has a member of a name that is no link; no target is touched."""
    import h5py

    links = group.id.links
    key = name.encode("utf-8", "surrogateescape")
    return links.exists(key) and links.get_info(key).type == h5py.h5l.TYPE_HARD


def is_elsewhere(entry: Any) -> bool:
    """Whether a group or dataset of HDF5 has its values in other files."""
    import h5py

    return isinstance(entry, h5py.Dataset) and bool(entry.external or entry.is_virtual)


def is_hollow(dataset: Any) -> bool:
    """Whether a dataset of HDF5 claims many more values than its storage can hold."""
    return bytes_of(dataset) > _FILLED + _DEFLATED * dataset.id.get_storage_size()


def bytes_of(dataset: Any) -> int:
    """Return the size of all values of a dataset of HDF5, stored or not."""
    return math.prod(dataset.shape or ()) * dataset.dtype.itemsize


def _damage(path: Path, most: int) -> str:
    """Describe senseless lengths of strings, in all of a file up to so many bytes, or at its ends.

    Raises:
        OSError: there is no such file, or it is a pipe or a device.
    """
    status = path.stat()
    size = status.st_size
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(f"{path} is a pipe or a device, not a file")
    if size == 0 or stat.S_ISDIR(status.st_mode):
        return ""  # which HDF5 refuses
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        pieces = [(0, size)] if size <= most else [(0, _END), (size - _END, size)]
        remaining = 2 * size  # the contents of a string may look like a collection, too
        for start in chain.from_iterable(_collections(data, *piece) for piece in pieces):
            length = _walked(data, start)
            if length is None:
                return "a string in it has no length"
            remaining -= length
            if remaining < 0:
                return "strings in it overlap"
    return ""


def _collections(data: mmap.mmap, first: int, last: int) -> Iterator[int]:
    """Walk through where collections begin in a piece of a file."""
    at = data.find(_SIGNATURE, first, last)
    while at >= 0:
        yield at
        at = data.find(_SIGNATURE, at + 1, last)


def _walked(data: mmap.mmap, start: int) -> int | None:
    """Return the bytes of a collection, or of its part in the file; None where it has no end."""
    header = len(_SIGNATURE) + 8
    if start + header > len(data):
        return 0
    (length,) = struct.unpack_from("<Q", data, start + len(_SIGNATURE))
    end = min(start + length, len(data))
    at = start + header
    while at + _OBJECT.size <= end:
        number, _, _, size = _OBJECT.unpack_from(data, at)
        # Number 0 is the space that is left, whose size counts its header, too.
        if number == 0 and size < _OBJECT.size:
            return None
        at += size if number == 0 else _OBJECT.size + -(-size // 8) * 8
    return max(0, min(at, end) - start)


MALFORMED = (  # errors of h5py, and of NumPy's reader of headers, for damaged files
    ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, SyntaxError, TypeError,
    ValueError, tokenize.TokenError,
)  # fmt: skip
UNPACKED = (*MALFORMED, EOFError, zipfile.BadZipFile, zlib.error)  # the same of archives
_SUFFIX = ".npy"
MOST_AXES = 3
LARGEST = 64 << 30  # bytes of an array
_SAFE_FILTERS = {1, 2, 3, 4, 5, 6, 32000}  # HDF5's own and LZF; others would load plugins
_KINDS = "fiu"
_LISTED = 10  # names of a file that a message lists
_SHOWN = 60  # characters of each


def read_npy_header(stream: IO[bytes]) -> tuple[Any, bool, np.dtype]:
    """Return the shape, whether the first axis is the fastest, and the type of an array.

    The stream is left at the first of its values; an error is one of `MALFORMED`.
    """
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def read_npz(path: Path, names: Collection[str]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return an archive's arrays of these names, and its other names, which stay unread.

    Raises:
        InsufficientMemoryError: the arrays take more memory than is free.
        ValueError: an array is a pickle, or its header does not agree with its size; errors of a
            damaged archive are the others of `UNPACKED`.
    """
    with zipfile.ZipFile(path) as archive:
        by_name = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}
        entries = {name: info for name, info in by_name.items() if name in names}
        size = sum(info.file_size for info in entries.values())
        if size > (machine.available_memory() or size):
            raise InsufficientMemoryError(
                f"{path}: needs {size / 1e9:.3g} GB of memory to be read; crop or subsample it"
            )
        arrays = {}
        for name, info in entries.items():
            with archive.open(info) as stream:
                arrays[name] = _array(name, stream, info.file_size)
    return arrays, [name for name in by_name if name not in entries]


def _array(name: str, stream: IO[bytes], size: int) -> np.ndarray:
    """Read a .npy file of so many bytes, never a pickle."""
    shape, in_columns, dtype = read_npy_header(stream)
    size -= stream.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{name} has {size} bytes of values, its header says {shape} of {dtype}")
    array = np.frombuffer(stream.read(size), dtype)
    return array.reshape(shape, order="F" if in_columns else "C")


def read_npy(path: Path, spec: GriddedFile) -> np.ndarray:
    """Read a .npy file, never a pickle; the header must agree with the size of the file."""
    with path.open("rb") as file:
        try:
            if file.peek(6)[:6] != b"\x93NUMPY":
                raise ModelError(f"{path} is not a .npy file; save it by numpy.save", "path")
            shape, _, dtype = read_npy_header(file)
        except MALFORMED as error:
            raise ModelError(
                f"{path} is not a .npy file ({brief(error)}); save it by numpy.save", "path"
            ) from None
        _check_kind(dtype, path)
        size = _size(shape, dtype, path)
        available = path.stat().st_size - file.tell()
    if available != size:
        raise ModelError(
            f"{path} has {available} bytes of data, its header {shape} {dtype} needs {size}; "
            "save it again",
            "path",
        )
    refuse_what_does_not_fit(path, size)
    return np.load(path, allow_pickle=False)


def read_raw(path: Path, spec: GriddedFile) -> np.ndarray:
    """Read bare numbers; their count must be that of the shape."""
    if spec.shape is None:
        raise ModelError(
            f"missing: the raw file {path} needs it, slowest axis first, like [101, 201]", "shape"
        )
    dtype = np.dtype(spec.dtype).newbyteorder(spec.byte_order)
    size = _size(tuple(spec.shape), dtype, path, "shape")
    available = path.stat().st_size
    if available != size:
        raise ModelError(
            f"{path} has {available} bytes, this shape of {spec.dtype} needs {size}; "
            "check `shape` and `dtype`",
            "shape",
        )
    refuse_what_does_not_fit(path, size)
    array = np.fromfile(path, dtype)
    return array.reshape(spec.shape).astype(dtype.newbyteorder("="), copy=False)


def read_hdf5(path: Path, spec: GriddedFile) -> np.ndarray:
    """Read a dataset of an HDF5 file, reached by hard links and stored in that file."""
    with open_hdf5(path, locking="best-effort") as file:
        dataset = dataset_of(file, spec.dataset, path)
        where = check_dataset(dataset, path, "dataset")
        size = _size(dataset.shape, dataset.dtype, where, "dataset")
        refuse_what_does_not_fit(where, size)
        return dataset[...]


def check_dataset(dataset: Any, path: Path, key: str, kinds: str = _KINDS) -> str:
    """Return the name of a dataset of HDF5 for messages, if it can be read safely.

    Args:
        dataset: of h5py.
        path: of its file.
        key: of the scenario, for messages.
        kinds: of NumPy's types that it may have.

    Raises:
        ModelError: it is stored in other files, needs a plugin, or holds no numbers.
    """
    where = f"{path}:{printable(dataset.name)[:_SHOWN]}"
    if is_elsewhere(dataset):
        raise ModelError(
            f"{where} stores its values in other files, which are not read; copy it into one",
            key,
        )
    _check_kind(dataset.dtype, where, key, kinds)
    creation = dataset.id.get_create_plist()
    filters = {creation.get_filter(k)[0] for k in range(creation.get_nfilters())}
    if filters - _SAFE_FILTERS:
        raise ModelError(
            f"{where} is compressed by plugins {sorted(filters - _SAFE_FILTERS)}; "
            "store it with gzip",
            key,
        )
    return where


def dataset_of(file: Any, name: str | None, path: Path) -> Any:
    """Follow hard links only, looking at each link before its target is touched."""
    import h5py

    if name is None:
        datasets = (k for k, entry in members(file) if isinstance(entry, h5py.Dataset))
        names = list(islice(datasets, _LISTED + 1))
        if len(names) != 1:
            raise ModelError(
                f"missing: {path} has the datasets {listing(names)}; name one", "dataset"
            )
        return file[names[0]]
    entry = file
    for member in name.strip("/").split("/"):
        if not isinstance(entry, h5py.Group) or member not in list(entry):
            available = listing(entry if isinstance(entry, h5py.Group) else ())
            raise ModelError(f"no such dataset in {path}; available: {available}", "dataset")
        if not is_stored_in(entry, member):
            raise ModelError(
                f"is a link in {path}, which is not followed; name the dataset itself", "dataset"
            )
        entry = entry[member]
    if not isinstance(entry, h5py.Dataset):
        raise ModelError(f"is a group in {path}, of {listing(entry)}; name a dataset", "dataset")
    return entry


def names_in(file: Any, group: str, path: Path) -> list[str]:
    """Return the names in a group of an HDF5 file's root, none where there is no such group.

    Raises:
        ModelError: it is a link.
    """
    import h5py

    if group not in list(file):
        return []
    if not is_stored_in(file, group):
        raise ModelError(f"{path}: {group} is a link, which is not followed; copy it", "path")
    return list(file[group]) if isinstance(file[group], h5py.Group) else []


def listing(names: Iterable[str]) -> str:
    """Format the first names of an iterable."""
    shown = [printable(name)[:_SHOWN] for name in islice(names, _LISTED + 1)]
    return ", ".join([*shown[:_LISTED], *["and others"] * (len(shown) > _LISTED)]) or "none"


def _check_kind(dtype: np.dtype, where: Any, key: str = "path", kinds: str = _KINDS) -> None:
    if dtype.kind not in kinds:
        raise ModelError(f"{where} has type {dtype}; must be real numbers", key)


def _size(shape: Any, dtype: np.dtype, where: Any, key: str = "path") -> int:
    """Return the size of an array in bytes, within the limits.

    Args:
        shape: as in the file.
        dtype: of the values.
        where: the file, for messages.
        key: of the scenario, for messages.

    Raises:
        ModelError: it is empty, exceeds the limit, or has more axes than a model.
    """
    counts = shape if isinstance(shape, tuple) else ()
    if not 1 <= len(counts) <= MOST_AXES or any(type(n) is not int or n < 1 for n in counts):
        raise ModelError(
            f"{where} has the shape {brief(shape)}; a model has 1 to {MOST_AXES} axes of at least "
            "one point",
            key,
        )
    size = math.prod(counts) * dtype.itemsize
    if size > LARGEST:
        raise ModelError(
            f"{where}: shape {counts} of {dtype} is {size} bytes; the limit is {LARGEST}", key
        )
    return size


def refuse_what_does_not_fit(where: Any, size: int) -> None:
    """Raise for more bytes than there is free memory."""
    if size > (machine.available_memory() or size):
        raise too_large(where, size)


def too_large(where: Any, size: int) -> InsufficientMemoryError:
    """Return the error for a file of so many bytes, more than the free memory."""
    free = machine.available_memory()
    of_free = "" if free is None else f", of which {free / 1e9:.3g} GB are free"
    return InsufficientMemoryError(
        f"{where}: needs {size / 1e9:.3g} GB of memory to be read{of_free}; crop or subsample it"
    )


def brief(subject: object) -> str:
    """Format the beginning of a text from a file, or from a library that reads it."""
    text = printable(str(subject).partition("\n")[0])
    return (text[:117] + "..." if len(text) > 120 else text) or type(subject).__name__
