"""Files that a scenario names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seismo.errors import KeyPath, ScenarioError
from seismo.formats.reading.text import no_file
from seismo.scenario.document import Scenario


def named_files(scenario: Scenario) -> list[tuple[KeyPath, str]]:
    """Return the keys, and the names, of all files that a scenario reads."""
    sections = scenario.model_dump(mode="json", exclude_none=True, exclude={"output", "checkpoint"})
    return list(_paths(sections, ()))


def missing_files(scenario: Scenario, excluded_section: str) -> Iterator[ScenarioError]:
    """Yield a mistake for each file that is not there, of all sections but an excluded one."""
    for key, name in named_files(scenario):
        if key[0] != excluded_section and (problem := no_file(scenario.resolve(name))):
            yield scenario.mistake(*key, problem=problem)


def _paths(data: Any, key: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for name, entry in enumerate(data) if isinstance(data, list) else data.items():
        if name == "path":
            yield (*key, name), entry
        elif isinstance(entry, dict | list):
            yield from _paths(entry, (*key, name))
