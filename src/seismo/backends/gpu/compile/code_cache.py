"""Kernels compiled to the instructions of a card, side by side, and kept on disk.

The key of a kept kernel names all that goes into it: the text of every module that can take part,
what the kernel has built in, its argument types, the card's architecture and the compilers. A
scenario that ran before therefore starts without compiling, and a changed formula never meets old
code.

A formula becomes PTX by Numba, and PTX the card's instructions by `assembler`, in several processes
(`compile_server`) or, where it is little, in this one.
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

from seismo.backends import machine
from seismo.backends.gpu.compile import assembler
from seismo.backends.gpu.compile.arguments import ArgumentType, numba_type
from seismo.backends.gpu.compile.compile_server import compile_server
from seismo.backends.kernel_cache import cache_file_name, kernel_cache, source_digest

_COMPILE_LOCK = threading.Lock()  # cards of one process want the same kernels
ALONE = 1  # kernels that this process compiles itself: asking for them takes as long


class CompiledKernel(Protocol):
    """What a kernel is made of; it can be pickled, and its text names it."""

    def write(self, tools: Tools) -> Any:
        """Write the Python function, with a card's `lanes` and `device_function`."""


@dataclass(frozen=True)
class CompileRequest:
    """A kernel to compile.

    Attributes:
        kernel: what it is made of.
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
        return cache_file_name(text, "cubin" if assembler.version() else "ptx")


class WantedKernels:
    """Kernels that launches were bound to, and that nobody has loaded yet."""

    def __init__(self) -> None:
        self._wanted: list[CompileRequest] = []
        self._postponed: list[CompileRequest] = []

    def add(self, *requests: CompileRequest) -> None:
        """Note some more."""
        self._wanted += requests

    def postpone(self, names: Collection[str]) -> None:
        """Put kernels of some names off until `want_all`."""
        self._postponed += [one for one in self._wanted if one.name in names]
        self._wanted = [one for one in self._wanted if one.name not in names]

    def want_all(self) -> None:
        """Want what was postponed, too."""
        self._wanted += self._postponed
        self._postponed = []

    def take(self) -> list[CompileRequest]:
        """Return the wanted ones; whoever asks sees to them."""
        wanted = self._wanted
        self._wanted = []
        return wanted


@cache
def _versions() -> tuple[str, str, str]:
    return version("numba-cuda"), version("numba"), assembler.version()


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
    """Compile what is not kept yet; return the code of all by the names of their files."""
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
    """Let the server compile and store kernels that are worth it; what fails is left undone."""
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
    """Return the card's code, or the PTX where the library cannot read what Numba wrote."""
    if assembler.version():
        with contextlib.suppress(Exception):  # the driver may be able to, or says why not
            return assembler.assemble(ptx, capability)
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
