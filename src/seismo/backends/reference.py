"""The NumPy backend: the same formulas on index arrays, slow and plain, to test the others by."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from seismo.backends.base import FIRST_SPAN, SPAN_COLUMNS, Operands, SweepTables, Variant
from seismo.backends.numpy_arrays import HostBackend
from seismo.backends.operators.stencils import Place


def _store(target, index, value, mask):
    target[index] = value


@lru_cache
def _lanes(precision: str) -> type:
    class Lanes:
        jit = staticmethod(lambda f: f)
        load = read = staticmethod(lambda f, i: f[i])
        beside = staticmethod(lambda n: lambda f, i: f[i + n])
        row = level = staticmethod(lambda n: lambda f, i, stride: f[i + n * stride])
        store = staticmethod(_store)
        fetch = staticmethod(lambda f, i: None)
        rounded = staticmethod(lambda value: value)
        index = int
        number = np.dtype(precision).type

    return Lanes


class ReferenceBackend(HostBackend):
    """Formulas on NumPy index arrays: one "lane" holds all points of a row."""

    name = "reference"
    lane_width = 1

    def __init__(self, precision: str = "float32") -> None:
        super().__init__(precision)
        self.lanes = _lanes(precision)

    def zeros(self, size: int) -> np.ndarray:
        """Allocate zeros."""
        return np.zeros(size, self.precision)

    def sweep(
        self,
        formula,
        variant: Variant,
        tables: SweepTables,
        boxes,
        memory,
        operands: Operands,
        back: bool = False,
    ):
        """Bind a formula; see `Backend.sweep`."""
        ends, middle = variant.bind(formula, self.lanes)

        def run() -> None:
            for box in boxes:
                z0, z1, y0, y1 = box[:4]
                for z, y, span in product(range(z0, z1), range(y0, y1), range(3)):
                    place, i = _place(tables, box, memory[0], z, y, span)
                    (middle if span == 1 else ends)(i, place, *operands.all)

        return [run]

    def each(self, body, count: int, arguments: tuple, writes, shots=None):
        """Bind a loop; see `Backend.each`."""

        def run() -> None:
            for n in range(count):
                body(n, *arguments)

        return run

    def each_row(self, body, count: int, length: int, arguments: tuple, writes, shots=None):
        """Bind a loop over rows; see `Backend.each_row`."""

        def run() -> None:
            for n in range(count):
                body(n, 0, length, *arguments)

        return run


def _place(tables: SweepTables, box, memory, z: int, y: int, span: int) -> tuple[Place, np.ndarray]:
    first = FIRST_SPAN + span * SPAN_COLUMNS
    shot, packed = int(box[4]), int(box[5])
    x0, x1, base, memory_y, memory_z, slot = (int(n) for n in box[first : first + SPAN_COLUMNS])
    x = np.arange(x0, x1)
    y_stride, z_stride = (int(s) for s in tables.strides)
    row = min(max(z - tables.surface, 0), len(tables.up) - 1)
    px, py, pz = tables.profiles
    place = Place(
        y_stride, z_stride, tables.first, tables.second, None, shot, packed,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        memory_y, x, px.ravel(), px.shape[1], py[:, y], pz[:, z],
        tables.up[row], tables.down[row], (z - tables.surface) * z_stride,
    )  # fmt: skip
    return place, z * z_stride + y * y_stride + x + shot
