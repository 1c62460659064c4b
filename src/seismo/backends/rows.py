"""Rows of one length in a flat array, such as the halo of a field."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Rows of one length in a flat array.

    Attributes:
        start: index of the first number.
        counts: rows along shot, z, y.
        strides: distance of neighbours along these.
        length: numbers of each row.
    """

    start: int
    counts: tuple[int, int, int]
    strides: tuple[int, int, int]
    length: int

    @property
    def starts(self) -> np.ndarray:
        """Where each of them begins."""
        # Index of each row: start + sum over (shot, z, y) of index * stride.
        return self.start + np.tensordot(self.strides, np.indices(self.counts), 1).ravel()

    @property
    def joined(self) -> Rows:
        """Neighbours along y as one row, with what stands between."""
        # One row from the first number of the first row to the last of the last.
        shots, nz, ny = self.counts
        length = (ny - 1) * self.strides[2] + self.length
        return Rows(self.start, (shots, nz, 1), self.strides, length)

    def of(self, array: np.ndarray) -> np.ndarray:
        """Look at them in an array, as (shot, z, y, x)."""
        # A strided view in bytes, no copy.
        shape = (*self.counts, self.length)
        steps = (*self.strides, 1)
        strides = tuple(n * array.itemsize for n in steps)
        return np.lib.stride_tricks.as_strided(array[self.start :], shape, strides)
