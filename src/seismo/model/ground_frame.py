"""The coordinates in which parts of the earth are asked: true z, or depth below the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import Bounds

Boxes = tuple[Bounds, Bounds]  # low and high ends


@dataclass(frozen=True)
class GroundFrame:
    """Where the points of a grid stand, and how parts of the earth count their z.

    Attributes:
        topography: that the vertical coordinate s follows; None where it is z.
        level: z in m of the ground, where there is no topography.
        below_ground: numbers of the parts whose z counts from the ground.
    """

    topography: VerticalCoordinate | None = None
    level: float = 0.0
    below_ground: frozenset[int] = frozenset()

    def follows_ground(self, number: int) -> bool:
        """Whether z of a part may differ from that of the grid."""
        return self.topography is not None or number in self.below_ground

    def points(self, coordinates: Bounds) -> PlacedPoints:
        """Return points at s, y, x in m."""
        s, y, x = coordinates
        if self._is_flat(s):
            return PlacedPoints(self, coordinates)
        assert self.topography is not None
        f = self.topography.surface(y, x)
        return PlacedPoints(self, (self.topography.z_over(f, s), y, x), f)

    def boxes(self, low: Bounds, high: Bounds) -> PlacedBoxes:
        """Return the boxes of z, y, x that contain the boxes of s, y, x in m."""
        if self._is_flat(low[0]):
            return PlacedBoxes(self, (low, high))
        assert self.topography is not None
        # The ground at the corners; z grows with s.
        corners = [self.topography.surface(*column) for column in _corners(low, high)]
        top = np.minimum.reduce([self.topography.z_over(f, low[0]) for f in corners])
        bottom = np.maximum.reduce([self.topography.z_over(f, high[0]) for f in corners])
        return PlacedBoxes(self, ((top, *low[1:]), (bottom, *high[1:])), corners)

    def _is_flat(self, s: np.ndarray) -> bool:
        """Whether z is s."""
        return self.topography is None or bool(np.all(s >= self.topography.flat_from))

    def ground(self, y: np.ndarray | None, x: np.ndarray, f: np.ndarray | None) -> np.ndarray:
        """Return z in m of the ground at y, x in m, f below the level where that is known."""
        if self.topography is None:
            return np.asarray(self.level)
        return self.topography.level + (self.topography.surface(y, x) if f is None else f)


@dataclass(frozen=True)
class PlacedPoints:
    """Points at their true z.

    Attributes:
        frame: of the earth.
        coordinates: z, y, x in m.
        below_level: of the ground over them, in m; None where it is not known yet.
    """

    frame: GroundFrame
    coordinates: Bounds
    below_level: np.ndarray | None = None

    def of_part(self, number: int) -> Bounds:
        """Return z, y, x in m as a part of the model counts z."""
        if number not in self.frame.below_ground:
            return self.coordinates
        z, y, x = self.coordinates
        return z - self._ground, y, x

    @cached_property
    def _ground(self) -> np.ndarray:
        _, y, x = self.coordinates
        return self.frame.ground(y, x, self.below_level)


@dataclass(frozen=True)
class PlacedBoxes:
    """Boxes at their true z.

    Attributes:
        frame: of the earth.
        ends: low and high z, y, x in m.
        below_level: of the ground over their corners, in m; None where it is not known yet.
    """

    frame: GroundFrame
    ends: Boxes
    below_level: Sequence[np.ndarray | None] = (None,) * 4

    def of_part(self, number: int) -> Boxes:
        """Return the boxes that hold these, with z as a part counts it."""
        if number not in self.frame.below_ground:
            return self.ends
        low, high = self.ends
        highest, lowest = self._ground
        return (low[0] - lowest, *low[1:]), (high[0] - highest, *high[1:])

    @cached_property
    def _ground(self) -> tuple[np.ndarray, np.ndarray]:
        """Z in m of the highest and the lowest ground over the corners."""
        columns = _corners(*self.ends)
        corners = [
            self.frame.ground(*column, f)
            for column, f in zip(columns, self.below_level, strict=True)
        ]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _corners(low: Bounds, high: Bounds) -> list[tuple[np.ndarray | None, np.ndarray]]:
    """Return y, x in m of the corners of boxes."""
    return [(y, x) for y in (low[1], high[1]) for x in (low[2], high[2])]
