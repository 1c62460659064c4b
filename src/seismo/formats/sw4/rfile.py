"""Models in rfiles of SW4 (Petersson & Sjogreen, SW4 users' guide, "rfile"), by depth below ground.

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
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.formats.sw4.sfile import InterfaceDepths, depths_at
from seismo.model.volumes.placement import Across, on_the_earth
from seismo.model.volumes.volume import Volume, VolumeBlock
from seismo.model.volumes.volume_request import VolumeRequest
from seismo.model.volumes.volume_values import fill_columns, in_si
from seismo.scenario.earth.gridded_parts import VolumePart

COMPONENTS = ("Rho", "Cp", "Cs", "Qp", "Qs")
_AXES = ("z m", "x m", "y m")
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
    """Read what a region needs of a file.

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
    blocks = tuple(_block(block, request.variables, section, limits, path) for block in file.blocks)
    elevation = np.array(file.ground.array[:, :, 0, 0], float)
    if not np.isfinite(elevation).all():
        raise ModelError(f"{path}: its elevations hold values that are no numbers", "path")
    level = HeightOfDepth((-elevation, (file.ground.across, file.ground.across)))
    sizes = [(n - 1) * file.ground.across for n in elevation.shape]
    reach = ((file.blocks[0].top, file.blocks[-1].bottom), (0.0, sizes[0]), (0.0, sizes[1]))
    return replace(request.volume(blocks, placement, _AXES, reach), depth=level)


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
    """Raise ModelError where a block begins below the end of the one above it."""
    for number, (upper, lower) in enumerate(pairwise(blocks), 1):
        if lower.top > upper.bottom + _SLACK * upper.down or lower.bottom <= upper.bottom:
            raise ModelError(
                f"{path}: block {number} ends at z = {upper.bottom:g} m, and block {number + 1} is "
                f"from {lower.top:g} to {lower.bottom:g} m; each has to go on below the one above",
                "path",
            )


def _block(
    block: RfileBlock, variables: Mapping[str, Any], section: VolumePart,
    limits: list[tuple[float, float]], path: Path,
) -> VolumeBlock:  # fmt: skip
    """Read what limits of x, y (m) need of a block, at all its z."""
    ranges = []
    for count, (low, high) in zip(block.array.shape, limits, strict=False):
        begin = int(np.clip(np.floor(low / block.across) - 1, 0, count - 1))
        end = int(np.clip(np.ceil(high / block.across) + 2, begin + 1, count))
        ranges.append(range(begin, end))
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
