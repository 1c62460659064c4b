"""NumPy: the update as it is written on the board, a slice for each neighbour.

What is wrong: every + and * goes through memory by itself. 30 passes over arrays too large for the
caches, where one would do, and on one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ladder.acoustic import HALF, update_of
from ladder.stand import Call


def bind(backend: Any, call: Call) -> list:
    """Bind it where the product binds its sweep."""
    u, b = update_of(call), update_of(call).box
    q, p, k = u.arrays
    inside = np.s_[b.z0 : b.z1, b.y0 : b.y1, b.x0 : b.x1]

    def run() -> None:
        laplacian = u.c[0] * p[inside]
        for n in range(1, HALF + 1):
            laplacian += u.c[n] * (
                p[b.z0 - n : b.z1 - n, *inside[1:]] + p[b.z0 + n : b.z1 + n, *inside[1:]]
            )
            laplacian += u.c[n] * (
                p[inside[0], b.y0 - n : b.y1 - n, inside[2]]
                + p[inside[0], b.y0 + n : b.y1 + n, inside[2]]
            )
            laplacian += u.c[n] * (
                p[*inside[:2], b.x0 - n : b.x1 - n] + p[*inside[:2], b.x0 + n : b.x1 + n]
            )
        q[inside] = 2 * p[inside] - q[inside] + k[inside] * laplacian

    return [run]
