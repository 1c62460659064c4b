"""Text files of SPECFEM: parameters (NAME = value), and sources (name: value), with their lines.

Numbers may be Fortran's (1.d0, .true.). `#` starts a comment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.formats.reading.text import read_lines, shown_word

_EXPECTED = "expected a text file of SPECFEM"


@dataclass(frozen=True)
class ParameterFile:
    """Texts of a file by name, and their lines.

    Attributes:
        path: of the file.
        texts: by name, in capitals.
        lines: numbers of the lines, by name.
        rows: all lines without comments, with their numbers.
    """

    path: Path
    texts: dict[str, str]
    lines: dict[str, int]
    rows: list[tuple[int, str]]

    def where(self, name: str) -> str:
        """Return file, line and text of a parameter, for messages."""
        return f"{self.path}:{self.lines[name]}: {name} = {self.texts[name]}"

    def has(self, name: str) -> bool:
        """Whether it has a parameter."""
        return name in self.texts

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number.

        Raises:
            ScenarioError: it is missing without a default, or no finite number.
        """
        if name not in self.texts:
            if default is None:
                raise ScenarioError(f"{self.path}: missing {name}; add it")
            return default
        return fortran_number(self.texts[name], self.where(name))

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a logical of Fortran.

        Raises:
            ScenarioError: it is neither .true. nor .false.
        """
        if name not in self.texts:
            return default
        word = self.texts[name].strip(".").lower()
        if word not in ("true", "t", "false", "f"):
            raise ScenarioError(f"{self.where(name)}: is neither .true. nor .false.")
        return word in ("true", "t")


def read_parameters(path: Path) -> ParameterFile:
    """Read a file of parameters, NAME = value.

    Raises:
        ModelError: the file is missing, or no text.
    """
    return _parameters(path, read_lines(path, _EXPECTED), "=")


def read_sources(path: Path) -> list[ParameterFile]:
    """Read the sources of a CMTSOLUTION or FORCESOLUTION, name: value; each begins with a title.

    Raises:
        ModelError: the file is missing, or no text.
        ScenarioError: it has no title.
    """
    lines = read_lines(path, _EXPECTED)
    # A single word is the file of an external source time function.
    starts = [n for n, (_, line) in enumerate(lines) if ":" not in line and len(line.split()) > 1]
    if not starts:
        raise ScenarioError(f"{path}: has no line without ':', which each source begins with")
    ends = [*starts[1:], len(lines)]
    return [_parameters(path, lines[a:b], ":") for a, b in zip(starts, ends, strict=True)]


def _parameters(path: Path, rows: list[tuple[int, str]], separator: str) -> ParameterFile:
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in rows:
        name, mark, text = line.partition(separator)
        if mark:
            name = name.strip().upper()
            texts.setdefault(name, text.strip())
            lines.setdefault(name, number)
    return ParameterFile(path, texts, lines, rows)


def fortran_number(text: str, where: str) -> float:
    """Return a number such as 1.d0.

    Raises:
        ScenarioError: it is no finite number.
    """
    try:
        value = float(text.split()[0].lower().replace("d", "e"))
    except (ValueError, IndexError):
        value = math.nan
    if not math.isfinite(value):
        raise ScenarioError(f"{where}: {shown_word(text, of_table=True)} is no number; write one")
    return value
