"""Kernels for GPUs around a formula or a body: which thread does which points.

A sweep's kernel cuts boxes into blocks of threads, one lane of x for each thread. A box that is the
same for every shot (the interior) is known to the compiler, and its blocks to the launch grid; the
many boxes of the absorbing layers come as a table with one row for each block of threads::

    x, y, z               the block's first point
    x_end, y_end, z_end   behind the last point of its box
    shot, packed          offsets of the shot's fields, and of coefficients kept for some planes
    memory, memory_y, memory_z, slot   layer memory, as in
    `seismo.backends.operators.stencils.Place`

Rows may be an odd number of half lines long (`seismo.grid.decomposition`): every other one then has
its lines elsewhere, and takes its lanes in turned order (`Turn`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from seismo.backends.base import Variant
from seismo.backends.gpu.layouts import LINE_LANES, BlockShape
from seismo.backends.gpu.march import Constants, marching
from seismo.backends.gpu.march_x import across
from seismo.backends.gpu.tile import tile_kernel
from seismo.backends.operators.derivatives import operators

BLOCK_COLUMNS = 12


@dataclass(frozen=True)
class Turn:
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

    def taking(self, lanes: Any) -> Callable:
        """Make the function (x, y) -> the x that the thread takes which comes to x."""
        by, row = self.by * lanes.width, self.lanes * lanes.width
        end = self.first + row

        def taken(x, y):
            x += by * (y & 1)
            return x - row if x >= end else x

        return lanes.jit(taken)


def beside_lines(stride: int, width: int) -> int:
    """Count the lanes by which the next row lies beside lines where one begins on them."""
    return stride // width % LINE_LANES


def turn_of(strides: np.ndarray, width: int, ends: np.ndarray) -> Turn | None:
    """Describe how odd rows are turned; None where all begin on lines, or where none would.

    Args:
        strides: distance of neighbours along y and z.
        width: numbers in a lane.
        ends: (box, 2) first x of the boxes, and behind the last.
    """
    half, plane = (beside_lines(int(s), width) for s in strides)
    (first, last), *others = np.unique(ends, axis=0).tolist()
    lanes, by = -(-(last - first) // width), LINE_LANES - half
    if not (half and lanes > by) or plane or others or first // width % LINE_LANES:
        return None
    return Turn(first, lanes, by)


def _taking(lanes: Any, turn: Turn | None) -> Callable:
    return turn.taking(lanes) if turn else lanes.jit(lambda x, y: x)


def _own_planes(shape: BlockShape) -> tuple[int, int]:
    """Return how far apart the first planes of threads are, and how far a thread goes."""
    if shape.planes > 1:
        return shape.planes, shape.planes
    return 1, shape.points(1)[2]


def table_kernel(lanes: Any, march: Callable, shape: BlockShape, turn: Turn | None) -> Callable:
    """Write the kernel whose blocks, each with a march of its threads, come from a table.

    Its arguments: the addresses that `place_maker` names, and the arrays.
    """
    integer, whole, lane, depth = lanes.integer, lanes.index, lanes.width, shape.points(1)[2]
    columns, taken = whole(BLOCK_COLUMNS), _taking(lanes, turn)
    apart, reach = _own_planes(shape)

    def kernel(addresses, arrays):
        table, row = addresses[0], whole(cuda.blockIdx.x) * columns
        x = integer(table, row) + cuda.threadIdx.x * lane
        y = integer(table, row + whole(1)) + cuda.threadIdx.y
        start = integer(table, row + whole(2))
        first = start + cuda.threadIdx.z * apart
        x_end, y_end = integer(table, row + whole(3)), integer(table, row + whole(4))
        last = min(integer(table, row + whole(5)), start + depth, first + reach)
        shot, packed = integer(table, row + whole(6)), integer(table, row + whole(7))
        memory, memory_y = integer(table, row + whole(8)), integer(table, row + whole(9))
        memory_z, slot = integer(table, row + whole(10)), integer(table, row + whole(11))
        if x < x_end and y < y_end and first < last:
            march(
                addresses, arrays, taken(x, y), y, first, last, shot, packed, memory, memory_y,
                memory_z, slot, x_end,
            )  # fmt: skip

    return kernel


def box_kernel(
    lanes: Any, march: Callable, shape: BlockShape, box: tuple[int, ...], volume: int, back: bool,
    turn: Turn | None,
) -> Callable:  # fmt: skip
    """Write the kernel of one box that all shots have, no layers.

    The box: x, x_end, y, y_end, z, z_end, and the offset `packed`.

    The launch grid counts its blocks along x, y, and z of all shots. Arguments as above.
    """
    lane, (nx, ny, _), per_block = lanes.width, shape.threads, shape.points(1)[2]
    apart, reach = _own_planes(shape)
    x0, x_end, y0, y_end, z0, z_end, packed = box
    layers = -(-(z_end - z0) // per_block)
    top, down = (layers - 1, -1) if back else (0, 1)
    taken = _taking(lanes, turn)

    def kernel(addresses, arrays):
        x = x0 + (cuda.blockIdx.x * nx + cuda.threadIdx.x) * lane
        y = y0 + cuda.blockIdx.y * ny + cuda.threadIdx.y
        shot = (cuda.blockIdx.z // layers) * volume
        start = z0 + (top + down * (cuda.blockIdx.z % layers)) * per_block
        first = start + cuda.threadIdx.z * apart
        last = min(z_end, start + per_block, first + reach)
        if x < x_end and y < y_end and first < last:
            march(
                addresses, arrays, taken(x, y), y, first, last, shot, packed, 0, 0, 0, 0, x_end
            )  # fmt: skip

    return kernel


@dataclass(frozen=True)
class SweepKernel:
    """A formula over boxes: one that all shots have, or those of a table.

    Attributes:
        formula: of an equation.
        variant: operators that it is bound to; `constants` says which axes are stretched.
        precision: of the numbers.
        constants: built in.
        shape: layout of threads.
        box: (x, x_end, y, y_end, z, z_end, packed), or None for a table.
        volume: from one shot's box to the next one's.
        back: whether the blocks go from the box's last planes to its first.
        turn: of odd rows; a kernel with a tile has none, whose threads need their neighbours.
    """

    formula: Callable
    variant: Variant
    precision: str
    constants: Constants
    shape: BlockShape
    box: tuple[int, ...] | None
    volume: int
    back: bool
    turn: Turn | None = None

    def __str__(self) -> str:
        """Identify it among all kernels."""
        built_in = (self.variant, self.precision, self.shape, self.box, self.volume, self.back)
        return f"{_named(self.formula)} {built_in} {self.turn} {self.constants}"

    def write(self, tools: Any) -> Callable:
        """Write the kernel."""
        lanes, v, constants, shape = (
            tools.lanes(self.precision), self.variant, self.constants, self.shape
        )  # fmt: skip
        through = v.at_once and constants.stretched == "z" and shape.planes > 1
        bound = operators(
            lanes,
            v.order,
            v.axes,
            constants.stretched,
            v.slots,
            v.closed,
            v.at_once,
            through,
            v.damped,
        )
        update = self.formula(bound)
        if shape.tile and self.box:
            return tile_kernel(lanes, update, constants, shape, self.box, self.volume, self.back)
        if through:
            march = across(lanes, update, constants, bound.z_flux, shape.ahead)
        else:
            march = marching(lanes, update, constants, shape)
        if self.box:
            return box_kernel(lanes, march, shape, self.box, self.volume, self.back, self.turn)
        return table_kernel(lanes, march, shape, self.turn)


@dataclass(frozen=True)
class BodyKernel:
    """A body (`Backend.each`), or one of rows, with a thread for each n, or each point."""

    body: Callable
    rows: bool

    def __str__(self) -> str:
        """Identify it among all kernels."""
        return f"{_named(self.body)} {self.rows}"

    def write(self, tools: Any) -> Callable:
        """Write the kernel."""
        body = tools.device_function(self.body)
        return row_kernel(body) if self.rows else body_kernel(body)


def _named(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def body_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, *arguments)`` with a thread for each n."""

    def kernel(count, length, arguments):
        n = cuda.grid(1)
        if n < count:
            body(n, *arguments)

    return kernel


def row_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, x, x + 1, *arguments)``, a thread for one x or more."""

    def kernel(count, length, arguments):
        # There may be millions of rows, and only x of the grid counts that far.
        x = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        n = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        while n < count and x < length:
            body(n, x, x + 1, *arguments)
            x += cuda.gridDim.y * cuda.blockDim.x

    return kernel
