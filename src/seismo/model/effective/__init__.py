"""Effective media of cells of a grid: the cells, their sampling points, and cells cut by a contact.

Symbols: z, y, x coordinates (m).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from seismo.grid.grid import Bounds, CellSizes, Grid, moved
from seismo.model.effective.column import WIDTH

TINY = np.finfo(float).tiny
GRIDDED = {2: (4, 4), 3: (3, 3, 3)}  # per axis of every cell where files vary everywhere
# A cell that the face of a part cuts is sampled on a lattice: its points fall on N
# different places of each axis, so that a flat face in any direction is met to within h / 2N
# (Fibonacci in 2-D, good lattice points of Hua & Wang 1981 in 3-D; odd generators centre them).
_LATTICE = {2: (144, (1, 89)), 3: (101, (1, 141, 85))}
_END = 0.5 - 1e-6  # cells from the centre to just inside a corner
SLAB = 1 << 19  # samples evaluated at once

Samples = Mapping[str, np.ndarray]
Range = tuple[float, float] | None
Clamp = tuple[Range, Range, Range]  # of z, y, x


class AveragedEarth(Protocol):
    """An earth as far as averages ask for it (`seismo.model.earth.Earth`)."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the parameters."""

    @property
    def clamp(self) -> Clamp:
        """The interior, beyond which it goes on as at its edge."""

    @property
    def layered(self) -> bool:
        """Whether it varies with its vertical coordinate only."""

    @property
    def gridded(self) -> bool:
        """Whether a part varies within cells anywhere."""

    @property
    def stiffer(self) -> AveragedEarth:
        """The same with moduli that are a little larger, times their losses."""

    @property
    def column_averages(self) -> dict[tuple[bytes, object], dict[str, np.ndarray]]:
        """Averages taken down its column so far, by depths and spacing."""

    def sample(
        self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray | float = 0.0
    ) -> dict[str, np.ndarray]:
        """Return each parameter (broadcast shape) at coordinates in m."""

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where boxes hold several media."""

    def varies(self, low: Bounds, high: Bounds, density: bool = False) -> bool:
        """Return whether files vary within boxes."""

    def inside(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Bounds:
        """Return coordinates clamped to the interior."""


@dataclass(frozen=True)
class GridCells:
    """Points of a grid, and the cells about them.

    Attributes:
        z: depths (nz) m of the points; any stagger, absorbing layers included.
        y: coordinates (ny) m along y, or None in 2-D.
        x: coordinates (nx) m along x.
        spacing: edges in m of the cells by axis name.
    """

    z: np.ndarray
    y: np.ndarray | None
    x: np.ndarray
    spacing: CellSizes

    @classmethod
    def of(cls, grid: Grid) -> GridCells:
        """Return the nodes of a grid."""
        z, y, x = (
            grid.coordinate(a, np.arange(n)) for a, n in zip("zyx", grid.points[::-1], strict=True)
        )
        return cls(z, y if grid.dimensions == 3 else None, x, grid.cells)

    @property
    def column(self) -> GridCells:
        """The points of the first column."""
        return replace(self, y=None if self.y is None else self.y[:1], x=self.x[:1])

    def rows(self, chosen: slice) -> Bounds:
        """Return the coordinates of rows, so that they span a grid."""
        return tensor(self.z[chosen], self.y, self.x)

    def within(self, earth: AveragedEarth) -> tuple[Bounds, list[np.ndarray]]:
        """Return each axis without repetitions, and the index of each point in it.

        Points beyond the interior of an earth repeat its edge. Where the earth varies
        with z only, whose averages reach beyond a cell, points so far beyond are of a single rock.
        """
        depths = np.asarray(self.z, float)
        z, y, x = earth.inside(depths, self.y, np.asarray(self.x, float))
        if earth.layered and earth.clamp[0] is not None:
            beyond = moved(
                self.spacing, "z", np.array(earth.clamp[0]), np.array([-0.5, 0.5]) * WIDTH
            )
            z = np.clip(depths, *beyond)
        return unique_axes((z, y, x))


def cells_about(axes: Bounds, spacing: CellSizes) -> tuple[Bounds, Bounds]:
    """Return the low and the high ends of the cells about points (z, y, x in m)."""
    z, y, x = axes
    low, high = (
        (
            moved(spacing, "z", z, half),
            None if y is None else moved(spacing, "y", y, half),
            moved(spacing, "x", x, half),
        )
        for half in (-0.5, 0.5)
    )
    return low, high


def uneven_cells(
    earth: AveragedEarth, axes: Bounds, spacing: CellSizes, points: np.ndarray
) -> Iterator[tuple[tuple[np.ndarray, ...], Samples]]:
    """Sample the cells cut by a face of a part of the model.

    Args:
        earth: the earth; its gridded parts are ignored.
        axes: coordinates in m of the points of a grid, broadcastable against each other.
        spacing: edges in m of the cells by axis name.
        points: (rank, samples) positions in cells from the centre.

    Yields:
        Indices of a chunk of cells, and their samples (cells, samples).
    """
    present = {name: axis for name, axis in zip("zyx", axes, strict=True) if axis is not None}
    uneven = earth.uneven(*cells_about(axes, spacing))
    shape = np.broadcast_shapes(*(axis.shape for axis in present.values()))
    cells = np.argwhere(np.broadcast_to(uneven, shape))
    block = max(1, SLAB // points.shape[1])
    for first in range(0, len(cells), block):
        chunk = cells[first : first + block]
        coordinates = {
            name: moved(spacing, name, axis.ravel()[chunk[:, k], None], points[k])
            for k, (name, axis) in enumerate(present.items())
        }
        yield tuple(chunk.T), earth.sample(coordinates["z"], coordinates.get("y"), coordinates["x"])


def lattice(rank: int) -> np.ndarray:
    """Return points that fill a cell evenly (rank, samples), in cells from its centre."""
    count, generators = _LATTICE[rank]
    return np.outer(generators, (np.arange(count) + 0.5) / count) % 1.0 - 0.5


def corners(rank: int) -> np.ndarray:
    """Return points just inside the corners of a cell (rank, 2^rank), in cells from its centre."""
    ends = [(-_END, _END)] * rank
    return np.stack([axis.ravel() for axis in np.meshgrid(*ends, indexing="ij")])


def slopes(samples: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return a direction (rank, cells) across the contact that cuts each cell, of any length.

    It is the mean gradient of the logarithm over a disc about the centre, with the weights of a
    lens (error 2 degrees rms); of a contact in a corner outside the disc, that of the remaining
    weight.

    Args:
        samples: (cells, samples), positive.
        points: (rank, samples) positions in cells from the centre.
    """
    weights = np.maximum(1.0 - 4.0 * (points**2).sum(0), 1e-3)
    logarithm = np.log(samples)
    logarithm -= (logarithm * weights).sum(1, keepdims=True) / weights.sum()
    # Summed row by row: a matrix product would round by how many rows there are.
    return np.stack([(logarithm * (weights * axis)).sum(1) for axis in points])


