"""Arguments of Numba's kernels: their types, their arrays, and the words that a launch hands over.

Types are names, which take part in the key of a kept kernel: one that is kept is loaded without
Numba, which takes half a second to import. To compile, names become Numba's types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ArrayType:
    """An array in C order: the name of its numbers' type, and its dimensions."""

    number: str
    dimensions: int


ArgumentType = str | ArrayType | tuple["ArgumentType", ...]


def types_of(arguments: tuple, addresses: bool, array_class: type[Any]) -> tuple[ArgumentType, ...]:
    """Return the types of arguments.

    Args:
        arguments: numbers, arrays, and tuples of arguments.
        addresses: whether arrays are handed over as addresses.
        array_class: of arrays.
    """

    def type_of(argument: Any) -> ArgumentType:
        if isinstance(argument, tuple):
            return types_of(argument, addresses, array_class)
        # A Python number has the type of the NumPy number that a launch makes of it (`words`).
        if not isinstance(argument, array_class):
            return np.asarray(argument).dtype.name
        return "uint64" if addresses else ArrayType(argument.dtype.name, argument.ndim)

    return tuple(map(type_of, arguments))


def numba_type(kind: ArgumentType) -> Any:
    """Return Numba's type."""
    from numba.cuda import types
    from numba.np.numpy_support import from_dtype

    # Tuples of one type are Numba's UniTuple, others its Tuple: it decides.
    if isinstance(kind, tuple):
        return types.Tuple([numba_type(one) for one in kind])
    if isinstance(kind, ArrayType):
        return types.Array(from_dtype(np.dtype(kind.number)), kind.dimensions, "C")
    return from_dtype(np.dtype(kind))


def arrays(argument: Any, array_class: type[Any]) -> list:
    """List the arrays of an argument, which may be a tuple of arguments."""
    if isinstance(argument, tuple):
        return [array for a in argument for array in arrays(a, array_class)]
    return [argument] if isinstance(argument, array_class) else []


def words(argument: Any, addresses: bool, array_class: type[Any]) -> list:
    """Lay an argument out as Numba's kernels expect it; see `types_of`."""
    if isinstance(argument, tuple):
        return [w for a in argument for w in words(a, addresses, array_class)]
    if not isinstance(argument, array_class):
        return [np.asarray(argument)[()]]
    # Numba's array argument: meminfo and parent (0), size, item size, data pointer, shape, strides.
    address = np.uint64(argument.data.ptr)
    # Traced kernels take plain addresses.
    if addresses:
        return [address]
    numbers = (argument.size, argument.itemsize)
    layout = (*argument.shape, *argument.strides)
    return [np.uint64(0), np.uint64(0), *map(np.int64, numbers), address, *map(np.int64, layout)]
