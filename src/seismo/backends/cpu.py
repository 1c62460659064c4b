"""The CPU backend: formulas on SIMD lanes, compiled by Numba, tiles spread over the cores.

Three things make a sweep run at the speed of the memory: explicit vector lanes (`vectors`), tiles
small enough that the planes a stencil spans stay in the second-level cache, and a prefetch of the
row that comes next, `leads` numbers ahead in each array.

Compiled sweeps are kept on disk. Numba's own cache key does not see what a formula closes over, so
`_KeyedCache` uses a key of its own: the variant and the text of every module a formula can use.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numba
import numpy as np
from numba import njit, prange, types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc

from seismo.backends.base import Operands, SweepTables, Variant
from seismo.backends.digest import source_digest
from seismo.backends.host import HostBackend
from seismo.backends.tiles import TileCode
from seismo.backends.vectors import LANE_BYTES, call_at, vector_lanes, written

OPTIONS: Any = {"fastmath": True, "error_model": "numpy", "nogil": True}
_SIGNATURE = ((types.int64, types.uint64), types.void)  # of a tile: its number, parameters
PREFETCH_BYTES = 1536  # along the rows of a 2-D grid
TILE_ROWS = {2: (1, 16), 3: (16, 32)}  # rows along y and z of a tile, by dimensions
_STAGGER = 9 * LANE_BYTES  # keeps arrays of equal shape off each other's cache sets


class _KeyedCache(FunctionCache):
    """Numba's function cache under a key that covers everything the function closes over."""

    def __init__(self, function, key: str) -> None:
        super().__init__(function)
        self._key = key

    def _index_key(self, signature, codegen):
        return signature, codegen.magic_tuple(), self._key


@lru_cache
def _compiled(formula, variant: Variant, precision: str, count: int, width: int) -> CFunc:
    """Compile the loop over one tile for one formula in one variant, as a C function.

    `count` arrays take part; `width` is that of the surface weights.
    """
    lanes, v = vector_lanes(precision), variant
    tile = written(TileCode(lanes, *v.bind(formula, lanes), v.axes, v.order // 2, width, count))
    what = f"{formula.__module__}.{formula.__qualname__} {v} {precision} {count} {width}"
    compiled: Any = CFunc(tile, _SIGNATURE, {}, OPTIONS)
    compiled._cache = _KeyedCache(tile, f"{source_digest()} {what}")
    compiled.compile()
    return compiled


@lru_cache
def _looped(body, rows: bool):
    """Compile the loop over all n of a body, or over all rows; one thread runs it."""
    item: Any = njit(**OPTIONS)(body)
    if rows:

        def loop(count, length, arguments):
            for n in range(count):
                item(n, 0, length, *arguments)
    else:

        def loop(count, length, arguments):
            for n in range(count):
                item(n, *arguments)

    compiled = njit(**OPTIONS)(loop)
    compiled._cache = _KeyedCache(
        loop, f"{source_digest()} {body.__module__}.{body.__qualname__} {rows}"
    )
    return compiled


def _evenly(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """Cut a range in equal pieces of at most `most`, so that threads get equal shares."""
    count = -(-(last - first) // most)
    cuts = [first + (last - first) * k // count for k in range(count + 1)]
    return list(pairwise(cuts))


def _tiles(boxes: np.ndarray, dimensions: int) -> np.ndarray:
    """Cut boxes into tiles that fit the second-level cache."""
    rows_y, rows_z = TILE_ROWS[dimensions]
    tiles = [
        [*z, *y, *box[4:]]
        for box in boxes.tolist()
        for z, y in product(_evenly(box[0], box[1], rows_z), _evenly(box[2], box[3], rows_y))
    ]
    return np.array(tiles, np.int64)


@njit(parallel=True, cache=True, nogil=True)
def _run(address, count, parameters):
    """Call the C function at `address` for every tile, spread over the threads."""
    for n in prange(count):
        call_at(address, n, parameters)


class CpuBackend(HostBackend):
    """Numba on the cores of this machine."""

    name = "cpu"

    def __init__(self, precision: str = "float32", threads: int | None = None) -> None:
        super().__init__(precision)
        self.lane_width = LANE_BYTES // np.dtype(precision).itemsize
        self._arrays = 0
        if threads is not None:
            numba.set_num_threads(threads)

    @property
    def threads(self) -> int:
        """Threads that share the tiles."""
        return numba.get_num_threads()

    def zeros(self, size: int) -> np.ndarray:
        """Allocate zeros, aligned to lanes and staggered against cache conflicts."""
        item = np.dtype(self.precision).itemsize
        shift = (self._arrays % 16) * _STAGGER
        self._arrays += 1
        raw = np.zeros(size + (shift + LANE_BYTES) // item + 4 * self.lane_width, self.precision)
        start = (-raw.ctypes.data % LANE_BYTES + shift) // item
        return raw[start : start + size + self.lane_width]

    def _leads(self, operands: Operands, variant: Variant, strides) -> list[int]:
        """How far ahead to prefetch each array: further on, in the plane not seen yet.

        In 3-D that is the next row; a row of a 2-D grid is so long that its lines would be gone
        again.
        """
        y_stride, z_stride = (int(s) for s in strides)
        flat = PREFETCH_BYTES // np.dtype(self.precision).itemsize
        ahead = y_stride if "y" in variant.axes else flat
        far = variant.order // 2 * z_stride + ahead
        leads = [ahead] * len(operands.writes) + [far] * len(operands.reads)
        return leads + [z_stride + ahead] * len(operands.coefficients)

    def sweep(
        self, formula, variant: Variant, tables: SweepTables, boxes, memory, operands: Operands
    ):
        """Bind a formula; see `Backend.sweep`."""
        rows, width = tables.up.shape
        arrays, tiles = operands.all, _tiles(boxes, len(variant.axes))
        compiled = _compiled(formula, variant, self.precision, len(arrays), width)
        lengths = [profile.shape[1] for profile in tables.profiles]
        leads = self._leads(operands, variant, tables.strides)
        integers = [*tables.strides, tables.surface, rows, *lengths, *leads]
        floats = (tables.first, tables.second, *tables.profiles, tables.up, tables.down)
        held = (
            tiles,
            np.array(integers, np.int64),
            *(np.ascontiguousarray(a, self.precision) for a in floats),
            memory,
            *arrays,
        )
        parameters = np.array([a.ctypes.data for a in held], np.uint64)
        address, count = np.uint64(compiled.address or 0), len(tiles)

        def launch(held=held) -> None:
            _run(address, count, np.uint64(parameters.ctypes.data))

        return [launch]

    def each(self, body, count: int, arguments: tuple, writes):
        """Bind a loop; see `Backend.each`."""
        loop = _looped(body, False)
        return lambda: loop(count, 0, arguments)

    def each_row(self, body, count: int, length: int, arguments: tuple, writes):
        """Bind a loop over rows; see `Backend.each_row`."""
        loop = _looped(body, True)
        return lambda: loop(count, length, arguments)
