"""CMTSOLUTION, the text of the GCMT catalogue and of SPECFEM: one event or several, in dyn cm.

    PDE 2008 07 29 18 42 15.71 33.9530 -117.7610 14.7 5.4 5.4 GREATER LOS ANGELES AREA
    event name:     14383980
    time shift:     1.5            s from the time above, of the hypocentre, to the centroid
    half duration:  1.2
    latitude: ..., longitude: ..., depth: ... km, of the centroid
    Mrr: ... Mtt, Mpp, Mrt, Mrp, Mtp

SPECFEM writes latorUTM and longorUTM where the place may be in metres (north, east) of a map
projection, which the file does not name. A single word after the tensor names a file with a time
function (USE_EXTERNAL_SOURCE_FILE), which is not read. Numbers may have Fortran's exponents
(1.0d23). Read here, and not by ObsPy, for lines in messages.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from seismo.acquisition.events import (
    CatalogueEvent,
    EventOrigin,
    EventProblem,
)
from seismo.acquisition.moment_tensor import from_components
from seismo.errors import ModelError
from seismo.formats.reading.text import is_xml, read_lines, shown_word

_DYN_CM = 1e-7  # N m
_EXPECTED = "expected CMTSOLUTION (as SPECFEM and the GCMT catalogue write it) or QuakeML"
_NUMBER = r"([-+]?[0-9.]+)"
_FIRST = re.compile(
    r"\s*[A-Za-z_]*\s*([0-9]{4})\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)"
    + rf"\s+{_NUMBER}" * 4
    + r"(?:\s|$)(.*)"
)
_TENSOR = ("rr", "tt", "pp", "rt", "rp", "tp")
_OF_SPECFEM = {"latorutm": "latitude", "longorutm": "longitude"}
_KEYS = ("timeshift", "halfduration", "latitude", "longitude", "depth", *(f"m{c}" for c in _TENSOR))

Line = tuple[int, str]


def may_be_events(path: Path) -> bool:
    """Whether a file may have events: all that are no XML may."""
    return not is_xml(path)


def read_cmtsolution(path: Path) -> list[CatalogueEvent | EventProblem]:
    """Return the events of a file; one without a moment is refused where it is meant.

    Raises:
        ModelError: a line is missing or malformed, with its number.
    """
    lines = read_lines(path, _EXPECTED)
    # A single word is the file of SPECFEM's external source time function.
    starts = [n for n, (_, line) in enumerate(lines) if ":" not in line and " " in line.strip()]
    if not lines or starts[:1] != [0]:
        raise ModelError(f"{path}: does not begin with a date and hypocentre; {_EXPECTED}", "path")
    blocks = [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    return [_event(path, block) for block in blocks]


def _event(path: Path, block: list[Line]) -> CatalogueEvent | EventProblem:
    number, first = block[0]
    hypocentre = _hypocentre(path, number, first)
    name = ""
    numbers = dict[str, float]()
    for line_number, line in block[1:]:
        key, _, text = line.partition(":")
        key = key.replace(" ", "").lower()
        key = _OF_SPECFEM.get(key, key)
        if key == "eventname":
            name = text.strip()
        elif key in _KEYS:
            numbers[key] = _number(path, line_number, text)
    if missing := [key for key in _KEYS if key not in numbers]:
        raise ModelError(f"{path}:{number}: the event lacks {', '.join(missing)}", "path")
    tensor = SimpleNamespace(**{c: _DYN_CM * numbers[f"m{c}"] for c in _TENSOR})
    if not any(vars(tensor).values()):
        return EventProblem(name, ModelError(f"{path}:{number}: the moment tensor is zero", "path"))
    centroid = EventOrigin(
        numbers["longitude"], numbers["latitude"], 1e3 * numbers["depth"],
        hypocentre.time + timedelta(seconds=numbers["timeshift"]),
    )  # fmt: skip
    half_duration = numbers["halfduration"] if numbers["halfduration"] > 0.0 else None
    return CatalogueEvent(
        name, from_components(tensor, "gcmt"), hypocentre, centroid, half_duration,
        _magnitude(first),
    )  # fmt: skip


def _hypocentre(path: Path, number: int, line: str) -> EventOrigin:
    match = _FIRST.match(line)
    try:
        if match is None:
            raise ValueError("a date and hypocentre")
        year, month, day, hour, minute = (int(text) for text in match.groups()[:5])
        second, latitude, longitude, depth = (float(text) for text in match.groups()[5:9])
        time = datetime(year, month, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)
    except ValueError as error:
        raise ModelError(f"{path}:{number}: is no {error}; {_EXPECTED}", "path") from None
    return EventOrigin(longitude, latitude, 1e3 * depth, time)


def _magnitude(line: str) -> float | None:
    """Return the largest of body and surface wave magnitude, which are 0 where unknown."""
    match = _FIRST.match(line)
    words = match.groups()[-1].split()[:2] if match else []
    sizes = [float(word) for word in words if re.fullmatch(r"[0-9]{1,2}(\.[0-9]*)?", word)]
    return max(sizes, default=0.0) or None


def _number(path: Path, number: int, text: str) -> float:
    word = text.split()[0] if text.split() else ""
    try:
        size = float(re.sub(r"(?<=[0-9.])[dD](?=[-+0-9])", "e", word))
    except ValueError:
        size = math.nan
    if not math.isfinite(size):
        shown = shown_word(word, True)
        raise ModelError(f"{path}:{number}: {shown} is no number; {_EXPECTED}", "path")
    return size
