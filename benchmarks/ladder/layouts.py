"""The product's own kernel, its threads laid out in ways that do not suit the card.

What is wrong with `NO_QUEUE`: every plane reads the planes above and below it anew, through the
caches. With `few_blocks`: all planes to one block leaves 144 blocks of 384 x 384 columns, hardly
one for each of 132 multiprocessors, and the last twelve run alone. With `ODD_THREADS`: 24 threads
are no whole warp, 8 of 32 idle all the time, and a block is too small to hide waits. With
`SPILLED`: eight blocks are to fit beside one another, each thread has a quarter of the registers
that it needs, and the rest goes to memory and back. `TILE` has the plane in shared memory, copied a
plane ahead: no thread waits for a copy, but at order 8 the first-level cache does as well, without
the barrier. (The layouts that suit it are the table `H200` in
`seismo.backends.gpu.sweeps.layouts`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.sweeps.layouts import H200, BlockShape

INNER = ("xyz", "second", "inner", 8)

NO_QUEUE = BlockShape((32, 8, 2), 1, 2)
ODD_THREADS = BlockShape((8, 3, 1), 32, 2)
SPILLED = BlockShape((32, 8, 1), 32, 8)
TILE = BlockShape((16, 16, 1), 28, 2, ahead=2, tile=True)


def few_blocks(planes: int) -> BlockShape:
    """Give all planes to one block."""
    return BlockShape((32, 8, 1), planes, 2)


def bind(shape: BlockShape) -> Callable[[Any, Any], list]:
    """Make the function that binds the interior so."""

    def bound(backend: Any, call: Any) -> list:
        shapes = H200 | {INNER: shape}
        return call.bind(GpuBackend(backend.precision, backend.card, shapes))

    return bound
