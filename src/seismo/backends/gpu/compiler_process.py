"""The process that a compile server runs (`seismo.backends.gpu.compile_server`).

It compiles in a fork for each core, and stores the code in the run's kernel cache.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import sys
from typing import IO, Any

from seismo.backends import machine
from seismo.backends.gpu.code_cache import (
    CompileRequest,
    Tools,
    compile_and_store,
    compile_ptx,
    without_card,
)


def serve(commands: IO[bytes], answers: IO[bytes]) -> None:
    """Compile on command, until the commands end."""
    # Numba looks for SciPy's BLAS, which no kernel calls: 0.4 s of imports.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    prepare()
    # A collection in a fork would touch, and so copy, all memory of the server.
    gc.freeze()
    gc.disable()
    while True:
        try:
            folder, requests = pickle.load(commands)
        except EOFError:
            return
        # The server takes the run's kernel cache from each request.
        os.environ["SEISMO_CACHE_DIR"] = folder
        compile_side_by_side(requests)
        answers.write(b"done\n")
        answers.flush()


def compile_side_by_side(requests: dict[str, CompileRequest]) -> None:
    """Compile and store kernels in a fork of this process for each core."""
    # Fork twice: the server waits for a single child, which forks the others and ends with them.
    if not (child := os.fork()):
        _share(list(requests.items()), machine.cores())
        os._exit(0)
    os.waitpid(child, 0)


def _share(requests: list[tuple[str, CompileRequest]], processes: int) -> None:
    """Compile and store kernels in `count` processes: this, and its direct and indirect forks.

    Forking sequentially would take as long as compiling.
    """
    # Binary tree of forks: each child takes every other request and half of the processes.
    if min(processes, len(requests)) > 1:
        child = os.fork()
        share = processes // 2 if not child else processes - processes // 2
        _share(requests[not child :: 2], share)
        # Children leave without clean-up: handlers and buffers belong to the server.
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        return
    for name, request in requests:
        without_card(request.capability)
        with contextlib.suppress(Exception):  # whoever needs it tries again, and says why
            compile_and_store(name, request)


def prepare() -> None:
    """Load the compilers, and the modules that kernels are made of, for all forks of a process."""
    import seismo.backends.gpu.sweeps.kernels
    import seismo.equations.framework.registry  # noqa: F401

    # An empty kernel initialises NVVM and Numba's compiler before the forks.
    without_card((9, 0))
    compile_ptx(CompileRequest(_EmptyKernel(), (), None, False, (9, 0)))


class _EmptyKernel:
    """A kernel that does nothing."""

    def write(self, tools: Tools) -> Any:
        """Write it."""

        def kernel():
            return

        return kernel


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
