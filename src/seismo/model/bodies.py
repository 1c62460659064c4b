"""Parts of an earth model with a shape: blocks, spheres, polygons in the plane of x and z.

Spheres about sources, in which one property turns smoothly to another, are drawn over all parts:

    sphere      property = other                                 within half the radius
                property + w(u) (other - property)               beyond it, w a quintic step

Acoustic equations of anisotropic rock send slow waves of S kind from sources where epsilon exceeds
delta, and none where delta = epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.grid.grid import Bounds

AxisInterval = tuple[float, float] | None
_FAR = 1e9  # m: beyond all grids
CORE = 0.5  # of the radius of a sphere about a source, within which both are equal


@dataclass(frozen=True)
class Block:
    """A box with its faces; an axis without an interval is covered whole."""

    z: AxisInterval
    y: AxisInterval
    x: AxisInterval
    properties: Mapping[str, float]
    parameters: frozenset[str] = field(default=frozenset())

    @property
    def layered(self) -> bool:
        """Whether the box is a horizontal slab."""
        return self.y is None and self.x is None

    @property
    def extent(self) -> Mapping[str, AxisInterval]:
        """From where to where it goes in m, by axis; None along an axis without end."""
        return {"z": self.z, "y": self.y, "x": self.x}

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite the inside, faces included."""
        inside = np.ones((), bool)
        for interval, coordinate in zip((self.z, self.y, self.x), (z, y, x), strict=True):
            if interval is not None and coordinate is not None:
                inside = inside & (coordinate >= interval[0]) & (coordinate <= interval[1])
        for name in self.properties.keys() & fields.keys():
            np.copyto(fields[name], self.properties[name], where=inside)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where a face passes through."""
        touches = np.ones((), bool)
        within = np.ones((), bool)
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
    properties: Mapping[str, float]
    parameters: frozenset[str] = field(default=frozenset())
    layered: bool = False

    @property
    def extent(self) -> Mapping[str, AxisInterval]:
        """From where to where it goes in m, by axis."""
        centre = {"z": self.z, "y": self.y, "x": self.x}
        return {axis: (c - self.radius, c + self.radius) for axis, c in centre.items()}

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite the inside."""
        square = (z - self.z) ** 2 + (x - self.x) ** 2
        if y is not None:
            square = square + (y - self.y) ** 2
        for name in self.properties.keys() & fields.keys():
            np.copyto(fields[name], self.properties[name], where=square <= self.radius**2)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where the surface passes through: the nearest corner inside, the farthest not."""
        nearest = np.zeros(())
        farthest = np.zeros(())
        for centre, a, b in zip((self.z, self.y, self.x), low, high, strict=True):
            if a is None or b is None:
                continue
            nearest = nearest + np.maximum(0.0, np.maximum(a - centre, centre - b)) ** 2
            farthest = farthest + np.maximum(np.abs(a - centre), np.abs(b - centre)) ** 2
        return (nearest < self.radius**2) & (farthest > self.radius**2)


@dataclass(frozen=True)
class Polygon:
    """A shape of the plane of x and z, the same for every y.

    Inside is where an odd number of edges lies above, so that an outline may cross itself, and no
    point belongs to two neighbours.
    """

    points: tuple[tuple[float, float], ...]  # x, z of the corners, in either sense
    properties: Mapping[str, float]
    parameters: frozenset[str] = field(default=frozenset())
    layered: bool = False

    @property
    def extent(self) -> Mapping[str, AxisInterval]:
        """From where to where it goes in m, by axis; along y without end."""
        x, z = zip(*self.points, strict=True)
        return {"z": (min(z), max(z)), "x": (min(x), max(x))}

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite the inside, upper edges included."""
        inside = np.zeros((), bool)
        for x0, z0, x1, z1 in self._edges():
            if x0 < x1:
                above = (x0 <= x) & (x < x1) & (z0 + (x - x0) * ((z1 - z0) / (x1 - x0)) <= z)
                inside = inside ^ above
        for name in self.properties.keys() & fields.keys():
            np.copyto(fields[name], self.properties[name], where=inside)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where an edge passes through."""
        result = np.zeros((), bool)
        (z_low, _, x_low) = low
        (z_high, _, x_high) = high
        for x0, z0, x1, z1 in self._edges():
            x_first = np.clip(x_low, x0, x1)
            x_last = np.clip(x_high, x0, x1)
            slope = (z1 - z0) / (x1 - x0) if x0 < x1 else 0.0
            z_first = z0 + (x_first - x0) * slope
            z_last = z0 + (x_last - x0) * slope if x0 < x1 else z1
            overlaps = (x0 < x_high) & (x1 > x_low)
            result = result | (
                overlaps
                & (np.minimum(z_first, z_last) < z_high)
                & (np.maximum(z_first, z_last) > z_low)
            )
        return result

    def _edges(self) -> Iterator[tuple[float, float, float, float]]:
        """Yield x, z of both ends of every edge, the smaller x first."""
        for corner, next_corner in zip(self.points, self.points[1:] + self.points[:1], strict=True):
            yield (*min(corner, next_corner), *max(corner, next_corner))


Body = Block | Sphere | Polygon


def beneath(
    points: Sequence[tuple[float, float]], parameters_below: Mapping[str, float]
) -> Polygon:
    """Return all beneath an interface, straight between points x, z (m) and flat beyond them."""
    (first, top) = points[0]
    (last, end) = points[-1]
    outer = (last + _FAR, end), (last + _FAR, _FAR), (first - _FAR, _FAR), (first - _FAR, top)
    return Polygon((*points, *outer), parameters_below)


@dataclass(frozen=True, eq=False)
class SourceSpheres:
    """Spheres of one radius in rock that goes on around them.

    Attributes:
        centres: z, y, x (n, 3) in m.
        radius: in m.
        turned: name of the property.
        other: name of that which it turns to.
    """

    centres: np.ndarray
    radius: float
    turned: str
    other: str

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Turn the property at coordinates in m; where spheres meet the nearest counts."""
        nearest = np.full(
            np.broadcast_shapes(z.shape, x.shape, () if y is None else y.shape), np.inf
        )
        for centre in self.centres:
            squares = [(np.asarray(c) - m) ** 2 for c, m in zip((z, y, x), centre, strict=True)
                       if c is not None]  # fmt: skip
            if sum(float(square.min(initial=np.inf)) for square in squares) < self.radius**2:
                np.minimum(nearest, sum(squares), out=nearest)
        # A quintic step from 1 in the core to 0 at the radius.
        u = np.clip((np.sqrt(nearest) / self.radius - CORE) / (1.0 - CORE), 0.0, 1.0)
        share = 1.0 - u**3 * (10.0 + u * (6.0 * u - 15.0))
        samples = fields[self.turned]
        np.copyto(samples, samples + share * (fields[self.other] - samples), where=share > 0.0)
