"""C functions ``void(first, last, parameters, step)``: all the work of the CPU, kept on disk.

Each does its items first <= n < last in one step: the tiles of a sweep, or every n of a body of
`seismo.backends.kernels`. `parameters` is an address where what it needs is laid out: for a sweep
as `tiles` says, for a body its arguments one after the other (`argument_words`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.extending import intrinsic

from seismo.backends.base import Variant
from seismo.backends.code.source_hash import function_name, source_digest
from seismo.backends.cpu.object_code import address_of, typed, written
from seismo.backends.cpu.tiles import TileCode
from seismo.backends.cpu.vector_code import vector_lanes
from seismo.equations.framework.formula import Formula

OPTIONS: Any = {"fastmath": True, "error_model": "numpy", "nogil": True, "_nrt": False}
_WORD = ir.IntType(64)
_array_kinds: dict[tuple, types.Type] = {}


@lru_cache
def sweep_function(formula: Formula, variant: Variant, precision: str, width: int) -> int:
    """Compile the loops over tiles for one formula in one variant; give the address.

    `width` is that of the surface weights, 0 where none is read.
    """
    # Code depends on shapes of tables through `width` and the counts of scalars alone.
    code = TileCode(vector_lanes(precision), formula, variant, width)
    name = f"{source_digest()} {formula} {variant} {precision} {width}"
    return address_of(name, written(code))


def body_function(body: Callable, rows: bool, arguments: tuple, clock: np.ndarray) -> int:
    """Compile the loop over n of ``body(n, *arguments)``; give the address.

    With `rows` it is ``body(n, 0, length, *rest)``, of which the length is the first argument.
    """
    # Types of the arguments, and which one is the step counter, select the code.
    kinds = tuple(_kind(a) for a in arguments)
    return _body_function(body, rows, kinds, tuple(a is clock for a in arguments))


def _kind(argument: Any) -> types.Type:
    """Return the type of an argument; that of arrays alike is found once."""
    if not isinstance(argument, np.ndarray):
        return typeof(argument)
    key = argument.dtype, argument.ndim, argument.flags.num
    if key not in _array_kinds:
        _array_kinds[key] = typeof(argument)
    return _array_kinds[key]


@lru_cache
def _body_function(body: Callable, rows: bool, kinds: tuple, clocks: tuple[bool, ...]) -> int:
    # Numba compiles the body once as a function, which both loops inline.
    item: Any = njit(**OPTIONS)(body)
    arguments_at = argument_reader(kinds, clocks)
    if rows:

        def loop(first, last, parameters, step):
            arguments = arguments_at(parameters, step)
            for n in range(first, last):
                item(n, 0, *arguments)
    else:

        def loop(first, last, parameters, step):
            arguments = arguments_at(parameters, step)
            for n in range(first, last):
                item(n, *arguments)

    name = f"{function_name(body)} {rows} {kinds} {clocks}"
    return address_of(name, typed(loop, **OPTIONS))


def argument_words(arguments: tuple) -> np.ndarray:
    """Lay arguments out in words: of an array its address, shape and strides; numbers as they are.

    Whoever calls with the address of these words has to hold on to the arguments too.
    """
    # Array: address, shape, strides, one word each. Scalar: its bits in the first bytes of a word.
    words: list[np.ndarray] = []
    for a in arguments:
        if isinstance(a, np.ndarray):
            words.append(np.array([a.ctypes.data, *a.shape, *a.strides], np.int64))
        else:
            word = np.zeros(1, np.int64)
            word.view(np.asarray(a).dtype)[0] = a
            words.append(word)
    return np.concatenate(words)


def argument_reader(kinds: tuple, clocks: tuple[bool, ...]) -> Any:
    """Make an intrinsic (parameters, step) -> arguments; for the clock it makes one of the step."""

    @intrinsic
    def arguments_at(context, parameters, step):
        def generate(context, builder, signature, args):
            words = builder.inttoptr(args[0], _WORD.as_pointer())
            # The step is passed by value; a body reads clock[0], here a word on the stack.
            step_word = builder.alloca(_WORD)
            builder.store(args[1], step_word)
            arguments = []
            at = 0
            for kind, is_clock in zip(kinds, clocks, strict=True):
                # Words of one argument: 1 + 2 ndim of an array, 1 of a number.
                count = 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
                pointers = [builder.gep(words, [_WORD(at + k)]) for k in range(count)]
                at += count
                if isinstance(kind, types.Array):
                    numbers = [builder.load(p) for p in pointers]
                    # The clock's address is replaced by that of the word.
                    if is_clock:
                        numbers[0] = builder.ptrtoint(step_word, _WORD)
                    arguments.append(_array(context, builder, kind, numbers))
                else:
                    number = context.get_value_type(kind).as_pointer()
                    arguments.append(builder.load(builder.bitcast(pointers[0], number)))
            return context.make_tuple(builder, signature.return_type, arguments)

        return types.Tuple(kinds)(types.uint64, types.int64), generate

    return arguments_at


def _array(context, builder, kind: types.Array, numbers: list):
    # Imported where code is compiled: half a second that code kept on disk does without.
    from numba.np.arrayobj import make_array, populate_array

    # Numba's array structure from address, shape and strides; no parent object to count references.
    array = make_array(kind)(context, builder)
    number = context.get_data_type(kind.dtype)
    populate_array(
        array, builder.inttoptr(numbers[0], number.as_pointer()), numbers[1 : 1 + kind.ndim],
        numbers[1 + kind.ndim :], context.get_abi_sizeof(number), None,
    )  # fmt: skip
    return array._getvalue()
