"""HDF5 files that may be damaged, opened for reading.

Strings of any length stand in collections of objects, each of which says how long it is. In a
damaged one an object may say that it is empty: the HDF5 library (2.0.0 and before) then looks at it
again and again, and no signal ends that. Collections are walked here before the library does.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

_SIGNATURE = b"GCOL\x01\x00\x00\x00"  # of a collection, version 1
_OBJECT = struct.Struct("<HHIQ")  # number, references, reserved, bytes of its data
_WHOLE = 1 << 30  # bytes of a file that is searched from end to end
_END = 32 << 20  # bytes at either end of a larger one that are


def open_hdf5(path: Path, is_ours: bool = False, **options: Any) -> Any:
    """Open an HDF5 file for reading.

    Args:
        path: of the file.
        is_ours: whether seismo wrote it, whose strings stand at the ends of a file.
        options: of `h5py.File`.

    Raises:
        OSError: it cannot be opened, or reading its strings would not end.
    """
    import h5py

    if _has_endless_strings(path, 2 * _END if is_ours else _WHOLE):
        raise OSError(f"{path} is damaged: a string in it has no length")
    return h5py.File(path, "r", **options)


def _has_endless_strings(path: Path, most: int) -> bool:
    """Whether a string has no length, in all of a file up to so many bytes, or at its ends."""
    size = path.stat().st_size
    if size == 0:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        pieces = [(0, size)] if size <= most else [(0, _END), (size - _END, size)]
        return any(
            not _ends(data, at) for first, last in pieces for at in _collections(data, first, last)
        )


def _collections(data: mmap.mmap, first: int, last: int) -> list[int]:
    """List where collections begin in a piece of a file."""
    starts = []
    at = data.find(_SIGNATURE, first, last)
    while at >= 0:
        starts.append(at)
        at = data.find(_SIGNATURE, at + 1, last)
    return starts


def _ends(data: mmap.mmap, start: int) -> bool:
    """Whether each object of a collection leads to a later one, or beyond its end."""
    header = len(_SIGNATURE) + 8
    if start + header > len(data):
        return True
    (length,) = struct.unpack_from("<Q", data, start + len(_SIGNATURE))
    end = min(start + length, len(data))
    at = start + header
    while at + _OBJECT.size <= end:
        number, _, _, size = _OBJECT.unpack_from(data, at)
        # Number 0 is the space that is left, whose size counts its header, too.
        if number == 0 and size == 0:
            return False
        at += size if number == 0 else _OBJECT.size + -(-size // 8) * 8
    return True
