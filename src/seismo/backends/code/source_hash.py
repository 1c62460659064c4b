"""Name what compiled code depends on, for caches on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import seismo.backends
import seismo.equations
import seismo.features


def function_name(function: Callable) -> str:
    """Return the name of a function of a module, which with its text tells all that it is."""
    return f"{function.__module__}.{function.__qualname__}"


def source_digest() -> str:
    """Hash the name and text of every module that a compiled sweep or body can contain."""
    packages = (seismo.backends, seismo.equations, seismo.features)
    return _digest(*(Path(folder) for package in packages for folder in package.__path__))


def body_digest() -> str:
    """Hash the same of what a body can contain: no equation, whoever adds one."""
    return _digest(*map(Path, seismo.backends.__path__))


@cache
def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        # Sorted walk: the digest does not depend on the order of the file system.
        walked = sorted(os.walk(folder, followlinks=True))  # as imports do
        for file in (Path(at, name) for at, _, names in walked for name in sorted(names)):
            if file.suffix == ".py":
                # Names and lengths delimit the texts: two different trees cannot give the same
                # bytes.
                text = file.read_bytes()
                digest.update(f"{file.relative_to(folder)} {len(text)}\n".encode() + text)
    return digest.hexdigest()
