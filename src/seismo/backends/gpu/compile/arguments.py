"""Arguments of Numba's kernels: their arrays, and the words that a launch hands over for them."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np


def arrays(argument: Any) -> list:
    """List the arrays of an argument, which may be a tuple of arguments."""
    if isinstance(argument, tuple):
        return [array for a in argument for array in arrays(a)]
    return [argument] if isinstance(argument, cupy.ndarray) else []


def words(argument: Any, addresses: bool) -> list:
    """Lay an argument out as Numba's kernels expect it."""
    if isinstance(argument, tuple):
        return [w for a in argument for w in words(a, addresses)]
    if not isinstance(argument, cupy.ndarray):
        return [np.asarray(argument)[()]]
    # Numba's array argument: meminfo and parent (0), size, item size, data pointer, shape, strides.
    address = np.uint64(argument.data.ptr)
    # Traced kernels take plain addresses.
    if addresses:
        return [address]
    numbers = (argument.size, argument.itemsize)
    layout = (*argument.shape, *argument.strides)
    return [np.uint64(0), np.uint64(0), *map(np.int64, numbers), address, *map(np.int64, layout)]