def tilt(samples: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return sin^2 of the dip of the contact that cuts a cell; in 3-D 2 if it stands, and 0 if not.

    Args:
        samples: (cells, samples) of a modulus or a compliance, positive.
        points: (rank, samples) positions in cells from the centre; z first.
    """
    z, *horizontal = (slope**2 for slope in slopes(samples, points))
    upright = sum(horizontal) / np.maximum(z + sum(horizontal), TINY)
    return upright if len(points) == 2 else np.where(upright > 0.5, 2.0, 0.0)


def offsets(count: int) -> np.ndarray:
    """Return the centres of `count` equal intervals of a cell, in cells from its centre."""
    return (np.arange(count) + 0.5) / count - 0.5


def tensor(z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Bounds:
    """Shape coordinates along z, y, x so that they span a grid."""
    if y is None:
        return z[:, None], None, x[None, :]
    return z[:, None, None], y[None, :, None], x[None, None, :]


def unique_axes(axes: Bounds) -> tuple[Bounds, list[np.ndarray]]:
    """Return each axis without repetitions, and the index of each point in it."""
    unique = [None if axis is None else np.unique(axis, return_inverse=True) for axis in axes]
    indices = [pair[1] for pair in unique if pair is not None]
    z, y, x = (None if pair is None else pair[0] for pair in unique)
    return (z, y, x), indices  # type: ignore[return-value]
