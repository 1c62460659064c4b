"""The GPU backend: the same formulas on 16-byte lanes, everything resident on the card.

Fields, model, wavelets, record and step counter stay on the card from the first step to the last.
The host queues graphs of steps and waits for nothing. A sweep is a formula bound to boxes: its
layout of threads, its kernel and its launch (`SweepBinding`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.backends.base import (
    FIRST_SPAN,
    PML_COST,
    SHORT,
    Communicator,
    Group,
    KernelConstants,
    KernelFields,
    Launch,
    Rows,
    Search,
    Step,
    Variant,
)
from seismo.backends.gpu.arrays import (
    BLOCKS,
    THREADS,
    GpuArrays,
    bind_largest,
    device_tables,
)
from seismo.backends.gpu.launch_order import BodyCall, CountedSteps, SweepCall
from seismo.backends.gpu.resident.program import resident_program
from seismo.backends.gpu.sweeps import blocks
from seismo.backends.gpu.sweeps.blocks import line_offset, row_rotation
from seismo.backends.gpu.sweeps.kernels import BodyKernel, SweepKernel
from seismo.backends.gpu.sweeps.layouts import BlockShape, SweepConstants
from seismo.equations.framework.formula import Formula


class SweepBinding:
    """A formula with its tables and arrays, to be bound to boxes of a kind of row."""

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
        """Bind to boxes of `BOX_COLUMNS`, with one span; the whole boxes give the layout."""
        variant = self._variant
        backend = self._backend
        operands = self._operands
        # The layout of threads, by the kernel's work and the width of its boxes.
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
        shape = self._marching(shape, stretched, laid, every, lanes.width)
        constants = SweepConstants(
            self._tables, stretched, variant.weighted, masked, variant.order // 2,
            len(operands.writes), len(operands.reads),
            self._formula.along("y" if self._turned else "z"), len(operands.all),
            0 if variant.at_once else len(stretched) * variant.slots, self._formula.is_short,
            variant.scaled, blocks.asked_arrays(self._formula, variant, stretched, shape),
            self._formula.unread, self._memory[0].dtype == SHORT,
        )  # fmt: skip
        # A box common to all shots (without the shot's offset): bounds become constants of the
        # kernel, except bounds of parts, which differ from phase to phase.
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

    def _marching(
        self, shape: BlockShape, stretched: str, laid: np.ndarray, every: np.ndarray, width: int
    ) -> BlockShape:
        """Return a layout of threads that march along planes, with a tile where they can.

        Args:
            shape: the layout, fitted to the boxes.
            stretched: axes along which derivatives pass through layer memory.
            laid: boxes that give the layout.
            every: all boxes.
            width: of a lane.
        """
        formula = self._formula
        marches = bool(self._operands.reads) and blocks.can_march(formula, self._variant, stretched)
        slopes = bool(formula.marched)
        multiprocessors = self._backend.card.multiprocessors
        shape = blocks.with_planes(shape, marches, laid, width, multiprocessors, slopes)
        shape = blocks.together_if_even(shape, every)
        tile = (
            shape.tile
            and shape.planes > 1
            and blocks.can_have_tile(formula, self._variant, self._tables.strides, stretched, width)
        )
        return replace(shape, tile=tile, slab=blocks.slab_of(shape, laid))

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

        Where rows end with half a line the two ends of neighbours share a line, and take turns.
        """
        px, py, pz = shape.points(width)
        table = blocks.blocks_of(boxes, (px, py, pz), shape.slab_blocks)
        # Order blocks by shot, z, y: the ends of two rows that share a line run side by side.
        if at_ends and line_offset(int(self._tables.strides[0]), width):
            table = table[np.lexsort((table[:, 1], table[:, 2], table[:, 6]))]  # shot, z, y
        on_card = self._backend.array(table[:: -1 if self._back else 1].ravel())
        return None, 0, (len(table), 1, 1), on_card


BODY_THREADS = 128
ROW_THREADS = (64, 2)
YZ_SWAPPED = [2, 3, 0, 1, 4, 5, 6, 7, 8, 10, 9, 11]  # columns of a box of one span, y and z swapped


def _tick(n, clock) -> None:
    clock[n] += 1


