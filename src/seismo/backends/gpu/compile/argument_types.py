"""Types of kernels' arguments, by names, which take part in the key of a kept kernel.

A kernel that is kept is loaded without Numba, which takes half a second to import; where one has to
be compiled, names become Numba's types.
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
