"""Parts of an earth model that numbers describe: layered ones, and bodies with a shape.

Uniform, layers, gradient, table and water vary with depth only; blocks, spheres and polygons in the
plane of x and z are bodies.

A part paints its values into fields of a common shape, over the values of previous parts. `uneven`
returns the boxes in which it is not uniform; only these are sampled finely for cell averages.
Linear variation by less than 2 % within a box counts as uniform, since the harmonic and the
arithmetic mean then differ from the value at the centre by less than 4e-5.

Depths z are in m, positive down; velocities in m/s, densities in kg/m3.

Spheres about sources, with a smooth transition between properties, are drawn over all parts:

    sphere      property = other                                 within half the radius
                property + w(u) (other - property)               beyond it, w a quintic step

Acoustic equations of anisotropic rock send slow waves of S kind from sources where epsilon exceeds
delta, and none where delta = epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.equations.framework.registry import PARAMETERS
from seismo.grid.grid import Bounds
from seismo.scenario.model_parts import (
    COLUMNS,
    QUALITY_COLUMNS,
    GradientPart,
    LayersPart,
    TablePart,
)

SMOOTH = 0.02  # relative change within a box that is left to the value at its middle


class EarthPart(Protocol):
    """One part of the model, ready to be evaluated."""

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets everywhere."""

    @property
    def layered(self) -> bool:
        """Whether it varies with z only."""

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite the fields given (broadcast shape of z, y, x) where the part has values."""

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where (broadcast shape) the part varies within low .. high."""


@dataclass(frozen=True)
class Uniform:
    """The same values everywhere."""

    properties: Mapping[str, float]
    layered: bool = True

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets."""
        return frozenset(self.properties)

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite everything."""
        for name in self.properties.keys() & fields.keys():
            fields[name][...] = self.properties[name]

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return False: a single value everywhere."""
        return np.zeros((), bool)


@dataclass(frozen=True)
class Water:
    """Fluid from the top of the grid down to the sea bed."""

    depth: float
    properties: Mapping[str, float]
    layered: bool = True

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets; none of them everywhere."""
        return frozenset()

    @property
    def extent(self) -> Mapping[str, tuple[float, float]]:
        """From where to where it goes in m, by axis; along x and y without end."""
        return {"z": (-np.inf, self.depth)}

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite values above the sea bed."""
        for name in self.properties.keys() & fields.keys():
            np.copyto(fields[name], self.properties[name], where=z < self.depth)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where the sea bed passes through."""
        return (low[0] < self.depth) & (high[0] > self.depth)


@dataclass(frozen=True)
class DepthProfile:
    """Values linear in z within pieces: layers, gradients and tables alike.

    Piece k reaches from tops[k] down to tops[k + 1]; the first also covers all above it. In
    piece k a parameter is at_tops[k] + slopes[k] * (z - tops[k]), held above the first top. What
    `listed` names in the scenario, if anything, gives them: layers, rows, or the path of a table.
    """

    tops: np.ndarray
    at_tops: Mapping[str, np.ndarray]
    slopes: Mapping[str, np.ndarray]
    listed: str = ""
    layered: bool = True

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets, everywhere."""
        return frozenset(self.at_tops)

    def at(
        self, names: Iterable[str], z: np.ndarray, side: str = "right"
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Yield each parameter (as z) at depths z m; side "left" is just above a top."""
        piece = self.piece(z, side)
        depth = np.maximum(z - self.tops[piece], 0.0)
        for name in names:
            yield name, self.at_tops[name][piece] + self.slopes[name][piece] * depth

    def piece(self, z: np.ndarray, side: str = "right") -> np.ndarray:
        """Return the number of the piece (as z) at depths z m; side "left" is just above a top."""
        return np.maximum(np.searchsorted(self.tops, z, side) - 1, 0)  # type: ignore[call-overload]

    def key(self, name: str, z: float) -> tuple[str | int, ...]:
        """Return the keys, below the part's, that lead to a parameter at a depth m."""
        number = int(self.piece(np.array(z)))
        keys: dict[str, tuple[str | int, ...]] = {
            "layers": ("layers", number, name), "rows": ("rows", number), "path": ("path",)
        }  # fmt: skip
        return keys.get(self.listed, (name,))

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite everything."""
        for name, samples in self.at(self.at_tops.keys() & fields.keys(), z):
            fields[name][...] = samples

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where a jump passes through, or more than a little change."""
        top = low[0]
        bottom = high[0]
        result = np.zeros(np.shape(top), bool)
        for depth in self.jumps:
            result |= (top < depth) & (bottom > depth)
        ends = self.at(self.at_tops, top), self.at(self.at_tops, bottom, "left")
        for (_, above), (_, below) in zip(*ends, strict=True):
            smaller = np.minimum(np.abs(above), np.abs(below))
            result |= (below != above) & (np.abs(_difference(below, above)) > SMOOTH * smaller)
        return result

    @cached_property
    def jumps(self) -> list[float]:
        """Depths in m at which a parameter jumps: asked for every plane of a grid."""
        interfaces = self.tops[1:]
        jump = np.zeros(interfaces.shape, bool)
        sides = self.at(self.at_tops, interfaces, "left"), self.at(self.at_tops, interfaces)
        for (_, above), (_, below) in zip(*sides, strict=True):
            jump |= np.abs(_difference(below, above)) > 1e-6 * np.minimum(
                np.abs(above), np.abs(below)
            )
        return interfaces[jump].tolist()


