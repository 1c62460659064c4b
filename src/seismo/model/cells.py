"""The cells about the points of a grid: their ends, which a contact cuts, where to sample them.

Symbols: z, y, x coordinates (m).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from seismo.model.earth import Earth
from seismo.model.layered import Bounds

TINY = np.finfo(float).tiny
GRIDDED = {2: (4, 4), 3: (3, 3, 3)}  # per axis of every cell where files vary everywhere
# A cell through which a face of some part passes is sampled on a lattice: its points fall on N
# different places of each axis, so that a flat face in any direction is met to within h / 2N
# (Fibonacci in 2-D, good lattice points of Hua & Wang 1981 in 3-D; odd generators centre them).
_LATTICE = {2: (144, (1, 89)), 3: (101, (1, 141, 85))}
SLAB = 1 << 19  # samples evaluated at once

Samples = Mapping[str, np.ndarray]


def cells_about(axes: Bounds, spacing: Mapping[str, float]) -> tuple[Bounds, Bounds]:
    """Return the low and the high ends of the cells about points (z, y, x in m)."""
    z, y, x = axes
    low, high = (
        (
            z + half * spacing["z"],
            None if y is None else y + half * spacing["y"],
            x + half * spacing["x"],
        )
        for half in (-0.5, 0.5)
    )
    return low, high


def uneven_cells(
    earth: Earth, axes: Bounds, spacing: Mapping[str, float], points: np.ndarray
) -> Iterator[tuple[tuple[np.ndarray, ...], Samples]]:
    """Sample the cells through which a face of some part of the earth passes.

    Args:
        earth: the earth; its gridded parts do not count.
        axes: coordinates in m of the points of a grid, broadcastable against one another.
        spacing: edges in m of the cells by axis name.
        points: (rank, samples) where, in cells from the centre.

    Yields:
        Indices of some cells, and their samples (cells, samples).
    """
    given = {name: axis for name, axis in zip("zyx", axes, strict=True) if axis is not None}
    uneven = earth.uneven(*cells_about(axes, spacing))
    shape = np.broadcast_shapes(*(axis.shape for axis in given.values()))
    cells = np.argwhere(np.broadcast_to(uneven, shape))
    block = max(1, SLAB // points.shape[1])
    for first in range(0, len(cells), block):
        part = cells[first : first + block]
        places = {
            name: axis.ravel()[part[:, k], None] + spacing[name] * points[k]
            for k, (name, axis) in enumerate(given.items())
        }
        yield tuple(part.T), earth.sample(places["z"], places.get("y"), places["x"])


def lattice(rank: int) -> np.ndarray:
    """Return points that fill a cell evenly (rank, samples), in cells from its centre."""
    count, generators = _LATTICE[rank]
    return np.outer(generators, (np.arange(count) + 0.5) / count) % 1.0 - 0.5


def slopes(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return a direction (rank, cells) across the contact that cuts each cell, of any length.

    The slope of the logarithm of values is across the contact where a disc about the centre is
    asked for it, weighted as a lens (to 2 degrees rms); what cuts a corner only has that of the
    rest.

    Args:
        values: (cells, samples), positive.
        points: (rank, samples) where, in cells from the centre.
    """
    weights = np.maximum(1.0 - 4.0 * (points**2).sum(0), 1e-3)
    level = np.log(values)
    level -= (level * weights).sum(1, keepdims=True) / weights.sum()
    # Summed row by row: a matrix product would round by how many rows there are.
    return np.stack([(level * (weights * axis)).sum(1) for axis in points])


def tilt(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return sin^2 of the dip of the contact that cuts a cell; in 3-D 2 if it stands, and 0 if not.

    Args:
        values: (cells, samples) of a modulus or a compliance, positive.
        points: (rank, samples) where, in cells from the centre; z first.
    """
    z, *others = (slope**2 for slope in slopes(values, points))
    upright = sum(others) / np.maximum(z + sum(others), TINY)
    return upright if len(points) == 2 else np.where(upright > 0.5, 2.0, 0.0)


def offsets(count: int) -> np.ndarray:
    """Return the middles of `count` equal parts of a cell, in cells from its centre."""
    return (np.arange(count) + 0.5) / count - 0.5


def tensor(z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Bounds:
    """Shape coordinates along z, y, x so that they span a grid."""
    if y is None:
        return z[:, None], None, x[None, :]
    return z[:, None, None], y[None, :, None], x[None, None, :]
