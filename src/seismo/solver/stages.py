"""Stages bound to one subdomain: launches of a formula on its boxes and arrays.

A stage runs its edge boxes first and its core later, so that halos can travel meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product, zip_longest
from typing import Any

import numpy as np

from seismo.backends.base import Backend, KernelConstants, KernelFields, Launch, Variant
from seismo.backends.operators.curved import Curved
from seismo.equations.table import Stage
from seismo.grid.curved_rows import RowWeights
from seismo.grid.decomposition import LINE, Subdomain
from seismo.grid.global_index import CheckpointArray, GlobalBlock
from seismo.grid.grid import AXES, Box, Grid
from seismo.solver.cpml import RowGroup, spans
from seismo.solver.fields import Fields

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
        even: by stage, of every plane z of the grid, whether its medium is even.
        moving: points that can move; the others are left as they are.
        damped: whether layers damp the fields themselves.
        curved: weights of rows that follow the ground, None where it is flat.
        closed_rows: rows under a free surface with operators of their own.
    """

    backend: Backend
    subdomain: Subdomain
    fields: Fields
    tables: KernelConstants
    order: int
    regions: list[RowGroup]
    closed_width: int
    even: dict[str, np.ndarray]
    moving: Box
    damped: bool = False
    curved: RowWeights | None = None
    closed_rows: int = 0

    def weights(self, region: RowGroup) -> Curved | None:
        """Return which weights the rows of a region have that follow the ground."""
        if self.curved is None or not region.curved:
            return None
        cross = self.curved.cross if region.closed else self.curved.inner
        return Curved(self.curved.plain, self.curved.cross, cross)

    @property
    def stretched(self) -> bool:
        """Whether cells of the grid grow along z."""
        return self.subdomain.grid.stretching is not None


def _rows(
    binding: Binding, stage: Stage, memory: LayerMemory, region: RowGroup, box: Box
) -> list[list[int]]:
    """Return the columns of a box of one region, for every shot; along x as far as it reaches."""
    sub = binding.subdomain
    ox, oy, oz = sub.offset
    (_, y0, z0) = box.lo
    (_, y1, z1) = box.hi
    columns = []
    # A row of columns for each shot: box, offset of the shot, packed offset, x-segments.
    for shot in range(sub.batch):
        along: list[int] = []
        for span, (first, last) in enumerate(region.spans):
            x0 = min(max(first, box.lo[0]), last)
            x1 = max(min(last, box.hi[0]), x0)
            # Stages of the layers leave the interior out: an empty range of x.
            idle = stage.where == "layer" and not region.stretched(span)
            along += [x0 + ox, (x0 if idle else x1) + ox]
            along += memory.columns(region, span, shot, sub.offset)
        rows = (z0 + oz, z1 + oz, y0 + oy, y1 + oy)
        packed = binding.fields.packed(z0, stage.coefficients)
        columns.append([*rows, shot * sub.volume, packed, *along])
    return columns


def _pieces(box: Box, even: np.ndarray | None) -> list[tuple[bool, Box]]:
    """Cut a box in runs of planes that are even, and that are not."""
    if even is None:
        return [(False, box)]
    (x0, y0, z0) = box.lo
    (x1, y1, z1) = box.hi
    # Cut where the kind of plane changes.
    cuts = [z0, *(z for z in range(z0 + 1, z1) if even[z] != even[z - 1]), z1]
    return [(bool(even[a]), Box((x0, y0, a), (x1, y1, b))) for a, b in pairwise(cuts)]


def reached(stage: Stage, grid: Grid, closed_rows: int) -> Box:
    """Return the points that others may read anew after a stage, with so many closed rows."""
    # The surface's row, or the closed ones; what slopes add is read in its column, never cut.
    nx, ny, nz = grid.points
    rows = {"surface": min(1, closed_rows), "closed": closed_rows, "curved": 0}
    return Box((0, 0, 0), (nx, ny, rows.get(stage.where, nz)))


# Axes of layers in the middle and at the ends of rows, closed, even, weights of curved rows.
OperatorKey = tuple[str, str, bool, bool, Curved | None]


