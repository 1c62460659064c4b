"""Kernels compiled to the instructions of a card, side by side, and kept on disk.

The key of a kept kernel names all that goes into it: the text of every module that can take part,
the kernel's constants, its argument types, the card's architecture and the compilers. A
scenario that ran before therefore starts without compiling, and a changed formula never meets old
code. Argument types are names: a kept kernel is loaded without Numba, which is slow to import. To
compile, names become Numba's types.

A formula becomes PTX by Numba, in several processes (`compile_server`) or, if it is little, in this
process. nvJitLink translates PTX into the card's instructions. The driver does the same when a
kernel is loaded, but sequentially, and only where there is a card. Where the library is missing, or
cannot read the PTX, kernels are kept as PTX and left to the driver.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from seismo.backends import machine
from seismo.backends.gpu.compile_server import compile_server
from seismo.backends.kernel_cache import cache_file_name, kernel_cache, source_digest


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

    # Numba decides between its UniTuple, of equal types, and its Tuple.
    if isinstance(kind, tuple):
        return types.Tuple([numba_type(member) for member in kind])
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


@cache
def assembler_version() -> str:
    """Return the version of the library, "" where there is none that works."""
    try:
        return ".".join(map(str, _library().version()))
    except Exception:  # whatever the bindings say of a library that is not there
        return ""


class Registers(NamedTuple):
    """What a thread of a kernel holds.

    Attributes:
        used: registers.
        spilled: bytes that are stored in memory for want of registers.
    """

    used: int
    spilled: int


def assemble(ptx: str, capability: tuple[int, int]) -> bytes:
    """Return the code of a card, such as (9, 0), for PTX; raises the library's errors."""
    return _linked(ptx, capability)[0]


def registers(ptx: str, capability: tuple[int, int]) -> Registers:
    """Return the registers that PTX takes on a card; raises the library's errors."""
    _, log = _linked(ptx, capability, "-verbose", "-Xptxas=-v")
    # "ptxas info : Used 48 registers", and "8 bytes spill stores, 8 bytes spill loads".
    used = re.search(r"Used (\d+) registers", log)
    spilled = re.search(r"(\d+) bytes spill stores", log)
    return Registers(int(used[1]) if used else 0, int(spilled[1]) if spilled else 0)


def _linked(ptx: str, capability: tuple[int, int], *options: str) -> tuple[bytes, str]:
    """Return the code of a card for PTX, and the assembler's messages."""
    library = _library()
    text = ptx.encode()
    # nvJitLink with a single PTX input returns the cubin of a single architecture.
    wanted = ["-arch=sm_{}{}".format(*capability), *options]
    handle = library.create(len(wanted), wanted)
    try:
        library.add_data(handle, library.InputType.PTX, text, len(text), "kernel")
        library.complete(handle)
        code = bytearray(library.get_linked_cubin_size(handle))
        library.get_linked_cubin(handle, code)
        log = bytearray(library.get_info_log_size(handle) if options else 0)
        if log:
            library.get_info_log(handle, log)
    finally:
        library.destroy(handle)
    return bytes(code), log.decode(errors="replace")


def _library() -> Any:
    from cuda.bindings import nvjitlink

    return nvjitlink


_COMPILE_LOCK = threading.Lock()  # cards of a process want the same kernels
ALONE = 1  # kernels that this process compiles itself: asking for them takes as long


class CompiledKernel(Protocol):
    """What a kernel is made of; it can be pickled, and its text names it."""

    def write(self, tools: Tools) -> Any:
        """Write the Python function, with a card's `lanes` and `device_function`."""


@dataclass(frozen=True)
class CompileRequest:
    """A kernel to compile.

    Attributes:
        kernel: its definition.
        signature: types of its arguments.
        bounds: threads of a block and blocks of a multiprocessor, or None.
        fastmath: whether sums may be reordered and fused.
        capability: of the card, such as (9, 0).
    """

    kernel: CompiledKernel
    signature: tuple[ArgumentType, ...]
    bounds: tuple[int, int] | None
    fastmath: bool
    capability: tuple[int, int]

    @property
    def name(self) -> str:
        """Name of the file that its code is kept in."""
        # Everything that can change the code is part of the key.
        text = "\n".join(
            (source_digest(), str(self.kernel), str(self.signature), str(self.bounds),
             str(self.fastmath), str(self.capability), *_versions())
        )  # fmt: skip
        return cache_file_name(text, "cubin" if assembler_version() else "ptx")


