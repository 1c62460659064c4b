"""Part of the earth from a file with several parameters, sampled at the place of every point.

A file is a block, or several stacked blocks, each with ticks of its own along the vertical
and two horizontal axes; where they overlap the upper counts. Values are interpolated
linearly between them, between a fluid and a solid taken from the nearest point
(`seismo.model.gridded`). Points outside the file, or where it has no values, are refused
with their place, filled, or left to the parts before, as the scenario says.

Each format has a reader, which is called with a `VolumeRequest` and returns a `Volume`. A
`Placement` maps points of the grid to the file's own horizontal coordinates::

    x, y  ->  longitude, latitude  ->  coordinates of a reference system  ->  own axes, turned

Every point of the grid is placed by itself: nothing is resampled on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.errors import ModelError
from seismo.formats.reading import optional_package
from seismo.formats.reading.arrays import brief
from seismo.grid.coordinates import nearest_turn
from seismo.grid.grid import Bounds
from seismo.model.gridded import closest, interpolate
from seismo.scenario.gridded_parts import VolumePart

_EDGE = 257  # points along each edge of a region, whose extremes are looked for
_PLANE = 33  # and along each axis of its inside

Across = tuple[np.ndarray, ...]  # coordinates along a file's horizontal axes, the second last


@dataclass(frozen=True)
class Placement:
    """The map from x, y of the grid (m) to a file's horizontal coordinates.

    Attributes:
        projection: of the scenario (`to_geographic`), None where the file's x, y are the grid's.
        crs: reference system of the file's coordinates; "" are longitude and latitude.
        origin: of the file's own axes in it.
        azimuth: of the file's own y, degrees clockwise from the y of the reference system.
    """

    projection: Any = None
    crs: str = ""
    origin: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 0.0

    @property
    def ground(self) -> float:
        """Z in m of the ground, from which a file's depths count; 0 where its z is the grid's."""
        return 0.0 if self.projection is None else float(self.projection.ground)

    def coordinates(self, y: np.ndarray | None, x: np.ndarray) -> Across:
        """Return the second and the first horizontal coordinate (latitude or y, longitude or x)."""
        across = np.zeros(()) if y is None else np.asarray(y, float)
        if self.projection is None:
            return across, np.asarray(x, float)
        x, across = np.broadcast_arrays(x, across)
        first, second = self.projection.to_geographic(x, across)
        if not self.crs:
            return second, first
        east, north = self._transformer.transform(nearest_turn(first, 0.0), second)
        east = np.asarray(east) - self.origin[0]
        north = np.asarray(north) - self.origin[1]
        cosine = math.cos(math.radians(self.azimuth))
        sine = math.sin(math.radians(self.azimuth))
        return east * sine + north * cosine, east * cosine - north * sine

    def reach(self, region: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the extremes of a region's coordinates, in the order of `coordinates`."""
        along = {axis: np.linspace(*region[axis], _EDGE) for axis in "yx" if axis in region}
        inside = {axis: np.linspace(*region[axis], _PLANE) for axis in along}
        if "y" not in region:
            pieces = [self.coordinates(None, along["x"])]
        else:
            y = region["y"]
            x = along["x"]
            pieces = [self.coordinates(np.full(_EDGE, edge), x) for edge in y]
            pieces += [self.coordinates(along["y"], np.full(_EDGE, edge)) for edge in region["x"]]
            pieces.append(self.coordinates(inside["y"][:, None], inside["x"]))
        return [
            (min(float(p[n].min()) for p in pieces), max(float(p[n].max()) for p in pieces))
            for n in (0, 1)
        ]

    def reference(self, longitude: float, latitude: float) -> tuple[float, float]:
        """Return the coordinates of a place in the reference system."""
        east, north = self._transformer.transform(nearest_turn(longitude, 0.0), latitude)
        return float(east), float(north)

    @cached_property
    def _transformer(self) -> Any:
        return transformer_to(self.crs)


