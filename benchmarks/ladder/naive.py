"""A thread a point, arrays with three dimensions: what one writes first.

What is wrong: each of the 27 reads has three signed indices. A signed index may be negative, which
counts from the end in Python: the kernel asks for each of them, and multiplies it by a stride that
it looks up. The threads are busy with places instead of waves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from ladder.acoustic import Box, update_of
from ladder.stand import Call

THREADS = (32, 4, 2)


def point_of(c: tuple) -> Callable:
    """Write the update of one point."""
    c0, c1, c2, c3, c4 = c
    two = np.float32(2)

    def point(q, p, k, z, y, x):
        laplacian = (
            c0 * p[z, y, x]
            + c1 * (p[z, y, x - 1] + p[z, y, x + 1] + p[z, y - 1, x])
            + c1 * (p[z, y + 1, x] + p[z - 1, y, x] + p[z + 1, y, x])
            + c2 * (p[z, y, x - 2] + p[z, y, x + 2] + p[z, y - 2, x])
            + c2 * (p[z, y + 2, x] + p[z - 2, y, x] + p[z + 2, y, x])
            + c3 * (p[z, y, x - 3] + p[z, y, x + 3] + p[z, y - 3, x])
            + c3 * (p[z, y + 3, x] + p[z - 3, y, x] + p[z + 3, y, x])
            + c4 * (p[z, y, x - 4] + p[z, y, x + 4] + p[z, y - 4, x])
            + c4 * (p[z, y + 4, x] + p[z - 4, y, x] + p[z + 4, y, x])
        )
        q[z, y, x] = two * p[z, y, x] - q[z, y, x] + k[z, y, x] * laplacian

    return point


@dataclass(frozen=True)
class Naive:
    """The kernel (q, p, k) of a box."""

    box: Box
    c: tuple

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b, point = self.box, tools.device_function(point_of(self.c))
        x0, x1, y0, y1, z0, z1 = b.x0, b.x1, b.y0, b.y1, b.z0, b.z1

        def kernel(q, p, k):
            i, j, n = cuda.grid(3)
            x, y, z = x0 + i, y0 + j, z0 + n
            if x < x1 and y < y1 and z < z1:
                point(q, p, k, z, y, x)

        return kernel


def bind(backend: Any, call: Call) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    kernel, blocks, arrays = Naive(u.box, u.c), u.box.blocks(THREADS), u.arrays
    return [
        backend.card.launch(
            kernel, blocks, THREADS, arrays, addresses=False, writes=(arrays[0],)
        )
    ]  # fmt: skip
