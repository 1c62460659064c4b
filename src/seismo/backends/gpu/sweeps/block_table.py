"""The table of blocks of threads that a launch over many boxes reads: a row for each block.

::

    x, y, z               the block's first point
    x_end, y_end, z_end   behind the last point of its box
    shot, packed          offsets of the shot's fields, and of coefficients kept for some planes
    memory, memory_y, memory_z, slot   layer memory, as in `operators.stencils.KernelContext`
"""

from __future__ import annotations

import numpy as np

from seismo.backends.base import FIRST_SPAN, SPAN_COLUMNS, Variant

BLOCK_COLUMNS = 12
MOST_BLOCKS = 65535  # of a launch along y, and along z, says CUDA


def blocks_of(boxes: np.ndarray, size: tuple[int, int, int], slab: int = 0) -> np.ndarray:
    """Cut boxes in blocks of at most so many points along x, y, z: the rows of the table.

    Those of a box follow one another along x, then y, then z; those of all boxes of a shot, where
    there are slabs of some blocks along y, slab by slab.
    """
    # Enumerate the blocks of all boxes at once: number = (z * ny + y) * nx + x within each box.
    z0, z1, y0, y1, shot, packed, x0, x1, *memory = boxes.T
    ends = ((x0, x1), (y0, y1), (z0, z1))
    nx, ny, nz = (-(-(b - a) // n) for (a, b), n in zip(ends, size, strict=True))
    counts = nx * ny * nz
    box = np.repeat(np.arange(len(boxes)), counts)
    number = np.arange(box.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rest, x = np.divmod(number, nx[box])
    z, y = np.divmod(rest, ny[box])
    first = [a[box] + n * k for (a, _), n, k in zip(ends, size, (x, y, z), strict=True)]
    kept = (a[box] for a in (x1, y1, z1, shot, packed, *memory))
    blocks = np.column_stack([*first, *kept])
    if not slab:
        return blocks
    # The last key counts first: shot, slab, z, y, x.
    x, y, z, *_ = blocks.T
    return blocks[np.lexsort((x, y, z, y // (slab * size[1]), blocks[:, 6]))]


def by_operators(variant: Variant, boxes: np.ndarray) -> dict[str, np.ndarray]:
    """Return boxes with one span each that is not empty, by the axes that these stretch."""
    spans = [boxes[:, FIRST_SPAN + k * SPAN_COLUMNS :][:, :SPAN_COLUMNS] for k in range(3)]
    # Groups by operators: boxes of the same variant share a kernel and a launch.
    middle = np.column_stack([boxes[:, :FIRST_SPAN], spans[1]])
    ends = [np.column_stack([boxes[:, :FIRST_SPAN], spans[k]]) for k in (0, 2)]
    # Rows whose ends need no other operators: one group of boxes.
    if variant.ends == variant.middle:
        groups = {variant.middle: np.concatenate([middle, *ends])}
    else:
        groups = {variant.middle: middle, variant.ends: np.concatenate(ends)}
    return {
        stretched: some[some[:, FIRST_SPAN + 1] > some[:, FIRST_SPAN]]
        for stretched, some in groups.items()
    }
