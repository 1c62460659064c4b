"""Name what compiled code depends on, for caches on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_digest() -> str:
    """Hash the text of every module that a compiled sweep or body can contain."""
    package = Path(__file__).parent.parent
    files = [package / name for name in ("differences.py", "one_pass.py", "operators.py")]
    for folder in ("physics", "kernels", "backends"):
        files += sorted((package / folder).glob("**/*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