def transformer_to(crs: str) -> Any:
    """Return PROJ's transformer from longitude and latitude to x and y of a reference system.

    Raises:
        ModelError: PROJ does not know it, or it does not count in metres.
        ScenarioError: pyproj is not installed.
    """
    pyproj = optional_package("pyproj", "geo", f"the reference system {crs}")
    try:
        system = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError:
        raise ModelError(
            f"{brief(crs)} is no reference system that PROJ knows; write EPSG:32610, say",
            "crs",
        ) from None
    units = {axis.unit_name for axis in system.axis_info[:2]}
    if units != {"metre"}:
        raise ModelError(
            f"{brief(crs)} counts in {' and '.join(sorted(units)) or 'nothing'}; only "
            "reference systems in metres are read",
            "crs",
        )
    return pyproj.Transformer.from_crs("EPSG:4326", system, always_xy=True)


def on_the_earth(projection: Callable[[], Any] | None, path: Any, crs: str = "") -> Placement:
    """Return the placement of a file that is placed on the earth.

    Raises:
        ModelError: the scenario's grid is not.
    """
    if projection is None:
        raise ModelError(
            f"{path} is placed on the earth; add the section `geographic`: longitude, latitude of "
            "the grid's x = 0, y = 0",
            "path",
        )
    return Placement(projection(), crs)


_SLACK = 1e-6  # of a cell by which a point may be outside
_CONTACT = 1e-9  # of weights that add up to 1


@dataclass(frozen=True)
class VolumeBlock:
    """Values (z, y, x) of parameters in SI at ticks along axes; NaN where there are none."""

    ticks: tuple[np.ndarray, ...]
    samples: Mapping[str, np.ndarray]
    cells: bool = False  # whether samples belong to cells, not values to interpolate

    @cached_property
    def solid(self) -> np.ndarray | None:
        """Where vs is not 0, if it is anywhere: 1, else 0."""
        vs = self.samples.get("vs")
        if vs is None or not (vs == 0.0).any() or not (vs > 0.0).any():
            return None
        return np.where(np.isnan(vs), np.nan, vs > 0.0)

    def at(self, coordinates: Across) -> dict[str, np.ndarray]:
        """Return the values at coordinates along the axes (broadcastable)."""
        rank = max(c.ndim for c in coordinates)
        indices = [
            np.interp(c, ticks, np.arange(ticks.size)).reshape((1,) * (rank - c.ndim) + c.shape)
            for c, ticks in zip(coordinates, self.ticks, strict=True)
        ]
        if self.cells:
            return {name: closest(array, indices) for name, array in self.samples.items()}
        interpolated = {name: interpolate(array, indices) for name, array in self.samples.items()}
        if self.solid is not None:
            share = interpolate(self.solid, indices)
            between = (share > _CONTACT) & (share < 1.0 - _CONTACT)
            if between.any():
                for name, array in self.samples.items():
                    np.copyto(interpolated[name], closest(array, indices), where=between)
        return interpolated


