"""A thread goes down a column and keeps the nine numbers around it along z in registers.

What is wrong: it still takes 4 bytes at a time. (The product's lanes take 16, four points at once,
and pay for their places once.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from ladder.acoustic import Box, update_of
from ladder.flat import U, sum_of
from ladder.stand import Call

THREADS = (32, 8, 1)
PLANES = 32


@dataclass(frozen=True)
class ScalarQueue:
    """The kernel (q, p, k) of a box, for so many planes a thread."""

    box: Box
    c: tuple
    planes: int

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b, along = self.box, tools.device_function(sum_of(self.c))
        x0, x1, y0, y1, z0, z1 = (U(n) for n in (b.x0, b.x1, b.y0, b.y1, b.z0, b.z1))
        one, row, plane = U(1), U(b.shape[2]), U(b.shape[1] * b.shape[2])
        s2, s3, s4 = (U(n) * plane for n in (2, 3, 4))
        c0, c1, c2, c3, c4 = self.c
        two, planes = np.float32(2), U(self.planes)

        def kernel(q, p, k):
            x = x0 + U(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
            y = y0 + U(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
            z = z0 + U(cuda.blockIdx.z) * planes
            last = min(z + planes, z1)
            if x < x1 and y < y1:
                i = z * plane + y * row + x
                a, b, c, d = p[i - s4], p[i - s3], p[i - s2], p[i - plane]
                e, f, g, h = p[i], p[i + plane], p[i + s2], p[i + s3]
                while z < last:
                    n = p[i + s4]
                    deep = c0 * e + c1 * (d + f) + c2 * (c + g) + c3 * (b + h) + c4 * (a + n)
                    laplacian = deep + along(p, i, one) + along(p, i, row)
                    q[i] = two * e - q[i] + k[i] * laplacian
                    a, b, c, d, e, f, g, h = b, c, d, e, f, g, h, n
                    z += one
                    i += plane

        return kernel


def bind(backend: Any, call: Call, planes: int = PLANES) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    tx, ty, _ = THREADS
    return [
        backend.card.launch(
            ScalarQueue(u.box, u.c, planes), u.box.blocks((tx, ty, planes)), THREADS,
            (u.q, u.p, u.k), addresses=False, writes=(u.q,),
        )
    ]  # fmt: skip
