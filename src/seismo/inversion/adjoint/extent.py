"""Arrays on the nodes of a grid, absorbing layers included, and of its extent.

Where a card has room, arrays of a model and all that is made of them are computed there
(`ArrayMemory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.base import Backend
from seismo.grid.grid import AXES, Grid

_BYTES = 500  # of the arrays that coefficients and their derivatives are made of, a point
_SHARE = 0.3  # of the free memory of a card that these may take


@dataclass(frozen=True)
class ArrayMemory:
    """The memory that arrays of a model are computed in: that of a card, or the host's.

    Attributes:
        card: the backend of the card; None for the host.
    """

    card: Backend | None

    @classmethod
    def of(cls, backend: Backend, points: int, subdomains: int) -> ArrayMemory:
        """Return the memory of a card that all of a run is on, if there is room, or the host's.

        Args:
            backend: of the run.
            points: of its grid.
            subdomains: of the grid, which may be on several cards.
        """
        free = backend.free_memory()
        fits = free is not None and _BYTES * points <= _SHARE * free
        return cls(backend if fits and subdomains == 1 else None)

    def put(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return arrays of the host in this memory."""
        return {name: self.card.array(a) if self.card else a for name, a in arrays.items()}

    def fetch(self, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return arrays of this memory on the host."""
        return {name: self.card.fetch(a) if self.card else a for name, a in arrays.items()}


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
    return array[tuple(index)].copy()


def _layers(grid: Grid, axis: str) -> tuple[int, int]:
    n = AXES.index(axis)
    return grid.low[n], grid.high[n]
