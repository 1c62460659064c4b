"""Memory variables of the absorbing layers of a subdomain: where each region's stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from seismo.backends.base import Backend
from seismo.equations.framework.table import Stage
from seismo.grid.decomposition import LINE, Subdomain
from seismo.grid.global_index import CheckpointArray, GlobalBlock
from seismo.grid.grid import AXES, Box
from seismo.solver.steps.row_groups import RowGroup, spans

SLOT_STAGGER = 9  # lines between the variables of a region, so that no cache set holds them all


def _block_layout(box: Box, stretched: str, pad: int, lane: int) -> tuple[int, int, int, int]:
    """Return the layout of one variable of a shot in a box: (z, y, x) with padding.

    Args:
        box: its points.
        stretched: axes along which it is differentiated, and has `pad` zeros on both sides.
        pad: zeros on a side; along x in whole lanes.
        lane: points that the length of a row is a multiple of.

    Returns:
        index of grid point (0, 0, 0), so that kernels use grid indices; strides of y and of z;
        length in all.
    """
    # Margin of flux memory that is differentiated, on whole lanes.
    margin = [pad if a in stretched else 0 for a in AXES]
    margin[0] = -(-margin[0] // lane) * lane
    # Rows of whole lanes, planes of whole rows.
    _, ny, nz = (n + 2 * m for n, m in zip(box.shape, margin, strict=True))
    pitch = margin[0] + -(-box.shape[0] // lane) * lane
    corner = [m - lo for m, lo in zip(margin, box.lo, strict=True)]
    first = (corner[2] * ny + corner[1]) * pitch + corner[0]
    # Variables are staggered in the cache.
    return first, pitch, pitch * ny, pitch * ny * nz + SLOT_STAGGER * lane


class LayerMemory:
    """Own the memory variables of one stage, in every region and span, in one array.

    Where they are differentiated there are `pad` zeros on both sides. Along x those before a row
    are whole lanes or lines, so that rows are aligned; those behind it are the next row's, or the
    stagger.

    A backend that takes second derivatives at once has three arrays with a variable each: the
    outer one, and the flux of even and of odd steps, since neighbours still read the old one. At
    the ends of rows they hold the layer alone: the points beside it have theirs in the margin,
    zeros but in corners, and weights of 0 for what they see of the next row.
    """

    def __init__(
        self,
        backend: Backend,
        stage: Stage,
        slots: int,
        subdomain: Subdomain,
        regions: list[RowGroup],
        pad: int,
        at_once: bool,
        short: bool = False,
    ) -> None:
        self._layout: dict[tuple[RowGroup, int], tuple[int, ...]] = {}
        self.at_once = at_once and stage.where == "layer"
        self.slots, arrays = (1, 3) if self.at_once else (slots, 1)
        blocks = list[GlobalBlock]()
        size = LINE
        layer = spans(subdomain.grid, backend.lane_width, 0)
        # A block of memory for each row group and x-segment that is stretched.
        for (number, region), span in product(enumerate(regions), range(3)):
            # Fused updates need no points beside the layer: its own x-segment.
            alone = self.at_once and span != 1 and region.spans[1][0] < region.spans[1][1]
            x0, x1 = layer[span] if alone else region.spans[span]
            (_, y0, z0) = region.box.lo
            (_, y1, z1) = region.box.hi
            box = Box((x0, y0, z0), (x1, y1, z1)) & subdomain.owned
            (x0, y0, z0) = box.lo
            (x1, y1, z1) = box.hi
            stretched = region.stretched(span)
            if not stretched or not box.size or not self.slots:
                continue
            lane = LINE if span == 1 else backend.lane_width
            # One variable of a shot behind the other.
            first, pitch, plane, slot = _block_layout(box, stretched, pad, lane)
            first += size
            shot = slot * self.slots * len(stretched)
            self._layout[region, span] = (first, pitch, plane, slot, shot)
            size += -(-shot * subdomain.batch // LINE) * LINE
            # Global indices, so that a checkpoint fits another decomposition.
            strides = (shot, slot, plane, pitch, 1)
            start = first + z0 * strides[2] + y0 * pitch + region.spans[span][0]
            shots = (subdomain.shots.start, subdomain.shots.stop)
            counts = (shots, (0, shot // slot), (z0, z1), (y0, y1), region.spans[span])
            name = f"layer.{stage.name}.{number}.{span}"
            blocks.append(GlobalBlock(name, start, strides, tuple((run,) for run in counts)))
        self.memories = [
            CheckpointArray(
                backend.zeros(size + backend.lane_width, short),
                [replace(p, array_name=f"{p.array_name}.{n}") for p in blocks],
            )
            for n in range(arrays)
        ]

    def arrays(self, parity: int) -> tuple[Any, ...]:
        """Return the array; or the outer variable's, the flux as it is, and as it will be."""
        outer, *flux = (memory.array for memory in self.memories)
        return outer, *(reversed(flux) if parity else flux)

    def columns(self, region: RowGroup, span: int, shot: int, offset: tuple[int, int, int]):
        """Return the memory columns of a box: index of point (0, 0, 0), strides, slot size."""
        if (region, span) not in self._layout:
            return 0, 0, 0, 0
        first, memory_y, memory_z, slot, shot_step = self._layout[region, span]
        # Origin in the subdomain's array indices, of a shot.
        ox, oy, oz = offset
        origin = first - oz * memory_z - oy * memory_y - ox + shot * shot_step
        return origin, memory_y, memory_z, slot
