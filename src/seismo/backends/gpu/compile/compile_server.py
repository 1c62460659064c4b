"""A process that compiles kernels for others, on all cores.

Numba compiles one kernel at a time, holding a lock, and a Python process takes a second to import
it. One process is therefore started first of all, and imports what kernels need while the run
itself is imported, chooses a card and lays out the grid. Asked for kernels, it forks a process for
each core; what these compile goes to the kernel cache::

    run       ask -------------- wait --> load
    server    import ... fork x cores, wait, answer
    forks                compile, store

It has no card and no threads, and leaves nvJitLink, which does not outlive a fork, to the forks.
It ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from functools import cache
from typing import IO, TYPE_CHECKING

from seismo.backends import machine
from seismo.backends.gpu.detect import GpuEnvironment, detect, has_driver, visible_gpus

if TYPE_CHECKING:
    from seismo.backends.gpu.compile.code_cache import CompileRequest

# BLAS threads would make a fork unsafe: the server has a single thread.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class CompileServer:
    """Own the process.

    What it leaves undone, whoever asked compiles; so the server may be missing or die.
    """

    def __init__(self) -> None:
        """Start it."""
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], env=os.environ | _ONE_THREAD | {"PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        weakref.finalize(self, _end, self._process)

    def compile(self, folder: str, requests: dict[str, CompileRequest]) -> None:
        """Compile kernels, which are stored under their names in a folder, and wait for that."""
        commands = self._process.stdin
        answers = self._process.stdout
        assert commands is not None
        assert answers is not None
        # One request and one answer at a time, by pickle through the pipe.
        with contextlib.suppress(BrokenPipeError):
            pickle.dump((folder, requests), commands)
            commands.flush()
            answers.readline()


@cache
def compile_server() -> CompileServer:
    """Return the server of this process; the first call starts it and waits for nothing."""
    return CompileServer()


def start_early(backend: str, threads: int | None) -> None:
    """Start server and driver ahead of a run's own imports, where it may come to run on a GPU."""
    if backend != "cpu" and threads is None and has_driver() and machine.cores() > 1:
        compile_server()
        threading.Thread(target=visible_gpus, daemon=True).start()


def detect_and_start_server(number: int | None = None) -> GpuEnvironment:
    """Find out what there is for computing on a GPU; where there is one, start the server.

    Args:
        number: see `detect`.
    """
    if visible_gpus() and machine.cores() > 1:
        compile_server()
    return detect(True, number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server; after an interrupt nobody wants what it still compiles."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            assert stream is not None
            stream.close()


def serve(commands: IO[bytes], answers: IO[bytes]) -> None:
    """Compile what commands ask for, until they end."""
    # Numba looks for SciPy's BLAS, which no kernel calls: 0.4 s of imports.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    from seismo.backends.gpu.compile.code_cache import prepare

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
    """Compile and store kernels in forks of this process, one for each core."""
    # Fork twice: the server waits for one child, which forks the others and ends with them.
    if not (child := os.fork()):
        _share(list(requests.items()), machine.cores())
        os._exit(0)
    os.waitpid(child, 0)


def _share(requests: list[tuple[str, CompileRequest]], processes: int) -> None:
    """Compile and store kernels in so many processes: this one, and forks of it and of forks.

    A fork takes 35 ms: one after the other they would take as long as what they do.
    """
    from seismo.backends.gpu.compile.code_cache import compile_and_store, without_card

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


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
