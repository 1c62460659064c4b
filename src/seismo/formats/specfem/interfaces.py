"""Interfaces of SPECFEM3D's own mesher: elevations on regular grids, from the bottom up.

2                                            number of interfaces
.true. 161 144 316000.d0 3655000.d0 2.d4 2.d4    in metres; points, first ones, spacings of x, y
interface1.dat                               elevations in m, x running fastest
.false. 1401 1001 -121.d0 32.d0 5.d-3 5.d-3  in degrees; the last one is the ground
interface2.dat
11                                           elements below each
4
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.conversion.converted_run import ConvertedRun, short
from seismo.formats.reading.text import read_lines
from seismo.formats.specfem.files import fortran_number

_FLAT = 1e-3  # m
_MARGIN = 4  # points of an interface beyond the mesh that are kept

MeshLimits = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Interface:
    """Elevations (y, x) m at points of x and y, which grow.

    Attributes:
        path: of the file.
        ticks: x and y of the points, in m or degrees.
        elevations: of the points.
        in_metres: whether x and y are.
    """

    path: Path
    ticks: tuple[np.ndarray, np.ndarray]
    elevations: np.ndarray
    in_metres: bool

    @property
    def is_flat(self) -> bool:
        """Whether it has one elevation."""
        return float(np.ptp(self.elevations)) <= _FLAT

    def within(self, limits: MeshLimits) -> Interface:
        """Return the part within limits of x and y, with some points on all sides."""
        kept = []
        for ticks, (low, high) in zip(self.ticks, limits, strict=True):
            first = int(np.searchsorted(ticks, low)) - _MARGIN
            last = int(np.searchsorted(ticks, high)) + _MARGIN
            size = ticks.size
            kept.append(slice(min(max(0, first), size - 2), max(2, min(size, last))))
        x, y = (ticks[span] for ticks, span in zip(self.ticks, kept, strict=True))
        return Interface(self.path, (x, y), self.elevations[kept[1], kept[0]], self.in_metres)

    def topography(self, run: ConvertedRun, crs: str) -> dict[str, Any]:
        """Add its elevations as a file beside the scenario; return the section `topography`.

        Args:
            run: that is converted.
            crs: projection of the mesh, "" of a mesh whose x and y are those of the grid.
        """
        x, y = self.ticks
        if not crs:
            stream = io.BytesIO()
            np.save(stream, self.elevations)
            return {
                "type": "file", "path": run.add_side_file("ground.npy", stream.getvalue()),
                "spacing": {"x": short(x[1] - x[0]), "y": short(y[1] - y[0])},
                "origin": {"x": short(x[0]), "y": short(y[0])}, "outside": "nearest",
            }  # fmt: skip
        rows = [
            f"{float(one):.9g} {float(other):.9g} {float(elevation):.8g}\n"
            for other, row in zip(y, self.elevations, strict=True)
            for one, elevation in zip(x, row, strict=True)
        ]
        name = run.add_side_file("ground.xyz", "".join(rows).encode())
        placed = {"crs": crs} if self.in_metres else {"coordinates": "degrees"}
        return {"type": "file", "path": name, **placed, "outside": "nearest"}


def read_interfaces(path: Path) -> tuple[list[Interface], list[int]]:
    """Return the interfaces from the bottom up, and the elements below each.

    Raises:
        ScenarioError: a file is missing or malformed.
    """
    rows = read_lines(path, "expected interfaces of SPECFEM3D")
    try:
        count = int(rows[0][1].split()[0])
        described = rows[1 : 1 + 2 * count]
        counts = [int(line.split()[0]) for _, line in rows[1 + 2 * count : 1 + 3 * count]]
    except (ValueError, IndexError):
        raise ScenarioError(f"{path}: is no list of interfaces of SPECFEM3D") from None
    if len(described) != 2 * count or len(counts) != count or min(counts, default=0) < 1:
        raise ScenarioError(f"{path}: {count} interfaces need two lines and a count of elements")
    pairs = zip(described[::2], described[1::2], strict=True)
    return [_interface(path, grid, name) for grid, (_, name) in pairs], counts


def _interface(path: Path, grid: tuple[int, str], name: str) -> Interface:
    where = f"{path}:{grid[0]}"
    flag, *words = grid[1].split()
    if len(words) < 6 or flag.strip(".").lower() not in ("true", "false"):
        raise ScenarioError(
            f"{where}: expected .true. or .false., and six numbers: points, first x and y, spacings"
        )
    columns, rows, *numbers = (fortran_number(word, where) for word in words[:6])
    shape = int(rows), int(columns)
    file = path.parent / name.split()[0]
    elevations = [
        fortran_number(word, f"{file}:{number}")
        for number, line in read_lines(file, "expected elevations of an interface")
        for word in line.split()
    ]
    if min(shape) < 2 or len(elevations) < shape[0] * shape[1]:
        raise ScenarioError(
            f"{file}: has {len(elevations)} elevations, expected {shape[1]} x {shape[0]} ({where})"
        )
    if not all(numbers[2:]):
        raise ScenarioError(f"{where}: a spacing is 0")
    surface = np.array(elevations[: shape[0] * shape[1]]).reshape(shape)
    ticks = []
    for axis, size in ((0, shape[1]), (1, shape[0])):
        first = numbers[axis]
        step = numbers[2 + axis]
        ticks.append(first + step * np.arange(size))
        if step < 0.0:
            ticks[-1] = ticks[-1][::-1]
            surface = np.flip(surface, 1 - axis)
    return Interface(file, (ticks[0], ticks[1]), surface, flag.strip(".").lower() == "true")
