"""A faulty scenario with other sections and entries in place of those that have mistakes.

It has no mistakes left that a scenario alone shows. What is wrong with the files and the positions
of the other sections and entries can be looked for in it, beside what is known already.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seismo.equations.framework.registry import EQUATIONS
from seismo.errors import KeyPath, ScenarioError
from seismo.scenario.document import Scenario, check
from seismo.scenario.mistakes.draft import Draft, draft_of_data
from seismo.scenario.mistakes.stand_ins import with_stand_ins
from seismo.scenario.overrides import plain
from seismo.scenario.quantities import Mistake
from seismo.scenario.rules.physics import table_of
from seismo.scenario.strict_yaml import Document

_ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0}
_LONG = 1e9  # s
# Sections that all others are about: with mistakes in them no position is known.
_BASIC = ("physics", "grid", "boundaries", "topography", "geographic")


def filled(
    document: Document, mistakes: list[Mistake], base: Path
) -> tuple[Scenario, set[KeyPath]] | None:
    """Return a faulty scenario with fillers, and the paths of these; None where it has no grid.

    Args:
        document: what was read.
        mistakes: beside those of the document.
        base: the scenario's folder.
    """
    # A key that nobody knows may have been meant to move the grid, or to be one of its sections.
    enigmas = [m for m in mistakes if m.is_unknown and not m.suggestion.meant]
    if any(len(m.path) == 1 or m.path[0] in _BASIC for m in enigmas):
        return None
    # Unknown keys of other sections are left out by stand-ins.
    paths = [m.path for m in document.mistakes]
    paths += [m.path for m in mistakes if len(m.path) != 2 or not m.is_unknown]
    entries = {_entry_of(path) for path in paths} - {()}
    data = _with_fillers(with_stand_ins(document.data, mistakes).data, entries)
    try:
        scenario = check(Document(document.name, "", data, document.line_columns), base)
    except ScenarioError:
        return None
    return scenario, entries


def _with_fillers(data: Any, entries: set[KeyPath]) -> Any:
    """Return the data of a scenario with fillers in place of entries and sections."""
    draft = draft_of_data(data)
    table = table_of(draft)
    if table is None or draft.dimensions is None:
        return data
    copy = plain(data)
    # Entries before the sections that they are in.
    for entry in sorted(entries, key=len, reverse=True):
        section, *numbers = entry
        if section in _BASIC:
            continue
        filler = _filler(draft, table, entry)
        if filler is None or (numbers and not isinstance(copy.get(section), list | dict)):
            copy.pop(section, None)
        elif not numbers:
            copy[section] = filler
        else:
            holder = copy[section] if len(entry) == 2 else copy[section][numbers[0]]
            holder[entry[-1]] = filler
    return copy


def _entry_of(path: KeyPath) -> KeyPath:
    """Return the path of the entry of a list that a key belongs to, or else of its section."""
    if path[:1] == ("output",):
        return path[:3] if len(path) > 2 and path[1] in ("snapshots", "maps") else path[:1]
    return path[:2] if len(path) > 1 and isinstance(path[1], int) else path[:1]


def _filler(draft: Draft, table: Any, entry: KeyPath) -> Any:
    """Return what can stand in place of an entry or a section; None to leave that out."""
    section = entry[0]
    name = f"filler_{entry[-1]}"
    position = _inside(draft)
    if section == "time":
        return {"duration": _LONG}
    if section == "model":
        needs = EQUATIONS[draft.physics or ""].needs
        rock = {"type": "uniform"} | {key: v for key, v in _ROCK.items() if key in needs}
        return rock if len(entry) == 2 else [rock]
    if section == "sources":
        source: dict[str, Any] = {"type": "explosion"}
        if "explosion" not in table.drives:
            source = {"type": "force", "force": {table.components("force")[0]: 1.0}}
        wavelet = {"type": "ricker", "frequency": 1.0}
        source |= {"name": name, "position": position, "wavelet": wavelet}
        return source if len(entry) == 2 else [source]
    if section == "receivers" and len(entry) == 2:
        return {"type": "points", "name": name, "positions": [position]}
    if section == "output" and len(entry) == 3:
        shown = {"name": name, "fields": [table.shown[0]], "steps": 1}
        return shown if entry[1] == "snapshots" else {"name": name, "quantities": shown["fields"]}
    return None


def _inside(draft: Draft) -> Mapping[str, float]:
    """Return a position in the middle of the grid."""
    axes = "xyz" if draft.dimensions == 3 else "xz"
    limits = {axis: draft.limits(axis) for axis in axes}
    middle = {axis: 0.5 * sum(ends) for axis, ends in limits.items() if ends}
    return middle if "z" in middle else middle | {"depth": 0.0}
