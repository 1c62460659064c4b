"""SEG-Y rev 1 and Seismic Unix: a file for each component, with the traces of all shots.

Traces are in the order of shots, then receivers, as IEEE floats (format 5). Coordinates refer to
the grid in m: elevations are -z, the depth of a source counts from the ground. They are integers
times a scalar (bytes 69-72), the same in a file, the coarsest of 1, 1/10, ..., 1/10000 m that
rounds nothing, or the finest that fits. An offset is a whole number of metres: of 2-D lines x of
the receiver minus x of the source, else the horizontal distance. Dates need `event`; they have
whole seconds, the rest, to the millisecond, is lag time A: from the date of the header to the time
break.

SEG Technical Standards Committee (2002), SEG Y rev 1 Data Exchange format, tables 2 and 3; of SU
the same bytes 1 to 180 in the byte order of the machine, without file headers (Cohen & Stockwell,
CWP/SU, `segy.h`), with d1, the interval in s, in bytes 181 to 184.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.segy import largest_of, scalar_of, scaled, shared_scalar
from seismo.formats.seismograms import ground, hypocentre, start_date
from seismo.output.export import ExportFile, ExportFormat, ExportSelection, FilesOfFormat
from seismo.output.run_directory import HiddenFile
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import TraceSet
from seismo.scenario.units import with_unit

_FIELDS = {  # of a trace header: first byte, type
    "number_in_line": (1, "i4"), "number_in_file": (5, "i4"), "shot": (9, "i4"),
    "receiver": (13, "i4"), "source_point": (17, "i4"), "ensemble": (21, "i4"),
    "identification": (29, "i2"), "summed": (31, "i2"), "stacked": (33, "i2"), "use": (35, "i2"),
    "offset": (37, "i4"), "receiver_elevation": (41, "i4"), "source_elevation": (45, "i4"),
    "source_depth": (49, "i4"), "elevation_scalar": (69, "i2"), "coordinate_scalar": (71, "i2"),
    "source_x": (73, "i4"), "source_y": (77, "i4"), "receiver_x": (81, "i4"),
    "receiver_y": (85, "i4"), "coordinate_unit": (89, "i2"), "lag_a": (105, "i2"),
    "samples": (115, "u2"), "interval": (117, "u2"), "year": (157, "i2"), "day": (159, "i2"),
    "hour": (161, "i2"), "minute": (163, "i2"), "second": (165, "i2"), "time_basis": (167, "i2"),
}  # fmt: skip
_ONLY_SEGY = {
    "midpoint_x": (181, "i4"), "midpoint_y": (185, "i4"), "shotpoint": (197, "i4"),
    "measurement_unit": (203, "i2"),
}  # fmt: skip
_ONLY_SU = {"d1": (181, "f4")}
_BINARY = {  # of the file
    "job": (1, "i4"), "line": (5, "i4"), "reel": (9, "i4"), "traces": (13, "i2"),
    "interval": (17, "u2"), "interval_recorded": (19, "u2"), "samples": (21, "u2"),
    "samples_recorded": (23, "u2"), "format": (25, "i2"), "fold": (27, "i2"),
    "sorting": (29, "i2"), "measurement_system": (55, "i2"), "revision": (301, "u2"),
    "fixed_length": (303, "i2"),
}  # fmt: skip
_LARGEST = 2**31 - 1
_MEASUREMENT_UNITS = {"Pa": 1, "m": 5, "m/s": 6, "m/s^2": 7}
_IEEE = 5
_MILLIMETRES = 1e3  # of a metre: midpoints closer than a millimetre are the same
_SEISMIC = 1  # trace identification codes
_DEAD = 2
_METRES = 1
_AS_RECORDED = 1
_REVISION_1 = 0x0100
_UTC = 4
_MOST_SHIFT = 0.1  # of a sample, by the rounding of intervals to whole microseconds


@dataclass(frozen=True)
class TraceFormat:
    """SEG-Y or SU: its name, trace header, and the largest number of samples and interval (us)."""

    name: str
    suffix: str
    header: np.dtype
    most: int


def _header(fields: dict[str, tuple[int, str]], size: int, order: str) -> np.dtype:
    """Return the type of a header of so many bytes, from the first byte of each field."""
    return np.dtype(
        {
            "names": list(fields),
            "formats": [order + kind for _, kind in fields.values()],
            "offsets": [first - 1 for first, _ in fields.values()],
            "itemsize": size,
        }
    )


_SEGY = TraceFormat("SEG-Y", ".segy", _header(_FIELDS | _ONLY_SEGY, 240, ">"), 32767)
_SU = TraceFormat("SU", ".su", _header(_FIELDS | _ONLY_SU, 240, "="), 65535)


@dataclass(frozen=True)
class Gather:
    """The traces of a name at a receiver set, in a number of shots.

    Attributes:
        selection: receiver sets, shots and quantities.
        traces: the receiver set.
        name: of the traces, such as vz.
        shots: index by name.
        layout: the format.
    """

    selection: ExportSelection
    traces: TraceSet
    name: str
    shots: dict[str, int]
    layout: TraceFormat

    @cached_property
    def interval(self) -> int:
        """Sampling interval in whole microseconds.

        Raises:
            ScenarioError: the format cannot hold the number of samples or the interval.
        """
        count = len(self.traces.time)
        most = self.layout.most
        span = float(self.traces.time[-1] - self.traces.time[0])  # s
        interval = span / max(1, count - 1) * 1e6
        rounded = round(interval)
        shift = abs(interval - rounded) * (count - 1)  # of the last sample, in microseconds
        problem = ""
        if count > most:
            wider = with_unit(interval * 1e-6 * -(-(count - 1) // (most - 1)), "s")
            problem = f"at most {most} samples a trace, not {count}; set an interval of {wider}"
        elif not 1 <= rounded <= most:
            written = with_unit(interval * 1e-6, "s")
            problem = f"intervals of 1 to {most} microseconds, not {written}; set another interval"
        elif shift > _MOST_SHIFT * interval:
            late = with_unit(shift * 1e-6, "s")
            rounder = f"{max(1, round(interval / 100)) * 100} us"
            problem = (
                f"intervals of whole microseconds: with {rounded} for {interval:.6g} the last "
            )
            problem += f"sample is {late} off; set an interval such as {rounder}"
        if problem:
            name = self.traces.name
            raise ScenarioError(f"receivers {name}: {self.layout.name} holds {problem}")
        return rounded

    def blocks(self) -> Iterator[bytes]:
        """Return headers and samples, shot by shot."""
        order = self.layout.header["samples"].str[0]
        size = self.layout.header.itemsize
        for number, (shot, index) in enumerate(self.shots.items()):
            samples = self.traces.values_of(self.name, index)
            samples[~self.traces.recording(index)] = 0.0
            block = np.zeros((len(samples), size + 4 * samples.shape[1]), np.uint8)
            headers = self._headers(number, shot, index)
            block[:, :size] = headers.view(np.uint8).reshape(len(samples), size)
            block[:, size:] = samples.astype(f"{order}f4").view(np.uint8).reshape(len(samples), -1)
            yield block.tobytes()

    def _headers(self, number: int, shot: str, index: int) -> np.ndarray:
        """Return the headers (receiver) of a shot, the `number`-th of the file."""
        count = len(self.traces.codes)
        receiver = np.arange(count)
        headers = np.zeros(count, self.layout.header)
        fields: dict[str, Any] = {
            "number_in_line": number * count + receiver + 1,
            "number_in_file": number * count + receiver + 1,
            "shot": index + 1,
            "source_point": index + 1,
            "ensemble": self._midpoint_numbers(index),
            "receiver": receiver + 1,
            "identification": np.where(self.traces.recording(index), _SEISMIC, _DEAD),
            "summed": 1,
            "stacked": 1,
            "use": 1,
            "coordinate_unit": _METRES,
            "samples": len(self.traces.time),
            "interval": self.interval,
            "shotpoint": index + 1,
            "measurement_unit": _MEASUREMENT_UNITS.get(self.traces.unit(self.name), 0),
            "d1": self.interval * 1e-6,
        }
        fields |= self._coordinates(shot, index) | self._date()
        for name in fields.keys() & set(self.layout.header.names or ()):
            headers[name] = fields[name]
        return headers

    @cached_property
    def _scalars(self) -> tuple[int, int]:
        """Scalars of horizontal and vertical coordinates, the same in all shots of the file."""
        shots = [
            tuple((scalar_of(kind.values()), largest_of(kind.values())) for kind in coordinates)
            for coordinates in (self._metres(shot, index) for shot, index in self.shots.items())
        ]
        horizontal, vertical = (shared_scalar([shot[n] for shot in shots]) for n in (0, 1))
        return horizontal, vertical

    def _metres(self, shot: str, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the horizontal and the vertical coordinates of a shot in m, by their fields."""
        source = hypocentre(self.selection.results, shot)
        zero = np.zeros(len(self.traces.codes))
        x, y = (c if (c := self.traces.coordinate(a, index)) is not None else zero for a in "xy")
        sx, sy, sz = (float(source.get(axis, 0.0)) for axis in "xyz")
        zero_depth = ground(self.selection.results)
        horizontal = {
            "source_x": sx, "source_y": sy, "receiver_x": x, "receiver_y": y,
            "midpoint_x": 0.5 * (x + sx), "midpoint_y": 0.5 * (y + sy),
        }  # fmt: skip
        vertical = {
            "receiver_elevation": self.traces.heights(index),
            "source_elevation": float(source.get("elevation", -zero_depth)),
            "source_depth": float(source.get("depth", sz - zero_depth)),
        }
        return horizontal, vertical

    def _coordinates(self, shot: str, index: int) -> dict[str, Any]:
        """Return the fields of positions, in units of their scalars."""
        horizontal, vertical = self._metres(shot, index)
        horizontal_scalar, vertical_scalar = self._scalars
        along_x = horizontal["receiver_x"] - horizontal["source_x"]
        along_y = horizontal["receiver_y"] - horizontal["source_y"]
        is_line = self.traces.column("y") is None
        fields: dict[str, Any] = {
            "coordinate_scalar": horizontal_scalar,
            "elevation_scalar": vertical_scalar,
            "offset": np.rint(along_x if is_line else np.hypot(along_x, along_y)),
        }
        fields |= {k: scaled(v, horizontal_scalar) for k, v in horizontal.items()}
        return fields | {k: scaled(v, vertical_scalar) for k, v in vertical.items()}

    @cached_property
    def _midpoints(self) -> np.ndarray | None:
        """X (shot, receiver) in m of the midpoints of all shots of a 2-D line; None in 3-D."""
        if self.traces.column("y") is not None:
            return None
        sources = (hypocentre(self.selection.results, shot) for shot in self.traces.shots)
        ends = [float(source.get("x", 0.0)) for source in sources]
        x = [np.asarray(self.traces.coordinate("x", index)) for index in range(len(ends))]
        return 0.5 * (np.array(x) + np.array(ends)[:, np.newaxis])

    def _midpoint_numbers(self, index: int) -> np.ndarray | int:
        """Return the numbers (receiver) of the midpoints of a shot from the first of the line.

        They count steps of the least distance between two midpoints, which common ones share; 0
        where the line has none, or more than the field holds.
        """
        if self._midpoints is None:
            return 0
        midpoints = np.unique(np.rint(self._midpoints * _MILLIMETRES))
        step = np.diff(midpoints).min(initial=np.inf)
        numbers = np.rint((self._midpoints[index] * _MILLIMETRES - midpoints[0]) / step)
        return 1 + numbers.astype(int) if np.ptp(midpoints) < step * _LARGEST else 0

    def _date(self) -> dict[str, int]:
        """Return the fields of the date of t = 0, none without an event."""
        if not self.selection.results.event:
            return {}
        date: datetime = start_date(self.selection.results, float(self.traces.time[0]))
        return {
            "year": date.year,
            "day": date.timetuple().tm_yday,
            "hour": date.hour,
            "minute": date.minute,
            "second": date.second,
            "lag_a": round(date.microsecond / 1000),
            "time_basis": _UTC,
        }


