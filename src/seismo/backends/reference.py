"""The NumPy backend: the same formulas on index arrays, slow and plain, to test the others by."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from seismo.backends.base import SweepTables, Variant
from seismo.operators import Place, operators


def _store(target, index, value, mask):
    target[index] = value


@lru_cache
def _lanes(precision: str) -> type:
    class Lanes:
        jit = staticmethod(lambda f: f)
        load = staticmethod(lambda f, i: f[i])
        store = staticmethod(_store)
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
        v = variant
        update = formula(
            operators(self.lanes, v.order, v.axes, v.stretched, v.slots, v.closed)
        )

        def run() -> None:
            for tile in tiles:
                z0, z1, y0, y1 = tile[:4]
                for z in range(z0, z1):
                    for y in range(y0, y1):
                        place, i = _place(tables, tile, memory, z, y)
                        update(i, place, *arrays)

        return run


def _place(tables: SweepTables, tile, memory, z: int, y: int) -> tuple[Place, np.ndarray]:
    x = np.arange(tile[4], tile[5])
    y_stride, z_stride = (int(s) for s in tables.strides)
    shot, base, memory_y, memory_z, slot = (int(n) for n in tile[6:11])
    row = min(max(z - tables.surface, 0), len(tables.up) - 1)
    px, py, pz = tables.profiles
    place = Place(
        y_stride, z_stride, tables.first, tables.second, None, shot,
        memory, base + z * memory_z + y * memory_y + x, memory_y, memory_z, slot,
        x, px.ravel(), px.shape[1], py[:, y], pz[:, z],
        tables.up[row], tables.down[row], (z - tables.surface) * z_stride,
    )  # fmt: skip
    return place, z * z_stride + y * y_stride + x + shot
