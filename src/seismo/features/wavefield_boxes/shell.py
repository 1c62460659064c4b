"""The box of a wavefield on a grid: the points inside, and the slabs of points about its faces.

  first                    last          nodes inside; half points n + 1/2 where n + 1 is, too
    |                        |
- - o===o===o= ... =o===o===o - -
    :                       :            `width` rows on either side of a face, and as many
  [ x_min slab ]         [ x_max slab ]  beyond the ends of the box along the other axes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.grid.grid import AXES, Box, Grid, Triple, triple

ROUNDING = 1e-6  # of a cell, by which an end of a box may miss a node


@dataclass(frozen=True)
class GridBox:
    """A box on a grid.

    Attributes:
        first: first nodes inside along x, y, z.
        last: last nodes inside.
        faces: at which it ends, such as "x_min", "z_max".
    """

    first: Triple
    last: Triple
    faces: tuple[str, ...]

    def inside(self, half: str, index: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which points of a field lie inside.

        Args:
            half: axes along which the field stands half a cell further.
            index: of points along x, y, z (broadcast shapes).
        """
        within: Any = np.array(True)
        for a, axis in enumerate(AXES):
            if f"{axis}_min" in self.faces:
                within = within & (index[axis] >= self.first[a])
            # A half point behind the last node is outside.
            if f"{axis}_max" in self.faces:
                within = within & (index[axis] + (axis in half) <= self.last[a])
        return np.asarray(within)

    def slabs(self, width: int) -> dict[str, Box]:
        """Return the points about each face, `width` rows on either side of it."""
        # The box with its margins, which ends where it has no face.
        lo = [n - width * (f"{axis}_min" in self.faces)
              for axis, n in zip(AXES, self.first, strict=True)]  # fmt: skip
        hi = [n + 1 + width * (f"{axis}_max" in self.faces)
              for axis, n in zip(AXES, self.last, strict=True)]  # fmt: skip
        slabs = {}
        for face in self.faces:
            axis, end = face.split("_")
            a = AXES.index(axis)
            # The face lies before the first node, or behind the last.
            at = self.first[a] if end == "min" else self.last[a] + 1
            slab_lo = [*lo[:a], at - width, *lo[a + 1 :]]
            slab_hi = [*hi[:a], at + width, *hi[a + 1 :]]
            slabs[face] = Box(triple(slab_lo), triple(slab_hi))
        return slabs

    def misfits(self, grid: Grid, width: int) -> str:
        """Return why slabs of a width do not fit a grid, "" where they do."""
        for axis in grid.axes:
            a = AXES.index(axis)
            cell = grid.edge(axis, self.first[a])
            # Slabs of opposite faces do not overlap.
            if self.last[a] - self.first[a] < 2 * width:
                nodes = 2 * width + 1
                return f"has less than {nodes} nodes along {axis}: it needs {2 * width * cell:g} m"
            # Nor do they reach into an absorbing layer, or out of the grid.
            spare = {f"{axis}_min": self.first[a] - width - grid.extent.lo[a],
                     f"{axis}_max": grid.extent.hi[a] - 1 - self.last[a] - width}  # fmt: skip
            for face, points in spare.items():
                if face in self.faces and points < 0:
                    return (
                        f"{face} is nearer than {width} points to the end of the grid: move it "
                        f"{-points * cell:g} m inwards, or make grid.extent larger"
                    )
        return ""


def grid_box(
    grid: Grid, ends: Mapping[str, tuple[float, float]], faces: tuple[str, ...]
) -> GridBox:
    """Return the box between coordinates in m by axis, whose ends move inwards to nodes.

    Args:
        grid: the grid.
        ends: first and last coordinate in m by axis.
        faces: at which it ends; where it has none, it ends with the grid.
    """
    first = list(grid.box.lo)
    last = [n - 1 for n in grid.box.hi]
    for axis, (low, high) in ends.items():
        a = AXES.index(axis)
        if f"{axis}_min" in faces:
            first[a] = int(np.ceil(float(grid.index(axis, low)) - ROUNDING))
        if f"{axis}_max" in faces:
            last[a] = int(np.floor(float(grid.index(axis, high)) + ROUNDING))
    return GridBox(triple(first), triple(last), faces)
