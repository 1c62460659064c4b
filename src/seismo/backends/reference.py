"""The NumPy backend: the same formulas on index arrays, slow and plain, to test the others by."""

from __future__ import annotations

from itertools import product

import numpy as np

from seismo.backends.base import (
    FIRST_SPAN,
    SHORT,
    SPAN_COLUMNS,
    KernelConstants,
    KernelFields,
    Variant,
)
from seismo.backends.numpy_arrays import HostBackend
from seismo.backends.operators.stencils import KernelContext


class _Lanes:
    """A lane is any number of points, by their indices."""

    @staticmethod
    def load(f: np.ndarray, i: np.ndarray) -> np.ndarray:
        return f[i]

    read = load

    @staticmethod
    def load_short(f: np.ndarray, i: np.ndarray) -> np.ndarray:
        return f[i].astype(np.float32)

    @staticmethod
    def beside(f: np.ndarray, i: np.ndarray, n: int) -> np.ndarray:
        return f[i + n]

    @staticmethod
    def level(f: np.ndarray, i: np.ndarray, n: int, stride: int) -> np.ndarray:
        return f[i + n * stride]

    row = level

    @staticmethod
    def store(f: np.ndarray, i: np.ndarray, value: np.ndarray, mask: None) -> None:
        f[i] = value

    store_short = store

    @staticmethod
    def fetch(f: np.ndarray, i: np.ndarray) -> None:
        """Leave the caches alone."""

    @staticmethod
    def rounded(value: np.ndarray) -> np.ndarray:
        return value


class ReferenceBackend(HostBackend):
    """Formulas on NumPy index arrays: one "lane" holds all points of a row."""

    name = "reference"
    lane_width = 1

    def __init__(self, precision: str = "float32") -> None:
        super().__init__(precision)
        self.lanes = _Lanes()

    def zeros(self, size: int, short: bool = False) -> np.ndarray:
        """Allocate zeros."""
        return np.zeros(size, SHORT if short else self.precision)

    def sweep(
        self,
        formula,
        variant: Variant,
        tables: KernelConstants,
        boxes,
        memory,
        operands: KernelFields,
        back: bool = False,
    ):
        """Bind a formula; see `Backend.sweep`."""
        ends, middle = variant.bind(formula, self.lanes)

        def run() -> None:
            # Loop nest z, y, x-segment, with NumPy over x.
            for box in boxes:
                z0, z1, y0, y1 = box[:4]
                for z, y, span in product(range(z0, z1), range(y0, y1), range(3)):
                    context, i = _context(tables, box, memory[0], z, y, span)
                    (middle if span == 1 else ends)(i, context, *operands.all)

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


def _context(
    tables: KernelConstants, box, memory, z: int, y: int, span: int
) -> tuple[KernelContext, np.ndarray]:
    first = FIRST_SPAN + span * SPAN_COLUMNS
    shot = int(box[4])
    packed = int(box[5])
    # A vector of all x of the segment is one lane; the mask is not needed.
    x0, x1, base, memory_y, memory_z, slot = (int(n) for n in box[first : first + SPAN_COLUMNS])
    x = np.arange(x0, x1)
    y_stride, z_stride = (int(s) for s in tables.strides)
    # Rows of the SBP closure, clamped to the last one.
    row = min(max(z - tables.surface, 0), len(tables.up) - 1)
    px, py, pz = tables.profiles
    # The same names as the compiled backends, with NumPy arrays for lanes.
    context = KernelContext(
        y_stride, z_stride, tables.first, tables.second, tables.on_nodes, tables.numbers, shot,
        None, shot, packed,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        memory_y, x, px.ravel(), px.shape[1], py[:, y], pz[:, z],
        tables.up[row], tables.down[row], (z - tables.surface) * z_stride,
    )  # fmt: skip
    return context, z * z_stride + y * y_stride + x + shot
