"""Which numbers of a whole run an array of one rank holds, so that another cut can take them up.

A *place* looks at a flat array as a block with several axes, and says which indices of a whole that
all ranks know by its name these axes have. Where two places of one whole meet, their numbers are
the same; that is so in halos too, which hold what their neighbours have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

IndexRanges = tuple[tuple[int, int], ...]  # ranges of indices, first and behind the last


@dataclass(frozen=True)
class GlobalBlock:
    """A block of a flat array, and what it is of a whole.

    Attributes:
        whole: name of the whole.
        first: index of the block's first number in the flat array.
        strides: distance of neighbours along each axis of the block.
        index: which indices of the whole each axis has.
    """

    whole: str
    first: int
    strides: tuple[int, ...]
    index: tuple[IndexRanges, ...]

    @staticmethod
    def read(whole: str, first: int, strides: Any, index: Any) -> GlobalBlock:
        """Make it of what JSON holds."""
        runs = tuple(tuple((a, b) for a, b in axis) for axis in index)
        return GlobalBlock(whole, first, tuple(strides), runs)

    def block(self, flat: np.ndarray) -> np.ndarray:
        """Look at the block in an array.

        Raises:
            ValueError: it does not lie in the array.
        """
        shape = [sum(b - a for a, b in runs) for runs in self.index]
        last = self.first + sum((n - 1) * k for n, k in zip(shape, self.strides, strict=True))
        if min(self.first, *shape, *self.strides) < 0 or (all(shape) and last >= flat.size):
            raise ValueError(f"a block of {self.whole} ends at {last}, its array at {flat.size}")
        steps = [n * flat.itemsize for n in self.strides]
        return np.lib.stride_tricks.as_strided(flat[self.first :], shape, steps)

    def common(self, other: GlobalBlock) -> tuple[tuple, tuple] | None:
        """Return where in the block of each their common numbers are, None if there are none."""
        if self.whole != other.whole:
            return None
        pairs = [_common(*both) for both in zip(self.index, other.index, strict=True)]
        if not all(own.size for own, _ in pairs):
            return None
        own, theirs = zip(*pairs, strict=True)
        return np.ix_(*own), np.ix_(*theirs)


class CheckpointArray(NamedTuple):
    """An array that a step leaves for the next, and what it holds."""

    array: Any
    places: list[GlobalBlock]


def span(first: int, last: int) -> IndexRanges:
    """Return the indices first <= n < last."""
    return ((first, last),)


def both(one: range, other: range) -> range:
    """Return what two ranges have in common."""
    first = max(one.start, other.start)
    return range(first, max(first, min(one.stop, other.stop)))


def runs_of(numbers: Iterable[int]) -> IndexRanges:
    """Put ascending indices together."""
    every = np.fromiter(numbers, np.int64)
    if not every.size:
        return ((0, 0),)
    cuts = [0, *(np.flatnonzero(np.diff(every) != 1) + 1).tolist(), every.size]
    return tuple((int(every[a]), int(every[b - 1]) + 1) for a, b in pairwise(cuts))


def _common(own: IndexRanges, theirs: IndexRanges) -> tuple[np.ndarray, np.ndarray]:
    here, there = (np.concatenate([np.arange(a, b) for a, b in runs]) for runs in (own, theirs))
    _, mine, other = np.intersect1d(here, there, assume_unique=True, return_indices=True)
    return mine, other