class BoundStage:
    """One stage on one subdomain: `edges[parity]` and `core[parity]` list its launches.

    The edges are what the neighbours wait for. Corrections follow the updates of the same points.
    `memories` are the arrays of the layers that a step leaves for the next.
    """

    def __init__(self, binding: Binding, stage: Stage, memory: LayerMemory, number: int) -> None:
        """Bind the stage that is the n-th of a step."""
        self.stage = stage
        self._number = number
        self.memories = list(memory.memories)
        # Edges first: neighbours wait for them.
        edges, core = binding.subdomain.edges_and_core()
        parities = binding.fields.physics.parities
        self.edges = [self._launches(binding, memory, edges, parity) for parity in parities]
        self.core = [self._launches(binding, memory, [core], parity) for parity in parities]
        self.edge_corrections: list[Launch] = []
        self.core_corrections: list[Launch] = []

    def _launches(
        self, binding: Binding, memory: LayerMemory, boxes: list[Box], parity: int
    ) -> list[Launch]:
        stage = self.stage
        grouped = dict[OperatorKey, tuple[list[list[int]], list[list[int]]]]()
        # Boxes by the operators that their rows need: one launch each.
        for region in self._regions(binding, memory):
            for box in boxes:
                overlap = region.box & box
                if not overlap.size or not (region.ends or stage.where != "layer"):
                    continue
                for even, piece in _pieces(overlap, binding.even.get(stage.name)):
                    moving_piece = piece & binding.moving
                    if not moving_piece.size:
                        continue
                    curved = binding.weights(region)
                    key = (region.middle, region.ends, region.closed, even, curved)
                    part_boxes, whole_boxes = grouped.setdefault(key, ([], []))
                    part_boxes += _rows(binding, stage, memory, region, moving_piece)
                    whole_boxes += _rows(binding, stage, memory, region, piece)
        arrays = binding.fields.arrays(parity)
        launches = list[list[Launch]]()
        # Interior rows, the longest launches, come first.
        for key, both in sorted(grouped.items(), key=lambda item: len(item[0][0])):
            moving, complete = (np.array(some, np.int64) for some in both)
            middle, ends, closed, even, curved = key
            physics = binding.fields.physics
            formula = physics.formula(stage, even)
            if curved:
                formula = physics.curved_formula(stage, even, tuple(binding.fields.planes))
            read = formula.fields[len(stage.writes) :]
            writes, reads, model = (
                tuple(arrays[n] for n in names)
                for names in (stage.writes, read, formula.coefficients)
            )
            width = binding.closed_width if closed else 0
            # Operators in the interior and in the PML segments of a row. Layers across z have the
            # heights of cells in their profile; closed rows all have the same.
            scaled = binding.stretched and not closed and "z" not in middle + ends
            on_surface = stage.where in ("surface", "closed", "curved")
            variant = Variant(
                binding.order, binding.subdomain.grid.axes, middle, ends, memory.slots, width,
                memory.at_once, binding.damped, scaled and not on_surface, curved,
            )  # fmt: skip
            operands = KernelFields(writes, reads, model, memory.arrays(parity))
            launches.append(binding.backend.sweep(
                formula, variant, binding.tables, moving, operands,
                back=(self._number + parity) % 2 == 1,
                whole_boxes=None if np.array_equal(moving, complete) else complete,
            ))  # fmt: skip
        # the longest first; ends of rows, where they are apart, fill what is left of the card
        return [one for turn in zip_longest(*launches) for one in turn if one is not None]

    def _regions(self, binding: Binding, memory: LayerMemory) -> list[RowGroup]:
        if self.stage.where == "layer" and memory.at_once:
            return []  # the stage that shares its memory does it
        if self.stage.where not in ("surface", "closed", "curved"):
            return binding.regions
        # Stages of the surface: its rows alone, without layers.
        rows = reached(self.stage, binding.subdomain.grid, binding.closed_rows)
        if self.stage.where == "curved" and binding.curved is not None:
            rows = Box((0, 0, 0), (*rows.hi[:2], binding.curved.count))
        nx = rows.shape[0]
        spans = ((0, 0), (0, nx), (nx, nx))
        curved = binding.curved is not None
        return [RowGroup(rows, spans, "", "", curved, curved)] if rows.size else []

    def follow(
        self, edges: list[Launch], core: list[Launch], memories: list[CheckpointArray]
    ) -> None:
        """Run corrections right after the updates of the same points; they keep `memories`."""
        self.edge_corrections += edges
        self.core_corrections += core
        self.memories += memories


def bind_stages(
    bindings: list[Binding], stages: tuple[Stage, ...], pad: int
) -> list[list[BoundStage]]:
    """Bind the stages of a wave equation to a subdomain, for each phase of the steps.

    Args:
        bindings: what they share, in each phase; all have the same layer memory.
        stages: the equation's table.
        pad: margin of layer memory.
    """
    common = bindings[0]
    memories = dict[str, LayerMemory]()
    for stage in stages:
        # Stages that share memory have that of the first.
        owner = stage.shares or stage.name
        if owner not in memories:
            slots = common.fields.physics.slots(owner)
            memories[owner] = LayerMemory(
                common.backend, stage, slots, common.subdomain, common.regions, pad,
                common.backend.at_once and common.fields.physics.at_once,
                common.fields.physics.short_layers,
            )  # fmt: skip
    return [
        [
            BoundStage(binding, stage, memories[stage.shares or stage.name], n)
            for n, stage in enumerate(stages)
        ]
        for binding in bindings
    ]
