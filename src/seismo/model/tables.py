"""One-dimensional models from CSV files: rows of depth, vp, vs, rho, with or without qp, qs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading.text import look_alike, read_lines
from seismo.scenario.earth.model_parts import (
    COLUMNS,
    QUALITY_COLUMNS,
    headings,
)
from seismo.scenario.quantities import impossible

_COLUMNS = headings(COLUMNS).split(", ")
_ALL_COLUMNS = headings((*COLUMNS, *QUALITY_COLUMNS)).split(", ")


def read_table(path: Path, attenuates: bool = False) -> np.ndarray:
    """Return the rows of a CSV file: z m, vp m/s, vs m/s, rho kg/m3 (n, 4), and qp, qs (n, 6).

    A first line may name the columns, in any order (``depth`` is taken for z); ``#`` starts a
    comment; commas, semicolons or blanks separate.

    Raises:
        ModelError: the file is missing or malformed, or its depths decrease.
    """
    columns = _ALL_COLUMNS if attenuates else _COLUMNS
    expected = f"expected rows of {', '.join(columns)} in SI units"
    order = list(range(len(columns)))
    has_header = False
    table: list[list[float]] = []
    for number, line in read_lines(path, expected):
        words = line.replace(",", " ").replace(";", " ").split()
        where = f"{path}:{number}"
        if not (table or has_header or _is_number(words[0])):
            order = _header(words, columns, where)
            has_header = True
            continue
        table.append(_row(words, columns, order, where, expected))
        if len(table) > 1 and table[-1][0] < table[-2][0]:
            raise ModelError(
                f"{where}: depth {table[-1][0]:g} lies above the row before; list them downwards",
                "path",
            )
    if not table:
        raise ModelError(f"{path} has no rows; {expected}", "path")
    return np.array(table)


def _header(words: list[str], columns: list[str], where: str) -> list[int]:
    names = [{"depth": "z"}.get(word.lower(), word.lower()) for word in words]
    if sorted(names) != sorted(columns):
        known = set(columns).intersection(names)  # lines of other files are not quoted
        description = f"columns {', '.join(words)[:80]}" if known else "is not a line of a table"
        raise ModelError(
            f"{where}: {description}; expected {', '.join(columns)} in any order, without units"
            + _remedy(len(names), columns),
            "path",
        )
    return [names.index(name) for name in columns]


def _remedy(count: int, columns: list[str]) -> str:
    """Return what to write where a file has the columns of the other kind of table."""
    if count == len(columns) or count not in (len(_COLUMNS), len(_ALL_COLUMNS)):
        return ""
    return f"; for {count} columns write attenuates: {str(columns == _COLUMNS).lower()}"


def _row(
    words: list[str], columns: list[str], order: list[int], where: str, expected: str
) -> list[float]:
    if len(words) != len(columns):
        remedy = _remedy(len(words), columns)
        raise ModelError(f"{where}: {len(words)} columns; {expected}{remedy}", "path")
    for name, word in zip(columns, (words[k] for k in order), strict=True):
        if not _is_number(word) or (math.isinf(float(word)) and name in _COLUMNS):
            problem = look_alike(word) or expected
            raise ModelError(f"{where}: {word[:20]!r} is not a number; {problem}", "path")
    row = [float(words[k]) for k in order]
    for name, value in zip(columns[1:], row[1:], strict=True):
        if problem := impossible(name, value):
            raise ModelError(f"{where}: {name}: {problem}", "path")
    return row


def _is_number(word: str) -> bool:
    try:
        return not math.isnan(float(word))
    except ValueError:
        return False
