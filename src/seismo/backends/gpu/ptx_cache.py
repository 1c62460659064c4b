"""Kernels compiled to PTX, side by side in processes of their own, and kept on disk.

The key of a kept kernel names all that goes into it: the text of every module that can take part,
what the kernel has built in, its argument types, the card's architecture and the compiler. A
scenario that ran before therefore starts without compiling, and a changed formula never meets old
code.

Numba compiles one kernel at a time, holding a lock. Several kernels that it has to type are handed
to other Python processes, which set up nothing but what the kernels import (`python -m` this
module). Meanwhile this one compiles those that are traced: it takes less than starting a process.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, Protocol

from numba import cuda
from numba.cuda import types

from seismo.backends import machine
from seismo.backends.gpu.kernels import SweepKernel
from seismo.backends.kernel_cache import kept_code, kept_name
from seismo.backends.source_hash import source_digest

_ONE_BY_ONE = threading.Lock()  # cards of one process want the same kernels
ALONE = 2  # typed kernels that this process compiles itself: another one takes as long to start
TRACED_HERE = 16  # and traced ones, of 0.1 s each


class CompiledKernel(Protocol):
    """What a kernel is made of; it can be pickled, and its text names it."""

    def write(self, tools: Any) -> Any:
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
    signature: Any
    bounds: tuple[int, int] | None
    fastmath: bool
    capability: tuple[int, int]

    @property
    def name(self) -> str:
        """Name of the file that its PTX is kept in."""
        text = "\n".join(
            (source_digest(), str(self.kernel), str(self.signature), str(self.bounds),
             str(self.fastmath), str(self.capability), *_versions())
        )  # fmt: skip
        return kept_name(text, "ptx")


@cache
def _versions() -> tuple[str, str]:
    return version("numba-cuda"), version("numba")


class Tools:
    """What kernels are written with: lanes, and plain functions that they can call."""

    def lanes(self, precision: str) -> Any:
        """Return the lanes of a precision."""
        from seismo.backends.gpu.lanes import cuda_lanes

        return cuda_lanes(precision)

    def device_function(self, body: Any) -> Any:
        """Let kernels call a plain function."""
        return cuda.jit(device=True)(body)


def keep(requests: list[CompileRequest]) -> dict[str, str]:
    """Compile what is not kept yet; return the PTX of all by the names of their files."""
    with _ONE_BY_ONE:
        wanted = {request.name: request for request in requests}
        texts = {name: _read(name) for name in wanted}
        missing = {name: wanted[name] for name, text in texts.items() if not text}
        spread = _elsewhere(missing) if machine.cores() > 1 else {}
        with elsewhere(list(spread.values())):
            for name, request in missing.items():
                if name not in spread:
                    texts[name] = _compile(request)
        for name, request in spread.items():
            texts[name] = _read(name) or _compile(request)
        if missing:
            kept_code().tidy()
        return texts


def _elsewhere(missing: dict[str, CompileRequest]) -> dict[str, CompileRequest]:
    """Return the kernels that other processes compile sooner: typed ones, and many of any kind."""
    if len(missing) > TRACED_HERE + ALONE:
        return missing
    typed = {n: one for n, one in missing.items() if not isinstance(one.kernel, SweepKernel)}
    return typed if len(typed) > ALONE else {}


def _read(name: str) -> str:
    """Return a kept text, "" where there is none: another process may remove what was not used."""
    return (kept_code().load(name) or b"").decode()


@contextlib.contextmanager
def elsewhere(requests: list[CompileRequest]) -> Iterator[None]:
    """Share requests out between processes, which keep them, and wait for these at the end.

    What fails is left undone.
    """
    processes = min(len(requests), machine.cores())
    command = [sys.executable, "-m", __name__]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SEISMO_CACHE_DIR": str(kept_code().folder),
    }
    started = []
    try:
        for n in range(processes):
            worker = subprocess.Popen(
                command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
            started.append(worker)
            assert worker.stdin is not None
            with contextlib.suppress(BrokenPipeError), worker.stdin as given:  # it may have failed
                given.write(pickle.dumps(requests[n::processes]))
        yield
        for worker in started:
            worker.wait()
    finally:
        for worker in started:
            worker.kill()  # after an interrupt nobody wants what they do


def compile_elsewhere(requests: list[CompileRequest]) -> None:
    """Share requests out between processes, which keep them; what fails is left undone."""
    with elsewhere(requests):
        pass


def _work() -> None:
    """Compile the requests that stand on the standard input, without a card."""
    requests = pickle.load(sys.stdin.buffer)
    without_card(requests[0].capability)
    for request in requests:
        with contextlib.suppress(Exception):  # whoever needs it tries again, and says why
            _compile(request)


def without_card(capability: tuple[int, int]) -> None:
    """Let this process compile for a card that it does not have."""
    from numba.cuda import dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)


def compile_ptx(request: CompileRequest) -> str:
    """Compile a kernel to PTX."""
    code, _ = cuda.compile(
        request.kernel.write(Tools()), types.void(*request.signature), device=False, abi="numba",
        cc=request.capability, fastmath=request.fastmath, launch_bounds=request.bounds,
        output="ptx",
    )  # fmt: skip
    return code if isinstance(code, str) else code.decode()


def _compile(request: CompileRequest) -> str:
    text = compile_ptx(request)
    kept_code().store(request.name, text.encode())
    return text


if __name__ == "__main__":
    _work()
