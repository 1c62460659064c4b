"""What points of a grid cost beside one another: in absorbing layers, and in curved rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seismo.grid.grid import Box, Grid, triple


class PointCosts(NamedTuple):
    """Time of a point over that of an interior one.

    Attributes:
        layer: of a point in an absorbing layer.
        curved: of a point in a row that follows the ground; times that of a layer in one.
        rows: from the top down that do.
    """

    layer: float = 1.0
    curved: float = 1.0
    rows: int = 0


EVEN = PointCosts()


def cost(grid: Grid, box: Box, costs: PointCosts) -> float:
    """Return the cost of a box in interior points."""

    def flat(inside: Box) -> float:
        # Weighted volume: all points as layer points, less the surplus of those in the extent.
        extent = inside & grid.extent
        return costs.layer * inside.size - (costs.layer - 1.0) * extent.size

    curved = box & Box((0, 0, 0), (*grid.points[:2], costs.rows))
    return flat(box) + (costs.curved - 1.0) * flat(curved)


def plane_costs(grid: Grid, axis: int, costs: PointCosts) -> np.ndarray:
    """Return the cost (n) of each plane across an axis, in interior points."""
    planes = []
    for n in range(grid.points[axis]):
        lo = [0, 0, 0]
        hi = list(grid.points)
        lo[axis] = n
        hi[axis] = n + 1
        planes.append(cost(grid, Box(triple(lo), triple(hi)), costs))
    return np.array(planes)