def segy(selection: ExportSelection) -> FilesOfFormat:
    """Return the SEG-Y files: a file for each receiver set and trace name."""
    for gather in _gathers(selection, _SEGY):
        yield _file(gather, partial(_write_segy, gather))


def su(selection: ExportSelection) -> FilesOfFormat:
    """Return the files of Seismic Unix: a file for each receiver set and trace name."""
    for gather in _gathers(selection, _SU):
        yield _file(gather, partial(_write_blocks, gather))


def _gathers(selection: ExportSelection, layout: TraceFormat) -> Iterator[Gather]:
    for traces in selection.sets.values():
        shots = selection.shots(traces, traces.shots)
        for components in selection.quantities(traces).values():
            for name in components.values():
                yield Gather(selection, traces, name, shots, layout)


def _file(gather: Gather, write: Any) -> ExportFile:
    _ = gather.interval  # refuse before a file is begun
    shot = gather.selection.shot or ""
    words = (gather.traces.name, shot, gather.name)
    return ExportFile(gather.selection.file_name(*words, suffix=gather.layout.suffix), write)


def _write_segy(gather: Gather, file: HiddenFile) -> None:
    header = np.zeros(1, _header(_BINARY, 400, ">"))
    count = len(gather.traces.codes)
    fields = {
        "job": 1, "line": 1, "reel": 1, "traces": count if count <= _SEGY.most else 0,
        "interval": gather.interval, "interval_recorded": gather.interval,
        "samples": len(gather.traces.time), "samples_recorded": len(gather.traces.time),
        "format": _IEEE, "fold": 1, "sorting": _AS_RECORDED, "measurement_system": _METRES,
        "revision": _REVISION_1, "fixed_length": 1,
    }  # fmt: skip
    for name, value in fields.items():
        header[name] = value
    text = textual_header(
        gather.selection.results, gather.traces, gather.name, list(gather.shots), gather.interval
    )
    file.write(memoryview(text + header.tobytes()))
    _write_blocks(gather, file)


