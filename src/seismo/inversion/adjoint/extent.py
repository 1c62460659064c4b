"""Arrays on the nodes of a grid, absorbing layers included, and of its extent."""

from __future__ import annotations

import numpy as np

from seismo.grid.grid import AXES, Grid


def on_grid(array: np.ndarray, grid: Grid) -> np.ndarray:
    """Return an array (z, [y,] x) on all nodes (z, y, x): layers continue the edge."""
    volume = array if array.ndim == 3 else array[:, None, :]
    return np.pad(volume, [_layers(grid, axis) for axis in "zyx"], mode="edge")


def in_layers_zero(array: np.ndarray, grid: Grid) -> np.ndarray:
    """Return an array (z, [y,] x) on all nodes (z, y, x), zero in layers."""
    volume = array if array.ndim == 3 else array[:, None, :]
    return np.pad(volume, [_layers(grid, axis) for axis in "zyx"])


def in_extent(array: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the values (z, [y,] x) of the extent from those on all nodes (z, y, x)."""
    index: list[slice | int] = []
    for axis, count in zip("zyx", array.shape, strict=True):
        before, behind = _layers(grid, axis)
        index.append(slice(before, count - behind) if axis in grid.axes else 0)
    return np.array(array[tuple(index)])


def _layers(grid: Grid, axis: str) -> tuple[int, int]:
    n = AXES.index(axis)
    return grid.low[n], grid.high[n]
