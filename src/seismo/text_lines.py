"""The lines of small text files from outside: 1-D models, wavelets, station lists.

They are UTF-8 (with or without the mark that spreadsheets put in front), ``#`` starts a comment,
and lines keep their numbers for messages.
"""

from __future__ import annotations

from pathlib import Path

from seismo.errors import ModelError

LARGEST = 64 << 20  # bytes; a column of a million numbers is smaller


def read_lines(path: Path, expected: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty with their numbers, without comments.

    Args:
        path: the file.
        expected: what the file should hold, for messages.

    Raises:
        ModelError: there is no such file, it is too large, or it is no text.
    """
    if not path.is_file():
        raise ModelError(f"no such file as {path}; {expected}", "path")
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path} is larger than {LARGEST >> 20} MB; {expected}", "path")
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", "path") from None
    except UnicodeDecodeError as error:
        number = content[: error.start].count(b"\n") + 1
        problem = f"{path}:{number}: not UTF-8 text: save the file as UTF-8; {expected}"
        raise ModelError(problem, "path") from None
    lines = enumerate((line.split("#")[0].strip() for line in text.splitlines()), 1)
    return [(number, line) for number, line in lines if line]
