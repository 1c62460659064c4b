"""The parts of an earth model that vary with depth only: uniform, layers, gradient, table, water.

A part paints its values into fields of a common shape, over those of the parts before it. `uneven`
returns the boxes in which it is not uniform; only these are sampled finely for cell averages.
Linear variation by less than 2 % within a box counts as uniform, since the harmonic and the
arithmetic mean then differ from the value at the centre by less than 4e-5.

Depths z are in m, positive down; velocities in m/s, densities in kg/m3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.equations.framework.registry import PARAMETERS
from seismo.grid.grid import Bounds
from seismo.scenario.earth.model_parts import (
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
        """Return where (broadcast shape) the part is not of one value within low .. high."""


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
        """Return False: one value everywhere."""
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
        """Overwrite what lies above the sea bed."""
        for name in self.properties.keys() & fields.keys():
            np.copyto(fields[name], self.properties[name], where=z < self.depth)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return where the sea bed passes through."""
        return (low[0] < self.depth) & (high[0] > self.depth)


@dataclass(frozen=True)
class DepthProfile:
    """Values linear in z within pieces: layers, gradients and tables alike.

    Piece k reaches from tops[k] down to tops[k + 1]; the first one also covers all above it. In
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
    # A parameter that only some layers give is refused when the earth is built.
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
        if section.interpolation == "linear":  # two rows of one depth are a jump
            rise = _difference(column[1:], column[:-1])
            np.divide(rise, step, out=slope[:-1], where=step > 0.0)
        slopes[name] = slope
    return DepthProfile(tops, values_at_top, slopes, "rows" if section.path is None else "path")


def _column(layers: Any, name: str) -> np.ndarray:
    layer_values = [getattr(layer, name, None) for layer in layers]
    left_out = PARAMETERS[name].start
    return np.array([left_out if value is None else float(value) for value in layer_values])
