"""Blocks of threads that boxes are cut into, and their threads: numbers, and points in the arrays.

A layout has marches in pieces, and planes in shared memory, where a grid and a card make these
worth it. A launch over many boxes reads a table with a row for each block::

    x, y, z               the block's first point
    x_end, y_end, z_end   behind the last point of its box
    shot, packed          offsets of the shot's fields, and of packed coefficients
    memory, memory_y, memory_z, slot   layer memory, as in `operators.derivatives.KernelContext`

Rows may be an odd number of half lines long (`seismo.grid.decomposition`): every second row then
has its lines elsewhere, and takes its lanes in turned order (`RowRotation`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from llvmlite import ir

from seismo.backends.base import FIRST_SPAN, SPAN_COLUMNS, Variant
from seismo.backends.gpu.sweeps.layouts import (
    LINE_LANES,
    BlockShape,
    Shapes,
    box_of,
    shape_for,
)
from seismo.backends.traced import (
    I32,
    IRValue,
    choose,
    declared,
)
from seismo.equations.framework.formula import Formula


class Thread:
    """Where a thread of a launch stands: its own number in its block, and that of the block."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._builder = builder

    def number(self, axis: str) -> IRValue:
        """Return its number along an axis."""
        return self._register("tid", axis).wide()

    def block(self, axis: str) -> IRValue:
        """Return the number of its block, in 32 bits."""
        return self._register("ctaid", axis)

    def share(self, threads: tuple[int, int, int]) -> tuple[IRValue, int]:
        """Return its number in a block of one thread along z, and how many share its work."""
        x, y, _ = threads
        return self.number("y") * x + self.number("x"), x * y

    def _register(self, name: str, axis: str) -> IRValue:
        # Special registers: %tid, the thread's number in the block, and %ctaid, the block's in the
        # grid.
        kind = ir.FunctionType(I32, [])
        register = f"llvm.nvvm.read.ptx.sreg.{name}.{axis}"
        function = declared(self._builder.module, kind, register)
        return IRValue(self._builder, self._builder.call(function, []))


@dataclass(frozen=True)
class ThreadPosition:
    """Which points are a thread's: a lane of each plane.

    Attributes:
        x: of its first point.
        y: of its rows.
        x_end: behind the last point of the rows.
        shot: offset of the shot's fields.
        packed: offset of coefficients kept for a range of planes.
        memory: layer memory, as in `KernelContext`: index of (0, 0, 0), strides, slot size.
        memory_y: see there.
        memory_z: see there.
        slot: see there.
    """

    x: IRValue
    y: IRValue
    x_end: IRValue | int
    shot: IRValue
    packed: IRValue | int
    memory: IRValue | int = 0
    memory_y: IRValue | int = 0
    memory_z: IRValue | int = 0
    slot: IRValue | int = 0


@dataclass(frozen=True)
class BlockPosition:
    """Where a block of threads stands in its planes, and a thread in it.

    Attributes:
        x: of the block's first point.
        y: of its first row.
        x_end: behind the last point of the box.
        y_end: behind its last row.
        column: the thread's number along x.
        row: and along y.
        number: of the thread in the copying block.
        threads: how many do.
        inside: whether the thread has points.
    """

    x: IRValue
    y: IRValue
    x_end: IRValue | int
    y_end: IRValue | int
    column: IRValue
    row: IRValue
    number: IRValue
    threads: int
    inside: IRValue


@dataclass(frozen=True)
class RowRotation:
    """Which lanes the threads of odd rows take, so that warps begin on cache lines there, too.

    The first lanes of such a row, before its first line, go to the row's last threads::

        even row   |0 1 2 3 4 5 6 7|8 9 ...         | line
        odd row     4 5 6 7|8 9 ...       |0 1 2 3

    Attributes:
        first: x of the first lane.
        lanes: in a row.
        by: lanes before the first line of an odd row.
    """

    first: int
    lanes: int
    by: int

    def rotated(self, x: Any, y: Any, width: int) -> Any:
        """Return the x that the thread takes which comes to x; lanes have `width` numbers."""
        # Odd rows begin `by` lanes before a line: their threads take lanes shifted by that,
        # cyclically.
        row = self.lanes * width
        x = x + (y & 1) * (self.by * width)
        return choose(x >= self.first + row, x - row, x)


