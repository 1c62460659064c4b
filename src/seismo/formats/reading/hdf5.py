"""HDF5 files from outside, opened and searched without trust in what they say.

Strings of any length stand in collections of objects, each of which says how long it is. In a
damaged one an object may say that it is empty: the HDF5 library (2.0.0 and before) then looks at it
again and again, and no signal ends that. Collections are walked here before the library does, each
byte of the file once: those of a sound file lie side by side.

A file may also lead to others: by links, by storage outside it, by virtual datasets. None of these
is followed (`members`, `is_elsewhere`).
"""

from __future__ import annotations

import math
import mmap
import stat
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

_SIGNATURE = b"GCOL\x01\x00\x00\x00"  # of a collection, version 1
_OBJECT = struct.Struct("<HHIQ")  # number, references, reserved, bytes of its data
_WHOLE = 1 << 30  # bytes of a file that is searched from end to end
_END = 32 << 20  # bytes at either end of a larger one that are
_DEFLATED = 1032  # bytes that one byte of deflate stands for at most
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
    """Whether a dataset of HDF5 claims many more values than what is stored can stand for."""
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
        remaining = 2 * size  # what a string holds may look like a collection, too
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
    """Return the bytes of a collection, or of what the file has of it; None where it has no end."""
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
