"""Object code of C functions, kept on disk: what was compiled once is loaded without a compiler.

A function is compiled in one of two ways: it writes its own LLVM code (`written`), or Numba infers
its types (`typed`). Either takes ``void(int64, int64, uint64, int64)``. Numba's own cache does not
see what a function closes over, its files have no checksum, and it loads all of Numba's typing
before the first function: half a second. Here the key is a name, the text of every module that can
take part, the processor, and the versions of what compiles; each key has a file of its own.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from llvmlite import ir
from llvmlite.binding import (
    ModuleRef,
    TargetMachine,
    create_new_module_pass_manager,
    create_pass_builder,
    create_pipeline_tuning_options,
    parse_assembly,
)
from numba import types
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from seismo.backends.code.kernel_cache import cache_file_name, kernel_cache
from seismo.backends.code.source_hash import body_digest
from seismo.backends.code.traced import INTEGER, IRValue

SIGNATURE = ((types.int64, types.int64, types.uint64, types.int64), types.void)

_libraries: list[JITCodeLibrary] = []  # their code lives as long as they do


class Compiled(NamedTuple):
    """A C function.

    Attributes:
        library: holds its machine code.
        symbol: its name there.
        reload: function, and what it is called with, to have the same in another process.
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
        compiled: what compiles it.
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
    """Return what compiles a function that writes its own code, called with its four arguments."""

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
    """Return what compiles a Python function of four integers by inference of its types."""

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