def line_offset(stride: int, width: int) -> int:
    """Return the offset in lanes of the next row from lines where a row begins on a line."""
    return stride // width % LINE_LANES


def row_rotation(strides: np.ndarray, width: int, ends: np.ndarray) -> RowRotation | None:
    """Describe how odd rows are turned; None where all begin on lines, or where none would.

    Args:
        strides: distance of neighbours along y and z.
        width: numbers in a lane.
        ends: (box, 2) first x of the boxes, and behind the last.
    """
    # Only rows of an odd number of half lines, in planes of whole lines, are rotated.
    half, plane = (line_offset(int(s), width) for s in strides)
    (first, last), *others = np.unique(ends, axis=0).tolist()
    # Every box must have the same x-range, and begin on a line in even rows.
    lanes = -(-(last - first) // width)
    by = LINE_LANES - half
    if not (half and lanes > by) or plane or others or first // width % LINE_LANES:
        return None
    return RowRotation(first, lanes, by)


BLOCK_COLUMNS = 12
MOST_BLOCKS = 65535  # of a launch along y, and along z, says CUDA


def blocks_of(boxes: np.ndarray, size: tuple[int, int, int], slab: int = 0) -> np.ndarray:
    """Cut boxes in blocks of at most so many points along x, y, z: the rows of the table.

    Blocks of a box are ordered along x, then y, then z; where there are slabs along y, all blocks
    of a shot slab by slab.
    """
    # Enumerate the blocks of all boxes at once: number = (z * ny + y) * nx + x within each box.
    z0, z1, y0, y1, shot, packed, x0, x1, *memory = boxes.T
    ends = ((x0, x1), (y0, y1), (z0, z1))
    nx, ny, nz = (-(-(b - a) // n) for (a, b), n in zip(ends, size, strict=True))
    counts = nx * ny * nz
    box = np.repeat(np.arange(len(boxes)), counts)
    number = np.arange(box.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rest, x = np.divmod(number, nx[box])
    z, y = np.divmod(rest, ny[box])
    first = [a[box] + n * k for (a, _), n, k in zip(ends, size, (x, y, z), strict=True)]
    kept = (a[box] for a in (x1, y1, z1, shot, packed, *memory))
    blocks = np.column_stack([*first, *kept])
    if not slab:
        return blocks
    # The last key counts first: shot, slab, z, y, x.
    x, y, z, *_ = blocks.T
    return blocks[np.lexsort((x, y, z, y // (slab * size[1]), blocks[:, 6]))]


def by_operators(variant: Variant, boxes: np.ndarray) -> dict[str, np.ndarray]:
    """Return boxes with a non-empty span each, by the axes that these stretch."""
    spans = [boxes[:, FIRST_SPAN + k * SPAN_COLUMNS :][:, :SPAN_COLUMNS] for k in range(3)]
    # Groups by operators: boxes of the same variant share a kernel and a launch.
    middle = np.column_stack([boxes[:, :FIRST_SPAN], spans[1]])
    ends = [np.column_stack([boxes[:, :FIRST_SPAN], spans[k]]) for k in (0, 2)]
    # Rows whose ends need no other operators: a single group of boxes.
    if variant.ends == variant.middle:
        groups = {variant.middle: np.concatenate([middle, *ends])}
    else:
        groups = {variant.middle: middle, variant.ends: np.concatenate(ends)}
    return {
        stretched: group[group[:, FIRST_SPAN + 1] > group[:, FIRST_SPAN]]
        for stretched, group in groups.items()
    }


SLOPE_REACH = 3  # rows on either side for which marches can keep contributions of slopes
MOST_PIECES = 3  # of a march across a layer: each begins anew, the order's planes before it
LEAST_PLANES = {False: 2, True: 3}  # of a piece of a march, by whether it goes along slopes


def marches_slopes(shapes: Shapes, formula: Formula, reach: int) -> bool:
    """Whether a layout exists for marches with contributions of slopes of `reach` rows around."""
    known = {key[:3] for key in shapes}
    return reach <= SLOPE_REACH and (formula.axes, formula.kind, "sloping") in known


def layout_of(shapes: Shapes, formula: Formula, variant: Variant, stretched: str) -> BlockShape:
    """Look up the layout of a formula in boxes with a set of stretched axes."""
    box = box_of(stretched)
    if variant.curved:
        box = "sloping" if formula.marched else "curved"
    return shape_for(shapes, (variant.axes, formula.kind, box, variant.order))


def slab_of(shape: BlockShape, boxes: np.ndarray) -> int:
    """Return the rows of a slab, of boxes that are rows of `BOX_COLUMNS`."""
    # It is no wider than the boxes: behind them blocks would idle.
    return min(shape.slab, int((boxes[:, 3] - boxes[:, 2]).max()))


def can_march(formula: Formula, variant: Variant, stretched: str) -> bool:
    """Whether threads may take several planes of boxes with a set of stretched axes."""
    # Closed rows count planes from the surface; a march goes across layers taken at once.
    if formula.marched:
        return True
    return not variant.weighted and (not variant.at_once or stretched in ("", "z"))


def with_planes(
    shape: BlockShape, marches: bool, boxes: np.ndarray, width: int, multiprocessors: int,
    slopes: bool = False,
) -> BlockShape:  # fmt: skip
    """Return a layout for boxes (`cut_in_pieces`); a plane for each thread where none marches."""
    if not marches:
        return replace(shape, planes=1)
    return cut_in_pieces(shape, boxes, width, multiprocessors, slopes)


def cut_in_pieces(
    shape: BlockShape, boxes: np.ndarray, width: int, multiprocessors: int, slopes: bool
) -> BlockShape:
    """Return marches so short that blocks come in `BlockShape.waves`, in few pieces.

    Args:
        shape: the layout.
        boxes: rows of `BOX_COLUMNS`, with a single span.
        width: numbers in a lane.
        multiprocessors: of the card.
        slopes: whether they go along rows that follow the ground, in as many pieces as fill a card.
    """
    if shape.planes == 1 or not shape.waves:
        return shape
    # The first two columns of a box are its first plane, and behind its last.
    planes = int((boxes[:, 1] - boxes[:, 0]).max())
    columns = len(blocks_of(boxes, replace(shape, planes=planes).points(width)))
    at_once = shape.blocks_per_multiprocessor * multiprocessors
    pieces = -(-shape.waves * at_once // columns)
    each = -(-planes // (pieces if slopes else min(MOST_PIECES, pieces)))
    return replace(shape, planes=min(shape.planes, max(LEAST_PLANES[slopes], each)))


def together_if_even(shape: BlockShape, boxes: np.ndarray) -> BlockShape:
    """Return a layout whose threads take a single plane where a box leaves a remainder.

    Args:
        shape: the layout.
        boxes: rows of `BOX_COLUMNS`.
    """
    left_over = (boxes[:, 1] - boxes[:, 0]) % shape.together
    return replace(shape, together=1) if left_over.any() else shape


def asked_arrays(
    formula: Formula, variant: Variant, stretched: str, shape: BlockShape
) -> tuple[int, ...]:
    """Return the numbers of arrays that the cache is asked for before a point is updated.

    Loads of changed arrays wait for earlier stores: of memory variables in layers, of fields
    elsewhere. Marches keep memory's latency in flight otherwise.
    """
    if variant.at_once or shape.planes > 1:
        return ()
    if stretched:
        return formula.read_back if variant.slots else ()
    return formula.read_late if shape.asks and formula.short else ()


def can_have_tile(
    formula: Formula, variant: Variant, strides: np.ndarray, stretched: str, width: int
) -> bool:
    """Whether a march may keep its planes in shared memory: in volumes, those of a single field.

    Args:
        formula: of the sweep.
        variant: of its operators.
        strides: distance of neighbours along y and z.
        stretched: axes whose derivatives pass through layer memory.
        width: numbers in a lane.
    """
    differentiated = {formula.along(axis) for axis in variant.axes}
    columns = differentiated.pop()
    alone = not differentiated and len(columns) == 1 and not formula.is_short[columns[0]]
    # Rows of half lines would begin elsewhere in every other row.
    lines = not any(line_offset(int(stride), width) for stride in strides)
    # Marches go along z, or across a layer whose second derivatives are taken at once.
    marches = "y" in variant.axes and (variant.at_once or not stretched)
    return alone and lines and marches and not formula.packed
