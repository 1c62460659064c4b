"""Arguments of Numba's kernels: their types, and the words that a launch hands over for them."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from numba.cuda import types as cuda_types
from numba.np.numpy_support import from_dtype

types: Any = cuda_types


def arrays(argument: Any) -> list:
    """List the arrays of an argument, which may be a tuple of arguments."""
    if isinstance(argument, tuple):
        return [array for a in argument for array in arrays(a)]
    return [argument] if isinstance(argument, cupy.ndarray) else []


def type_of(argument: Any, addresses: bool) -> Any:
    """Return the type a kernel takes; `addresses` tells whether arrays are handed over as such."""
    if isinstance(argument, tuple):
        return types.Tuple([type_of(a, addresses) for a in argument])
    if isinstance(argument, cupy.ndarray):
        number = from_dtype(argument.dtype)
        return types.uint64 if addresses else types.Array(number, argument.ndim, "C")
    return from_dtype(np.asarray(argument).dtype)


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
