"""Threads of a sweep: their numbers in the launch, and their points in its arrays.

Rows may be an odd number of half lines long (`seismo.grid.decomposition`): every other one then has
its lines elsewhere, and takes its lanes in turned order (`RowRotation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from seismo.backends.gpu.sweeps.layouts import LINE_LANES
from seismo.backends.traced import (
    I32,
    IRValue,
    choose,
    declared,
)


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
        packed: offset of coefficients that are kept for some planes.
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
        number: of the thread among those that copy together.
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
    """Count the lanes by which the next row lies beside lines where one begins on them."""
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
