"""Arrays in NumPy's files (.npy, .npz) from outside: headers and sizes come before any values."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np

from seismo.backends import machine
from seismo.errors import InsufficientMemoryError

MALFORMED = (  # what h5py, and NumPy's reader of headers, raise for files that were damaged
    ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, SyntaxError, TypeError,
    ValueError, tokenize.TokenError,
)  # fmt: skip
UNPACKED = (*MALFORMED, EOFError, zipfile.BadZipFile, zlib.error)  # the same of archives
_SUFFIX = ".npy"


def read_npy_header(stream: IO[bytes]) -> tuple[Any, bool, np.dtype]:
    """Return the shape, whether the first axis is the fastest, and the type of an array.

    The stream is left at the first of its values; an error is one of `MALFORMED`.
    """
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def read_npz(path: Path, names: Collection[str]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the arrays of some names that an archive has, and the other names, which stay unread.

    Raises:
        InsufficientMemoryError: the arrays take more memory than is free.
        ValueError: an array is a pickle, or its header does not agree with its size; an error of a
            damaged archive is another one of `UNPACKED`.
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
