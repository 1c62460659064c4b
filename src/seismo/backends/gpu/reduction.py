"""The largest magnitude in an array on a GPU: a reduction in two stages through shared memory.

Magnitudes are compared as whole numbers. The bits of a float without its sign grow with its
magnitude; those of infinity are above those of all numbers, and those of NaN above infinity's. So
nothing that blew up can hide, as NaN does from comparisons of floats. The upper half of a key is
the first 32 bits, the lower half the place::

    every thread    the largest key of i, i + all threads, i + 2 * all threads, ...
    every block     the largest of its threads, in shared memory, half of them at a time
    one block       the largest of the blocks
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.backends.base import Found, Search

# A module that imports this one.
if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card
    from seismo.backends.gpu.compile.code_cache import Tools

THREADS = 256  # of a block, a power of two
BLOCKS = 1056  # eight for every multiprocessor of an H200
_UNSIGNED = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}
_HALF = 32


def _key_of(item: int, shift: int) -> Callable:
    """Write the function (bits of a number of `item` bytes, its place) -> key."""
    # Without the sign bit, IEEE 754 numbers are ordered as their bits: inf above all, NaN above
    # inf.
    magnitude = np.uint64((1 << (8 * item - 1)) - 1)
    # Key: 32 leading bits of the magnitude above, the index, shortened to 32 bits, below.
    up = np.uint64(64 - 8 * item)
    down = np.uint64(shift)
    upper = np.uint64(0xFFFFFFFF << _HALF)

    def key(bits, i):
        return (((np.uint64(bits) & magnitude) << up) & upper) | (i >> down)

    return key


def _key_itself(bits, i):
    return bits


def largest_kernel(key: Callable, threads: int) -> Callable:
    """Write the kernel (count, bits, found): each block's largest key."""
    from numba import cuda

    no_key = np.uint64(0)
    half = threads // 2
    two, three, four = (np.uint64(n) for n in (2, 3, 4))

    def kernel(count, bits, largest_keys):
        # Grid-stride loop: neighbouring threads read neighbouring numbers (coalesced).
        shared = cuda.shared.array(threads, np.uint64)
        t = cuda.threadIdx.x
        i = np.uint64(cuda.grid(1))
        last = np.uint64(count)
        stride = np.uint64(cuda.gridsize(1))
        largest = no_key
        while i + three * stride < last:  # four loads under way at a time
            j = i + stride
            k = i + two * stride
            m = i + three * stride
            a = bits[i]
            b = bits[j]
            c = bits[k]
            d = bits[m]
            largest = max(largest, max(max(key(a, i), key(b, j)), max(key(c, k), key(d, m))))
            i += four * stride
        # Remainder: fewer than four strides left.
        while i < last:
            largest = max(largest, key(bits[i], i))
            i += stride
        # Tree reduction in shared memory; the barrier is outside the branch, for all threads.
        shared[t] = largest
        cuda.syncthreads()
        active = half
        while active > 0:
            if t < active:
                shared[t] = max(shared[t], shared[t + active])
            cuda.syncthreads()
            active //= 2
        # Thread 0 has the largest key of the block.
        if t == 0:
            largest_keys[cuda.blockIdx.x] = shared[0]

    return kernel


@dataclass(frozen=True)
class LargestKernel:
    """One stage of the search.

    Attributes:
        threads: of a block.
        item: bytes of a number, 0 where the numbers are keys.
        shift: bits that places are too long by.
    """

    threads: int
    item: int = 0
    shift: int = 0

    @property
    def key(self) -> Callable:
        """The function (bits, place) -> key."""
        return _key_of(self.item, self.shift) if self.item else _key_itself

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        return largest_kernel(tools.device_function(self.key), self.threads)


def bind_largest(
    card: Card, field: Any, precision: str, threads: int = THREADS, blocks: int = BLOCKS
) -> Search:
    """Bind the search through a field.

    Args:
        card: where the field is.
        field: flat array.
        precision: of its numbers.
        threads: of a block.
        blocks: the most that search.
    """
    # Places of more than 32 bits lose their last ones (`shift`).
    unsigned: Any = _UNSIGNED[precision]
    item = np.dtype(unsigned).itemsize
    shift = max(0, (field.size - 1).bit_length() - _HALF)
    blocks = min(blocks, -(-field.size // threads))
    largest_keys, result = (card.array(np.zeros(n, np.uint64)) for n in (blocks, 1))

    def stage(kernel: LargestKernel, count: int, bits: Any, target: Any) -> Callable[[], None]:
        return card.launch(
            kernel, (target.size, 1, 1), (threads, 1, 1), (count, bits, target),
            addresses=False, writes=(target,),
        )  # fmt: skip

    # Two launches in order on one stream: the first writes what the second reads.
    stages = (
        stage(LargestKernel(threads, item, shift), field.size, field.view(unsigned), largest_keys),
        stage(LargestKernel(threads), blocks, largest_keys, result),
    )

    def start(keep_alive: Any = field) -> Callable[[], Found]:
        for launch in stages:
            launch()
        key = card.fetch_later(result)
        return lambda: _decoded(int(key()[0]), precision, shift)

    return start


def _decoded(key: int, precision: str, shift: int) -> Found:
    """Take a key apart; of a double there are 32 bits, 20 of them behind the point."""
    # Shift the upper half back into the number's leading bits.
    # Of narrower numbers they are the first bits, of wider ones these are.
    item = np.dtype(precision).itemsize
    leading = (key >> _HALF << _HALF >> 64 - 8 * item).to_bytes(item, "little")
    size = float(np.frombuffer(leading, np.dtype(precision).newbyteorder("<"))[0])
    return Found(size if math.isfinite(size) else math.inf, (key & 0xFFFFFFFF) << shift)
