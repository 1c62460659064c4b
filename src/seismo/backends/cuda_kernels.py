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
        planes: planes along z that one thread does, one after the other. Second derivatives along
            z then come from a queue in registers.
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
        """Give the layout that leaves few threads idle on rows of so many lanes.

        Warps of whole rows, or whole parts of 128 bytes, read best.
        """
        widths = [w for w in (32, 24, 16) if w <= self.threads[0]] or [min(lanes, self.threads[0])]
        best = min(widths, key=lambda w: -(-lanes // w) * w)
        return replace(self, threads=(best, *self.threads[1:]))

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
        half: half the order of second differences along z that come from a queue, else 0.
        source: place of the field they differentiate among the arrays.
    """

    tables: SweepTables
    stretched: str
    closed: bool
    masked: bool
    half: int = 0
    source: int = 0


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

    The result takes (addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end, column);
    the addresses are those of the table of blocks, the layer memory, the profiles along x, y, z
    and the surface weights.
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
    def place(addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end, column):
        _, held, x_table, py, pz, up, down = addresses
        below = z - surface
        row = min(max(below, 0), last_row)
        j = memory + z * memory_z + y * memory_y + x
        return Place(
            y_stride, z_stride, first, second, mask_of(x, x_end), whole(shot),
            held, whole(j), whole(memory_y), whole(memory_z), whole(slot), nothing,
            whole(x), x_table, x_length, y_profile(py, whole(y)), z_profile(pz, whole(z)),
            weights(up, whole(row)), weights(down, whole(row)), whole(below) * z_stride,
            column,
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


def _marching(lanes: Any, update: Callable, constants: Constants, shape: Shape) -> Callable:
    """Make the function that does a thread's planes z, from `first` on and below `last`.

    Plain loops take turns with the threads beside them, so that what one has read is in the cache
    for the next; with a queue each thread has planes of its own.
    """
    make, whole, read, half = place_maker(lanes, constants), lanes.index, lanes.read, constants.half
    y_stride, z_stride = (int(s) for s in constants.tables.strides)
    plane, source, turns = whole(z_stride), constants.source, shape.threads[2]

    @lanes.jit
    def index(x, y, z, shot):
        return whole(z * z_stride + y * y_stride + x + shot)

    @lanes.jit
    def single(addresses, arrays, x, y, z, last, shot, memory, memory_y, memory_z, slot, x_end):
        place = make(addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end, None)
        update(index(x, y, z, shot), place, *arrays)

    if shape.planes == 1:
        return single

    @lanes.jit
    def march(addresses, arrays, x, y, first, last, shot, memory, memory_y, memory_z, slot, x_end):
        for z in range(first, last, turns):
            place = make(
                addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end, None
            )  # fmt: skip
            update(index(x, y, z, shot), place, *arrays)

    if not half:
        return march

    def behind(k: int):
        back = whole((half - k) * z_stride)
        return lanes.jit(lambda f, i: read(f, i - back))

    started = _tuple_of(lanes, [behind(k) for k in range(half)])
    following = [whole(k * z_stride) for k in range(half)]

    def ahead(k: int):
        far = following[k]
        return lanes.jit(lambda f, i: read(f, i + far))

    rest, front = _tuple_of(lanes, [ahead(k) for k in range(half)]), whole(half * z_stride)

    appended = lanes.jit(lambda queue, lane: (*queue, lane))

    @lanes.jit
    def queued(addresses, arrays, x, y, first, last, shot, memory, memory_y, memory_z, slot, x_end):
        f, i = arrays[source], index(x, y, first, shot)
        queue = started(f, i) + rest(f, i)
        for z in range(first, last):
            column = appended(queue, read(f, i + front))
            place = make(
                addresses, x, y, z, shot, memory, memory_y, memory_z, slot, x_end, column
            )  # fmt: skip
            update(i, place, *arrays)
            queue = column[1:]
            i += plane

    return queued


def _own_planes(constants: Constants, shape: Shape) -> tuple[int, int]:
    """Give how far apart the first planes of threads are, and how far a thread goes."""
    if constants.half:
        return shape.planes, shape.planes
    return 1, shape.points(1)[2]


def table_kernel(lanes: Any, update: Callable, constants: Constants, shape: Shape) -> Callable:
    """Write the kernel whose blocks come from a table.

    Its arguments: the addresses that `place_maker` names, and the arrays.
    """
    integer, whole, lane, depth = lanes.integer, lanes.index, lanes.width, shape.points(1)[2]
    march, columns = _marching(lanes, update, constants, shape), whole(BLOCK_COLUMNS)
    apart, reach = _own_planes(constants, shape)

    def kernel(addresses, arrays):
        table, row = addresses[0], whole(cuda.blockIdx.x) * columns
        x = integer(table, row) + cuda.threadIdx.x * lane
        y = integer(table, row + whole(1)) + cuda.threadIdx.y
        start = integer(table, row + whole(2))
        first = start + cuda.threadIdx.z * apart
        x_end, y_end = integer(table, row + whole(3)), integer(table, row + whole(4))
        last = min(integer(table, row + whole(5)), start + depth, first + reach)
        shot = integer(table, row + whole(6))
        memory, memory_y = integer(table, row + whole(7)), integer(table, row + whole(8))
        memory_z, slot = integer(table, row + whole(9)), integer(table, row + whole(10))
        if x < x_end and y < y_end and first < last:
            march(
                addresses, arrays, x, y, first, last, shot, memory, memory_y, memory_z, slot, x_end
            )  # fmt: skip

    return kernel


def box_kernel(
    lanes: Any, update: Callable, constants: Constants, shape: Shape, box: tuple[int, ...],
    volume: int,
) -> Callable:  # fmt: skip
    """Write the kernel of one box (x, x_end, y, y_end, z, z_end) that all shots have, no layers.

    The launch grid counts its blocks along x, y, and z of all shots. Arguments as above.
    """
    lane, (nx, ny, _), per_block = lanes.width, shape.threads, shape.points(1)[2]
    march, (apart, reach) = (
        _marching(lanes, update, constants, shape),
        _own_planes(constants, shape),
    )
    x0, x_end, y0, y_end, z0, z_end = box
    layers = -(-(z_end - z0) // per_block)

    def kernel(addresses, arrays):
        x = x0 + (cuda.blockIdx.x * nx + cuda.threadIdx.x) * lane
        y = y0 + cuda.blockIdx.y * ny + cuda.threadIdx.y
        shot = (cuda.blockIdx.z // layers) * volume
        start = z0 + (cuda.blockIdx.z % layers) * per_block
        first = start + cuda.threadIdx.z * apart
        last = min(z_end, start + per_block, first + reach)
        if x < x_end and y < y_end and first < last:
            march(addresses, arrays, x, y, first, last, shot, 0, 0, 0, 0, x_end)

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
