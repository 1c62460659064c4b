"""The largest magnitude in an array on a GPU: a reduction in two stages through shared memory.

Magnitudes are compared as whole numbers. The bits of a float without its sign grow with its
magnitude; those of infinity are above those of all numbers, and those of NaN above infinity's. So
nothing that blew up can hide, as NaN does from comparisons of floats::

    every thread    the largest of bits[i], bits[i + all threads], ...
    every block     the largest of its threads, in shared memory, half of them at a time
    one block       the largest of the blocks
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from seismo.backends.base import Search

THREADS = 256  # of a block, a power of two
BLOCKS = 1056  # eight for every multiprocessor of an H200
_WHOLE = {"float32": np.uint32, "float64": np.uint64}


def largest_kernel(mask: int, threads: int) -> Callable:
    """Write the kernel (count, bits, found): each block's largest of the masked bits."""
    keep, nothing, half = np.uint64(mask), np.uint64(0), threads // 2

    two, three, four = (np.uint64(n) for n in (2, 3, 4))

    def kernel(count, bits, found):
        shared = cuda.shared.array(threads, np.uint64)
        t = cuda.threadIdx.x
        i, last, every = np.uint64(cuda.grid(1)), np.uint64(count), np.uint64(cuda.gridsize(1))
        largest = nothing
        while i + three * every < last:  # four loads under way at a time
            a, b = np.uint64(bits[i]) & keep, np.uint64(bits[i + every]) & keep
            c, d = (
                np.uint64(bits[i + two * every]) & keep,
                np.uint64(bits[i + three * every]) & keep,
            )
            largest = max(largest, max(max(a, b), max(c, d)))
            i += four * every
        while i < last:
            largest = max(largest, np.uint64(bits[i]) & keep)
            i += every
        shared[t] = largest
        cuda.syncthreads()
        active = half
        while active > 0:
            if t < active:
                shared[t] = max(shared[t], shared[t + active])
            cuda.syncthreads()
            active //= 2
        if t == 0:
            found[cuda.blockIdx.x] = shared[0]

    return kernel


@dataclass(frozen=True)
class LargestKernel:
    """One stage of the search."""

    mask: int
    threads: int

    def write(self, tools: Any) -> Callable:
        """Write the kernel."""
        return largest_kernel(self.mask, self.threads)


def bind_largest(
    card: Any, field: Any, precision: str, threads: int = THREADS, blocks: int = BLOCKS
) -> Search:
    """Bind the search through a field.

    Args:
        card: where the field is.
        field: flat array.
        precision: of its numbers.
        threads: of a block.
        blocks: the most that search.
    """
    whole: Any = _WHOLE[precision]
    mask = np.iinfo(whole).max >> 1
    blocks = min(blocks, -(-field.size // threads))
    found, result = (card.array(np.zeros(n, np.uint64)) for n in (blocks, 1))

    def stage(count: int, bits: Any, target: Any) -> Callable[[], None]:
        return card.launch(
            LargestKernel(mask, threads),
            (target.size, 1, 1), (threads, 1, 1), (count, bits, target),
            addresses=False, writes=(target,),
        )  # fmt: skip

    stages = (stage(field.size, field.view(whole), found), stage(blocks, found, result))

    def start(held: Any = field) -> Callable[[], float]:
        for launch in stages:
            launch()
        bits = card.fetch_later(result)
        return lambda: _magnitude(bits(), whole, precision)

    return start


def _magnitude(bits: np.ndarray, whole: Any, precision: str) -> float:
    value = float(bits.astype(whole).view(precision)[0])
    return value if math.isfinite(value) else math.inf
