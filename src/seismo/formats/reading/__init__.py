"""Reading of files from outside with suspicion: lines of small text files, and optional packages.

Text files (1-D models, wavelets, station lists) are UTF-8, with or without the mark that
spreadsheets put in front; ``#`` starts a comment, and lines keep their numbers for messages.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
import unicodedata
from itertools import islice
from pathlib import Path
from typing import Any

from seismo.errors import ModelError, ScenarioError, printable

LARGEST = 64 << 20  # bytes; a column of a million numbers is smaller
LONGEST = 10_000  # characters of a line
_MOST_LISTED = 10_000  # files of a folder among which a misspelt name is looked for
_BINARY = {  # kinds of files given by mistake, by their first bytes
    b"\x89HDF": "an HDF5 file (`seismo info` describes results)",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "an archive, or a spreadsheet",
    b"\x93NUMPY": "an array of NumPy",
}
_STATION_XML = re.compile(r"\s*<.{0,2000}?<(\w+:)?FDSNStationXML|\s*<FDSNStationXML", re.DOTALL)
_START = 5000  # characters, of which the first tell a format
_FORMATS = (  # texts that are no tables: beginning, name and remedy
    (_STATION_XML, "StationXML: give it as receivers of type stations"),
    (re.compile(r"\s*<(\?xml|!DOCTYPE|\w+)"), "XML, which is not read"),
    (re.compile(r"\s*(#[^\n]*\n\s*)*\d\.\d+\s*\n(\s*#[^\n]*\n)*\s*(PLANE|POINTS)\s+\d+"),
     "SRF, a finite fault: give it as a source of type finite_fault"),
)  # fmt: skip
_LOOK_ALIKES = {  # characters that word processors and web pages put into numbers
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u066b\uff0e", "."),
    **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad", ""),
    "\uff0b": "+",
}
_NUMBER_LIKE = re.compile(rf"[-+.{''.join(_LOOK_ALIKES)}]*\d")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def optional_package(module: str, extra: str, purpose: str) -> Any:
    """Return an imported module.

    Args:
        module: such as obspy.core.inventory.
        extra: of seismo that installs its package.
        purpose: its use, for the message.

    Raises:
        ScenarioError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ScenarioError(
            f"{purpose} needs the package {package}; run `pip install 'seismo[{extra}]'`"
        ) from None


def version_of(path: Path) -> tuple[int, int] | None:
    """Return the time and size of a file, which change with it; None where there is no file."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def begins_as_station_xml(path: Path) -> bool:
    """Whether a file begins as StationXML does."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return bool(_STATION_XML.match(stream.read(_START).decode("utf-8-sig", "replace")))


def is_xml(path: Path) -> bool:
    """Whether a file begins as XML does."""
    with path.open("rb") as stream:
        return stream.read(200).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def no_file(path: Path, advice: str = "") -> str:
    """Describe why nothing can be read at a path, "" where there is a file.

    Args:
        path: links in it are followed.
        advice: for a file that is missing.
    """
    if path.is_file():
        return ""
    if path.is_dir():
        return f"{path} is a folder; name the file in it"
    if path.exists():
        return f"{path} is a pipe or a device, not a file; copy what it holds into a file"
    return f"no such file as {path}{advice and '; '}{advice}{similar_name(path)}"


def similar_name(path: Path, *suffixes: str) -> str:
    """Return ``"; did you mean 'run.yaml'?"`` for a file beside a missing file, or nothing.

    Args:
        path: of the missing file.
        suffixes: of the files that can be meant; any where there are none.
    """
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_LISTED)]
    except (OSError, ValueError):
        return ""
    stems = {name: name for name in names if not suffixes or name.endswith(suffixes)}
    stems |= {Path(name).stem: name for name in stems if not path.suffix}
    close = difflib.get_close_matches(path.name, stems, 1, 0.7)
    return f"; did you mean {printable(stems[close[0]])!r}?" if close else ""


def read_lines(path: Path, expected: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty with their numbers, without comments.

    Args:
        path: the file.
        expected: contents of the file, for messages.

    Raises:
        ModelError: there is no such file, it or a line is too long, or it is no text.
    """
    if problem := no_file(path, expected):
        raise ModelError(problem, "path")
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path} is larger than {LARGEST >> 20} MB; {expected}", "path")
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", "path") from None
    except UnicodeDecodeError as error:
        problem = f"{path}{no_text(content, error.start)}; {expected}"
        raise ModelError(problem, "path") from None
    for begins, kind in _FORMATS:
        if begins.match(text[:_START]):
            raise ModelError(f"{path} is {kind}; {expected}", "path")
    lines = enumerate((line.split("#")[0].strip() for line in text.splitlines()), 1)
    numbered_lines = [(number, line) for number, line in lines if line]
    for number, line in numbered_lines:
        if len(line) > LONGEST:
            raise ModelError(f"{path}:{number}: {len(line)} characters; {expected}", "path")
    return numbered_lines


def look_alike(text: str) -> str:
    """Name the first character of a number that only looks like a digit or sign, or nothing."""
    for char in text:
        if char in _LOOK_ALIKES:
            name = f"U+{ord(char):04X} ({unicodedata.name(char, 'nameless').lower()})"
            if plain := _LOOK_ALIKES[char]:
                return f"the character {name} only looks like {plain!r}: type {plain}"
            return f"take out the character {name}"
    return ""


def shown_word(word: str, of_table: bool) -> str:
    """Format a word that should be a number.

    The path may lead to any file that the user can read, and messages to others: of a file that is
    no table, as earlier lines show, only words that begin like a number are shown.
    """
    return repr(word[:20]) if of_table or _NUMBER_LIKE.match(word) else "what it begins with"


def no_text(content: bytes, at: int) -> str:
    """Describe the encoding of a file whose byte `at` is not UTF-8, or name that line."""
    kind = next((kind for mark, kind in _BINARY.items() if content.startswith(mark)), "")
    if kind or (b"\0" in content and not content.startswith(_UTF_16)):
        return f": is {kind or 'a binary file'}, not text"
    line = content[:at].count(b"\n") + 1
    return f":{line}: not UTF-8 text: save the file as UTF-8"
