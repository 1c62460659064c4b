"""Headers of SEG-Y files: the binary header, checked against the file, and scalars of coordinates.

Coordinates are whole numbers times a scalar of 1, 1/10, ..., 1/10000 m.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError

_TEXT = 3200  # bytes of the textual header
_BINARY = 400
_TRACE = 240
_BYTES = {1: 4, 2: 4, 3: 2, 5: 4, 6: 8, 8: 1, 10: 4, 11: 2, 16: 1}  # of a sample, by format
_FLOATS = {1: "IBM", 5: "IEEE"}
_FEET = 2
_LOOKED_AT = 64  # traces by which a wrong number format is recognised
_SCALARS = (1, -10, -100, -1000, -10000)  # negative ones divide
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class FileHeader:
    """What the binary header says, and the sizes that follow from it."""

    big_endian: bool
    number_format: int
    samples: int
    interval: int
    in_feet: bool
    first: int  # byte of the first trace
    traces: int

    @property
    def trace_size(self) -> int:
        """Bytes of a trace with its header."""
        return _TRACE + self.samples * _BYTES[self.number_format]


def read_header(path: Path) -> FileHeader:
    """Read the binary header of a file, and compare it with the file's size.

    Raises:
        ModelError: they do not agree.
    """
    with path.open("rb") as file:
        start = file.read(_TEXT + _BINARY)
    size = path.stat().st_size
    words = [int.from_bytes(start[k : k + 2], "big") for k in range(_TEXT, len(start) - 1, 2)]
    swapped = [int.from_bytes(start[k : k + 2], "little") for k in range(_TEXT, len(start) - 1, 2)]
    of_format = 12  # the word of the number format
    if len(words) < _BINARY // 2 or not {words[of_format], swapped[of_format]} & _BYTES.keys():
        named = f": {words[of_format]} is no number format" if len(words) > of_format else ""
        raise ModelError(f"{path} is not a SEG-Y file{named}; check `format`", "path")
    big_endian = words[of_format] in _BYTES
    words = words if big_endian else swapped
    first = _TEXT + _BINARY + _TEXT * (0 if words[152] > 1000 else words[152])
    trace_size = _TRACE + words[10] * _BYTES[words[of_format]]
    traces, rest = divmod(size - first, trace_size)
    if words[10] == 0 or traces < 1 or rest:
        raise ModelError(
            f"{path} has {size} bytes, which are no whole traces of {words[10]} samples as its "
            "header says; copy it again",
            "path",
        )
    return FileHeader(
        big_endian, words[of_format], words[10], words[8], words[27] == _FEET, first, traces
    )


def other_floats(path: Path, is_possible: Callable[[float], bool]) -> str:
    """Return the hint that numbers are IEEE's, said to be IBM's or the other way round.

    Args:
        path: the file.
        is_possible: function(value) -> whether a medium may have it.
    """
    header = read_header(path)
    if header.number_format not in _FLOATS:
        return ""
    words = np.memmap(
        path, np.uint8, "r", header.first, (min(header.traces, _LOOKED_AT), header.trace_size)
    )[:, _TRACE:]
    order = ">" if header.big_endian else "<"
    bits = np.ascontiguousarray(words).view(f"{order}u4").astype("u4")
    with np.errstate(all="ignore"):
        numbers = bits.view("f4") if header.number_format == 1 else _from_ibm(bits)
        low = float(numbers.min())
        high = float(numbers.max())
    if not (is_possible(low) and is_possible(high)):
        return ""
    other = 5 if header.number_format == 1 else 1
    return (
        f"taken for {_FLOATS[other]} floats they are {low:.4g} to {high:.4g}; if that is meant, "
        f"its header names the wrong number format: write {other} into its bytes 3225 and 3226"
    )


def _from_ibm(words: np.ndarray) -> np.ndarray:
    """Return the numbers of IBM's floats: sign, 7 bits of a power of 16, 24 bits of a fraction."""
    exponent = (words >> 24 & 0x7F).astype(float) - 64.0
    fraction = (words & 0xFFFFFF) / float(1 << 24)
    return np.where(words >> 31, -1.0, 1.0) * fraction * 16.0**exponent


def scalar_of(lengths: Collection[Any]) -> int:
    """Return the scalar of SEG-Y for lengths in m: of the coarsest unit that rounds none of them.

    If none of the units does that, it is the finest in which all fit.
    """
    fitting = _fitting(largest_of(lengths))
    exact = [
        s
        for s in fitting
        if all(np.allclose(scaled(v, s), np.asarray(v) * abs(s), 0, 1e-6) for v in lengths)
    ]
    return (exact or fitting[-1:])[0]


def largest_of(lengths: Collection[Any]) -> float:
    """Return the largest absolute value of lengths in m."""
    return max(float(np.abs(length).max(initial=0.0)) for length in lengths)


def _fitting(largest: float) -> list[int]:
    """Return the scalars that the fields have room for with a largest length in m."""
    return [s for s in _SCALARS if largest * abs(s) <= _LARGEST] or [_SCALARS[0]]


def shared_scalar(shots: list[tuple[int, float]]) -> int:
    """Return a common scalar for shots, each with its own and a largest length in m.

    A unit that rounds nothing is as good as a finer unit: it is the finest of theirs that fits.
    """
    finest = min(scalar for scalar, _ in shots)
    return max(finest, _fitting(max(largest for _, largest in shots))[-1])


def scaled(length: Any, scalar: int) -> np.ndarray:
    """Return lengths in m as whole numbers of 1 / |scalar| m."""
    return np.rint(np.asarray(length) * abs(scalar))
