"""The CPU backend: formulas on SIMD lanes, compiled by Numba, tiles spread over the cores.

Three things make a sweep run at the speed of the memory: explicit vector lanes (`vectors`), tiles
small enough that the planes a stencil spans stay in the second-level cache, and a prefetch into
that cache of rows that come later, `leads` numbers ahead in each array.

What compiles is imported when something is bound: a run is estimated without Numba.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from seismo.backends import machine
from seismo.backends.base import (
    FIRST_SPAN,
    SHORT,
    SPAN_COLUMNS,
    KernelConstants,
    KernelFields,
    Step,
    Variant,
)
from seismo.backends.machine import LANE_BYTES, has_lost_threads
from seismo.backends.reference import HostBackend

if TYPE_CHECKING:
    from seismo.backends.cpu.schedule import Task
    from seismo.equations.framework.formula import Formula

PREFETCH_BYTES = 2048  # along the rows of a 2-D grid
PREFETCH_ROWS = 2  # of a 3-D grid
TILE_ROWS = {2: (1, 16), 3: (16, 32)}  # rows along y and z of a block, by dimensions
PLANES_SHARE = 0.5  # of the second-level cache, that planes of a block may fill
THIN_ROWS = 4  # rows along z of a tile of such a block
BODY_COST = 16  # points of a sweep that take as long as a call of a body
_STAGGER = 9 * LANE_BYTES  # keeps arrays of equal shape off each other's cache sets


def _evenly(first: int, last: int, count: int) -> list[tuple[int, int]]:
    """Cut a range in equal pieces, so that threads get equal shares."""
    # Equal ranges: cut k at first + n k / count, rounded down.
    cuts = [first + (last - first) * k // count for k in range(count + 1)]
    return list(pairwise(cuts))


def _block_rows(formula: Formula, variant: Variant, row_bytes: int) -> tuple[int, int]:
    """Return the rows of a block along y and z: half as many along y where planes are too large.

    A flux has as many slots as the sweep that it prepares, and so the same tiles.
    """
    rows_y, rows_z = TILE_ROWS[len(variant.axes)]
    # Fields by their memory variables along an axis: second derivatives have an additional one.
    fields = variant.slots - (formula.kind in ("second", "mixed"))
    # Of each, order + 1 planes that reach half a stencil beyond the block on either side.
    planes = fields * (variant.order + 1) * (rows_y + variant.order) * row_bytes
    is_large = planes > PLANES_SHARE * machine.second_level_cache()
    return (rows_y // 2 if is_large and "y" in variant.axes else rows_y), rows_z


def _tiles(boxes: np.ndarray, formula: Formula, variant: Variant, row_bytes: int) -> np.ndarray:
    """Cut boxes into blocks that fit the second-level cache, and these into tiles thin along z.

    No block is cut across a layer's thickness: a tile of the flux, and the same tile of the sweep
    that it prepares, depend on no other block. In a layer across z they depend on the next tile:
    tiles are as thick as the stencil reaches.
    """
    rows_y, rows_z = _block_rows(formula, variant, row_bytes)
    # Blocks span a layer across their axis, so that its flux and outer sweeps depend on no other
    # block.
    whole_y = "y" in variant.middle
    whole_z = "z" in variant.middle
    # At least the stencil's reach: dependencies across z end at the next tile.
    thin = max(THIN_ROWS, variant.order // 2)
    tiles = []
    # Blocks of (rows_z, rows_y) rows keep the planes of a stencil in the second-level cache.
    for z0, z1, y0, y1, *rest in boxes.tolist():
        blocks_z = _evenly(z0, z1, 1 if whole_z else -(-(z1 - z0) // rows_z))
        blocks_y = _evenly(y0, y1, 1 if whole_y else -(-(y1 - y0) // rows_y))
        # Thin tiles along z: the unit in which flux and sweep alternate.
        for (za, zb), y in product(blocks_z, blocks_y):
            slices = _evenly(za, zb, max(1, (zb - za) // thin))
            tiles += [[*z, *y, *rest] for z in slices]
    return np.array(tiles, np.int64)


def _producer_links(tiles: np.ndarray, variant: Variant) -> np.ndarray:
    """Whether, for each tile, the next tile is its neighbour in a layer across z."""
    # Neighbours: same y, shot and segments, the next z.
    is_next = (tiles[1:, 2:] == tiles[:-1, 2:]).all(axis=1) & (tiles[1:, 0] == tiles[:-1, 1])
    return np.append(is_next & ("z" in variant.middle), False)


def _costs(tiles: np.ndarray) -> np.ndarray:
    """Count the points of tiles."""
    # Points: rows times the lengths of the three x-segments.
    rows = (tiles[:, 1] - tiles[:, 0]) * (tiles[:, 3] - tiles[:, 2])
    firsts = [FIRST_SPAN + k * SPAN_COLUMNS for k in range(3)]
    return rows * sum(tiles[:, k + 1] - tiles[:, k] for k in firsts)


class CpuBackend(HostBackend):
    """Numba on the cores of this machine."""

    name = "cpu"

    def __init__(self, precision: str = "float32", threads: int | None = None) -> None:
        super().__init__(precision)
        self.lane_width = LANE_BYTES // np.dtype(self.precision).itemsize
        self._arrays = 0
        if threads is not None and not has_lost_threads():
            import numba

            numba.set_num_threads(threads)

    @property
    def threads(self) -> int:
        """Threads that share the tiles."""
        return machine.threads()

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Allocate zeros, aligned to lanes and staggered against cache conflicts.

        A lane before the first number and a few behind the last may be read.
        """
        # Arrays of equal shape that begin on the same cache set evict each other (conflict misses):
        # each array is shifted by 9 more cache lines, modulo 16.
        kind = np.dtype(SHORT if short else self.precision)
        item = kind.itemsize
        shift = (self._arrays % 16) * _STAGGER + LANE_BYTES
        self._arrays += 1
        raw = np.zeros(size + (shift + LANE_BYTES) // item + 4 * self.lane_width, kind)
        # Lane-aligned start: the raw address rounded up, and the shift.
        start = (-raw.ctypes.data % LANE_BYTES + shift) // item
        return raw[start : start + size + self.lane_width]

    def _leads(
        self, formula: Formula, operands: KernelFields, variant: Variant, strides
    ) -> list[int]:
        """How far ahead to prefetch each array: further on, in the plane not seen yet.

        In 3-D that is a row further on; a row of a 2-D grid is so long that its lines would be gone
        again.
        """
        # Prefetch distance: rows further on, and for fields that are read also the half stencil in
        # z, as for coefficients that are differentiated there.
        y_stride, z_stride = (int(s) for s in strides)
        flat = PREFETCH_BYTES // np.dtype(self.precision).itemsize
        ahead = PREFETCH_ROWS * y_stride if "y" in variant.axes else flat
        far = variant.order // 2 * z_stride + ahead
        leads = [ahead] * len(operands.writes) + [far] * len(operands.reads)
        reaching = formula.along("z")
        coefficients = range(len(leads), len(operands.all))
        return leads + [far if n in reaching else z_stride + ahead for n in coefficients]

    def sweep(
        self,
        formula,
        variant: Variant,
        tables: KernelConstants,
        boxes,
        operands: KernelFields,
        back: bool = False,
        whole_boxes: np.ndarray | None = None,
    ):
        """Bind a formula; see `Backend.sweep`."""
        from seismo.backends.cpu.c_functions import sweep_function
        from seismo.backends.cpu.schedule import Task

        (memory,) = operands.memory
        (rows, width) = tables.up.shape
        arrays = operands.all
        row_bytes = int(tables.strides[0]) * np.dtype(self.precision).itemsize
        tiles = _tiles(boxes, formula, variant, row_bytes)
        # Block of parameters: addresses in the order of `TABLES`, then the arrays.
        # Away from a free surface code is the same for all widths: none of the weights is read.
        read = width if variant.weighted else 0
        function = sweep_function(formula, variant, self.precision, read)
        lengths = [profile.shape[1] for profile in tables.profiles]
        leads = self._leads(formula, operands, variant, tables.strides)
        # One contiguous block of integers: strides, table lengths, prefetch distances.
        integers = [*tables.strides, tables.surface, rows, *lengths, *leads]
        # Coefficients in the precision of the fields: no conversion in the loop.
        floats = (
            tables.first, tables.second, tables.on_nodes, tables.numbers, *tables.profiles,
            tables.up, tables.down,
        )  # fmt: skip
        keep_alive = (
            tiles,
            np.array(integers, np.int64),
            *(np.ascontiguousarray(a, self.precision) for a in floats),
            memory,
            *arrays,
        )
        # Costs in points let the schedule balance threads.
        parameters = np.array([a.ctypes.data for a in keep_alive], np.uint64)
        # Spans may be idle in either of two sweeps over the same tiles, as the rows say.
        placed = tiles[:, :FIRST_SPAN].tobytes() + str(memory.ctypes.data).encode()
        shots = np.unique(tiles[:, 4], return_inverse=True)[1]
        return [
            Task(
                function, parameters, keep_alive, _costs(tiles), shots, self.clock, placed,
                producer_links=None if operands.writes else _producer_links(tiles, variant),
            )
        ]  # fmt: skip

    def each(self, body, count: int, arguments: tuple, writes, shots=None):
        """Bind a loop; see `Backend.each`."""
        return self._bodies(body, np.full(count, BODY_COST), arguments, shots, False)

    def each_row(self, body, count: int, length: int, arguments: tuple, writes, shots=None):
        """Bind a loop over rows; see `Backend.each_row`."""
        return self._bodies(body, np.full(count, length), (length, *arguments), shots, True)

    def _bodies(self, body, costs: np.ndarray, arguments: tuple, shots, rows: bool) -> Task:
        from seismo.backends.cpu.c_functions import argument_words, body_function
        from seismo.backends.cpu.schedule import Task

        function = body_function(body, rows, arguments, self.clock)
        return Task(function, argument_words(arguments), arguments, costs, shots, self.clock)

    def program(self, steps: tuple[Step, ...], others=()):
        """Lay steps out for the threads; see `Backend.program`."""
        from seismo.backends.cpu.schedule import program

        return program(steps, self.threads)
