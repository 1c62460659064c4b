"""The parts of an earth model with a shape: blocks and spheres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from seismo.model.layered import Bounds, Fields

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Block:
    """A box with its faces; an axis without an interval is covered whole."""

    z: Interval
    y: Interval
    x: Interval
    values: Mapping[str, float]
    parameters: frozenset[str] = field(default=frozenset())

    @property
    def layered(self) -> bool:
        """Whether the box is a horizontal slab."""
        return self.y is None and self.x is None

    def paint(self, fields: Fields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> None:
        """Overwrite the inside, faces included."""
        inside = np.ones((), bool)
        for interval, place in zip((self.z, self.y, self.x), (z, y, x), strict=True):
            if interval is not None and place is not None:
                inside = inside & (place >= interval[0]) & (place <= interval[1])
        for name in self.values.keys() & fields.keys():
            np.copyto(fields[name], self.values[name], where=inside)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where a face passes through."""
        touches, within = np.ones((), bool), np.ones((), bool)
        for interval, a, b in zip((self.z, self.y, self.x), low, high, strict=True):
            if interval is not None and a is not None and b is not None:
                touches = touches & (b > interval[0]) & (a < interval[1])
                within = within & (a >= interval[0]) & (b <= interval[1])
        return touches & ~within


@dataclass(frozen=True)
class Sphere:
    """A ball (3-D) or disc (2-D)."""

    z: float
    y: float
    x: float
    radius: float
    values: Mapping[str, float]
    parameters: frozenset[str] = field(default=frozenset())
    layered: bool = False

    def paint(self, fields: Fields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> None:
        """Overwrite the inside."""
        square = (z - self.z) ** 2 + (x - self.x) ** 2
        if y is not None:
            square = square + (y - self.y) ** 2
        for name in self.values.keys() & fields.keys():
            np.copyto(fields[name], self.values[name], where=square <= self.radius**2)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where the surface passes through: the nearest corner inside, the farthest not."""
        nearest, farthest = np.zeros(()), np.zeros(())
        for centre, a, b in zip((self.z, self.y, self.x), low, high, strict=True):
            if a is None or b is None:
                continue
            nearest = nearest + np.maximum(0.0, np.maximum(a - centre, centre - b)) ** 2
            farthest = farthest + np.maximum(np.abs(a - centre), np.abs(b - centre)) ** 2
        return (nearest < self.radius**2) & (farthest > self.radius**2)
