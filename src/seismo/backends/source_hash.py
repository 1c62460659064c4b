"""Name what compiled code depends on, for caches on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_digest() -> str:
    """Hash the text of every module that a compiled sweep or body can contain."""
    package = Path(__file__).parent.parent
    files = [file for name in ("equations", "backends") for file in package.glob(f"{name}/**/*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()
