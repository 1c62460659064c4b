"""Models in SEG-Y files: one property in a file, a trace down every column of a line or a cube.

    binary header   bytes 17-18 sample interval, 25-26 number format (of the header's 400)
    trace header    71-72 scalar of coordinates, 109-110 depth of the first sample,
                    215-216 its scalar,
                    73-80, 81-88, 181-188 positions, 189-192 inline, 193-196 crossline

Positions of traces are coordinates x, y of the grid; a line that lies obliquely, or a turned cube,
has its own axes, which the scenario names. Sample intervals of depths are stored in m or in mm (as
those of times are in us); which it is the scenario has to say where both are possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.segy.header import read_header
from seismo.formats.segy.lines import (
    TraceGrid,
    along,
    is_known,
    placed,
    trace_grid,
)
from seismo.scenario.earth.gridded_parts import GriddedFile

_METRES = 1
_SCALARS = (1.0, 10.0, 100.0, 1000.0, 10000.0)  # of depths of first samples; negative: divide
_TOUCHES = 1e-3  # of a spacing that a file and a grid have in common: their edges
_IN_METRES = 100  # sample intervals below are in m,
_IN_MILLIMETRES = 1000  # from here on in mm; between both are possible


class SegyGrid(NamedTuple):
    """Samples on a regular grid: axes in their order, coordinates in m of the first, spacing."""

    samples: np.ndarray
    axes: str
    origin: tuple[float, ...]
    spacing: tuple[float, ...]


def read_segy(path: Path, spec: GriddedFile, region: Mapping[str, tuple[float, float]]) -> SegyGrid:
    """Read those traces of a file that a region needs.

    Args:
        path: the file.
        spec: the scenario's specification of it.
        region: limits of the grid in m by axis name.

    Raises:
        ModelError: it is no such file, or what it leaves open the specification does not say.
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
    """Read traces (number, sample), those that follow one another at once."""
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
