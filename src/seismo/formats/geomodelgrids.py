"""Models in GeoModelGrids files (HDF5; Aagaard, US Geological Survey), by depth below ground.

    /                     crs, origin_x, origin_y, y_azimuth, dim_x, dim_y, dim_z [m], data_values,
                          data_units
    /blocks/NAME          (x, y, downwards, value): x_resolution, y_resolution, z_resolution, z_top
    /surfaces/top_surface (x, y) elevation of the ground [m]: x_resolution, y_resolution

A file is warped to its ground: a point d below the elevation g of the ground is at the depth

    d dim_z / (g + dim_z)

of its blocks. The grid of a run is flat: d is below its ground. Of blocks that overlap the upper
counts, at their contact too, as in the format's own queries; gaps are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.arrays import (
    brief,
    check_dataset,
    dataset_of,
    listing,
    names_in,
    open_hdf5,
    refuse_what_does_not_fit,
)
from seismo.model.gridded import interpolate
from seismo.model.samples import fill_columns, in_si
from seismo.model.volume import (
    Across,
    Volume,
    VolumeBlock,
    VolumeRequest,
    on_the_earth,
)
from seismo.scenario.gridded_parts import VolumePart

_NO_DATA = -1e19  # and less: -1e20 in files, rounded
_NUMBERS = ("origin_x", "origin_y", "y_azimuth", "dim_x", "dim_y", "dim_z")
_RESOLUTIONS = {"x": "resolution_horiz", "y": "resolution_horiz", "z": "resolution_vert"}
_AXES = ("depth m", "y m", "x m")
_ROUNDING = 1e-3  # of the vertical resolution: no gap


@dataclass(frozen=True)
class WarpedDepth:
    """The map from depths below ground to depths of the blocks, by the elevation of the ground."""

    elevation: np.ndarray
    resolution: tuple[float, float]
    thickness: float

    def __call__(self, z: np.ndarray, across: Across) -> np.ndarray:
        """Return depths of the blocks at depths z m below ground."""
        sizes = zip(across, self.resolution, self.elevation.shape, strict=True)
        indices = [np.clip(c / step, 0.0, count - 1.0) for c, step, count in sizes]
        ground = interpolate(self.elevation, np.broadcast_arrays(*indices))
        return z * (self.thickness / (ground + self.thickness))


def read_geomodelgrids(request: VolumeRequest) -> Volume:
    """Read the part of a file that a region needs.

    Raises:
        ModelError: it is no such file, or its values do not fit.
    """
    path = request.path
    variables = request.variables
    request.refuse_keys("crs", "positive")
    with open_hdf5(path, locking="best-effort") as file:
        numbers = {name: _number(file, name, path) for name in _NUMBERS}
        if _text(file, "data_layout", path, "vertex") != "vertex":
            raise ModelError(f"{path} has values of cells; only those at vertices are read", "path")
        placement = replace(
            on_the_earth(request.projection, path, _text(file, "crs", path)),
            origin=(numbers["origin_x"], numbers["origin_y"]),
            azimuth=numbers["y_azimuth"],
        )
        warp = _warp(file, numbers, path)
        depths = _depths(np.subtract(request.region["z"], placement.ground), warp, numbers["dim_z"])
        limits = (depths, *placement.reach(request.region))
        columns = _columns(file, variables, path)
        datasets = _sorted(file)
        _refuse_gaps(datasets, depths, path)
        blocks = [
            _block(dataset, columns, variables, request.section, limits, path)
            for dataset in datasets
        ]
        reach = _reach(datasets, numbers, path)
    kept = tuple(block for block in blocks if block is not None)
    if not kept:
        raise ModelError(f"{path} has no block where the grid is", "path")
    volume = request.volume(kept, placement, _AXES, reach)
    return volume if warp is None else replace(volume, depth=warp)


def _number(group: Any, name: str, path: Path) -> float:
    """Return a number from the attributes of a group or dataset."""
    if name not in group.attrs:
        raise ModelError(f"{path} has no attribute {name} of {brief(group.name)}", "path")
    number = float(np.asarray(group.attrs[name]).reshape(-1)[0])
    if not np.isfinite(number):
        raise ModelError(f"{path}: its attribute {name} is {number}", "path")
    return number


def _text(file: Any, name: str, path: Path, default: str | None = None) -> str:
    if name not in file.attrs and default is None:
        raise ModelError(f"{path} has no attribute {name}; is it a GeoModelGrids file?", "path")
    return _plain(file.attrs.get(name, default))


def _plain(text: Any) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _resolution(dataset: Any, axis: str, path: Path) -> float:
    """Return the distance in m of points along an axis."""
    name = f"{axis}_resolution"
    if name not in dataset.attrs and _RESOLUTIONS[axis] not in dataset.attrs:
        raise ModelError(
            f"{path}: {brief(dataset.name)} has no {name}; of files with uneven points none is "
            "read: make one with even ones",
            "path",
        )
    step = _number(dataset, name if name in dataset.attrs else _RESOLUTIONS[axis], path)
    if step <= 0.0:
        raise ModelError(f"{path}: {name} of {brief(dataset.name)} is {step:g}", "path")
    return step


def _warp(file: Any, numbers: Mapping[str, float], path: Path) -> WarpedDepth | None:
    """Return the map to the depths of the blocks, None of a flat model."""
    thickness = numbers["dim_z"]
    if "top_surface" not in names_in(file, "surfaces", path):
        return None
    dataset = dataset_of(file, "surfaces/top_surface", path)
    refuse_what_does_not_fit(check_dataset(dataset, path, "path"), 8 * dataset.size)
    elevation = dataset[...].astype(float)
    elevation = elevation.reshape(elevation.shape[:2]).T  # (y, x)
    if not (elevation > -thickness).all():
        raise ModelError(f"{path}: its ground lies below its bottom at {-thickness:g} m", "path")
    resolution = (_resolution(dataset, "y", path), _resolution(dataset, "x", path))
    for axis, step, count in zip("yx", resolution, elevation.shape, strict=True):
        if count * step < numbers[f"dim_{axis}"]:
            raise ModelError(
                f"{path}: its ground has {count} points {step:g} m apart along {axis}, and the "
                f"model {numbers[f'dim_{axis}']:g} m; check {axis}_resolution of the top surface",
                "path",
            )
    return WarpedDepth(elevation, resolution, thickness)


def _depths(limits: np.ndarray, warp: WarpedDepth | None, thickness: float) -> tuple[float, float]:
    """Return the depths of blocks that may be needed, for depths (2) in m below ground."""
    scales = np.ones(2)
    if warp is not None:
        scales = thickness / (np.array([warp.elevation.max(), warp.elevation.min()]) + thickness)
    ends = np.outer(limits, scales)
    return float(ends.min()), float(ends.max())


def _columns(file: Any, variables: Mapping[str, Any], path: Path) -> dict[str, tuple[int, str]]:
    """Return the number and the unit of each variable."""
    names = [_plain(name) for name in np.asarray(file.attrs.get("data_values", ())).reshape(-1)]
    units = [_plain(unit) for unit in np.asarray(file.attrs.get("data_units", ())).reshape(-1)]
    if len(names) != len(units):
        raise ModelError(f"{path} names {len(names)} values and {len(units)} units", "path")
    for name, spec in variables.items():
        if spec.variable not in names:
            raise ModelError(
                f"{path} has no values {spec.variable!r}; available: {listing(names)}",
                name, "variable",
            )  # fmt: skip
    numbers = {name: names.index(spec.variable) for name, spec in variables.items()}
    return {name: (number, units[number]) for name, number in numbers.items()}


def _sorted(file: Any) -> list[Any]:
    """Return the blocks from the top."""
    path = Path(file.filename)
    blocks = [dataset_of(file, f"blocks/{n}", path) for n in names_in(file, "blocks", path)]
    for block in blocks:
        if block.ndim != 4:
            where = check_dataset(block, path, "path")
            raise ModelError(
                f"{where} has the shape {block.shape}; a block has x, y, z and values", "path"
            )
    return sorted(blocks, key=lambda block: -_number(block, "z_top", path))


def _ends(dataset: Any, path: Path) -> tuple[float, float]:
    """Return the depths in m of the first and the last points of a block."""
    top = 0.0 - _number(dataset, "z_top", path)
    return top, top + (dataset.shape[2] - 1) * _resolution(dataset, "z", path)


def _refuse_gaps(datasets: list[Any], depths: tuple[float, float], path: Path) -> None:
    """Refuse blocks that leave a gap within depths (m) that are needed, or begin alike."""
    bottom = -np.inf
    for above, below in pairwise(datasets):
        first, last = _ends(above, path)
        bottom = max(bottom, last)
        top = _ends(below, path)[0]
        if top == first:
            raise ModelError(
                f"{path}: {brief(above.name)} and {brief(below.name)} both begin at a depth of "
                f"{top:g} m, and which of them counts is not known; check z_top",
                "path",
            )
        slack = _ROUNDING * _resolution(below, "z", path)
        if top > bottom + slack and top > depths[0] and bottom < depths[1]:
            raise ModelError(
                f"{path}: {brief(above.name)} ends at a depth of {bottom:g} m and "
                f"{brief(below.name)} begins at {top:g} m: between them, {top - bottom:g} m, are "
                "no values; check z_top and z_resolution, or let the grid end above",
                "path",
            )


def _reach(
    datasets: list[Any], numbers: Mapping[str, float], path: Path
) -> tuple[tuple[float, float], ...]:
    """Return the first and last depth, y and x in m that blocks have values for.

    Sizes are rounded to whole cells when a file is made, so that blocks may end half a cell early.
    """
    ends = [_ends(dataset, path) for dataset in datasets]
    vertical = (
        max(0.0, min((top for top, _ in ends), default=0.0)),
        min(numbers["dim_z"], max((bottom for _, bottom in ends), default=0.0)),
    )
    across = []
    for axis in "yx":
        number = "xyz".index(axis)
        sizes = [(d.shape[number] - 0.5) * _resolution(d, axis, path) for d in datasets]
        across.append((0.0, min(numbers[f"dim_{axis}"], *sizes)))
    return vertical, *across


def _block(
    dataset: Any, columns: Mapping[str, tuple[int, str]], variables: Mapping[str, Any],
    section: VolumePart, limits: tuple[tuple[float, float], ...], path: Path,
) -> VolumeBlock | None:  # fmt: skip
    """Read the part of a block within limits of depth, y, x (m); None if empty."""
    where = check_dataset(dataset, path, "path")
    if dataset.shape[3] <= max(number for number, _ in columns.values()):
        raise ModelError(
            f"{where} has the shape {dataset.shape}, and the file names more values", "path"
        )
    top, _ = _ends(dataset, path)
    ticks = []
    slices = []
    for axis, first, (low, high) in zip("zyx", (top, 0.0, 0.0), limits, strict=True):
        count = dataset.shape["xyz".index(axis)]
        step = _resolution(dataset, axis, path)
        begin = int(np.clip(np.floor((low - first) / step) - 1, 0, count - 1))
        end = int(np.clip(np.ceil((high - first) / step) + 2, begin + 1, count))
        if axis == "z" and (first + (count - 1) * step < low or first > high):
            return None
        ticks.append(first + step * np.arange(begin, end))
        slices.append(slice(begin, end))
    size = int(np.prod([tick.size for tick in ticks]))
    refuse_what_does_not_fit(where, 16 * len(columns) * size)
    samples = {}
    for name, (number, unit) in columns.items():
        array = dataset[slices[2], slices[1], slices[0], number].astype(float).transpose(2, 1, 0)
        array = np.where(array <= _NO_DATA, np.nan, array)
        written = getattr(variables[name], "units", None)
        array = in_si(array, name, unit, written, f"{where}: {variables[name].variable}")
        samples[name] = fill_columns(array) if section.missing == "column" else array
    return VolumeBlock(tuple(ticks), samples)