class GpuBackend(GpuArrays):
    """Numba kernels on an NVIDIA card."""

    name = "gpu"
    batch_points = 32 << 20  # 64 shots of 340^2 run 8 times as fast together as alone
    at_once = True
    has_float16 = True
    pml_costs = PML_COST["gpu"]
    copied_from = 8 << 20
    looks_ahead = 1
    measured_from = 0.2
    search = (THREADS, BLOCKS)

    def largest(self, field: Any, plane: int) -> Search:
        """Search all of a field on the card; see `Backend.largest`."""
        return bind_largest(self.card, field, field.dtype.name, *self.search)

    def sweep(
        self, formula, variant: Variant, tables: KernelConstants, boxes, operands: KernelFields,
        back: bool = False, whole_boxes: np.ndarray | None = None,
    ) -> list[Launch]:  # fmt: skip
        """Bind a formula; see `Backend.sweep`. Parts of boxes have the layout of the whole ones.

        A volume does not fit the card's cache: there, the way back won nothing. In volumes threads
        march across a layer, along the axis that they call z: where it lies across y, the two are
        swapped, as second derivatives are the same along all axes. So are corners: they share a
        layout.
        """
        back = back and "y" not in variant.axes
        call = SweepCall(formula, variant, tables, boxes, operands)
        bind = partial(SweepBinding, self, call, back=back)
        launches = []
        # Segments without points launch nothing.
        alike = blocks.by_operators(variant, boxes if whole_boxes is None else whole_boxes)
        for stretched, filled in blocks.by_operators(variant, boxes).items():
            if not len(filled):
                continue
            like = None if whole_boxes is None else alike[stretched]
            # Layers across y march along y: exchange the columns of y and z, and the tables with
            # them.
            if variant.at_once and stretched.endswith("y"):
                across = stretched.replace("y", "z")
                sweep = bind(tables=tables.turned, turned=True)
                turned = None if like is None else like[:, YZ_SWAPPED]
                launches.append(sweep.launch(across, filled[:, YZ_SWAPPED], turned))
            else:
                launches.append(bind(tables=tables).launch(stretched, filled, like))
        return launches

    def marches_slopes(self, formula: Formula, reach: int) -> bool:
        """See `Backend.marches_slopes`."""
        return blocks.marches_slopes(self.shapes, formula, reach)

    def each(
        self, body: Callable, count: int, arguments: tuple, writes: tuple[int, ...], shots=None
    ) -> Launch:
        """Bind a body; see `Backend.each`."""
        # One thread for each n.
        grid = (-(-count // BODY_THREADS), 1, 1)
        return self.card.launch(
            BodyKernel(body, rows=False), grid, (BODY_THREADS, 1, 1), (count, 1, arguments),
            addresses=False,
            writes=tuple(arguments[n] for n in writes),
            call=BodyCall(body, count, arguments, shots),
        )  # fmt: skip

    def each_row(
        self, body: Callable, count: int, length: int, arguments: tuple, writes: tuple[int, ...],
        shots=None,
    ) -> Launch:  # fmt: skip
        """Bind a body; see `Backend.each_row`."""
        # Rows along the grid's x, which counts to 2^31 - 1; points of a row along y.
        tx, ty = ROW_THREADS
        return self.card.launch(
            BodyKernel(body, rows=True),
            (-(-count // ty), min(-(-length // tx), blocks.MOST_BLOCKS), 1), (tx, ty, 1),
            (count, length, arguments),
            addresses=False, writes=tuple(arguments[n] for n in writes),
        )  # fmt: skip

    def program(
        self, steps: tuple[Step, ...], others: Sequence[tuple[GpuBackend, tuple[Step, ...]]] = ()
    ) -> Callable[[int, int], None]:
        """Record the launches of steps; see `Backend.program`.

        Planes that fit the card are stepped by a single kernel with the time loop inside.
        """
        members = ((self, steps), *others)

        def launches() -> Callable[[int, int], None]:
            return self.card.program([b.clocked(selected) for b, selected in members])

        return (None if others else resident_program(self, steps, launches)) or launches()

    def clocked(self, steps: tuple[Step, ...]) -> CountedSteps:
        """Let steps count themselves."""
        # The step counter is incremented on the card, as the last launch of a step.
        tick = Group([self.each(_tick, 1, (self.clock,), (0,))])
        return CountedSteps(self.card, tuple([*step, tick] for step in steps), self.clock)

    def exchange(self, ranks: Communicator, out: dict[int, Any], into: dict[int, Any]) -> tuple:
        """Let cards of different processes send to each other; see `Backend.exchange`."""
        return (self.card.exchange(ranks, out, into),), ()

    def mark(self) -> Launch:
        """See `Backend.mark`."""
        return self.card.mark()

    def reaches(self, other: GpuBackend) -> bool:
        """Whether the card sees the memory of another; see `Backend.reaches`."""
        return self.card.reaches(other.card)

    def copy(
        self, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
    ) -> Launch:
        """Let a copy engine do it; see `Backend.copy`."""
        return self.card.copying(sources, source_rows, targets, target_rows)

    def staged_copy(self, source: Any, other: GpuBackend, target: Any) -> tuple[Launch, ...]:
        """Copy through the host's memory; see `Backend.staged_copy`."""
        host = self.card.host_buffer(source.nbytes)
        return self.card.fetching(source, host), other.card.putting(host, target)
