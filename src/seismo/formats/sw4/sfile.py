"""Models in sfiles of SW4 (HDF5; Petersson & Sjogreen, Lawrence Livermore), by depth below ground.

    /                       Origin longitude, latitude, azimuth [degrees]; ngrids
    /Material_model/grid_P  Cp, Cs, Rho, Qp, Qs (x, y, downwards) in SI; Horizontal grid size [m]
    /Z_interfaces/z_values_P  (x, y) depth [m] of the top of grid P, and the bottom of the one above

A file is a stack of grids between interfaces, the first of which is the ground; points of a grid
divide the distance of its interfaces evenly. Its x points along the azimuth, its y 90 degrees
clockwise of that. The grid of a run is flat, and depths count from its ground; a point at
the share s of the way through grid P is at the level P + s. Which map projection the file was made
with it does not say.
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
    check_dataset,
    dataset_of,
    refuse_what_does_not_fit,
)
from seismo.formats.reading.hdf5 import open_hdf5
from seismo.model.volumes.interpolation import interpolate
from seismo.model.volumes.placement import Across, on_the_earth
from seismo.model.volumes.volume import Volume, VolumeBlock
from seismo.model.volumes.volume_request import VolumeRequest
from seismo.model.volumes.volume_values import fill_columns, in_si
from seismo.scenario.earth.gridded_parts import VolumePart

_ORIGIN = "Origin longitude, latitude, azimuth"
_SPACING = "Horizontal grid size"
_MOST_GRIDS = 100
_AXES = ("level", "x m", "y m")

InterfaceDepths = tuple[
    np.ndarray, tuple[float, float]
]  # depths (x, y) m and the spacing of the points


@dataclass(frozen=True)
class LevelOfDepth:
    """The map from depths below ground to levels, by the interfaces from the ground down."""

    interfaces: tuple[InterfaceDepths, ...]

    def __call__(self, z: np.ndarray, across: Across) -> np.ndarray:
        """Return levels at depths z m below ground; beyond the ends they go on."""
        depths = [depths_at(interface, across) for interface in self.interfaces]
        of_file = z + depths[0]
        level = np.minimum(z, 0.0) / (depths[1] - depths[0])
        for top, bottom in pairwise(depths):
            level = level + np.clip((of_file - top) / (bottom - top), 0.0, 1.0)
        return level + np.maximum(of_file - depths[-1], 0.0) / (depths[-1] - depths[-2])


def read_sfile(request: VolumeRequest) -> Volume:
    """Read what a region needs of a file.

    Raises:
        ModelError: it is no such file, or its values do not fit.
    """
    path = request.path
    section = request.section
    if section.crs is None:
        raise ModelError(
            f"missing: {path} does not say its map projection; give the `proj` of SW4's input, "
            "such as '+proj=tmerc +datum=NAD83 +units=m +lon_0=-123 +lat_0=35'",
            "crs",
        )
    request.refuse_keys("positive")
    with open_hdf5(path, locking="best-effort") as file:
        longitude, latitude, azimuth = _numbers(file, _ORIGIN, 3, path)
        count = int(_numbers(file, "ngrids", 1, path)[0])
        if not 1 <= count <= _MOST_GRIDS:
            raise ModelError(f"{path} has {count} grids; 1 to {_MOST_GRIDS} are read", "path")
        placement = on_the_earth(request.projection, path, section.crs)
        placement = replace(
            placement, origin=placement.reference(longitude, latitude), azimuth=azimuth
        )
        limits = placement.reach(request.region)
        blocks = tuple(
            _block(file, n, request.variables, section, limits, path) for n in range(count)
        )
        sizes = _extent(file, path)
        level = LevelOfDepth(tuple(_interface(file, n, sizes, path) for n in range(count + 1)))
    _refuse_crossing(level, path)
    reach = ((0.0, float(count)), (0.0, sizes[0]), (0.0, sizes[1]))
    return replace(request.volume(blocks, placement, _AXES, reach), depth=level)


def _numbers(entry: Any, name: str, count: int, path: Path) -> list[float]:
    """Return the numbers of an attribute."""
    if name not in entry.attrs:
        raise ModelError(f"{path} has no attribute {name!r}; is it an sfile?", "path")
    numbers = np.asarray(entry.attrs[name], float).reshape(-1)
    if numbers.size != count or not np.isfinite(numbers).all():
        raise ModelError(f"{path}: its attribute {name!r} is not {count} finite numbers", "path")
    return [float(number) for number in numbers]


def _grid(file: Any, number: int, name: str, path: Path) -> tuple[Any, float]:
    """Return a dataset (x, y, downwards) of a grid, and the horizontal spacing in m."""
    dataset = dataset_of(file, f"Material_model/grid_{number}/{name}", path)
    where = check_dataset(dataset, path, "path")
    if dataset.ndim != 3 or min(dataset.shape) < 2:
        raise ModelError(f"{where} has the shape {dataset.shape}; a grid has x, y and z", "path")
    step = _numbers(dataset.parent, _SPACING, 1, path)[0]
    if step <= 0.0:
        raise ModelError(f"{where}: its {_SPACING.lower()} is {step:g} m", "path")
    return dataset, step


def _extent(file: Any, path: Path) -> tuple[float, float]:
    """Return the lengths in m along x and y, which all grids share."""
    dataset, step = _grid(file, 0, "Cp", path)
    return (dataset.shape[0] - 1) * step, (dataset.shape[1] - 1) * step


def _interface(file: Any, number: int, sizes: tuple[float, float], path: Path) -> InterfaceDepths:
    """Return the depths of an interface."""
    dataset = dataset_of(file, f"Z_interfaces/z_values_{number}", path)
    where = check_dataset(dataset, path, "path")
    if dataset.ndim != 2 or min(dataset.shape) < 2:
        raise ModelError(f"{where} has the shape {dataset.shape}; it needs x and y", "path")
    refuse_what_does_not_fit(where, 8 * dataset.size)
    depths = dataset[...].astype(float)
    if not np.isfinite(depths).all():
        raise ModelError(f"{where} holds values that are no numbers", "path")
    return depths, (sizes[0] / (depths.shape[0] - 1), sizes[1] / (depths.shape[1] - 1))


def depths_at(interface: InterfaceDepths, across: Across) -> np.ndarray:
    """Return the depths of an interface at coordinates x, y m."""
    depths, steps = interface
    sizes = zip(across, steps, depths.shape, strict=True)
    indices = [np.clip(c / step, 0.0, count - 1.0) for c, step, count in sizes]
    return interpolate(depths, np.broadcast_arrays(*indices))


def _refuse_crossing(level: LevelOfDepth, path: Path) -> None:
    """Refuse interfaces that touch, at the points of any of them."""
    for depths, steps in level.interfaces:
        x, y = (step * np.arange(n) for step, n in zip(steps, depths.shape, strict=True))
        stack = [depths_at(interface, (x[:, None], y[None, :])) for interface in level.interfaces]
        if not (np.diff(stack, axis=0) > 0.0).all():
            number = int(np.argmax((np.diff(stack, axis=0) <= 0.0).any((1, 2))))
            raise ModelError(
                f"{path}: its interface {number + 1} is not below interface {number} everywhere",
                "path",
            )


def _block(
    file: Any, number: int, variables: Mapping[str, Any], section: VolumePart,
    limits: list[tuple[float, float]], path: Path,
) -> VolumeBlock:  # fmt: skip
    """Read what limits of x, y (m) need of a grid, at all its levels."""
    samples = {}
    ticks: list[np.ndarray] = []
    for name, spec in variables.items():
        dataset, step = _grid(file, number, spec.variable, path)
        ranges = []
        for count, (low, high) in zip(dataset.shape, limits, strict=False):
            begin = int(np.clip(np.floor(low / step) - 1, 0, count - 1))
            ranges.append(range(begin, int(np.clip(np.ceil(high / step) + 2, begin + 1, count))))
        size = len(ranges[0]) * len(ranges[1]) * dataset.shape[2]
        refuse_what_does_not_fit(path, 16 * len(variables) * size)
        slices = tuple(slice(r.start, r.stop) for r in ranges)
        array = dataset[slices].astype(float).transpose(2, 0, 1)
        array = np.where(array < 0.0, np.nan, array)  # -999 in water and air
        where = f"{path}:{dataset.name}"
        array = in_si(array, name, "", getattr(spec, "units", None), where)
        samples[name] = fill_columns(array) if section.missing == "column" else array
        levels = number + np.linspace(0.0, 1.0, dataset.shape[2])
        ticks = [levels, *(step * np.arange(r.start, r.stop) for r in ranges)]
        if any(array.shape != samples[next(iter(samples))].shape for array in samples.values()):
            raise ModelError(f"{where} has not the shape of the others of its grid", name)
    return VolumeBlock(tuple(ticks), samples)
