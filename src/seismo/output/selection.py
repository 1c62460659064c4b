"""Parts of stored arrays, as NumPy gives them of arrays in memory.

HDF5 takes steps ahead only, and places in increasing order, one list of them at most. What else
NumPy takes is read as the smallest box around it, of which NumPy takes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Read = Callable[[Any], np.ndarray]


def select(read: Read, shape: tuple[int, ...], index: Any) -> np.ndarray:
    """Return ``array[index]`` of an array of this shape, of which parts are read.

    Args:
        read: gives the part of whole numbers and slices ahead.
        shape: of the array.
        index: what NumPy would take of such an array.
    """
    given = index if isinstance(index, tuple) else (index,)
    count = sum(one is not ... for one in given)
    apart = count == len(shape) < len(given)  # an ellipsis of no axes still sets lists apart
    if apart or any(
        one is None or isinstance(one, bool | np.bool_) or _dimensions(one) > 1 for one in given
    ):
        return read(...)[index]
    if all(one is ... or isinstance(one, int) or _is_ahead(one) for one in given):
        return read(index)
    rest = [slice(None)] * (len(shape) - count)
    at = next((k for k, one in enumerate(given) if one is ...), len(given))
    each = [*given[:at], *rest, *given[at + 1 :]]
    box, within = zip(*map(_along, each, shape), strict=True)
    return read(box)[within]


def _is_ahead(one: Any) -> bool:
    return isinstance(one, slice) and (one.step is None or one.step > 0)


def _dimensions(one: Any) -> int:
    return 0 if one is ... or isinstance(one, slice) else np.ndim(one)


def _along(one: Any, count: int) -> tuple[slice, Any]:
    """Return what is read along an axis, and what is taken of that."""
    if _is_ahead(one):
        return one, slice(None)
    if isinstance(one, slice):
        ahead = range(count)[one][::-1] or range(0)
        return slice(ahead.start, ahead.stop, ahead.step), slice(None, None, -1)
    places = np.asarray(one)
    places = np.flatnonzero(places) if places.dtype == bool else places.astype(int) % max(count, 1)
    low = int(places.min(initial=count))
    high = int(places.max(initial=-1))
    return slice(low, high + 1), places - low if places.ndim else 0
