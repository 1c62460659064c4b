"""Parts of stored arrays, as NumPy gives them of arrays in memory.

HDF5 takes steps ahead only, and places in increasing order, one list of them at most. What else
NumPy takes is read as the smallest box around it, of which NumPy takes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ReadFunction = Callable[[Any], np.ndarray]


def select(read: ReadFunction, shape: tuple[int, ...], index: Any) -> np.ndarray:
    """Return ``array[index]`` of an array of this shape, of which parts are read.

    Args:
        read: gives the part of whole numbers and slices ahead.
        shape: of the array.
        index: what NumPy would take of such an array.
    """
    indices = index if isinstance(index, tuple) else (index,)
    count = sum(item is not ... for item in indices)
    splits_lists = (
        count == len(shape) < len(indices)
    )  # an ellipsis of no axes still sets lists apart
    if splits_lists or any(
        item is None or isinstance(item, bool | np.bool_) or _dimensions(item) > 1
        for item in indices
    ):
        return read(...)[index]
    if all(item is ... or isinstance(item, int) or _is_ahead(item) for item in indices):
        return read(index)
    full_slices = [slice(None)] * (len(shape) - count)
    ellipsis = next((k for k, item in enumerate(indices) if item is ...), len(indices))
    expanded = [*indices[:ellipsis], *full_slices, *indices[ellipsis + 1 :]]
    box, inner = zip(*map(_along, expanded, shape), strict=True)
    return read(box)[inner]


def _is_ahead(item: Any) -> bool:
    return isinstance(item, slice) and (item.step is None or item.step > 0)


def _dimensions(item: Any) -> int:
    return 0 if item is ... or isinstance(item, slice) else np.ndim(item)


def _along(item: Any, count: int) -> tuple[slice, Any]:
    """Return what is read along an axis, and what is taken of that."""
    if _is_ahead(item):
        return item, slice(None)
    if isinstance(item, slice):
        forward = range(count)[item][::-1] or range(0)
        return slice(forward.start, forward.stop, forward.step), slice(None, None, -1)
    positions = np.asarray(item)
    positions = (
        np.flatnonzero(positions)
        if positions.dtype == bool
        else positions.astype(int) % max(count, 1)
    )
    low = int(positions.min(initial=count))
    high = int(positions.max(initial=-1))
    return slice(low, high + 1), positions - low if positions.ndim else 0
