"""Kernels compiled to PTX, and kept on disk.

The key of a kept kernel names all that goes into it: the text of every module that can take part,
what the kernel has built in, its argument types, the card's architecture and the compiler. A
scenario that ran before therefore starts without compiling, and a changed formula never meets old
code.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numba import cuda
from numba.cuda import types

from seismo.backends.digest import source_digest


@dataclass(frozen=True)
class Request:
    """A kernel to compile.

    Attributes:
        kernel: the Python function, one that returns it (not called if the code is kept).
        signature: types of its arguments.
        name: what tells it from all others of the same signature.
        bounds: threads of a block and blocks of a multiprocessor, or None.
        fastmath: whether sums may be reordered and fused.
    """

    kernel: Callable[[], Callable]
    signature: Any
    name: str
    bounds: tuple[int, int] | None = None
    fastmath: bool = True


def cache_folder() -> Path:
    """Give the folder of kept kernels: $SEISMO_CACHE_DIR, else the user's cache."""
    named = os.environ.get("SEISMO_CACHE_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "seismo"


def kept(request: Request, capability: tuple[int, int]) -> Path:
    """Give the path of a kernel's PTX for an architecture; compile it if it is not there."""
    text = "\n".join(
        (source_digest(), request.name, str(request.signature), str(request.bounds),
         str(request.fastmath), str(capability), version("numba-cuda"), version("numba"))
    )  # fmt: skip
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.ptx"
    if not path.exists():
        _write(path, compile_ptx(request, capability))
    return path


def compile_ptx(request: Request, capability: tuple[int, int]) -> str:
    """Compile a kernel to PTX for an architecture such as (9, 0)."""
    code, _ = cuda.compile(
        request.kernel(), types.void(*request.signature), device=False, abi="numba",
        cc=capability, fastmath=request.fastmath, launch_bounds=request.bounds, output="ptx",
    )  # fmt: skip
    return code if isinstance(code, str) else code.decode()


def _write(path: Path, text: str) -> None:
    """Write a file that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(name).replace(path)
