"""A formula on a GPU, bound to boxes: its layout of threads, its kernel and its launch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from seismo.backends.base import FIRST_SPAN, SHORT, KernelConstants, Launch
from seismo.backends.gpu.arrays import GpuArrays, device_tables
from seismo.backends.gpu.launch_order import SweepCall
from seismo.backends.gpu.sweeps import blocks
from seismo.backends.gpu.sweeps.constants import SweepConstants
from seismo.backends.gpu.sweeps.kernels import SweepKernel
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.gpu.sweeps.thread import line_offset, row_rotation


class SweepBinding:
    """A formula with its tables and arrays, to be bound to boxes of one kind of row."""

    def __init__(
        self, backend: GpuArrays, call: SweepCall, back: bool, tables: KernelConstants,
        turned: bool = False,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._call = call
        self._formula = call.formula
        self._variant = call.variant
        self._back = back
        self._turned = turned
        self._tables = tables
        self._operands = call.operands
        # In place of a flux that the formula does not have stands the outer memory.
        outer, *flux = call.operands.memory
        self._memory = (outer, *(flux or (outer, outer)))
        self._addresses = device_tables(backend, tables)

    def launch(self, stretched: str, boxes: np.ndarray, whole_boxes: np.ndarray | None) -> Launch:
        """Bind to boxes of `BOX_COLUMNS`, with one span; a layout is that of the whole ones."""
        variant = self._variant
        backend = self._backend
        operands = self._operands
        # The layout of threads, by what the kernel does and the width of its boxes.
        layout = blocks.layout_of(backend.shapes, self._formula, variant, stretched)
        at_ends = "x" in stretched
        every = boxes if whole_boxes is None else np.concatenate([boxes, whole_boxes])
        limits = every[:, FIRST_SPAN : FIRST_SPAN + 2]
        # Wide lanes begin on a multiple of themselves, narrow ones wherever rows are cut.
        narrow = layout.narrow or at_ends or bool((limits[:, 0] % backend.lanes.width).any())
        lanes = backend.card.lanes(backend.lanes.precision, narrow)
        # Stores need a mask only where a box ends within a lane.
        masked = bool((limits[:, 1] % lanes.width).any())
        shape = layout.fitted(-(-int(np.ptp(limits, axis=1).max()) // lanes.width))
        laid = boxes if whole_boxes is None else whole_boxes
        marches = bool(operands.reads) and blocks.can_march(self._formula, variant, stretched)
        slopes = bool(self._formula.marched)
        multiprocessors = backend.card.multiprocessors
        shape = blocks.with_planes(shape, marches, laid, lanes.width, multiprocessors, slopes)
        shape = blocks.together_if_even(shape, every)
        tile = (
            shape.tile
            and shape.planes > 1
            and blocks.can_have_tile(
                self._formula, variant, self._tables.strides, stretched, lanes.width
            )
        )
        shape = replace(shape, tile=tile, slab=blocks.slab_of(shape, laid))
        constants = SweepConstants(
            self._tables, stretched, variant.weighted, masked, variant.order // 2,
            len(operands.writes), len(operands.reads),
            self._formula.along("y" if self._turned else "z"), len(operands.all),
            0 if variant.at_once else len(stretched) * variant.slots, self._formula.is_short,
            variant.scaled, blocks.asked_arrays(self._formula, variant, stretched, shape),
            self._formula.unread, self._memory[0].dtype == SHORT,
        )  # fmt: skip
        # One box for all shots (without the shot's offset): bounds become constants of the kernel,
        # but not those of parts, which differ from phase to phase.
        is_single = len(np.unique(np.delete(boxes, 4, axis=1), axis=0)) == 1
        alone = not stretched and is_single and whole_boxes is None
        listed = partial(self._many_boxes, at_ends)
        boxed = self._single_box if alone else listed
        box, volume, grid, table = boxed(shape, boxes, lanes.width)
        # CUDA's limit of blocks along y and z: a table of blocks counts along x instead.
        if max(grid[1:]) > blocks.MOST_BLOCKS:
            box, volume, grid, table = listed(shape, boxes, lanes.width)
        ends = boxes[:, FIRST_SPAN : FIRST_SPAN + 2]
        rotation = None if at_ends else row_rotation(self._tables.strides, lanes.width, ends)
        kernel = SweepKernel(
            self._formula, variant, lanes.precision, constants, shape, box, volume, self._back,
            self._turned, rotation, narrow,
        )  # fmt: skip
        # Only layers have memory; others pass any address in its place.
        memory = self._memory if stretched else self._addresses[:1] * 3
        kept = (memory[0], memory[2]) if stretched else ()
        return backend.card.launch(
            kernel, grid, shape.threads, ((table, *memory, *self._addresses), self._operands.all),
            addresses=True, bounds=shape.bounds, writes=(*kept, *operands.writes), call=self._call,
        )  # fmt: skip

    def _single_box(self, shape: BlockShape, boxes: np.ndarray, width: int):
        """One box for all shots: the grid counts its blocks."""
        # Blocks along x, y, and z for all shots, whose boxes lie `volume` numbers apart.
        z0, z1, y0, y1, _, packed, x0, x1 = (int(n) for n in boxes[0, : FIRST_SPAN + 2])
        shots = len(boxes)
        volume = int(boxes[1, 4] - boxes[0, 4]) if shots > 1 else 0
        box = (x0, x1, y0, y1, z0, z1, packed)
        sizes = (x1 - x0, y1 - y0, z1 - z0)
        return box, volume, shape.grid(sizes, width, shots), self._addresses[0]  # no table

    def _many_boxes(self, at_ends: bool, shape: BlockShape, boxes: np.ndarray, width: int):
        """Many boxes: a table of blocks.

        Where rows end with half a line the two ends of neighbours share one, and take turns.
        """
        px, py, pz = shape.points(width)
        table = blocks.blocks_of(boxes, (px, py, pz), shape.slab_blocks)
        # Order blocks by shot, z, y: the ends of two rows that share a line run side by side.
        if at_ends and line_offset(int(self._tables.strides[0]), width):
            table = table[np.lexsort((table[:, 1], table[:, 2], table[:, 6]))]  # shot, z, y
        on_card = self._backend.array(table[:: -1 if self._back else 1].ravel())
        return None, 0, (len(table), 1, 1), on_card
