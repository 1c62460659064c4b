"""The coordinates in which parts of the earth are asked: true z, or depth below the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.grid.topography import Topography
from seismo.model.layered import Bounds

Boxes = tuple[Bounds, Bounds]  # low and high ends


@dataclass(frozen=True)
class GroundFrame:
    """Where the points of a grid stand, and how parts of the earth count their z.

    Attributes:
        topography: that the vertical coordinate s follows; None where it is z.
        level: z in m of the ground, where there is no topography.
        below_ground: numbers of the parts whose z counts from the ground.
    """

    topography: Topography | None = None
    level: float = 0.0
    below_ground: frozenset[int] = frozenset()

    def true(self, coordinates: Bounds) -> Bounds:
        """Return z, y, x of points at s, y, x in m."""
        s, y, x = coordinates
        if self.topography is None or np.all(s >= self.topography.flat_from):
            return coordinates
        return self.topography.z(s, y, x), y, x

    def true_boxes(self, low: Bounds, high: Bounds) -> Boxes:
        """Return the boxes of z, y, x that hold those of s, y, x."""
        if self.topography is None or np.all(low[0] >= self.topography.flat_from):
            return low, high
        # The ground at the corners; z grows with s.
        columns = [(y, x) for y in (low[1], high[1]) for x in (low[2], high[2])]
        z = self.topography.z
        top = np.minimum.reduce([z(low[0], *column) for column in columns])
        bottom = np.maximum.reduce([z(high[0], *column) for column in columns])
        return (top, *low[1:]), (bottom, *high[1:])

    def of_part(self, number: int, coordinates: Bounds) -> Bounds:
        """Return z, y, x in m as a part of the model counts z."""
        if number not in self.below_ground:
            return coordinates
        z, y, x = coordinates
        return z - self._ground(y, x), y, x

    def boxes_of_part(self, number: int, boxes: Boxes) -> Boxes:
        """Return the boxes that hold those of z, y, x, with z as a part counts it."""
        if number not in self.below_ground:
            return boxes
        low, high = boxes
        corners = [self._ground(y, x) for y in (low[1], high[1]) for x in (low[2], high[2])]
        top = low[0] - np.maximum.reduce(corners)
        return (top, *low[1:]), (high[0] - np.minimum.reduce(corners), *high[1:])

    def _ground(self, y: np.ndarray | None, x: np.ndarray) -> np.ndarray:
        """Return z in m of the ground at y, x in m."""
        return np.asarray(self.level if self.topography is None else self.topography.ground(y, x))