class WantedKernels:
    """Kernels that launches were bound to, and that nobody has loaded yet."""

    def __init__(self) -> None:
        self._wanted: list[CompileRequest] = []
        self._postponed: list[CompileRequest] = []

    def add(self, *requests: CompileRequest) -> None:
        """Add requests."""
        self._wanted += requests

    def postpone(self, names: Collection[str]) -> None:
        """Postpone the kernels of these names until `want_all`."""
        self._postponed += [request for request in self._wanted if request.name in names]
        self._wanted = [request for request in self._wanted if request.name not in names]

    def want_all(self) -> None:
        """Add the postponed requests."""
        self._wanted += self._postponed
        self._postponed = []

    def take(self) -> list[CompileRequest]:
        """Return the wanted ones; whoever asks sees to them."""
        wanted = self._wanted
        self._wanted = []
        return wanted


@cache
def _versions() -> tuple[str, str, str]:
    return version("numba-cuda"), version("numba"), assembler_version()


class Tools:
    """What kernels are written with: lanes, and plain functions that they can call."""

    def lanes(self, precision: str, narrow: bool = False) -> Any:
        """Return the lanes of a precision, or the narrower ones of 16-bit fields."""
        from seismo.backends.gpu.sweeps.lanes import cuda_lanes

        return cuda_lanes(precision, narrow)

    def device_function(self, body: Any) -> Any:
        """Let kernels call a plain function."""
        from numba import cuda

        return cuda.jit(device=True)(body)


class KernelCode(NamedTuple):
    """What a card loads: the name of the kernel's entry, and its code, or PTX for the driver."""

    entry: str
    code: bytes


def load_or_compile(requests: list[CompileRequest]) -> dict[str, KernelCode]:
    """Compile kernels that are not kept yet; return the code of all by file name."""
    with _COMPILE_LOCK:
        # Load what is on disk; compile the rest, in the server's forks or here.
        requests_by_name = {request.name: request for request in requests}
        code_by_name = {name: kernel_cache().load(name) for name in requests_by_name}
        missing = {name: requests_by_name[name] for name, data in code_by_name.items() if not data}
        compile_elsewhere(missing)
        # What the server has not stored is compiled here, and raises here.
        for name, request in missing.items():
            code_by_name[name] = kernel_cache().load(name) or compile_and_store(name, request)
        if missing:
            kernel_cache().evict()
        return {name: _unpacked(data) for name, data in code_by_name.items() if data}


def compile_elsewhere(missing: dict[str, CompileRequest]) -> None:
    """Let the server compile and store kernels that are worth it; failures are ignored."""
    # One kernel is compiled here as fast as it could be asked for.
    if len(missing) > ALONE and machine.cores() > 1:
        compile_server().compile(str(kernel_cache().folder), missing)


def compile_and_store(name: str, request: CompileRequest) -> bytes:
    """Compile a kernel; keep the line of its entry's name, and its code behind it, as a file."""
    ptx = compile_ptx(request)
    # Numba mangles the entry's name: read it from the PTX.
    entry = re.search(r"\.visible \.entry (\S+?)\(", ptx)
    assert entry is not None
    data = entry.group(1).encode() + b"\n" + _assembled(ptx, request.capability)
    kernel_cache().store(name, data)
    return data


def _unpacked(data: bytes) -> KernelCode:
    # First line the entry, the rest code.
    entry, code = data.split(b"\n", 1)
    return KernelCode(entry.decode(), code)


def _assembled(ptx: str, capability: tuple[int, int]) -> bytes:
    """Return the card's code, or the PTX where the library cannot read Numba's PTX."""
    if assembler_version():
        with contextlib.suppress(Exception):  # the driver may be able to, or says why not
            return assemble(ptx, capability)
    return ptx.encode()


def without_card(capability: tuple[int, int]) -> None:
    """Let this process compile for a card that it does not have."""
    # Numba asks the current device for its capability: answer in its place.
    from numba.cuda import dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)


def compile_ptx(request: CompileRequest) -> str:
    """Compile a kernel to PTX."""
    from numba import cuda
    from numba.cuda import types

    # abi="numba" keeps the argument layout that `arguments.words` writes.
    signature = types.void(*map(numba_type, request.signature))
    code, _ = cuda.compile(
        request.kernel.write(Tools()), signature, device=False, abi="numba", cc=request.capability,
        fastmath=request.fastmath, launch_bounds=request.bounds, output="ptx",
    )  # fmt: skip
    return code if isinstance(code, str) else code.decode()
