"""JSON that carries the SHA-256 of what it says, so that no flipped bit of it is believed."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SEAL = "sha256"
_MOST = 64 << 20  # bytes


def sealed(data: Mapping[str, Any]) -> str:
    """Return the JSON text of a mapping, with its digest, a line for each of its keys."""
    # Python's encoder of indented text takes ten times as long as that of lines.
    lines = (
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in {**data, _SEAL: _digest(data)}.items()
    )
    return "{\n " + ",\n ".join(lines) + "\n}"


def read_sealed(path: Path, most: int = _MOST) -> dict[str, Any]:
    """Return the mapping in a file of such a text of at most so many bytes.

    Raises:
        OSError: there is no file, or it is a link.
        ValueError: it is a pipe or a device, longer, or as `unsealed` does.
    """
    # A pipe opens at once, and is told before it is read.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        if status.st_size > most:
            raise ValueError(f"it has {status.st_size} bytes, more than {most}")
        return unsealed(file.read(most))


def unsealed(text: str | bytes) -> dict[str, Any]:
    """Return the mapping of such a text.

    Raises:
        ValueError: it is not JSON, or says something else than what was written.
    """
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(data, dict) or _SEAL not in data:
        raise ValueError("it has no checksum: it was cut, or is of another version")
    if data.pop(_SEAL) != _digest(data):
        raise ValueError("it does not have its checksum")
    return data


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
