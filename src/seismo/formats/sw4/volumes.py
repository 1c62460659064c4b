"""Models in sfiles and rfiles of SW4 (Petersson & Sjogreen, Lawrence Livermore).

Both give properties by depth below ground. *Sfiles* are HDF5:

    /                       Origin longitude, latitude, azimuth [degrees]; ngrids
    /Material_model/grid_P  Cp, Cs, Rho, Qp, Qs (x, y, downwards) in SI; Horizontal grid size [m]
    /Z_interfaces/z_values_P  (x, y) depth [m] of the top of grid P, and the bottom of the grid
    above

A file is a stack of grids between interfaces, the first of which is the ground; points of a grid
divide the distance of its interfaces evenly. Its x points along the azimuth, its y 90 degrees
clockwise of that. The grid of a run is flat, and depths count from its ground; a point at
the share s of the way through grid P is at the level P + s. Which map projection the file was made
with it does not say.

*Rfiles* are binary (SW4 users' guide, "rfile"):

    3 int32             1, bytes of a number (4 or 8), whether there are qp and qs
    3 float64, int32    azimuth, longitude, latitude of the origin in degrees; letters that follow
    text                map projection, as PROJ's
    int32               number of blocks
    3 float64, 4 int32  of each block: horizontal and vertical spacing, z of its top in m;
                        components, points along x, y, z
    numbers             of each block (x, y, z, component)

The first block has the elevation of the ground in m, the others rho, vp, vs, (qp, qs) in SI between
planes of z, which grows downwards from sea level. Bytes may stand in either order. Depths count
from the ground: a point at depth d is at z = d - elevation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError, printable
from seismo.formats.reading.arrays import (
    check_dataset,
    dataset_of,
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

_ORIGIN = "Origin longitude, latitude, azimuth"
_SPACING = "Horizontal grid size"
_MOST_GRIDS = 100

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
    """Read the part of a file that a region needs.

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
            _grid_block(file, n, request.variables, section, limits, path) for n in range(count)
        )
        sizes = _extent(file, path)
        level = LevelOfDepth(tuple(_interface(file, n, sizes, path) for n in range(count + 1)))
    _refuse_crossing(level, path)
    reach = ((0.0, float(count)), (0.0, sizes[0]), (0.0, sizes[1]))
    return replace(request.volume(blocks, placement, ("level", "x m", "y m"), reach), depth=level)


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


def _points_within(
    limits: list[tuple[float, float]], step: float, shape: tuple[int, ...]
) -> list[range]:
    """Return the points along x and y, so many m apart, that limits (m) need."""
    ranges = []
    for count, (low, high) in zip(shape, limits, strict=False):
        begin = int(np.clip(np.floor(low / step) - 1, 0, count - 1))
        ranges.append(range(begin, int(np.clip(np.ceil(high / step) + 2, begin + 1, count))))
    return ranges


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


def _grid_block(
    file: Any, number: int, variables: Mapping[str, Any], section: VolumePart,
    limits: list[tuple[float, float]], path: Path,
) -> VolumeBlock:  # fmt: skip
    """Read the part of a grid within limits of x, y (m), at all its levels."""
    samples = {}
    ticks: list[np.ndarray] = []
    for name, spec in variables.items():
        dataset, step = _grid(file, number, spec.variable, path)
        ranges = _points_within(limits, step, dataset.shape)
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


COMPONENTS = ("Rho", "Cp", "Cs", "Qp", "Qs")
_MOST_BLOCKS = 100
_MOST_LETTERS = 4096  # of a projection
_SLACK = 1e-6  # of a vertical spacing


@dataclass(frozen=True)
class RfileBlock:
    """A block: spacings and z of its top in m, and its array (x, y, z, component) on the disk."""

    across: float
    down: float
    top: float
    array: Any

    @property
    def bottom(self) -> float:
        """Its last z in m."""
        return self.top + (self.array.shape[2] - 1) * self.down


@dataclass(frozen=True)
class Rfile:
    """The contents of a file: origin and azimuth in degrees, projection, ground, blocks below."""

    azimuth: float
    longitude: float
    latitude: float
    projection: str
    ground: RfileBlock
    blocks: tuple[RfileBlock, ...]


@dataclass(frozen=True)
class HeightOfDepth:
    """The map from depths below ground to z of the file, by the z of the ground."""

    ground: InterfaceDepths

    def __call__(self, z: np.ndarray, across: Across) -> np.ndarray:
        """Return z of the file in m at depths z m below ground."""
        return z + depths_at(self.ground, across)


def read_rfile(request: VolumeRequest) -> Volume:
    """Read the part of a file that a region needs.

    Raises:
        ModelError: it is no such file, or its values do not fit.
    """
    path = request.path
    section = request.section
    request.refuse_keys("positive")
    file = open_rfile(path)
    placement = on_the_earth(request.projection, path, section.crs or file.projection)
    origin = placement.reference(file.longitude, file.latitude)
    placement = replace(placement, origin=origin, azimuth=file.azimuth)
    limits = placement.reach(request.region)
    blocks = tuple(
        _rfile_block(block, request.variables, section, limits, path) for block in file.blocks
    )
    elevation = np.array(file.ground.array[:, :, 0, 0], float)
    if not np.isfinite(elevation).all():
        raise ModelError(f"{path}: its elevations hold values that are no numbers", "path")
    level = HeightOfDepth((-elevation, (file.ground.across, file.ground.across)))
    sizes = [(n - 1) * file.ground.across for n in elevation.shape]
    reach = ((file.blocks[0].top, file.blocks[-1].bottom), (0.0, sizes[0]), (0.0, sizes[1]))
    return replace(request.volume(blocks, placement, ("z m", "x m", "y m"), reach), depth=level)


