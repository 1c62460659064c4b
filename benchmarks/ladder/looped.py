"""The flat kernel with its coefficients in an array and a loop over them.

What is wrong: the compiler knows neither how many coefficients there are nor what they are. It
keeps the loop, reads them again for each point, and orders the reads of a turn after those of the
turn before; unrolled they are all under way at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from ladder.acoustic import Box, update_of
from ladder.flat import THREADS, U
from ladder.stand import Call


@dataclass(frozen=True)
class Looped:
    """The kernel (q, p, k, coefficients) of a box."""

    box: Box

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b = self.box
        x0, x1, y0, y1, z0, z1 = (U(n) for n in (b.x0, b.x1, b.y0, b.y1, b.z0, b.z1))
        row, plane, two = U(b.shape[2]), U(b.shape[1] * b.shape[2]), np.float32(2)

        def kernel(q, p, k, c):
            x = x0 + U(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
            y = y0 + U(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
            z = z0 + U(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
            if x < x1 and y < y1 and z < z1:
                i = z * plane + y * row + x
                laplacian = c[0] * p[i]
                for n in range(1, c.size):
                    m = U(n)
                    sides = p[i - m] + p[i + m] + p[i - m * row] + p[i + m * row]
                    laplacian += c[n] * (sides + p[i - m * plane] + p[i + m * plane])
                q[i] = two * p[i] - q[i] + k[i] * laplacian

        return kernel


def bind(backend: Any, call: Call) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    c = backend.array(np.array(u.c, np.float32))
    return [
        backend.card.launch(
            Looped(u.box), u.box.blocks(THREADS), THREADS, (u.q, u.p, u.k, c), addresses=False,
            writes=(u.q,),
        )
    ]  # fmt: skip