def _write_blocks(gather: Gather, file: HiddenFile) -> None:
    for block in gather.blocks():
        file.write(memoryview(block))


def textual_header(
    results: RunResults, traces: TraceSet, name: str, shots: Sequence[str], interval: int
) -> bytes:
    """Return the textual header: 40 lines of 80 letters in EBCDIC.

    Args:
        results: the results file.
        traces: the receiver set.
        name: of the traces, such as vz.
        shots: names of the shots in the file.
        interval: between samples in microseconds.
    """
    unit = traces.unit(name)
    date = start_date(results, float(traces.time[0]))
    signs = {"z": "Z POINTS DOWN", "pressure": "POSITIVE IN COMPRESSION"}
    sign = signs.get(name, signs["z"] if name.endswith("z") else "ALONG THE GRID")
    lines = [
        "SYNTHETIC SEISMOGRAMS OF SEISMO " + str(results.attributes.get("seismo_version", "")),
        f"TITLE: {results.title}",
        f"TRACES: {name} in {unit}, {sign}",
        f"RECEIVERS: {traces.name}; {len(shots)} SHOTS, ONE AFTER THE OTHER",
        "COORDINATES: OF THE GRID, IN M, TIMES THE SCALARS IN BYTES 69 AND 71",
        "ELEVATION: -Z IN BYTES 41, 45 (THE GROUND); SOURCE DEPTH BELOW IT IN 49",
        "OFFSET: BYTES 37, WHOLE M; OF 2-D LINES WITH THE SIGN OF X",
        "CDP: BYTES 21, NUMBER OF THE MIDPOINT ALONG A 2-D LINE; 0 IN 3-D",
        "TIME 0: BEGIN OF THE RUN; ITS DATE IN BYTES 157 TO 168, 0 IF NONE",
        f"DATE OF TIME 0: {date.isoformat() if results.event else 'NONE'}",
        "FRACTION OF ITS SECOND: LAG TIME A, BYTES 105 TO 106, MS",
    ]
    if (gauge := traces.gauge_length) is not None:
        lines += [
            f"FIBRE: MEAN STRAIN ALONG IT OVER A GAUGE LENGTH OF {gauge:.10g} M",
            "COORDINATES OF RECEIVERS: OF THE MIDDLE OF THEIR GAUGE LENGTHS",
        ]
    lines += [
        f"SOURCE: {_described_sources(results, shots[0])}",
        f"TIME STEP OF THE RUN: {float(results.attributes.get('dt', 'nan')):.10g} S; SAMPLES EVERY "
        f"{interval} MICROSECONDS",
    ]
    lines += [""] * (38 - len(lines)) + ["SEG Y REV1", "END TEXTUAL HEADER"]
    rows = [f"C{number:2d} {line}"[:80].ljust(80) for number, line in enumerate(lines, 1)]
    return "".join(rows).encode("cp037", "replace")


def _described_sources(results: RunResults, shot: str) -> str:
    """Return the types of the sources of a shot, and wavelet and centre of the first."""
    sources = results.sources_of(shot)
    if not sources:
        return "NONE"
    first = hypocentre(results, shot)
    kinds = ", ".join(dict.fromkeys(str(source.get("type", "")) for source in sources))
    centre = float(first.get("centre", math.nan))
    at = f"BEGINS AT {float(first.get('start', 0.0)):.6g} S"
    if math.isfinite(centre):
        at = f"CENTRE AT {centre:.6g} S"
    return f"{kinds}; WAVELET {first.get('wavelet', '')}, {at}"


def _remarks(name: str, results: RunResults) -> Iterator[str]:
    if results.event and (begin := start_date(results)).microsecond:
        yield (
            f"{name} holds dates to the second: t = 0 is {begin.isoformat()}, whose "
            f"{begin.microsecond / 1000:g} ms are in lag time A (bytes 105, 106), whole ms"
        )


SEGY = ExportFormat(segy, remarks=partial(_remarks, "segy"))
SU = ExportFormat(su, remarks=partial(_remarks, "su"))
