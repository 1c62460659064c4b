"""A thread a point, flat arrays, one unsigned index: places cost an addition each.

What is wrong: each thread asks for 4 bytes at a time. 27 requests for one number each fill the
queues to the first-level cache long before the memory is busy.
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
U = np.uint64


def sum_of(c: tuple) -> Callable:
    """Write c1 (the two neighbours along an axis) + ... + c4 (those four points away)."""
    _, c1, c2, c3, c4 = c
    two, three, four = U(2), U(3), U(4)

    def along(p, i, s):
        near = c1 * (p[i - s] + p[i + s]) + c2 * (p[i - two * s] + p[i + two * s])
        return near + (
            c3 * (p[i - three * s] + p[i + three * s]) + c4 * (p[i - four * s] + p[i + four * s])
        )

    return along


@dataclass(frozen=True)
class Flat:
    """The kernel (q, p, k) of a box."""

    box: Box
    c: tuple

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b, along = self.box, tools.device_function(sum_of(self.c))
        x0, x1, y0, y1, z0, z1 = (U(n) for n in (b.x0, b.x1, b.y0, b.y1, b.z0, b.z1))
        one, row, plane = U(1), U(b.shape[2]), U(b.shape[1] * b.shape[2])
        c0, two = self.c[0], np.float32(2)

        def kernel(q, p, k):
            x = x0 + U(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
            y = y0 + U(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
            z = z0 + U(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
            if x < x1 and y < y1 and z < z1:
                i = z * plane + y * row + x
                laplacian = along(p, i, one) + along(p, i, row) + along(p, i, plane)
                q[i] = two * p[i] - q[i] + k[i] * (c0 * p[i] + laplacian)

        return kernel


def bind(backend: Any, call: Call) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    return [
        backend.card.launch(
            Flat(u.box, u.c), u.box.blocks(THREADS), THREADS, (u.q, u.p, u.k), addresses=False,
            writes=(u.q,),
        )
    ]  # fmt: skip
