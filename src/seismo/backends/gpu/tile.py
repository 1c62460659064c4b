"""A march along z whose blocks keep the rows of a plane in shared memory, with the rows around.

Along z each thread holds its column in registers; along x and y it reads from the tile, which has
room for some planes::

    own rows        stored from the columns' middle, which came from memory once
    those around    copied from memory while the threads do planes before

What the next plane brings is read while they do this one. On an H200 the first-level cache does as
well without (`benchmarks/`): no layout of its table has a tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from seismo.backends.gpu.layouts import BlockShape
from seismo.backends.gpu.march import Constants, place_maker, queues_of


def tile_kernel(
    lanes: Any, update: Callable, constants: Constants, shape: BlockShape, box: tuple[int, ...],
    volume: int, back: bool,
) -> Callable:  # fmt: skip
    """Write the kernel of one box, as `seismo.backends.gpu.kernels.box_kernel` does."""
    whole, lane, half, ahead = lanes.index, lanes.width, constants.half, shape.tile - 1
    (nx, ny, _), planes = shape.threads, shape.planes
    x0, x_end, y0, y_end, z0, z_end, packed = box
    around, field = -(-half // lane) * lane, constants.writes
    pitch = nx * lane + 2 * around
    plane_size, layers = pitch * (ny + 2 * half), -(-(z_end - z0) // planes)
    size, (top, down) = shape.tile * plane_size, (layers - 1, -1) if back else (0, 1)
    y_stride, z_stride = (int(s) for s in constants.tables.strides)
    # Threads outside the box read what those inside need of them, and no more.
    x_last, y_last = x_end - 1 - (x_end - 1 - x0) % lane + around, y_end + half - 1
    make, fill = place_maker(lanes, constants), _filling(lanes, shape, half, y_stride)
    start, coming, columns_of, operands, rest = queues_of(lanes, constants, alone=False)
    number, tile_store, plane = lanes.tile_number, lanes.tile_store, whole(z_stride)
    queued, done = lanes.copies_queued, lanes.copies_done(ahead - 1)

    def kernel(addresses, arrays):
        tile = cuda.shared.array(size, number)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x_first, y_first = x0 + cuda.blockIdx.x * nx * lane, y0 + cuda.blockIdx.y * ny
        x, y = x_first + tx * lane, y_first + ty
        shot = (cuda.blockIdx.z // layers) * volume
        first = z0 + (top + down * (cuda.blockIdx.z % layers)) * planes
        last = min(z_end, first + planes)
        own, limits = (ty + half) * pitch + around + tx * lane, (x_last - x_first, y_last - y_first)
        corner = first * z_stride + (y_first - half) * y_stride + x_first - around + shot
        i = whole(first * z_stride + min(y, y_last) * y_stride + min(x, x_last) + shot)
        queues, brought = start(arrays, i), coming(arrays, (i, shot))
        for n in range(ahead):
            if first + n < last:
                fill(tile, n * plane_size, arrays[field], corner, limits)
            queued()
            corner += z_stride
        now = 0
        for z in range(first, last):
            columns = columns_of(queues, brought)
            tile_store(tile, now * plane_size + own, columns[0][half])
            done()
            cuda.syncthreads()
            if z + ahead < last:
                free = now - 1 if now > 0 else ahead
                fill(tile, free * plane_size, arrays[field], corner, limits)
            queued()
            later = coming(arrays, (i + plane if z + 1 < last else i, shot))
            if x < x_end and y < y_end:
                place = make(addresses, x, y, z, shot, packed, 0, 0, 0, 0, x_end)
                tiles = ((tile, now * plane_size + own, pitch),)
                update(i, place, *operands(arrays, (columns, brought, tiles)))
            queues, brought = rest(columns, i), later
            now = now + 1 if now < ahead else 0
            i += plane
            corner += z_stride

    return kernel


def _filling(lanes: Any, shape: BlockShape, half: int, y_stride: int) -> Callable:
    """Make the function that copies the rows and columns around a block into the tile.

    It takes the tile, where the plane begins there, the field, the index of the plane's first
    number in it, and how far from the block's first point columns and rows are needed.
    """
    (nx, ny, _), lane, copy, whole = shape.threads, lanes.width, lanes.tile_copy, lanes.index
    side = -(-half // lane)
    beside, pitch = 2 * side, (nx + 2 * side) * lane
    rows, every = 2 * half * nx, nx * ny

    @lanes.jit
    def fill(tile, start, field, corner, limits):
        for n in range(cuda.threadIdx.y * nx + cuda.threadIdx.x, rows + beside * ny, every):
            if n < rows:
                row, column = n // nx, (side + n % nx) * lane
                row += ny if row >= half else 0
            else:
                row, column = half + (n - rows) // beside, (n - rows) % beside * lane
                column += nx * lane if column >= side * lane else 0
            if column <= limits[0] + side * lane and row <= limits[1] + half:
                there = whole(corner + row * y_stride + column)
                copy(tile, start + row * pitch + column, field, there)

    return fill
