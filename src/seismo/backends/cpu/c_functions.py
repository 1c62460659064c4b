"""C functions ``void(first, last, parameters, step)``: all the work of the CPU, kept on disk.

Each does its items first <= n < last in one step: the tiles of a sweep, or every n of a body of
`seismo.backends.kernels`. `parameters` is an address where what it needs is laid out: for a sweep
as `tiles` says, for a body its arguments one after the other (`argument_words`).

Numba's own cache key does not see what a function closes over, and its files have no checksum, so
`_FunctionCache` takes the place of its cache: the key is a name, the text of every module that can
take part, the processor, and the versions of what compiles; each key has a file of its own.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from seismo.backends.base import Variant
from seismo.backends.cpu.tiles import TileCode
from seismo.backends.cpu.vector_code import vector_lanes, written
from seismo.backends.kernel_cache import cache_file_name, kernel_cache
from seismo.backends.source_hash import function_name, source_digest
from seismo.equations.formula import Formula

OPTIONS: Any = {"fastmath": True, "error_model": "numpy", "nogil": True}
_SIGNATURE = ((types.int64, types.int64, types.uint64, types.int64), types.void)
_WORD = ir.IntType(64)


class _FunctionCache:
    """What Numba asks for a compiled function, and hands one to: its cache, for one key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def load_overload(self, signature, target_context) -> Any:
        """Return the function that is kept, if it is."""
        # Refresh registers the target's extensions before code that uses them is loaded.
        target_context.refresh()
        data = kernel_cache().load(self._name(target_context.codegen()))
        return data and CompileResult._rebuild(target_context, *pickle.loads(data))  # else None

    def save_overload(self, signature, result: Any) -> None:
        """Keep a function that was compiled, unless addresses of this process are in it."""
        # Code with addresses of this process in it would be wrong in another.
        if not result.library.has_dynamic_globals:
            kernel_cache().store(self._name(result.codegen), dumps(result._reduce()))
            kernel_cache().evict()

    # Key: the text of the package's formulas and kernels, the name with all options, the compilers
    # and the processor.
    def _name(self, codegen) -> str:
        return cache_file_name(f"{self._key} {_versions()} {codegen.magic_tuple()}", "obj")


@cache
def _versions() -> tuple[str, ...]:
    compilers = (version(name) for name in ("numba", "llvmlite", "numpy"))
    return platform.python_version(), *compilers


_functions: list[CFunc] = []  # their code lives as long as they do


def _address_of(function: Callable, name: str) -> int:
    # CFunc has no public argument for a cache: its attribute is replaced.
    compiled: Any = CFunc(function, _SIGNATURE, {}, OPTIONS)
    compiled._cache = _FunctionCache(f"{source_digest()} {name}")
    compiled.compile()
    # Keep a reference: the machine code is freed with the object.
    _functions.append(compiled)
    return compiled.address


@lru_cache
def sweep_function(formula: Formula, variant: Variant, precision: str, width: int) -> int:
    """Compile the loops over tiles for one formula in one variant; give the address.

    `width` is that of the surface weights.
    """
    # Code depends on shapes of tables through `width` and the counts of scalars alone.
    lanes = vector_lanes(precision)
    v = variant
    both = v.bind(formula, lanes)
    numbers = len(formula.numbers)
    code = TileCode(lanes, *both, v.axes, v.order // 2, width, formula.is_short, numbers)
    return _address_of(written(code), f"{formula} {v} {precision} {width}")


def body_function(body: Callable, rows: bool, arguments: tuple, clock: np.ndarray) -> int:
    """Compile the loop over n of ``body(n, *arguments)``; give the address.

    With `rows` it is ``body(n, 0, length, *rest)``, of which the length is the first argument.
    """
    # Types of the arguments, and which one is the step counter, select the code.
    kinds = tuple(typeof(a) for a in arguments)
    return _body_function(body, rows, kinds, tuple(a is clock for a in arguments))


@lru_cache
def _body_function(body: Callable, rows: bool, kinds: tuple, clocks: tuple[bool, ...]) -> int:
    # Numba compiles the body once as a function, which both loops inline.
    item: Any = njit(**OPTIONS)(body)
    arguments_at = _argument_reader(kinds, clocks)
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

    return _address_of(loop, f"{function_name(body)} {rows} {kinds} {clocks}")


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


def _argument_reader(kinds: tuple, clocks: tuple[bool, ...]):
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
    # Numba's array structure from address, shape and strides; no parent object to count references.
    array = make_array(kind)(context, builder)
    number = context.get_data_type(kind.dtype)
    populate_array(
        array, builder.inttoptr(numbers[0], number.as_pointer()), numbers[1 : 1 + kind.ndim],
        numbers[1 + kind.ndim :], context.get_abi_sizeof(number), None,
    )  # fmt: skip
    return array._getvalue()
