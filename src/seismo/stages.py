"""Stages bound to one subdomain: formula, operators, tiles and arrays become plain launches.

A stage runs its edge boxes first and its core later, so that halos can travel meanwhile. Each box
is cut into tiles that fit the second-level cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from seismo.backends.base import Backend, SweepTables, Variant
from seismo.cpml import Region
from seismo.decomposition import Subdomain
from seismo.fields import Fields
from seismo.grid import AXES, Box
from seismo.physics.table import Stage

PREFETCH_BYTES = 1536  # along the rows of a 2-D grid
TILE_ROWS = {2: (1, 16), 3: (16, 32)}  # rows along y and z of a tile, by dimensions


class LayerMemory:
    """Own the memory variables of one stage, in every region and span, in one array."""

    def __init__(
        self, backend: Backend, stage: Stage, subdomain: Subdomain, regions: list[Region], pad: int
    ) -> None:
        self._layout: dict[tuple[Region, int], tuple[int, ...]] = {}
        size = 0
        for region, span in product(regions, range(3)):
            x0, x1 = region.spans[span]
            (_, y0, z0), (_, y1, z1) = region.box.lo, region.box.hi
            box = Box((x0, y0, z0), (x1, y1, z1)) & subdomain.owned
            stretched = region.stretched(span)
            if not stretched or not box.size or not stage.slots:
                continue
            margin = [pad if a in stretched else 0 for a in AXES]
            nx, ny, nz = (n + 2 * m for n, m in zip(box.shape, margin, strict=True))
            pitch = -(-nx // backend.lane_width) * backend.lane_width
            slot = pitch * ny * nz
            corner = [m - lo for m, lo in zip(margin, box.lo, strict=True)]
            first = size + (corner[2] * ny + corner[1]) * pitch + corner[0]
            shot = slot * stage.slots * len(stretched)
            self._layout[region, span] = (first, pitch, pitch * ny, slot, shot)
            size += shot * subdomain.batch
        self.array = backend.zeros(size + backend.lane_width)

    def columns(self, region: Region, span: int, shot: int, offset: tuple[int, int, int]):
        """Give the memory columns of a tile: index of array index (0, 0, 0), strides, slot size."""
        if (region, span) not in self._layout:
            return 0, 0, 0, 0
        first, memory_y, memory_z, slot, shot_step = self._layout[region, span]
        ox, oy, oz = offset
        origin = first - oz * memory_z - oy * memory_y - ox + shot * shot_step
        return origin, memory_y, memory_z, slot


@dataclass(frozen=True)
class Binding:
    """What all stages of a subdomain share.

    Attributes:
        backend: where they run.
        subdomain: its arrays' shape.
        fields: its arrays.
        tables: coefficients and profiles.
        order: of the differences.
        regions: boxes of one variant each.
        closed_width: width of the surface weights, 0 without a closed free surface.
    """

    backend: Backend
    subdomain: Subdomain
    fields: Fields
    tables: SweepTables
    order: int
    regions: list[Region]
    closed_width: int


def _tiles(
    binding: Binding, stage: Stage, memory: LayerMemory, region: Region, box: Box
) -> list[list[int]]:
    sub = binding.subdomain
    ox, oy, oz = sub.offset
    rows_y, rows_z = TILE_ROWS[sub.grid.dimensions]
    (_, y0, z0), (_, y1, z1) = box.lo, box.hi
    tiles = []
    for shot in range(sub.batch):
        spans: list[int] = []
        for span, (x0, x1) in enumerate(region.spans):
            idle = stage.where == "layer" and not region.stretched(span)
            spans += [x0 + ox, (x0 if idle else x1) + ox]
            spans += memory.columns(region, span, shot, sub.offset)
        for (za, zb), (ya, yb) in product(_evenly(z0, z1, rows_z), _evenly(y0, y1, rows_y)):
            rows = [za + oz, zb + oz, ya + oy, yb + oy]
            tiles.append([*rows, shot * sub.volume, *spans])
    return tiles


def _evenly(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """Cut a range in equal pieces of at most `most`, so that threads get equal shares."""
    count = -(-(last - first) // most)
    cuts = [first + (last - first) * k // count for k in range(count + 1)]
    return list(pairwise(cuts))


def _leads(binding: Binding, stage: Stage) -> tuple[int, ...]:
    """How far ahead to prefetch each array: further on, in the plane not seen yet.

    In 3-D that is the next row; a row of a 2-D grid is so long that its lines would be gone again.
    """
    y_stride, z_stride = binding.subdomain.strides
    ahead = PREFETCH_BYTES // np.dtype(binding.backend.precision).itemsize
    if binding.subdomain.grid.dimensions == 3:
        ahead = y_stride
    far = binding.order // 2 * z_stride + ahead
    return (
        *(ahead for _ in stage.writes),
        *(far for _ in stage.reads),
        *(z_stride + ahead for _ in stage.coefficients),
    )


class BoundStage:
    """One stage on one subdomain: `edges[parity]` and `core[parity]` list its launches.

    The edges are what the neighbours wait for.
    """

    def __init__(self, binding: Binding, stage: Stage, memory: LayerMemory) -> None:
        self.stage, self._memory = stage, memory
        edges, core = binding.subdomain.edges_and_core()
        self.edges = [self._launches(binding, memory, edges, parity) for parity in (0, 1)]
        self.core = [self._launches(binding, memory, [core], parity) for parity in (0, 1)]
        self._clears: list[Callable[[], None]] = []

    def _launches(
        self, binding: Binding, memory: LayerMemory, boxes: list[Box], parity: int
    ) -> list[Callable[[], None]]:
        stage, grouped = self.stage, dict[tuple[str, str, bool], list[list[int]]]()
        for region in self._regions(binding):
            for box in boxes:
                part = region.box & box
                if part.size and (region.ends or stage.where != "layer"):
                    key = (region.middle, region.ends, region.closed)
                    tiles = _tiles(binding, stage, memory, region, part)
                    grouped.setdefault(key, []).extend(tiles)
        arrays = binding.fields.arrays(parity)
        bound = tuple(arrays[name] for name in stage.arguments)
        axes, launches = binding.subdomain.grid.axes, []
        for (middle, ends, closed), tiles in grouped.items():
            width = binding.closed_width if closed else 0
            variant = Variant(binding.order, axes, middle, ends, stage.slots, width)
            launches.append(
                binding.backend.sweep(
                    stage.formula, variant, binding.tables, np.array(tiles), memory.array, bound,
                    _leads(binding, stage),
                )
            )  # fmt: skip
        return launches

    def _regions(self, binding: Binding) -> list[Region]:
        if self.stage.where != "surface":
            return binding.regions
        grid = binding.subdomain.grid
        nx, ny, _ = grid.points
        row = Region(Box((0, 0, 0), (nx, ny, 1)), ((0, 0), (0, nx), (nx, nx)), "", "", False)
        return [row] if binding.closed_width else []

    def follow(
        self,
        edges: list[Callable[[], None]],
        core: list[Callable[[], None]],
        clear: Callable[[], None],
    ) -> None:
        """Run corrections right after the updates of the same points; `clear` their memory."""
        for parity in (0, 1):
            self.edges[parity] = [*self.edges[parity], *edges]
            self.core[parity] = [*self.core[parity], *core]
        self._clears.append(clear)

    def clear(self) -> None:
        """Set the layer memory to zero."""
        self._memory.array[:] = 0
        for clear in self._clears:
            clear()


def bind_stages(binding: Binding, stages: tuple[Stage, ...], pad: int) -> list[BoundStage]:
    """Bind the stages of a wave equation to a subdomain.

    Args:
        binding: what they share.
        stages: the equation's table.
        pad: margin of layer memory (half the order where memory is differentiated, else 0).
    """
    memories, bound = {}, []
    for stage in stages:
        owner = stage.shares or stage.name
        if owner not in memories:
            memories[owner] = LayerMemory(
                binding.backend, stage, binding.subdomain, binding.regions, pad
            )
        bound.append(BoundStage(binding, stage, memories[owner]))
    return bound
