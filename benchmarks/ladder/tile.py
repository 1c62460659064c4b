"""A tile of the plane in shared memory: each number along x and y is read from memory once.

What is wrong: all threads of a block wait at the barrier until the tile and its frame, half as
many numbers again, are there, and meanwhile ask the memory for nothing else. Neighbours along z are
still read nine times. (The product leaves x and y to the first-level cache, which needs no barrier,
and keeps z in registers. At order 16, where a plane has 32 neighbours of a point, its layers have a
tile that is copied a plane ahead, past the registers: `backends/gpu/sweeps/march_tile.py`.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32

from ladder.acoustic import HALF, Box, update_of
from ladder.flat import U, sum_of
from ladder.stand import Call

THREADS = (32, 8, 1)


@dataclass(frozen=True)
class Tile:
    """The kernel (q, p, k) of a box, for blocks of so many threads along x and y."""

    box: Box
    c: tuple
    threads: tuple[int, int]

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b, along = self.box, tools.device_function(sum_of(self.c))
        x0, x1, y0, y1, z0 = (U(n) for n in (b.x0, b.x1, b.y0, b.y1, b.z0))
        row, plane = U(b.shape[2]), U(b.shape[1] * b.shape[2])
        tx, ty = self.threads
        width, height = tx + 2 * HALF, ty + 2 * HALF
        numbers, threads = width * height, tx * ty
        wide, one, half = U(width), U(1), U(HALF)
        c0, two = self.c[0], np.float32(2)

        def kernel(q, p, k):
            tile = cuda.shared.array(numbers, float32)
            first_x = x0 + U(cuda.blockIdx.x * tx)
            first_y = y0 + U(cuda.blockIdx.y * ty)
            z = z0 + U(cuda.blockIdx.z)
            corner = z * plane + (first_y - half) * row + first_x - half
            n = cuda.threadIdx.y * tx + cuda.threadIdx.x
            while n < numbers:
                tile[n] = p[corner + U(n // width) * row + U(n % width)]
                n += threads
            cuda.syncthreads()
            x, y = first_x + U(cuda.threadIdx.x), first_y + U(cuda.threadIdx.y)
            if x < x1 and y < y1:
                i = z * plane + y * row + x
                t = (U(cuda.threadIdx.y) + half) * wide + U(cuda.threadIdx.x) + half
                laplacian = along(tile, t, one) + along(tile, t, wide) + along(p, i, plane)
                q[i] = two * tile[t] - q[i] + k[i] * (c0 * tile[t] + laplacian)

        return kernel


def bind(backend: Any, call: Call, threads: tuple[int, int, int] = THREADS) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    return [
        backend.card.launch(
            Tile(u.box, u.c, threads[:2]), u.box.blocks(threads), threads, (u.q, u.p, u.k),
            addresses=False, writes=(u.q,),
        )
    ]  # fmt: skip
