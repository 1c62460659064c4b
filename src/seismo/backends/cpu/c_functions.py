"""C functions ``void(first, last, parameters, step)``: all the work of the CPU, kept on disk.

Each does its items first <= n < last in a step: the tiles of a sweep, or every n of a body
(`seismo.backends.point_kernels`, `row_kernels`). `parameters` is the address of their arguments:
for a sweep laid out as in `tiles`, for a body in order (`argument_words`).

A function is compiled in either of two ways: it writes its own LLVM code (`written`), or Numba
infers its types (`typed`). Either takes ``void(int64, int64, uint64, int64)``. Numba's own cache
ignores a function's closure, its files have no checksum, and it loads all of Numba's typing before
the first function: half a second. Here the key is a name, the text of every module that can take
part, the processor, and the versions of the compilers; each key has a file of its own, and a
function that was compiled once is loaded without a compiler.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import (
    ModuleRef,
    TargetMachine,
    create_new_module_pass_manager,
    create_pass_builder,
    create_pipeline_tuning_options,
    parse_assembly,
)
from numba import njit, typeof, types
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import intrinsic

from seismo.backends.base import Variant
from seismo.backends.cpu.tiles import TileCode, vector_lanes
from seismo.backends.kernel_cache import (
    body_digest,
    cache_file_name,
    function_name,
    kernel_cache,
    source_digest,
)
from seismo.backends.traced import INTEGER, IRValue
from seismo.equations.framework.formula import Formula

SIGNATURE = ((types.int64, types.int64, types.uint64, types.int64), types.void)

_libraries: list[JITCodeLibrary] = []  # their code lives as long as they do


class Compiled(NamedTuple):
    """A C function.

    Attributes:
        library: holds its machine code.
        symbol: its name there.
        reload: function and its arguments that make the same in another process.
    """

    library: JITCodeLibrary
    symbol: str
    reload: tuple


Compile = Callable[[JITCPUCodegen, str], Compiled]  # with a code generator, under a name


@global_compiler_lock
def address_of(name: str, compiled: Compile) -> int:
    """Return the address of a function: loaded where it is kept, else compiled and kept.

    Args:
        name: of the function with all its options, and whatever is not in `seismo.backends`.
        compiled: compiles it.
    """
    codegen = cpu_target.target_context.codegen()
    key = f"{body_digest()} {name} {_versions()} {codegen.magic_tuple()}"
    file_name = cache_file_name(key, "obj")
    if data := kernel_cache().load(file_name):
        reload, *state = pickle.loads(data)
        function = reload(*state)
    else:
        function = compiled(codegen, f"seismo_{file_name.removesuffix('.obj')}")
        # Code with addresses of this process in it would be wrong in another.
        if not function.library.has_dynamic_globals:
            kernel_cache().store(file_name, dumps(function.reload))
            kernel_cache().evict()
    # Keep a reference: the machine code is freed with the library.
    _libraries.append(function.library)
    return function.library.get_pointer_to_function(function.symbol)


@cache
def _versions() -> tuple[str, ...]:
    compilers = (version(name) for name in ("numba", "llvmlite", "numpy"))
    return platform.python_version(), *compilers


def written(write: Callable[[IRValue, IRValue, IRValue, IRValue], None]) -> Compile:
    """Return the compiler of a function that writes its own code from its four arguments."""

    def compiled(codegen: JITCPUCodegen, name: str) -> Compiled:
        module = codegen._create_empty_module(name)
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [INTEGER] * 4), name)
        builder = ir.IRBuilder(function.append_basic_block())
        write(*(IRValue(builder, argument) for argument in function.args))
        builder.ret_void()
        machine = codegen._tm
        code = _rotated(str(module), machine)
        state = name, "object", (machine.emit_object(code), code.as_bitcode())
        return _load_written(state)

    return compiled


def _rotated(text: str, machine: TargetMachine) -> ModuleRef:
    """Return a module whose loops end in the branch back to their start.

    It is written in vectors and loops as they shall run: other passes find no more in it, and take
    a fifth of the time of compiling.
    """
    code = parse_assembly(text)
    passes = create_new_module_pass_manager()
    passes.add_loop_rotate_pass()
    passes.run(code, create_pass_builder(machine, create_pipeline_tuning_options()))
    return code


def _load_written(state: tuple) -> Compiled:
    library = cpu_target.target_context.codegen().unserialize_library(state)
    return Compiled(library, library.name, (_load_written, state))


def typed(function: Callable, **options: Any) -> Compile:
    """Return the compiler of a Python function of four integers, by type inference."""

    def compiled(codegen: JITCPUCodegen, name: str) -> Compiled:
        c_function: Any = CFunc(function, SIGNATURE, {}, options)
        result = c_function._compile_uncached()
        return _c_function(result, (_load_typed, *result._reduce()))

    return compiled


def _load_typed(*state: Any) -> Compiled:
    # Numba refreshes its registers of types before it loads; only compiling needs them. What is
    # loaded needs its runtime, as parallel loops allocate their schedule.
    rtsys.initialize(cpu_target.target_context)
    return _c_function(CompileResult._rebuild(cpu_target.target_context, *state), ())


def _c_function(result: Any, reload: tuple) -> Compiled:
    return Compiled(result.library, result.fndesc.llvm_cfunc_wrapper_name, reload)


OPTIONS: Any = {"fastmath": True, "error_model": "numpy", "nogil": True, "_nrt": False}
_WORD = ir.IntType(64)
_array_kinds: dict[tuple, types.Type] = {}


@lru_cache
def sweep_function(formula: Formula, variant: Variant, precision: str, width: int) -> int:
    """Compile the loops over tiles for a variant of a formula; return the address.

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
    # The arguments' types, and which is the step counter, select the code.
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
    # Array: address, shape, strides, a word each. Scalar: its bits in the first bytes of a word.
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
    """Make an intrinsic (parameters, step) -> arguments; the clock's argument is the step."""

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
                # Words of an argument: 1 + 2 ndim of an array, 1 of a number.
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
