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
from numba import carray, njit, prange, types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.np.unsafe.ndarray import to_fixed_tuple

from seismo.backends.base import (
    BOX_COLUMNS,
    FIRST_SPAN,
    SPAN_COLUMNS,
    Operands,
    SweepTables,
    Variant,
)
from seismo.backends.digest import source_digest
from seismo.backends.host import HostBackend
from seismo.backends.vectors import LANE_BYTES, call_at, pointer_to, vector_lanes
from seismo.operators import Place

OPTIONS: Any = {"fastmath": True, "error_model": "numpy", "nogil": True}
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
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
def _lanes(precision: str) -> type:
    vectors = vector_lanes(precision)

    class Lanes:
        load, read, store, first = vectors.load, vectors.load, vectors.store, vectors.first
        prefetch, fetch, width = vectors.prefetch, vectors.fetch, vectors.width
        index, jit = np.uint64, staticmethod(njit(**INNER))
        number = np.dtype(precision).type

        @staticmethod
        @lru_cache
        def beside(n: int):
            """Read a field n points further along x."""
            load, count = vectors.load, np.uint64(abs(n))
            if n < 0:
                return njit(**INNER)(lambda f, i: load(f, i - count))
            return njit(**INNER)(lambda f, i: load(f, i + count))

    return Lanes


@lru_cache
def _compiled(formula, variant: Variant, precision: str, count: int, width: int) -> CFunc:
    """Compile the loop over one tile for one formula in one variant, as a C function.

    `count` arrays take part; `width` is that of the surface weights, so that all variants of a run
    share their parts.
    """
    lanes, v = _lanes(precision), variant
    tile = _tile_loop(lanes, *v.bind(formula, lanes), v.axes, v.order // 2, width, count)
    what = f"{formula.__module__}.{formula.__qualname__} {v} {precision} {count} {width}"
    compiled: Any = CFunc(tile, _SIGNATURE, {}, OPTIONS)
    compiled._cache = _KeyedCache(tile, f"{source_digest()} {what}")
    compiled.compile()
    return compiled


def _tile_loop(lanes, ends, middle, axes: str, terms: int, width: int, count: int):
    """Write the loops over z, y and lanes of x of one tile: both ends of each row, its middle.

    `parameters` is the address of the addresses of: tiles, integers (strides, surface row, rows of
    weights, lengths along x, y, z, leads), coefficients, profiles, weights, memory, arrays.
    """
    mask_of, prefetch, lane = lanes.first, lanes.prefetch, lanes.width
    whole, number, columns = np.uint64, lanes.number, len(BOX_COLUMNS)
    row_memory = 3 if "y" in axes else 4
    second_terms, integers, every = terms + 1, 7 + count, 10 + count

    def tile(n, parameters):
        a = carray(pointer_to(parameters), every, np.uint64)
        t = carray(pointer_to(a[0] + whole(n * columns * 8)), columns, np.int64)
        m = carray(pointer_to(a[1]), integers, np.int64)
        first = carray(pointer_to(a[2]), (3, terms), number)
        second = carray(pointer_to(a[3]), (3, second_terms), number)
        py, pz = (
            carray(pointer_to(a[5]), (6, m[5]), number),
            carray(pointer_to(a[6]), (6, m[6]), number),
        )
        up, down = (
            carray(pointer_to(a[7]), (m[3], width), number),
            carray(pointer_to(a[8]), (m[3], width), number),
        )
        arrays = to_fixed_tuple(a[10:], count)
        leads = to_fixed_tuple(m[7:], count)
        y_stride, z_stride, surface = whole(m[0]), whole(m[1]), m[2]
        c = (
            to_fixed_tuple(first[0], terms),
            to_fixed_tuple(first[1], terms),
            to_fixed_tuple(first[2], terms),
        )
        d = (
            to_fixed_tuple(second[0], second_terms),
            to_fixed_tuple(second[1], second_terms),
            to_fixed_tuple(second[2], second_terms),
        )
        shot, x_table, x_length, memory = whole(t[4]), a[4], whole(m[4]), a[9]
        for z in range(t[0], t[1]):
            row = min(max(z - surface, 0), m[3] - 1)
            w, u = to_fixed_tuple(up[row], width), to_fixed_tuple(down[row], width)
            pz_row = (pz[0, z], pz[1, z], pz[2, z], pz[3, z], pz[4, z], pz[5, z])
            depth = whole(z - surface) * z_stride
            for y in range(t[2], t[3]):
                py_row = (py[0, y], py[1, y], py[2, y], py[3, y], py[4, y], py[5, y])
                start = whole(z) * z_stride + whole(y) * y_stride + shot
                for span in range(3):
                    o = FIRST_SPAN + span * SPAN_COLUMNS
                    j = t[o + 2] + z * t[o + 4] + y * t[o + 3]
                    for x in range(t[o], t[o + 1], lane):
                        place = Place(
                            y_stride, z_stride, c, d, mask_of(t[o + 1] - x), shot,
                            memory, whole(j + x), whole(t[o + 3]), whole(t[o + 4]), whole(t[o + 5]),
                            whole(t[o + row_memory]), whole(x), x_table, x_length,
                            py_row, pz_row, w, u, depth, None,
                        )  # fmt: skip
                        i = start + whole(x)
                        prefetch(arrays, i, leads)
                        if span == 1:
                            middle(i, place, *arrays)
                        else:
                            ends(i, place, *arrays)

    return tile


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
