"""Neighbouring threads take neighbours along z: the naive kernel, its axes the other way round.

What is wrong: the 32 threads of a warp read 32 places that lie a whole plane apart. The memory
gives lines of 128 bytes (32 at least) where each thread uses 4 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba import cuda

from ladder import naive
from ladder.acoustic import Box, update_of
from ladder.stand import Call

THREADS = naive.THREADS


@dataclass(frozen=True)
class Strided:
    """The kernel (q, p, k) of a box."""

    box: Box
    c: tuple

    def write(self, tools: Any) -> Callable:
        """Write it."""
        b, point = self.box, tools.device_function(naive.point_of(self.c))
        x0, x1, y0, y1, z0, z1 = b.x0, b.x1, b.y0, b.y1, b.z0, b.z1

        def kernel(q, p, k):
            n, j, i = cuda.grid(3)
            x, y, z = x0 + i, y0 + j, z0 + n
            if x < x1 and y < y1 and z < z1:
                point(q, p, k, z, y, x)

        return kernel


def bind(backend: Any, call: Call) -> list:
    """Bind it where the product binds its sweep."""
    u = update_of(call)
    tx, ty, tz = THREADS
    x, y, z = u.box.blocks((tz, ty, tx))  # a block's first axis goes along z
    return [
        backend.card.launch(
            Strided(u.box, u.c), (z, y, x), THREADS, u.arrays, addresses=False,
            writes=(u.arrays[0],),
        )
    ]  # fmt: skip
