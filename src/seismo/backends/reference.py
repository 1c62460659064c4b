"""The NumPy backend: the same formulas on index arrays, slow and plain, to test the others by."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from seismo.backends.base import FIRST_SPAN, SPAN_COLUMNS, SweepTables, Variant
from seismo.operators import Place


def _store(target, index, value, mask):
    target[index] = value


@lru_cache
def _lanes(precision: str) -> type:
    class Lanes:
        jit = staticmethod(lambda f: f)
        load = staticmethod(lambda f, i: f[i])
        store = staticmethod(_store)
        fetch = staticmethod(lambda f, i: None)
        index = int
        number = np.dtype(precision).type

    return Lanes


class ReferenceBackend:
    """Formulas on NumPy index arrays: one "lane" holds all points of a row."""

    name = "reference"
    lane_width = 1

    def __init__(self, precision: str = "float32") -> None:
        self.precision = precision
        self.lanes = _lanes(precision)

    def zeros(self, size: int) -> np.ndarray:
        """Allocate zeros."""
        return np.zeros(size, self.precision)

    def sweep(self, formula, variant: Variant, tables: SweepTables, tiles, memory, arrays, leads):
        """Bind a formula; see `Backend.sweep`."""
        ends, middle = variant.bind(formula, self.lanes)

        def run() -> None:
            for tile in tiles:
                z0, z1, y0, y1 = tile[:4]
                for z, y, span in product(range(z0, z1), range(y0, y1), range(3)):
                    place, i = _place(tables, tile, memory, z, y, span)
                    (middle if span == 1 else ends)(i, place, *arrays)

        return run


def _place(
    tables: SweepTables, tile, memory, z: int, y: int, span: int
) -> tuple[Place, np.ndarray]:
    first = FIRST_SPAN + span * SPAN_COLUMNS
    shot = int(tile[4])
    x0, x1, base, memory_y, memory_z, slot = (int(n) for n in tile[first : first + SPAN_COLUMNS])
    x = np.arange(x0, x1)
    y_stride, z_stride = (int(s) for s in tables.strides)
    row = min(max(z - tables.surface, 0), len(tables.up) - 1)
    px, py, pz = tables.profiles
    place = Place(
        y_stride, z_stride, tables.first, tables.second, None, shot,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        memory_y, x, px.ravel(), px.shape[1], py[:, y], pz[:, z],
        tables.up[row], tables.down[row], (z - tables.surface) * z_stride,
    )  # fmt: skip
    return place, z * z_stride + y * y_stride + x + shot
