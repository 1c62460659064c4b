"""Map a rank's arrays to global indices: a checkpoint can be read on another decomposition.

A `GlobalBlock` views a flat array of one rank as a block with several axes, and lists the global
indices of each axis in an array that all ranks know by its name. Where two blocks of one global
array overlap, their numbers are the same; that holds in halos too, which are copies::

    global array   0 1 2 3 4 5 6 7 8 9
    rank 0         0 1 2 3 4 5              index ((0, 6),), halo 4 5
    rank 1                 4 5 6 7 8 9      index ((4, 10),), halo 4 5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

IndexRanges = tuple[tuple[int, int], ...]  # ranges of indices, first and behind the last


@dataclass(frozen=True)
class GlobalBlock:
    """A block of a flat array, and its indices in a global array.

    Attributes:
        array_name: name of the global array.
        first: index of the block's first number in the flat array.
        strides: distance of neighbours along each axis of the block.
        index: global indices along each axis.
    """

    array_name: str
    first: int
    strides: tuple[int, ...]
    index: tuple[IndexRanges, ...]

    @staticmethod
    def read(entry: Mapping[str, Any]) -> GlobalBlock:
        """Return the block of a checkpoint's JSON entry."""
        ranges = tuple(tuple((a, b) for a, b in axis) for axis in entry["index"])
        return GlobalBlock(entry["array_name"], entry["first"], tuple(entry["strides"]), ranges)

    def block(self, flat: np.ndarray) -> np.ndarray:
        """Return a view of the block in a flat array.

        Raises:
            ValueError: the block exceeds the array.
        """
        # Bounds of the strided view: the last element addressed lies at first + sum (n - 1) stride.
        shape = [sum(b - a for a, b in ranges) for ranges in self.index]
        last = self.first + sum((n - 1) * k for n, k in zip(shape, self.strides, strict=True))
        if min(self.first, *shape, *self.strides) < 0 or (all(shape) and last >= flat.size):
            raise ValueError(
                f"a block of {self.array_name} ends at {last}, its array at {flat.size}"
            )
        # as_strided takes strides in bytes.
        steps = [n * flat.itemsize for n in self.strides]
        return np.lib.stride_tricks.as_strided(flat[self.first :], shape, steps)

    def common(self, other: GlobalBlock) -> tuple[tuple, tuple] | None:
        """Return the positions of common numbers in the block of each, None without any."""
        if self.array_name != other.array_name:
            return None
        # Blocks overlap where their indices do along every axis: the product of the axes' overlaps.
        pairs = [_common(*ranges) for ranges in zip(self.index, other.index, strict=True)]
        if not all(own_index.size for own_index, _ in pairs):
            return None
        own_index, other_index = zip(*pairs, strict=True)
        return np.ix_(*own_index), np.ix_(*other_index)


class CheckpointArray(NamedTuple):
    """An array that the next step needs, and the blocks of global arrays in it.

    Attributes:
        array: the numbers.
        blocks: what it holds for all; a halo is no part of them, as steps exchange only what they
            read in halos, and leave the rest as it was.
        halos: the same blocks with their halos, which are filled too; None where there are none.
    """

    array: Any
    blocks: list[GlobalBlock]
    halos: list[GlobalBlock] | None = None

    @property
    def filled(self) -> list[GlobalBlock]:
        """The blocks that are filled from a checkpoint."""
        return self.blocks if self.halos is None else self.halos

    def renamed(self, prefix: str) -> CheckpointArray:
        """Return the same with a prefix to the names of the global arrays."""
        blocks, halos = (
            some and [replace(one, array_name=prefix + one.array_name) for one in some]
            for some in (self.blocks, self.halos)
        )
        return CheckpointArray(self.array, blocks or [], halos)


def index_range(first: int, last: int) -> IndexRanges:
    """Return the indices first <= n < last."""
    return ((first, last),)


def intersection(one: range, other: range) -> range:
    """Return the numbers common to two ranges."""
    first = max(one.start, other.start)
    return range(first, max(first, min(one.stop, other.stop)))


def index_ranges(numbers: Iterable[int]) -> IndexRanges:
    """Return ascending indices as ranges of consecutive ones."""
    indices = np.fromiter(numbers, np.int64)
    if not indices.size:
        return ((0, 0),)
    # Consecutive indices differ by 1; each other difference begins a new range.
    cuts = [0, *(np.flatnonzero(np.diff(indices) != 1) + 1).tolist(), indices.size]
    return tuple((int(indices[a]), int(indices[b - 1]) + 1) for a, b in pairwise(cuts))


def _common(own_ranges: IndexRanges, other_ranges: IndexRanges) -> tuple[np.ndarray, np.ndarray]:
    # Expand the ranges to indices, and find the position of each common index in both lists.
    own_index = np.concatenate([np.arange(a, b) for a, b in own_ranges])
    other_index = np.concatenate([np.arange(a, b) for a, b in other_ranges])
    _, own_position, other_position = np.intersect1d(
        own_index, other_index, assume_unique=True, return_indices=True
    )
    return own_position, other_position
