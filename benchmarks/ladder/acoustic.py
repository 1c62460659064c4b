"""What the kernels of the ladder share: the acoustic update of order 8, told without operators.

    q = 2 p - q + k (c0 p + c1 (six neighbours) + ... + c4 (six neighbours four points away))

p [Pa] at this step, q [Pa] at the one before, which becomes the next one; k = c^2 dt^2 [m^2].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ladder.stand import Call

HALF = 4


@dataclass(frozen=True)
class Box:
    """The points x0 <= x < x1, ... of padded arrays of shape (z, y, x)."""

    x0: int
    x1: int
    y0: int
    y1: int
    z0: int
    z1: int
    shape: tuple[int, int, int]

    @property
    def points(self) -> tuple[int, int, int]:
        """Points along x, y, z."""
        return self.x1 - self.x0, self.y1 - self.y0, self.z1 - self.z0

    @property
    def behind(self) -> tuple[int, int, int]:
        """Numbers behind it along x, y, z."""
        nz, ny, nx = self.shape
        return nx - self.x1, ny - self.y1, nz - self.z1

    def view(self, array: Any) -> Any:
        """Shape a flat array as (z, y, x)."""
        nz, ny, nx = self.shape
        return array[: nz * ny * nx].reshape(nz, ny, nx)

    def blocks(self, threads: tuple[int, int, int]) -> tuple[int, int, int]:
        """Give how many blocks of threads cover it, along x, y, z."""
        x, y, z = (-(-n // t) for n, t in zip(self.points, threads, strict=True))
        return x, y, z


@dataclass(frozen=True)
class Update:
    """One update: flat arrays, the box, and c0 ... c4 / spacing^2."""

    q: Any
    p: Any
    k: Any
    box: Box
    c: tuple[Any, ...]

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """The arrays q, p, k, each (z, y, x)."""
        return self.box.view(self.q), self.box.view(self.p), self.box.view(self.k)


def update_of(call: Call) -> Update:
    """Read an update out of what the product's sweep was bound to.

    Its arrays begin ahead of the first row; here, a row begins where the box's neighbours do.
    """
    (q,), (p,), (k,) = call.operands.writes, call.operands.reads, call.operands.coefficients
    ((z0, z1, y0, y1),) = call.boxes[:, :4].tolist()
    x0, x1 = (int(n) for n in call.boxes[0, 12:14])
    y_stride, z_stride = (int(n) for n in call.tables.strides)
    first, shape = x0 - HALF, (z1 + HALF, z_stride // y_stride, y_stride)
    box = Box(HALF, x1 - first, y0, y1, z0, z1, shape)
    second = call.tables.second
    assert second.shape == (3, HALF + 1), "the ladder's kernels are of order 8"
    assert np.ptp(second, axis=0).max() == 0, "the ladder's kernels are of cubes"
    centre, *rest = second[0]
    return Update(
        q[first:], p[first:], k[first:], box, tuple(np.float32(c) for c in (3 * centre, *rest))
    )
