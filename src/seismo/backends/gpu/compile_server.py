"""The server that compiles kernels, on all cores, as a run sees it.

Numba compiles kernels sequentially, holding a lock, and a Python process takes a second to import
it. A process is therefore started first of all, and imports the compilers' modules while the run
itself is imported, chooses a card and lays out the grid. Asked for kernels, it forks a process for
each core; their results go to the kernel cache::

    run       ask -------------- wait --> load
    server    import ... fork x cores, wait, answer
    forks                compile, store

It has no card and no threads, and leaves nvJitLink, which does not outlive a fork, to the forks.
It ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import weakref
from functools import cache
from typing import Any

from seismo.backends import machine
from seismo.backends.gpu.detect import has_driver, visible_gpus

# BLAS threads would make a fork unsafe: the server has a single thread.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
COMPILER = "seismo.backends.gpu.compiler_process"  # that it runs


class CompileServer:
    """Own the process.

    What it leaves undone, whoever asked compiles; so the server may be missing or die.
    """

    def __init__(self) -> None:
        """Start it."""
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", COMPILER], env=os.environ | _ONE_THREAD | {"PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        weakref.finalize(self, _end, self._process)

    def compile(self, folder: str, requests: dict[str, Any]) -> None:
        """Compile kernels, which are stored under their names in a folder, and wait for that."""
        commands = self._process.stdin
        answers = self._process.stdout
        assert commands is not None
        assert answers is not None
        # Request and answer alternate, by pickle through the pipe.
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server; after an interrupt nobody wants its results."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            assert stream is not None
            stream.close()
