"""Layered models of OpenSWPC (Maeda, Takemura & Furumura 2017): a list of GMT grids and rocks.

    'top_of_layer.grd'  rho  vp  vs  qp  qs  n      g/cm3, km/s; n is of no use here

Each grid (NetCDF) has the depth in m of the top of a layer at longitudes and latitudes, the first
that of the ground. A layer begins nowhere above the top of a layer before it, and reaches down to
the next, however deep that is; layers may be missing at a place. The grid of a run is flat, and
depths count from its ground, as with `topo_flatten` of OpenSWPC: neither topography nor sea is
kept. Depths are interpolated linearly, where OpenSWPC takes cubic polynomials.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.formats.netcdf import open_netcdf
from seismo.formats.reading import no_file, read_lines
from seismo.formats.reading.arrays import brief, listing, refuse_what_does_not_fit
from seismo.grid.coordinates import centred_longitudes, unwrapped
from seismo.model.gridded import interpolate
from seismo.model.samples import in_si
from seismo.model.volume import (
    Across,
    Volume,
    VolumeBlock,
    VolumeRequest,
    on_the_earth,
)

_EXPECTED = "a list of OpenSWPC: 'grid.grd' rho vp vs qp qs n"
_COLUMNS = {"rho": "g/cm3", "vp": "km/s", "vs": "km/s", "qp": "", "qs": ""}  # and their units
_MOST_LAYERS = 1000
_AXES = ("layer", "latitude degrees", "longitude degrees")


@dataclass(frozen=True)
class DepthGrid:
    """Depths (latitude, longitude) m of the top of a layer at ticks in degrees."""

    ticks: tuple[np.ndarray, np.ndarray]
    depths: np.ndarray

    def at(self, across: Across) -> np.ndarray:
        """Return the depths at latitudes and longitudes, clamped to the edge."""
        indices = [
            np.interp(c, ticks, np.arange(ticks.size))
            for c, ticks in zip(across, self.ticks, strict=True)
        ]
        return interpolate(self.depths, np.broadcast_arrays(*indices))


@dataclass(frozen=True)
class LayerNumber:
    """The map from depths below ground to the numbers of layers, from 0."""

    tops: tuple[DepthGrid, ...]

    def __call__(self, z: np.ndarray, across: Across) -> np.ndarray:
        """Return the layers at depths z m; above the ground the first."""
        ground = self.tops[0].at(across)
        deepest = ground
        number = np.zeros(np.broadcast_shapes(z.shape, ground.shape))
        for layer, top in enumerate(self.tops[1:], 1):
            deepest = np.maximum(deepest, top.at(across))
            number = np.where(z + ground >= deepest, float(layer), number)
        return number


def read_openswpc(request: VolumeRequest) -> Volume:
    """Read a list of layers, and the parts of their grids that a region needs.

    Raises:
        ModelError: the list or a grid is malformed, or no medium has the values.
    """
    path = request.path
    request.refuse_keys("crs", "positive")
    _, rocks = _layers(path)
    samples = {}
    for name, spec in request.variables.items():
        if spec.variable not in _COLUMNS:
            raise ModelError(
                f"{path} has no column {spec.variable!r}; available: {listing(_COLUMNS)}",
                name,
                "variable",
            )
        column = rocks[spec.variable]
        unit = _COLUMNS[spec.variable]
        column = in_si(column, name, unit, getattr(spec, "units", None), str(path))
        samples[name] = np.broadcast_to(column[:, np.newaxis, np.newaxis], (len(column), 2, 2))
    placement = on_the_earth(request.projection, path)
    limits = placement.reach(request.region)
    grids = [_grid(grid, limits, path) for grid in grids_of(path)]
    # Where all grids are.
    ends = [
        (max(edges[n][0] for _, edges in grids), min(edges[n][1] for _, edges in grids))
        for n in (0, 1)
    ]
    levels = np.arange(len(grids), dtype=float)
    block = VolumeBlock((levels, *(np.array(edges) for edges in ends)), samples)
    reach = ((0.0, max(1.0, levels[-1])), *ends)
    volume = request.volume((block,), placement, _AXES, reach)
    return replace(volume, depth=LayerNumber(tuple(grid for grid, _ in grids)))


def grids_of(path: Path) -> list[Path]:
    """Return the files that a list of layers names.

    Raises:
        ModelError: the list is malformed.
    """
    return [path.parent / name for name in _layers(path)[0]]


def _layers(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the grids of a list, and its columns (layer)."""
    names = []
    rows = []
    for number, line in read_lines(path, _EXPECTED):
        where = f"{path}, line {number}"
        try:
            name, *words = shlex.split(line)
            row = [float(word) for word in words[: len(_COLUMNS)]]
        except ValueError:
            raise ModelError(f"{where}: {brief(line)} is no layer; expected {_EXPECTED}") from None
        if len(row) < len(_COLUMNS):
            raise ModelError(f"{where}: has {len(row)} numbers; expected {_EXPECTED}")
        names.append(name)
        rows.append(row)
    if not 1 <= len(rows) <= _MOST_LAYERS:
        raise ModelError(f"{path} has {len(rows)} layers; 1 to {_MOST_LAYERS} are read", "path")
    return names, dict(zip(_COLUMNS, np.array(rows).T, strict=True))


def _grid(
    path: Path, limits: list[tuple[float, float]], source: Path
) -> tuple[DepthGrid, list[tuple[float, float]]]:
    """Return the part of a grid within limits in degrees, and the ends of all of it."""
    if problem := no_file(path):
        raise ModelError(f"{source}: {problem}, which it names", "path")
    with open_netcdf(path) as dataset:
        placed = set(dataset.coords)
        planes = [v for v in dataset.data_vars.values() if v.ndim == 2 and set(v.dims) <= placed]
        if len(planes) != 1:
            raise ModelError(
                f"{path}: has the variables {listing(map(str, dataset.data_vars))}; expected one "
                "of latitudes and longitudes: the depths of the top of a layer",
                "path",
            )
        plane = planes[0]
        latitudes, longitudes = (np.asarray(plane[d].values, float) for d in plane.dims)
        longitudes = unwrapped(longitudes)
        order = [np.argsort(latitudes), np.argsort(longitudes)]
        longitudes, numbers = centred_longitudes(longitudes[order[1]], 0.5 * sum(limits[1]))
        ticks = [latitudes[order[0]], longitudes]
        order[1] = order[1][numbers]
        ends = [(float(t[0]), float(t[-1])) for t in ticks]
        kept = [
            slice(max(0, int(np.searchsorted(t, low)) - 1), int(np.searchsorted(t, high)) + 2)
            for t, (low, high) in zip(ticks, limits, strict=True)
        ]
        plane = plane[tuple(numbers[k] for numbers, k in zip(order, kept, strict=True))]
        refuse_what_does_not_fit(path, 8 * int(plane.size))
        depths = plane.values.astype(float)
    if depths.size == 0 or not np.isfinite(depths).all():
        raise ModelError(f"{path}: has no depths at some places of the grid", "path")
    inside = tuple(t[k] for t, k in zip(ticks, kept, strict=True))
    return DepthGrid((inside[0], inside[1]), depths), ends