def _difference(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return below - above, 0 where both are the same infinity."""
    difference = np.zeros(np.broadcast_shapes(below.shape, above.shape))
    return np.subtract(below, above, out=difference, where=below != above)


def from_layers(section: LayersPart) -> DepthProfile:
    """Build the profile of a part of type layers."""
    layers = section.layers
    names = [
        name
        for name in PARAMETERS
        if any(getattr(layer, name, None) is not None for layer in layers)
    ]
    # A parameter that not all layers give is refused when the earth is built.
    values_at_top = {name: _column(layers, name) for name in names}
    slopes = {
        name: np.array([float(getattr(layer, f"{name}_gradient", 0.0) or 0.0) for layer in layers])
        for name in names
    }
    return DepthProfile(
        np.array([float(layer.top) for layer in layers]), values_at_top, slopes, "layers"
    )


def from_gradient(section: GradientPart, z_top: float, z_bottom: float) -> DepthProfile:
    """Build the profile of a part of type gradient between two depths m."""
    values_at_top = {}
    slopes = {}
    for name in PARAMETERS:
        range_of = getattr(section, name, None)
        if range_of is None:
            continue
        values_at_top[name] = np.array([range_of.top, range_of.bottom], float)
        rise = 0.0 if range_of.bottom == range_of.top else range_of.bottom - range_of.top
        slopes[name] = np.array([rise / (z_bottom - z_top), 0.0])
    return DepthProfile(np.array([z_top, z_bottom], float), values_at_top, slopes)


def from_rows(table: np.ndarray, section: TablePart) -> DepthProfile:
    """Build the profile of table rows of a part of type table.

    Args:
        table: depth m and `COLUMNS`, with or without `QUALITY_COLUMNS` (n, 4 or 6).
        section: the part.
    """
    tops = table[:, 0]
    step = np.diff(tops)
    columns = zip((*COLUMNS, *QUALITY_COLUMNS), table.T[1:], strict=False)
    values_at_top = {parameter.name: column for parameter, column in columns}
    slopes = {}
    for name, column in values_at_top.items():
        slope = np.zeros(column.size)
        if section.interpolation == "linear":  # two rows of equal depth are a jump
            rise = _difference(column[1:], column[:-1])
            np.divide(rise, step, out=slope[:-1], where=step > 0.0)
        slopes[name] = slope
    return DepthProfile(tops, values_at_top, slopes, "rows" if section.path is None else "path")


def _column(layers: Any, name: str) -> np.ndarray:
    layer_values = [getattr(layer, name, None) for layer in layers]
    left_out = PARAMETERS[name].start
    return np.array([left_out if value is None else float(value) for value in layer_values])


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
    """Spheres of equal radius in rock that continues around them.

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
