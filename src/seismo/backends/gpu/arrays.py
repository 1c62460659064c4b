"""Arrays on a card: copies, tables that sweeps share, and the largest magnitude of an array.

The largest magnitude is found by a reduction in two stages through shared memory. Magnitudes are
compared as whole numbers. The bits of a float without its sign grow with its magnitude; those of
infinity are above those of all numbers, and those of NaN above infinity's. So nothing that blew up
can hide, as NaN does from comparisons of floats. The upper half of a key is the first 32 bits, the
lower half the place::

    every thread    the largest key of i, i + all threads, i + 2 * all threads, ...
    every block     the largest of its threads, in shared memory, half of them at a time
    a block         the largest of the blocks
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.backends.base import (
    SHORT,
    Copy,
    Group,
    KernelConstants,
    LargestMagnitude,
    Search,
    computed_in,
)
from seismo.backends.gpu.sweeps.layouts import FLOAT16, Shapes, shapes_of

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card
    from seismo.backends.gpu.code_cache import Tools


class GpuArrays:
    """Arrays of a precision on a card, and the layouts of threads that work on them."""

    in_clusters: bool | None = None  # whether kernels loop over a plane's steps; None: if faster

    def __init__(self, precision: str, card: Card, shapes: Shapes | None = None) -> None:
        """Take the precision, the card (`seismo.backends.gpu.card.Card`) and layouts of threads."""
        self.precision = computed_in(precision)
        self.card = card
        self.shapes = shapes or shapes_of(card.name) | (FLOAT16 if precision == SHORT else {})
        self.lanes = card.lanes(precision)
        self.lane_width = card.lanes(precision, narrow=True).width
        self.clock = card.array(np.zeros(1, np.int64))

    def zeros(self, size: int, short: bool = False) -> Any:
        """Allocate zeros and padding: a lane of the last row may reach beyond its end."""
        return self.card.zeros(size + 8 * self.lanes.width, SHORT if short else self.precision)

    def array(self, host_array: np.ndarray) -> Any:
        """Copy an array to the card."""
        return self.card.array(host_array)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy an array, or a view, from the card."""
        return self.card.fetch(array)

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate pinned bytes."""
        return self.card.host_buffer(size)

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Copy an array beside the launches; see `Backend.send`."""
        return self.card.send(array, host)

    def wait(self) -> None:
        """Return when all that was launched is done."""
        self.card.wait()

    def use_in_thread(self) -> None:
        """See `Backend.use_in_thread`."""
        self.card.use_in_thread()

    def alone(self, group: Group) -> Callable[[int], None]:
        """Launch a group without a graph; see `Backend.alone`."""
        return self.card.alone(group, self.clock)

    def moment(self) -> Callable[[], float]:
        """Record an event; see `Backend.moment`."""
        return self.card.moment()

    def annotated(self, name: str) -> AbstractContextManager[Any]:
        """Open a range of NVTX; see `Backend.annotated`."""
        return self.card.annotated(name)

    def free_memory(self) -> int | None:
        """Return the free bytes of the card."""
        return self.card.free_memory()

    def bandwidth(self) -> float:
        """Measure the rate of copies on the card."""
        return self.card.bandwidth()

    def health(self) -> dict[str, float]:
        """Describe the card's load, memory, temperature and power."""
        return self.card.health()

    def describe(self) -> dict[str, Any]:
        """Name the card, its driver and libraries."""
        return self.card.describe()


@lru_cache(maxsize=64)
def device_tables(backend: GpuArrays, tables: KernelConstants) -> tuple[Any, ...]:
    """Return the profiles along x, y, z and both surface weights on the card, once for all sweeps.

    Rows of all but x are padded to lanes: a vector load never straddles two rows.
    """
    x, y, z = tables.profiles
    rows = (_whole_lanes(a, backend.lanes.unit) for a in (y.T, z.T, tables.up, tables.down))
    arrays = (np.ascontiguousarray(a, np.float64) for a in (x, *rows))
    return tuple(_on_device(backend, a.tobytes(), a.shape) for a in arrays)


def _whole_lanes(rows: np.ndarray, width: int) -> np.ndarray:
    """Fill rows up, so that each of them begins with a lane."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % width)))


@lru_cache(maxsize=64)
def _on_device(backend: GpuArrays, data: bytes, shape: tuple[int, ...]) -> Any:
    """Copy a table of coefficients to the card, once for all constants that share it."""
    host_array = np.frombuffer(data).reshape(shape)
    return backend.array(host_array.ravel().astype(backend.precision))


# A module that imports this module.

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

    # Two launches in order on a stream: the second reads the result of the first.
    stages = (
        stage(LargestKernel(threads, item, shift), field.size, field.view(unsigned), largest_keys),
        stage(LargestKernel(threads), blocks, largest_keys, result),
    )

    def start(keep_alive: Any = field) -> Callable[[], LargestMagnitude]:
        for launch in stages:
            launch()
        key = card.fetch_later(result)
        return lambda: _decoded(int(key()[0]), precision, shift)

    return start


def _decoded(key: int, precision: str, shift: int) -> LargestMagnitude:
    """Take a key apart; of a double there are 32 bits, 20 of them behind the point."""
    # Shift the upper half back into the number's leading bits.
    # Of narrower numbers they are the first bits, of wider ones these are.
    item = np.dtype(precision).itemsize
    leading = (key >> _HALF << _HALF >> 64 - 8 * item).to_bytes(item, "little")
    size = float(np.frombuffer(leading, np.dtype(precision).newbyteorder("<"))[0])
    return LargestMagnitude(size if math.isfinite(size) else math.inf, (key & 0xFFFFFFFF) << shift)
