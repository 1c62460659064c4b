"""Models of SPECFEM3D and SPECFEM2D as text: tomography_model.xyz.

    orig_x orig_y orig_z end_x end_y end_z         m, z upwards; # starts a comment
    spacing_x spacing_y spacing_z                  m
    nx ny nz                                       points
    vp_min vp_max vs_min vs_max rho_min rho_max    not used
    x y z vp vs rho (qp qs)                        SI; x runs fastest, then y, z slowest

Without the columns and numbers of y it is a model of SPECFEM2D (SPECFEM3D manual, "Using
tomographic models"; `model_tomography.f90`). x and y are of the grid, or of a `crs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.arrays import listing, refuse_what_does_not_fit
from seismo.model.samples import in_si
from seismo.model.volume import (
    Across,
    Placement,
    Volume,
    VolumeBlock,
    VolumeRequest,
    on_the_earth,
)

_COLUMNS = ("vp", "vs", "rho", "qp", "qs")  # after the coordinates
_SHORTEST = 2  # bytes of a number and its separator
_LONGEST = 10_000  # characters of a line of the header
_OFF = 0.01  # of a spacing, by which a point may be off the grid of the header


@dataclass(frozen=True)
class TomographyHeader:
    """The grid of a file: ticks along x, (y,) z in m, and the lines before its points."""

    ticks: tuple[np.ndarray, ...]
    lines: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the numbers of points along z, (y,) x."""
        return tuple(t.size for t in reversed(self.ticks))


def read_tomography(request: VolumeRequest) -> Volume:
    """Read a file; its z becomes depths below z = 0.

    Raises:
        ModelError: it is no such file, or no medium has its values.
    """
    path = request.path
    crs = request.section.crs
    request.refuse_keys("positive")
    with path.open(encoding="utf-8", errors="replace") as stream:
        header = _header(stream, path)
        table = _table(stream, header, path)
    axes = len(header.ticks)
    samples = {}
    for name, spec in request.variables.items():
        known = _COLUMNS[: table.shape[1] - axes]
        if spec.variable not in known:
            raise ModelError(
                f"{path} has no column {spec.variable!r}; available: {listing(known)}",
                name,
                "variable",
            )
        column = table[:, axes + known.index(spec.variable)].reshape(header.shape)
        samples[name] = in_si(column, name, "", getattr(spec, "units", None), str(path))
    placement = Placement() if crs is None else on_the_earth(request.projection, path, crs)
    ticks = tuple(reversed(header.ticks))
    reach = tuple((float(t[0]), float(t[-1])) for t in ticks)
    names = ("elevation m", "y m", "x m") if axes == 3 else ("elevation m", "x m")
    volume = request.volume((VolumeBlock(ticks, samples),), placement, names, reach)
    return replace(volume, depth=_elevation)


def _elevation(z: np.ndarray, across: Across) -> np.ndarray:
    return -z


def _header(stream: TextIO, path: Path) -> TomographyHeader:
    rows: list[list[float]] = []
    count = 0
    while len(rows) < 4:
        line = stream.readline(_LONGEST)
        count += 1
        words = line.partition("#")[0].split()
        if line and not words:
            continue
        try:
            rows.append([float(word.lower().replace("d", "e")) for word in words])
        except ValueError:
            rows.append([])
        if not rows[-1] or not all(map(math.isfinite, rows[-1])):
            raise ModelError(
                f"{path}:{count}: is no line of numbers; expected a "
                "tomography_model.xyz of SPECFEM: origin and end, spacings, numbers of points, "
                "extremes",
                "path",
            )
    ends, steps, points, _ = rows
    axes = len(steps)
    if axes not in (2, 3) or (len(ends), len(points)) != (2 * axes, axes):
        raise ModelError(
            f"{path}: its header has {len(ends)}, {axes} and {len(points)} numbers; expected 6, 3 "
            "and 3: origin and end, spacings, numbers of points (SPECFEM2D: 4, 2 and 2)",
            "path",
        )
    if min(steps) <= 0.0 or any(n < 1 or n != round(n) for n in points):
        raise ModelError(
            f"{path}: has spacings {steps} m and {points} points; spacings have to be above 0, "
            "points whole numbers from 1",
            "path",
        )
    needed = _SHORTEST * math.prod(points) * (axes + 3)
    if needed > path.stat().st_size:
        raise ModelError(
            f"{path} is too short for the {math.prod(points):.0f} points of its header", "path"
        )
    grid = zip(ends, steps, points, strict=False)
    return TomographyHeader(tuple(a + d * np.arange(int(n)) for a, d, n in grid), count)


def _table(stream: TextIO, header: TomographyHeader, path: Path) -> np.ndarray:
    """Return the points (point, column); none may be missing that the header counts."""
    axes = len(header.ticks)
    count = math.prod(header.shape)
    refuse_what_does_not_fit(path, 8 * count * (axes + len(_COLUMNS)))
    lines = (line for line in stream if line.partition("#")[0].strip())
    try:
        table = np.loadtxt(islice(lines, count), ndmin=2)
    except ValueError:
        raise ModelError(
            f"{path}: its points, from line {header.lines + 1} on, are no table of numbers", "path"
        ) from None
    columns = table.shape[1] - axes
    if table.shape[0] < count or columns not in (3, 5):
        raise ModelError(
            f"{path} has {table.shape[0]} points of {table.shape[1]} numbers; expected {count} "
            f"(the header) of {axes + 3} or {axes + 5}: coordinates, vp, vs, rho, (qp, qs)",
            "path",
        )
    for axis, ticks in enumerate(header.ticks):
        shape = [1] * axes
        shape[axes - 1 - axis] = ticks.size
        step = ticks[1] - ticks[0] if ticks.size > 1 else max(1.0, abs(float(ticks[0])))
        off = np.abs(table[:, axis].reshape(header.shape) - ticks.reshape(shape)) > _OFF * step
        if off.any():
            number = int(np.argmax(off)) + 1
            raise ModelError(
                f"{path}: point {number} is at {'xyz'[axis] if axes == 3 else 'xz'[axis]} = "
                f"{table[number - 1, axis]:g} m, off the grid of its header; x runs fastest, then "
                "y, and z is the slowest",
                "path",
            )
    return table
