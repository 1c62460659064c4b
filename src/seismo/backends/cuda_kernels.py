"""Kernels for GPUs around a formula or a body: which thread does which points.

A sweep's kernel cuts boxes into blocks of threads, one lane of x for each thread. A box that is the
same for every shot (the interior) is known to the compiler, and its blocks to the launch grid; the
many boxes of the absorbing layers come as a table with one row for each block of threads::

    x, y, z               the block's first point
    x_end, y_end, z_end   behind the last point of its box
    shot                  offset of the shot's fields
    memory, memory_y, memory_z, slot   layer memory, as in `seismo.operators.Place`

Strides, coefficients and spacings are constants of the kernel: each grid compiles its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import cuda

from seismo.backends.base import SweepTables
from seismo.operators import Place

BLOCK_COLUMNS = 11


@dataclass(frozen=True)
class Shape:
    """How a kernel's threads are laid out.

    Attributes:
        threads: of a block along x, y, z.
        planes: planes along z that one thread does, one after the other.
        blocks_per_multiprocessor: that must fit beside one another; limits the registers.
    """

    threads: tuple[int, int, int]
    planes: int = 1
    blocks_per_multiprocessor: int = 1

    @property
    def bounds(self) -> tuple[int, int]:
        """Threads of a block, and blocks of a multiprocessor."""
        return int(np.prod(self.threads)), self.blocks_per_multiprocessor

    def fitted(self, lanes: int) -> Shape:
        """Give the layout that leaves fewest threads idle on rows of so many lanes."""
        across = -(-lanes // self.threads[0])
        return replace(self, threads=(-(-lanes // across), *self.threads[1:]))

    def points(self, lane: int) -> tuple[int, int, int]:
        """Points of a block along x, y, z."""
        x, y, z = self.threads
        return x * lane, y, z * self.planes


@dataclass(frozen=True)
class Constants:
    """What a sweep's kernel has built in.

    Attributes:
        tables: strides, coefficients, profiles, surface weights.
        stretched: axes whose derivatives pass through layer memory.
        closed: whether the rows are those under a free surface.
        masked: whether rows may end within a lane.
    """

    tables: SweepTables
    stretched: str
    closed: bool
    masked: bool


def _coefficients(table: np.ndarray, number) -> tuple:
    return tuple(tuple(number(c) for c in row) for row in table)


def _tuple_of(lanes, elements: list) -> Callable:
    """Make a function (table, n) -> the tuple of what `elements` give."""
    jit = lanes.jit

    def extend(previous, element):
        return jit(lambda table, n: (*previous(table, n), element(table, n)))

    first = elements[0]
    total = jit(lambda table, n: (first(table, n),))
    for element in elements[1:]:
        total = extend(total, element)
    return total


def place_maker(lanes: Any, constants: Constants) -> Callable:
    """Make the function that puts a thread's `Place` together.

    The result takes (addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end), where
    addresses are those of the table of blocks, the layer memory, the profiles along x, y, z, and
    the surface weights.
    """
    t, number, whole = constants.tables, lanes.number, lanes.index
    y_stride, z_stride = (whole(s) for s in t.strides)
    first, second = _coefficients(t.first, number), _coefficients(t.second, number)
    x_length = whole(t.profiles[0].shape[1])
    y_profile, z_profile = (
        _profile_row(lanes, axis in constants.stretched, t.profiles[n].shape[1])
        for n, axis in ((1, "y"), (2, "z"))
    )
    weights = _weights_row(lanes, constants.closed, *t.up.shape)
    surface, last_row = int(t.surface), t.up.shape[0] - 1
    mask_of = lanes.jit((lambda x, x_end: x_end - x) if constants.masked else (lambda x, e: None))
    nothing = whole(0)

    @lanes.jit
    def place(addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end):
        _, held, x_table, py, pz, up, down = addresses
        below = z - surface
        row = min(max(below, 0), last_row)
        j = memory + z * memory_z + y * memory_y + x
        return Place(
            y_stride, z_stride, first, second, mask_of(x, x_end), whole(shot),
            held, whole(j), whole(memory_y), whole(memory_z), whole(slot), nothing,
            whole(x), x_table, x_length, y_profile(py, whole(y)), z_profile(pz, whole(z)),
            weights(up, whole(row)), weights(down, whole(row)), whole(below) * z_stride,
        )  # fmt: skip

    return place


def _profile_row(lanes, used: bool, length: int) -> Callable:
    if not used:
        return lanes.jit(lambda table, n: None)

    def element(k: int):
        at, scalar = lanes.index(k * length), lanes.scalar
        return lanes.jit(lambda table, n: scalar(table, n + at))

    return _tuple_of(lanes, [element(k) for k in range(6)])


def _weights_row(lanes, used: bool, rows: int, width: int) -> Callable:
    if not used:
        return lanes.jit(lambda table, n: None)
    count = lanes.index(width)

    def element(k: int):
        at, scalar = lanes.index(k), lanes.scalar
        return lanes.jit(lambda table, n: scalar(table, n * count + at))

    return _tuple_of(lanes, [element(k) for k in range(width)])


def table_kernel(lanes: Any, update: Callable, constants: Constants, shape: Shape) -> Callable:
    """Write the kernel whose blocks come from a table.

    Its arguments: the addresses that `place_maker` names, and the arrays.
    """
    make, integer, whole = place_maker(lanes, constants), lanes.integer, lanes.index
    lane, planes, depth = lanes.width, shape.planes, shape.threads[2]
    y_stride, z_stride = (int(s) for s in constants.tables.strides)
    columns = whole(BLOCK_COLUMNS)

    def kernel(addresses, arrays):
        table, row = addresses[0], whole(cuda.blockIdx.x) * columns
        x = integer(table, row) + cuda.threadIdx.x * lane
        y = integer(table, row + whole(1)) + cuda.threadIdx.y
        first = integer(table, row + whole(2)) + cuda.threadIdx.z
        x_end, y_end = integer(table, row + whole(3)), integer(table, row + whole(4))
        z_end = min(integer(table, row + whole(5)), first + planes * depth)
        shot = integer(table, row + whole(6))
        memory, memory_y = integer(table, row + whole(7)), integer(table, row + whole(8))
        memory_z, slot = integer(table, row + whole(9)), integer(table, row + whole(10))
        if x < x_end and y < y_end:
            for z in range(first, z_end, depth):
                place = make(
                    addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end
                )  # fmt: skip
                update(whole(z * z_stride + y * y_stride + x + shot), place, *arrays)

    return kernel


def box_kernel(
    lanes: Any, update: Callable, constants: Constants, shape: Shape, box: tuple[int, ...],
    volume: int,
) -> Callable:  # fmt: skip
    """Write the kernel of one box (x, x_end, y, y_end, z, z_end) that all shots have, no layers.

    The launch grid counts its blocks along x, y, and z of all shots. Arguments as above.
    """
    make, whole = place_maker(lanes, constants), lanes.index
    nx, ny, depth = shape.threads
    planes = shape.planes
    lane, per_block = lanes.width, planes * depth
    x0, x_end, y0, y_end, z0, z_end = box
    layers = -(-(z_end - z0) // per_block)
    y_stride, z_stride = (int(s) for s in constants.tables.strides)

    def kernel(addresses, arrays):
        x = x0 + (cuda.blockIdx.x * nx + cuda.threadIdx.x) * lane
        y = y0 + cuda.blockIdx.y * ny + cuda.threadIdx.y
        shot = (cuda.blockIdx.z // layers) * volume
        first = z0 + (cuda.blockIdx.z % layers) * per_block + cuda.threadIdx.z
        last = min(z_end, first + planes * depth)
        if x < x_end and y < y_end:
            for z in range(first, last, depth):
                place = make(addresses, x, y, z, shot, 0, 0, 0, 0, x_end)
                update(whole(z * z_stride + y * y_stride + x + shot), place, *arrays)

    return kernel


def body_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, *arguments)`` with a thread for each n."""

    def kernel(count, length, arguments):
        n = cuda.grid(1)
        if n < count:
            body(n, *arguments)

    return kernel


def row_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, x, x + 1, *arguments)`` with a thread for each x."""

    def kernel(count, length, arguments):
        x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        n = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        if n < count and x < length:
            body(n, x, x + 1, *arguments)

    return kernel