def open_rfile(path: Path) -> Rfile:
    """Return the header of a file, and its arrays, of which nothing is read yet.

    Raises:
        ModelError: it is no rfile, or shorter than its header says.
    """
    with path.open("rb") as stream:
        data = stream.read(4)
        order = next((o for o in "<>" if data == np.array(1, f"{o}i4").tobytes()), "")
        if not order:
            raise ModelError(f"{path} does not begin with the number 1 of an rfile", "path")

        def numbers(kind: str, count: int) -> list:
            size = count * int(kind[1])
            raw = stream.read(size)
            if len(raw) < size:
                raise ModelError(f"{path} ends within its header", "path")
            return np.frombuffer(raw, order + kind).tolist()

        precision, attenuating = numbers("i4", 2)
        azimuth, longitude, latitude = numbers("f8", 3)
        (length,) = numbers("i4", 1)
        if precision not in (4, 8) or not 0 <= length <= _MOST_LETTERS:
            raise ModelError(f"{path}: its header is not that of an rfile", "path")
        text = stream.read(length).decode("latin-1").rstrip("\0 \n")
        (count,) = numbers("i4", 1)
        if not 2 <= count <= _MOST_BLOCKS:
            raise ModelError(
                f"{path} has {count} blocks; 2 to {_MOST_BLOCKS} are read, of which the first is "
                "the ground",
                "path",
            )
        headers = [(numbers("f8", 3), numbers("i4", 4)) for _ in range(count)]
        offset = stream.tell()
    if not all(math.isfinite(n) for n in (azimuth, longitude, latitude)):
        raise ModelError(f"{path}: its origin or azimuth is no number", "path")
    blocks = []
    for number, (spacing, (components, *points)) in enumerate(headers):
        needed = 1 if number == 0 else 5 if attenuating == 1 else 3
        _check_header(path, number, spacing, components, points, needed)
        shape = (*points, components)
        size = precision * math.prod(shape)
        if path.stat().st_size < offset + size:
            raise ModelError(f"{path} ends within block {number}: it is not complete", "path")
        array = np.memmap(path, f"{order}f{precision}", "r", offset, shape)
        blocks.append(RfileBlock(spacing[0], spacing[1], spacing[2], array))
        offset += size
    _refuse_gaps(blocks[1:], path)
    return Rfile(azimuth, longitude, latitude, printable(text), blocks[0], tuple(blocks[1:]))


def _check_header(
    path: Path, number: int, spacing: list[float], components: int, points: list[int], needed: int
) -> None:
    """Raise ModelError for a header of a block that no block has."""
    steps = spacing[:1] if number == 0 else spacing[:2]
    if not all(math.isfinite(n) for n in spacing) or min(steps) <= 0.0:
        raise ModelError(f"{path}: block {number} has spacings {steps} m", "path")
    least = (2, 2, 1) if number == 0 else (2, 2, 2)
    if any(n < m for n, m in zip(points, least, strict=True)) or components < needed:
        raise ModelError(
            f"{path}: block {number} has {components} components at {points} points; at least "
            f"{needed} at {list(least)} are needed",
            "path",
        )


def _refuse_gaps(blocks: list[RfileBlock], path: Path) -> None:
    """Raise ModelError where a block begins below the end of the block above it."""
    for number, (upper, lower) in enumerate(pairwise(blocks), 1):
        if lower.top > upper.bottom + _SLACK * upper.down or lower.bottom <= upper.bottom:
            raise ModelError(
                f"{path}: block {number} ends at z = {upper.bottom:g} m, and block {number + 1} is "
                f"from {lower.top:g} to {lower.bottom:g} m; each has to go on below the one above",
                "path",
            )


def _rfile_block(
    block: RfileBlock, variables: Mapping[str, Any], section: VolumePart,
    limits: list[tuple[float, float]], path: Path,
) -> VolumeBlock:  # fmt: skip
    """Read the part of a block within limits of x, y (m), at all its z."""
    ranges = _points_within(limits, block.across, block.array.shape)
    size = len(ranges[0]) * len(ranges[1]) * block.array.shape[2]
    refuse_what_does_not_fit(path, 16 * len(variables) * size)
    names = COMPONENTS[: block.array.shape[3]]
    samples = {}
    for name, spec in variables.items():
        if spec.variable not in names:
            raise ModelError(f"{path} has no {spec.variable!r}; it has {', '.join(names)}", name)
        (i, j) = (slice(r.start, r.stop) for r in ranges)
        component = block.array[i, j, :, names.index(spec.variable)]
        array = np.array(component, float).transpose(2, 0, 1)
        array = np.where(array < 0.0, np.nan, array)  # -999 in water and air
        where = f"{path}:{spec.variable}"
        array = in_si(array, name, "", getattr(spec, "units", None), where)
        samples[name] = fill_columns(array) if section.missing == "column" else array
    z = block.top + block.down * np.arange(block.array.shape[2])
    return VolumeBlock((z, *(block.across * np.arange(r.start, r.stop) for r in ranges)), samples)
