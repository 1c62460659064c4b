"""Name what compiled code depends on, for caches on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import seismo.equations


@cache
def source_digest() -> str:
    """Hash the text of every module that a compiled sweep or body can contain."""
    folders = [str(Path(__file__).parent), *seismo.equations.__path__]
    digest = hashlib.sha256()
    for file in (file for folder in folders for file in sorted(Path(folder).glob("**/*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()
