"""Models in SEG-Y files: a property in a file, a trace down every column of a line or a cube.

    binary header   bytes 17-18 sample interval, 25-26 number format (of the header's 400)
    trace header    71-72 scalar of coordinates, 109-110 depth of the first sample,
                    215-216 its scalar,
                    73-80, 81-88, 181-188 positions, 189-192 inline, 193-196 crossline

Positions of traces are coordinates x, y of the grid; a line that lies obliquely, or a turned cube,
has its own axes, which the scenario names. Sample intervals of depths are stored in m or in mm (as
those of times are in us); which it is the scenario has to say where both are possible.

Traces make a line or a cube , which may lie obliquely in the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading import optional_package
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.formats.segy import read_header
from seismo.scenario.gridded_parts import GriddedFile

_POSITIONS = ((181, 185), (73, 77), (81, 85))  # of x and y: of bins, of sources, of receivers
_STRAIGHT = 0.25  # of a spacing by which the ends of a line may lie beside an axis
_UNEVEN = 0.01  # of a spacing by which positions may be off their grid, besides rounding
_METRES = 1
_SCALARS = (1.0, 10.0, 100.0, 1000.0, 10000.0)  # of depths of first samples; negative: divide
_TOUCHES = 1e-3  # of a spacing that a file and a grid have in common: their edges
_IN_METRES = 100  # sample intervals below are in m,
_IN_MILLIMETRES = 1000  # from here on in mm; between both are possible


class TraceAxis(NamedTuple):
    """Columns along one axis of a line or cube: how many, and the step (x, y) in m between them."""

    columns: int
    step: np.ndarray


class TraceGrid(NamedTuple):
    """Numbers of traces (along its axes), their axes and the position (x, y) in m of the first."""

    numbers: np.ndarray
    axes: tuple[TraceAxis, ...]
    first: np.ndarray


def trace_grid(file: Any, path: Path) -> TraceGrid:
    """Find the line or the cube that the traces make."""
    inline, crossline = (np.asarray(file.attributes(byte)[:]) for byte in (189, 193))
    positions, rounding = _positions(file)
    count = len(inline)
    lines, row = np.unique(inline, return_inverse=True)
    crossings, column = np.unique(crossline, return_inverse=True)
    if min(len(lines), len(crossings)) == 1 or max(len(lines), len(crossings)) == count:
        return _line(positions, rounding, path)
    if (
        len(lines) * len(crossings) != count
        or np.unique(row * len(crossings) + column).size < count
    ):
        raise ModelError(
            f"{path} has {count} traces, and a cube of its {len(lines)} inlines and "
            f"{len(crossings)} crosslines has one at each of their {len(lines) * len(crossings)} "
            "crossings; fill the gaps, or check bytes 189 and 193 of the trace headers",
            "path",
        )
    numbers = np.empty((len(lines), len(crossings)), int)
    numbers[row, column] = np.arange(count)
    first = positions[numbers[0, 0]]
    steps = [
        (positions[numbers[-1, 0]] - first) / (len(lines) - 1),
        (positions[numbers[0, -1]] - first) / (len(crossings) - 1),
    ]
    expected = first + row[:, None] * steps[0] + column[:, None] * steps[1]
    _refuse_uneven(positions, expected, steps, rounding, path)
    axes = tuple(TraceAxis(n, step) for n, step in zip(numbers.shape, steps, strict=True))
    return TraceGrid(numbers, axes, first)


def _line(positions: np.ndarray, rounding: float, path: Path) -> TraceGrid:
    count = len(positions)
    if count == 1:
        return TraceGrid(np.array(0), (), positions[0])
    step = (positions[-1] - positions[0]) / (count - 1)
    expected = positions[0] + np.arange(count)[:, None] * step
    _refuse_uneven(positions, expected, [step], rounding, path)
    return TraceGrid(np.arange(count), (TraceAxis(count, step),), positions[0])


def _refuse_uneven(
    positions: np.ndarray, expected: np.ndarray, steps: list[np.ndarray], rounding: float,
    path: Path,
) -> None:  # fmt: skip
    """Refuse traces that are not on the regular grid of their numbers."""
    off = np.hypot(*(positions - expected).T)
    least = min(float(np.hypot(*step)) for step in steps)
    allowed = max(rounding, _UNEVEN * least)
    if not (off <= allowed).all():
        worst = int(np.argmax(off > allowed))
        x, y = positions[worst]
        raise ModelError(
            f"{path}: trace {worst + 1} at x = {x:g} m, y = {y:g} m lies {off[worst]:.3g} m beside "
            "the even grid of the traces; interpolate the model to one",
            "path",
        )


def _positions(file: Any) -> tuple[np.ndarray, float]:
    """Return the positions (trace, 2) in m of the traces, zeros without any, and their rounding."""
    scalar = np.asarray(file.attributes(71)[:]).astype(float)
    divisor = np.where(scalar < 0.0, -scalar, 1.0)
    scale = np.maximum(scalar, 1.0) / divisor  # 0 is no scalar
    for fields in _POSITIONS:
        header_numbers = np.stack([np.asarray(file.attributes(byte)[:]) for byte in fields], 1)
        if np.ptp(header_numbers, 0).any():
            return header_numbers * scale[:, None], 2.0 * float(scale.max())
    return np.zeros((len(scalar), 2)), 0.0


def placed(
    grid: TraceGrid, spec: GriddedFile, region: Mapping[str, Any], path: Path
) -> tuple[str, list[float], list[float], TraceGrid]:
    """Return the grid's axes as letters, its origin and spacing in m along them, and it, upright.

    Axes along which coordinates fall are turned round.

    Args:
        grid: of traces.
        spec: the scenario's specification of the file.
        region: limits of the run's grid in m by axis name.
        path: of the file, for messages.

    Raises:
        ModelError: the traces do not lie along the axes, and the specification does not say how.
    """
    if len(grid.axes) > 1 and "y" not in region:
        raise ModelError(
            f"{path} is a cube, but the grid is 2-D (x, z); give a line, or grid.extent.y", "path"
        )
    by_position = "".join(_letter(axis) for axis in grid.axes)
    lies = len(by_position) == len(grid.axes) == len(set(by_position))
    lies = lies and set(by_position) <= set(region)
    letters = _letters(grid, spec, by_position if lies else "", path)
    upright = grid
    if lies and letters == by_position:
        upright = _turned_round(grid, letters)
    origin = []
    spacing = []
    for letter, (_, step) in zip(letters, grid.axes, strict=True):
        distance = float(np.hypot(*step))
        spacing.append(along(spec, "spacing", letter, distance or None))
        differs = distance > 0.0 and abs(spacing[-1] - distance) > _UNEVEN * distance
        if differs and not is_known(spec, "origin", letter):
            raise ModelError(
                f"{path} has traces {distance:g} m apart along {letter} by their positions, and "
                f"`spacing` says {spacing[-1]:g} m; leave that out, or give the `origin`, too",
                "spacing",
            )
        first = float(upright.first["xy".index(letter)]) if lies else region[letter][0]
        origin.append(along(spec, "origin", letter, first))
    return letters, origin, spacing, upright


def _letters(grid: TraceGrid, spec: GriddedFile, by_position: str, path: Path) -> str:
    """Return the axes x, y of a grid of traces: from the scenario, or from their positions."""
    written = (spec.axes or "").replace("z", "")
    if spec.axes and (not spec.axes.endswith("z") or len(written) != len(grid.axes)):
        expected = {0: "z", 1: "xz", 2: "xyz or yxz"}[len(grid.axes)]
        raise ModelError(
            f"{path} has traces down z; give axes: {expected}, or leave it out", "axes"
        )
    letters = written or by_position or "x"[: len(grid.axes)]
    has_origin = is_known(spec, "origin", letters)
    if by_position and letters != by_position and not has_origin:
        raise ModelError(
            f"{path} has the axes {by_position}z by the positions of its traces; write that, or "
            "give the `origin`, too, if they do not count",
            "axes",
        )
    if len(letters) < len(grid.axes):
        raise ModelError(
            f"missing: {path} is a cube that {_lie(grid)}; say what its inlines and crosslines "
            "follow each other along: yxz or xyz, and give its origin",
            "axes",
        )
    if not by_position and not has_origin and any(step.any() for _, step in grid.axes):
        raise ModelError(
            f"missing: {path} {_lie(grid)}; give `origin: {{{letters[:1]}: ...}}`, from which "
            f"{' and '.join(letters)} count along it",
            "origin",
        )
    return letters


def _turned_round(grid: TraceGrid, letters: str) -> TraceGrid:
    """Return a grid whose coordinates rise along its axes."""
    numbers = grid.numbers
    first = grid.first.copy()
    for n, (letter, (columns, step)) in enumerate(zip(letters, grid.axes, strict=True)):
        if step["xy".index(letter)] < 0.0:
            numbers = np.flip(numbers, n)
            first += (columns - 1) * step
    return grid._replace(numbers=numbers, first=first)


def _letter(axis: TraceAxis) -> str:
    """Return the axis x or y that columns follow, "" if neither."""
    across = np.abs(axis.step[::-1]) * (axis.columns - 1)  # of x, of y
    length = float(np.hypot(*axis.step))
    along = [letter for letter, off in zip("xy", across, strict=True) if off <= _STRAIGHT * length]
    return along[0] if length and along else ""


def _lie(grid: TraceGrid) -> str:
    """Describe how a line or cube lies that follows no axis."""
    step = grid.axes[0].step
    if not step.any():
        return "has no positions in its trace headers"
    angle = math.degrees(math.atan2(step[1], step[0]))
    return f"lies at {angle:.3g} degrees to the axis x"


def is_known(spec: GriddedFile, key: str, axes: Iterable[str]) -> bool:
    """Whether the scenario gives the origin or spacing along all these axes."""
    return all(getattr(getattr(spec, key), a, None) is not None for a in axes)


def along(spec: GriddedFile, key: str, axis: str, of_file: float | None) -> float:
    """Return the origin or spacing along an axis: the scenario's, or else the file's.

    Raises:
        ModelError: neither says it.
    """
    written = getattr(getattr(spec, key), axis, None)
    either = of_file if written is None else written
    if either is None:
        raise ModelError(
            f"missing: the traces have no positions in their headers; "
            f"give `{key}: {{{axis}: ...}}`",
            key,
        )
    return float(either)


class SegyGrid(NamedTuple):
    """Samples on a regular grid: axes in their order, coordinates in m of the first, spacing."""

    samples: np.ndarray
    axes: str
    origin: tuple[float, ...]
    spacing: tuple[float, ...]


def read_segy(path: Path, spec: GriddedFile, region: Mapping[str, tuple[float, float]]) -> SegyGrid:
    """Read the traces of a file that a region needs.

    Args:
        path: the file.
        spec: the scenario's specification of it.
        region: limits of the grid in m by axis name.

    Raises:
        ModelError: it is no such file, or the specification does not complete it.
    """
    segyio = optional_package("segyio", "segy", f"{path}: a SEG-Y file")
    header = read_header(path)
    endian = "big" if header.big_endian else "little"
    with segyio.open(path, ignore_geometry=True, strict=False, endian=endian) as file:
        grid = trace_grid(file, path)
        shape = (*(axis.columns for axis in grid.axes), header.samples)
        if spec.shape is not None and tuple(spec.shape) != shape:
            raise ModelError(f"{path} has shape {list(shape)}; write that, or nothing", "shape")
        if header.in_feet or _foreign_units(file):
            _refuse_other_units(spec, region, path)
        letters, origin, spacing, grid = placed(grid, spec, region, path)
        origin.append(along(spec, "origin", "z", _first_depth(file, path)))
        spacing.append(_depth_step(header.interval or file.attributes(117)[0][0], spec, path))
        needed, origin = _cropped(grid, letters, origin, spacing, region, path)
        refuse_what_does_not_fit(path, 2 * needed.size * header.samples * file.dtype.itemsize)
        samples = _traces(file, needed.ravel(), header.samples).reshape(*needed.shape, -1)
    return SegyGrid(samples, letters + "z", tuple(origin), tuple(spacing))


def _refuse_other_units(spec: GriddedFile, region: Mapping[str, Any], path: Path) -> None:
    """Refuse a file in feet, or with angles for positions, whose place in m is not given."""
    if not (is_known(spec, "spacing", region) and is_known(spec, "origin", region)):
        raise ModelError(
            f"{path} does not count in m by its headers; give `spacing` and `origin` of all axes "
            "in m",
            "spacing",
        )


def _cropped(
    grid: TraceGrid, letters: str, origin: list[float], spacing: list[float],
    region: Mapping[str, tuple[float, float]], path: Path,
) -> tuple[np.ndarray, list[float]]:  # fmt: skip
    """Return the numbers of the traces that a region needs, and the origin of these."""
    numbers = grid.numbers
    origin = list(origin)
    for n, letter in enumerate(letters):
        if letter not in region:
            continue
        count = numbers.shape[n]
        ends = (np.array(region[letter]) - origin[n]) / spacing[n]
        first = max(0, math.floor(ends[0]) - 1)
        last = min(count - 1, math.ceil(ends[1]) + 1)
        common = min(ends[1], count - 1.0) - max(ends[0], 0.0)
        only_touches = common <= _TOUCHES and count > 1 and ends[1] > ends[0]
        if common < 0.0 or only_touches:
            reach = f"{origin[n]:.6g} to {origin[n] + (count - 1) * spacing[n]:.6g} m"
            low, high = region[letter]
            nothing = "nothing" if common < 0.0 else "nothing but the edge"
            raise ModelError(
                f"{path} covers {letter} = {reach}, {nothing} of the grid's {low:.6g} to "
                f"{high:.6g} m; give `origin: {{{letter}: ...}}`, or change grid.origin",
                "path",
            )
        numbers = numbers.take(range(first, last + 1), n)
        origin[n] += first * spacing[n]
    return numbers, origin


def _traces(file: Any, numbers: np.ndarray, samples: int) -> np.ndarray:
    """Read traces (number, sample), consecutive traces at once."""
    result = np.empty((numbers.size, samples), file.dtype)
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    for first, last in zip((0, *breaks), (*breaks, numbers.size), strict=True):
        start = int(numbers[first])
        result[first:last] = file.trace.raw[start : start + last - first]
    return result


def _first_depth(file: Any, path: Path) -> float:
    """Return the depth in m of the first samples."""
    scalar = np.asarray(file.attributes(215)[:]).astype(float)
    scalar = np.where(np.isin(np.abs(scalar), _SCALARS), scalar, 1.0)
    scale = np.where(scalar < 0.0, -1.0 / scalar, scalar)
    delays = np.unique(np.asarray(file.attributes(109)[:]) * scale)
    if delays.size > 1:
        raise ModelError(
            f"{path} has traces that begin at depths from {delays[0]:g} to {delays[-1]:g} m (bytes "
            "109 and 110 of their headers); let all begin at one",
            "path",
        )
    return float(delays[0])


def _depth_step(interval: int, spec: GriddedFile, path: Path) -> float:
    """Return the spacing of the samples in m."""
    step = None
    if 0 < interval < _IN_METRES:
        step = float(interval)
    elif interval >= _IN_MILLIMETRES:
        step = 1e-3 * interval
    if step is None and getattr(spec.spacing, "z", None) is None:
        either = f"{interval} m or {1e-3 * interval:g} m" if interval else "nothing"
        raise ModelError(
            f"missing: {path} has the sample interval {interval}, which may mean {either}; give "
            f"`spacing: {{z: {1e-3 * interval or 10:g} m}}`",
            "spacing",
        )
    return along(spec, "spacing", "z", step)


def _foreign_units(file: Any) -> bool:
    """Whether positions are angles."""
    return bool((np.asarray(file.attributes(89)[:]) > _METRES).any())
