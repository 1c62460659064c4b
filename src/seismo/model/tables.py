"""One-dimensional models from CSV files: rows of depth, vp, vs, rho."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.scenario.base import impossible
from seismo.scenario.model_parts import COLUMNS
from seismo.scenario.text_files import look_alike, read_lines

_COLUMNS = ("z", *(parameter.name for parameter in COLUMNS))


def read_table(path: Path) -> np.ndarray:
    """Return the rows (n, 4) of a CSV file: z m, vp m/s, vs m/s, rho kg/m3.

    A first line may name the columns, in any order (``depth`` is taken for z); ``#`` starts a
    comment; commas, semicolons or blanks separate.

    Raises:
        ModelError: the file is missing or malformed, or its depths decrease.
    """
    expected = "expected rows of z, vp, vs, rho in SI units"
    order = list(range(4))
    has_header = False
    table: list[list[float]] = []
    for number, line in read_lines(path, expected):
        words = line.replace(",", " ").replace(";", " ").split()
        where = f"{path}:{number}"
        if not (table or has_header or _is_number(words[0])):
            order = _header(words, where)
            has_header = True
            continue
        table.append(_row(words, order, where, expected))
        if len(table) > 1 and table[-1][0] < table[-2][0]:
            raise ModelError(
                f"{where}: depth {table[-1][0]:g} lies above the row before; list them downwards",
                "path",
            )
    if not table:
        raise ModelError(f"{path} has no rows; {expected}", "path")
    return np.array(table)


def _header(words: list[str], where: str) -> list[int]:
    names = [{"depth": "z"}.get(word.lower(), word.lower()) for word in words]
    if sorted(names) != sorted(_COLUMNS):
        known = set(_COLUMNS).intersection(names)  # lines of other files are not quoted
        description = f"columns {', '.join(words)[:80]}" if known else "is not a line of a table"
        raise ModelError(
            f"{where}: {description}; expected {', '.join(_COLUMNS)} in any order, without units",
            "path",
        )
    return [names.index(name) for name in _COLUMNS]


def _row(words: list[str], order: list[int], where: str, expected: str) -> list[float]:
    if len(words) != len(_COLUMNS):
        raise ModelError(f"{where}: {len(words)} columns; {expected}", "path")
    for word in words:
        if not _is_number(word):
            problem = look_alike(word) or expected
            raise ModelError(f"{where}: {word[:20]!r} is not a number; {problem}", "path")
    row = [float(words[k]) for k in order]
    for name, value in zip(_COLUMNS[1:], row[1:], strict=True):
        if problem := impossible(name, value):
            raise ModelError(f"{where}: {name}: {problem}", "path")
    return row


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