@dataclass(frozen=True)
class Volume:
    """The part of an earth model that a file gives.

    Attributes:
        blocks: of the file, from the top.
        placement: of the grid in its horizontal coordinates.
        axes: names of its coordinates, vertical first, with their units.
        reach: first and last coordinate along each; blocks may hold only the part that a grid
            needs.
        outside: "refuse", "nearest" or "keep".
        missing: "refuse" or "keep"; columns are filled before.
        source: the file, for messages.
        key: of the part in the scenario.
        depth: function(depth, horizontal coordinates) -> vertical coordinate of the file.
        removed: parameters that are 0 where the file has values.
        minimum: smallest values of parameters, to which smaller values are raised.
    """

    blocks: tuple[VolumeBlock, ...]
    placement: Placement
    axes: tuple[str, ...]
    reach: tuple[tuple[float, float], ...]
    outside: str
    missing: str
    source: str
    key: tuple[str | int, ...]
    depth: Callable[[np.ndarray, Across], np.ndarray] = lambda z, across: z
    layered: bool = False
    removed: frozenset[str] = frozenset()
    minimum: Mapping[str, float] = field(default_factory=dict)
    _placed: dict[tuple[Any, ...], Across] = field(default_factory=dict, compare=False, repr=False)

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets everywhere."""
        everywhere = "keep" not in (self.outside, self.missing)
        return frozenset(self.blocks[0].samples) if everywhere else frozenset()

    def largest(self, name: str) -> float:
        """Return the largest value of a parameter in the file, 0 if it has none."""
        arrays = [block.samples[name] for block in self.blocks if name in block.samples]
        return max(
            (float(np.fmax.reduce(array, None, initial=0.0)) for array in arrays), default=0.0
        )

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite points for which the file has values."""
        coordinates = self._coordinates(z, y, x)
        shape = np.broadcast_shapes(*(c.shape for c in coordinates))
        outside = self._outside(coordinates)
        if outside.any() and self.outside == "refuse":
            self._refuse_outside(np.broadcast_to(outside, shape), (z, y, x), coordinates)
        painted = ~outside if self.outside == "keep" else np.ones((), bool)
        complete = painted
        for name, sampled in self._sampled(coordinates, shape).items():
            if name not in fields:
                continue
            lacking = np.isnan(sampled) & painted
            if self.missing != "keep" and lacking.any():
                self._refuse_missing(name, np.broadcast_to(lacking, shape), (z, y, x), coordinates)
            limited = np.maximum(sampled, self.minimum.get(name, -np.inf))
            np.copyto(fields[name], limited, where=painted & ~lacking)
            complete = complete & ~lacking
        for name in self.removed & fields.keys():
            np.copyto(fields[name], 0.0, where=complete)

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return False: files vary everywhere, which `Earth.gridded` tells."""
        return np.zeros((), bool)

    def varies(self, top: float, bottom: float) -> bool:
        """Whether any parameter has several values."""
        arrays = [array for block in self.blocks for array in block.samples.values()]
        return any(bool((array != array.flat[0]).any()) for array in arrays)

    def steps(self, top: float, bottom: float) -> bool:
        """Whether density may jump between neighbouring points."""
        return "rho" in self.blocks[0].samples

    def share_outside(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> float:
        """Return the share of points that lie outside the file."""
        coordinates = self._coordinates(z, y, x)
        shape = np.broadcast_shapes(*(c.shape for c in coordinates))
        return float(np.broadcast_to(self._outside(coordinates), shape).mean())

    def described(self) -> str:
        """Describe what it covers."""
        ends = (
            f"{name} {low:.7g} to {high:.7g}{unit and f' {unit}'}"
            for (name, unit), (low, high) in zip(self._names(), self.reach, strict=True)
        )
        sizes = (" x ".join(map(str, next(iter(b.samples.values())).shape)) for b in self.blocks)
        names = ", ".join(self.blocks[0].samples)
        return f"{names} {' and '.join(sizes)} points: {', '.join(ends)}"

    def _names(self) -> list[tuple[str, str]]:
        """Return the name and the unit of each axis."""
        return [(name.partition(" ")[0], name.partition(" ")[2]) for name in self.axes]

    def _coordinates(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> Across:
        """Return the coordinates of points in the file, vertical first."""
        across = self._across(y, x)
        return self.depth(z - self.placement.ground, across), *across

    def _across(self, y: np.ndarray | None, x: np.ndarray) -> Across:
        """Return the horizontal coordinates of points; the last plane's are cached."""
        key = (x.shape, x.tobytes(), *(() if y is None else (y.shape, y.tobytes())))
        if key not in self._placed:
            across = self.placement.coordinates(y, x)[1 - len(self.axes) :]
            self._placed.clear()
            self._placed[key] = across
        return self._placed[key]

    def _outside(self, coordinates: Across) -> np.ndarray:
        """Return which points are outside the file."""
        result = np.zeros((), bool)
        for n, (coordinate, (low, high)) in enumerate(zip(coordinates, self.reach, strict=True)):
            slack = _SLACK * (high - low) / max(1, self.blocks[0].ticks[n].size - 1)
            result = result | ~((coordinate >= low - slack) & (coordinate <= high + slack))
        return result

    def _sampled(self, coordinates: Across, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Return the values at coordinates, each from the first block that it lies in."""
        if len(self.blocks) == 1:
            return self.blocks[0].at(coordinates)
        spread = np.broadcast_arrays(*coordinates)
        bottoms = np.maximum.accumulate([block.ticks[0][-1] for block in self.blocks])
        number = np.searchsorted(bottoms[:-1], spread[0], "left")
        result = {name: np.full(shape, np.nan) for name in self.blocks[0].samples}
        for n, block in enumerate(self.blocks):
            chosen = number == n
            if chosen.any():
                for name, sampled in block.at(tuple(c[chosen] for c in spread)).items():
                    result[name][chosen] = sampled
        return result

    def _refuse_outside(self, outside: np.ndarray, grid: Bounds, coordinates: Across) -> None:
        raise ModelError(
            f"{self.source} has {self.described()}; {_named_place(outside, grid)} "
            f"({self._position(outside, coordinates)}) is outside; give outside: nearest, or keep "
            "for the parts before, or a smaller grid",
            *self.key,
            "path",
        )

    def _refuse_missing(
        self, name: str, lacking: np.ndarray, grid: Bounds, coordinates: Across
    ) -> None:
        raise ModelError(
            f"{self.source} has no {name} at {_named_place(lacking, grid)} "
            f"({self._position(lacking, coordinates)}); give missing: column for the nearest value "
            "above or below, or keep for the parts before",
            *self.key,
            name,
        )

    def _position(self, where: np.ndarray, coordinates: Across) -> str:
        """Format the first of places, in the file's coordinates."""
        index = np.unravel_index(int(np.argmax(where)), where.shape)
        return ", ".join(
            f"{name} {float(np.broadcast_to(c, where.shape)[index]):.7g}{unit and f' {unit}'}"
            for (name, unit), c in zip(self._names(), coordinates, strict=True)
        )


def _named_place(where: np.ndarray, grid: Bounds) -> str:
    """Format the first of places, in the grid's coordinates."""
    index = np.unravel_index(int(np.argmax(where)), where.shape)
    return ", ".join(
        f"{axis} = {float(np.broadcast_to(c, where.shape)[index]):g} m"
        for axis, c in zip("zyx", grid, strict=True)
        if c is not None
    )


@dataclass(frozen=True)
class VolumeRequest:
    """What a region needs of a file.

    Attributes:
        path: the file.
        section: the part of the scenario's model.
        variables: variables of the file, and their units, by parameter.
        key: of the part in the scenario.
        region: limits of the grid in m by axis name.
        projection: function() -> the map between the grid and the earth, None if none.
    """

    path: Path
    section: VolumePart
    variables: Mapping[str, Any]
    key: tuple[str | int, ...]
    region: Mapping[str, tuple[float, float]]
    projection: Callable[[], Any] | None

    def refuse_keys(self, *names: str) -> None:
        """Refuse keys of the section for facts that the file gives itself."""
        for name in names:
            if getattr(self.section, name) is not None:
                raise ModelError(f"{self.path} says it itself; leave it out", name)

    def volume(
        self, blocks: tuple[VolumeBlock, ...], placement: Placement, axes: tuple[str, ...],
        reach: tuple[tuple[float, float], ...],
    ) -> Volume:  # fmt: skip
        """Return the part of the earth that a reader found; see `Volume`."""
        # Columns are filled by the readers: nothing is missing in them.
        missing = "refuse" if self.section.missing == "column" else self.section.missing
        written = self.section.minimum
        minimum = {
            name: getattr(written, name)
            for name in ("vp", "vs")
            if getattr(written, name, None) is not None
        }
        if self.section.interpolation == "cells":
            blocks = tuple(replace(block, cells=True) for block in blocks)
        for name in minimum:
            if getattr(self.section, name) is None:
                raise ModelError(
                    f"has no effect: this part has no {name}; give {name}, or leave it out",
                    "minimum",
                    name,
                )
        return Volume(
            blocks, placement, axes, reach, self.section.outside, missing, str(self.path), self.key,
            minimum=minimum,
        )  # fmt: skip
