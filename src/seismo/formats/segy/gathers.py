"""Traces of shots and receivers in SEG-Y files, with positions in m on the grid.

    trace header    71-72 scalar of coordinates, 73-80 source x, y, 81-88 receiver x, y,
                    69-70 scalar of elevations, 41-44 elevation of the receiver, 45-48 that of the
                    ground at the source, 49-52 depth of the source below it,
                    29-30 kind of trace (2: dead), 109-110 time of the first sample in ms

Elevations are -z, as in exports.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading import optional_package
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.formats.segy import read_header

_DEAD = 2
_METRES = 1
_MICROSECOND = 1e-6
_MILLISECOND = 1e-3


@dataclass(frozen=True)
class TraceTable:
    """The traces of a file.

    Attributes:
        traces: (trace, sample), NaN of dead traces.
        times: (sample) s.
        sources: positions (trace, 3) m of their sources, z positive down.
        receivers: the same of their receivers.
    """

    traces: np.ndarray
    times: np.ndarray
    sources: np.ndarray
    receivers: np.ndarray


def read_traces(path: Path) -> TraceTable:
    """Read all traces of a file.

    Raises:
        ModelError: it is no such file, is not in metres, or its times are not clear.
    """
    segyio = optional_package("segyio", "segy", f"{path}: a SEG-Y file")
    header = read_header(path)
    refuse_what_does_not_fit(path, header.traces * header.samples * 8)
    endian = "big" if header.big_endian else "little"
    with segyio.open(path, ignore_geometry=True, strict=False, endian=endian) as file:
        if header.in_feet or (_field(file, 89) > _METRES).any():
            raise ModelError(f"{path} does not count in m by its headers; convert it to m")
        interval = header.interval or int(_field(file, 117)[0])
        if interval <= 0:
            raise ModelError(f"{path} has no sample interval in its headers; write it there")
        delays = np.unique(_field(file, 109))
        if delays.size > 1:
            raise ModelError(
                f"{path} has traces that begin at times from {delays[0]} to {delays[-1]} ms (bytes "
                "109 and 110 of their headers); let all begin at one"
            )
        traces = np.array(file.trace.raw[:], float)
        traces[_field(file, 29) == _DEAD] = np.nan
        horizontal, vertical = (_scale(_field(file, byte)) for byte in (71, 69))
        sources = [
            _field(file, 73) * horizontal,
            _field(file, 77) * horizontal,
            (_field(file, 49) - _field(file, 45)) * vertical,
        ]
        receivers = [
            _field(file, 81) * horizontal,
            _field(file, 85) * horizontal,
            -_field(file, 41) * vertical,
        ]
    times = delays[0] * _MILLISECOND + interval * _MICROSECOND * np.arange(header.samples)
    return TraceTable(traces, times, np.stack(sources, axis=1), np.stack(receivers, axis=1))


def _field(file: Any, byte: int) -> np.ndarray:
    """Return a field of all trace headers, by its first byte."""
    return np.asarray(file.attributes(byte)[:]).astype(int)


def _scale(scalars: np.ndarray) -> np.ndarray:
    """Return the factors of coordinates: positive scalars multiply, negative ones divide."""
    divisors = np.maximum(-scalars, 1).astype(float)
    return np.where(scalars < 0, 1.0 / divisors, np.maximum(scalars, 1))
