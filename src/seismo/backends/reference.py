"""The NumPy backend: the same formulas on index arrays, slow and plain, to test the others by."""

from __future__ import annotations

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

_AT_ONCE = 1 << 16  # points of a lane, about: as much as fits the caches


class _Lanes:
    """A lane is any number of points, by their indices."""

    @staticmethod
    def load(f: np.ndarray, i: np.ndarray) -> np.ndarray:
        return f[i].astype(np.float32) if f.dtype == SHORT else f[i]

    read = load

    def beside(self, f: np.ndarray, i: np.ndarray, n: int) -> np.ndarray:
        return self.load(f, i + n)

    def level(self, f: np.ndarray, i: np.ndarray, n: int, stride: int) -> np.ndarray:
        return self.load(f, i + n * stride)

    row = level

    @staticmethod
    def store(f: np.ndarray, i: np.ndarray, value: np.ndarray, mask: None) -> None:
        f[i] = value

    @staticmethod
    def fetch(f: np.ndarray, i: np.ndarray) -> None:
        """Leave the caches alone."""

    @staticmethod
    def rounded(value: np.ndarray) -> np.ndarray:
        return value


class ReferenceBackend(HostBackend):
    """Formulas on NumPy index arrays: one "lane" holds all points of some planes."""

    name = "reference"
    lane_width = 1
    has_float16 = True

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
        operands: KernelFields,
        back: bool = False,
        whole_boxes: np.ndarray | None = None,
    ):
        """Bind a formula; see `Backend.sweep`."""
        # Formulas bound twice: to the ends of rows, in layers along x, and to what lies between.
        ends, middle = variant.bind(formula, self.lanes)

        def run() -> None:
            # Some planes of a box at a time, by x-segment, with NumPy over z, y and x.
            for box in boxes:
                z0, z1, y0, y1 = (int(n) for n in box[:4])
                deep = max(1, _AT_ONCE // ((y1 - y0) * tables.strides[0]))
                for z in range(z0, z1, deep):
                    planes = np.arange(z, min(z + deep, z1))
                    for span in range(3):
                        context, i = _context(tables, box, operands.memory[0], planes, span)
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
    tables: KernelConstants, box, memory, planes: np.ndarray, span: int
) -> tuple[KernelContext, np.ndarray]:
    """Return what a formula is given for a segment of some planes, and its indices (z, y, x)."""
    first = FIRST_SPAN + span * SPAN_COLUMNS
    shot = int(box[4])
    packed = int(box[5])
    # All points of the segment are one lane; the mask is not needed.
    x0, x1, base, memory_y, memory_z, slot = (int(n) for n in box[first : first + SPAN_COLUMNS])
    x = np.arange(x0, x1)
    rows = slice(int(box[2]), int(box[3]))
    y = np.arange(rows.start, rows.stop)[:, None]
    z = planes[:, None, None]
    y_stride, z_stride = (int(s) for s in tables.strides)
    # Rows of the SBP closure, clamped to the last one.
    closed = np.clip(planes - tables.surface, 0, len(tables.up) - 1)
    px, py, pz = tables.profiles
    # The same names as the compiled backends, with NumPy arrays for lanes.
    context = KernelContext(
        y_stride, z_stride, tables.first, tables.second, tables.on_nodes, tables.numbers, shot,
        None, shot, packed,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        memory_y, x, px.ravel(), px.shape[1], py[:, rows, None], pz[:, planes, None, None],
        tables.up[closed].T[..., None, None], tables.down[closed].T[..., None, None],
        (z - tables.surface) * z_stride, ground=z * z_stride + shot,
    )  # fmt: skip
    return context, z * z_stride + y * y_stride + x + shot
