"""Files that a scenario names, and values that it leaves to the program.

Results of functions of a scenario, kept for check, plan and run, which ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from operator import is_
from typing import Any, TypeVar

from seismo.errors import KeyPath, ScenarioError
from seismo.features import acting
from seismo.formats.reading import no_file
from seismo.scenario.document import Scenario


def with_chosen_values(scenario: Scenario, stencil: str | None = None) -> Scenario:
    """Return a scenario with values that it leaves to the program: its grid and layers.

    Args:
        scenario: as it was checked.
        stencil: differences of a grid that is chosen, if the scenario names none; the program's
            choice when None.

    Raises:
        ScenarioError: no grid carries its waves, or it cannot be run as written.
    """
    if stencil and scenario.grid.is_open and "stencil" not in scenario.grid.model_fields_set:
        scenario = scenario.completed({"grid.stencil": stencil})
    for completed in acting("completed", scenario):
        scenario = completed(scenario)
    return scenario


def named_files(scenario: Scenario) -> list[tuple[KeyPath, str]]:
    """Return the keys, and the names, of all files that a scenario reads."""
    sections = scenario.model_dump(mode="json", exclude_none=True, exclude={"output", "checkpoint"})
    return list(_paths(sections, ()))


def missing_files(scenario: Scenario, excluded_section: str) -> Iterator[ScenarioError]:
    """Yield a mistake for each file that is not there, of all sections but an excluded section."""
    for key, name in named_files(scenario):
        if key[0] != excluded_section and (problem := no_file(scenario.resolve(name))):
            yield scenario.mistake(*key, problem=problem)


def _paths(data: Any, key: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for name, entry in enumerate(data) if isinstance(data, list) else data.items():
        if name == "path":
            yield (*key, name), entry
        elif isinstance(entry, dict | list):
            yield from _paths(entry, (*key, name))


T = TypeVar("T")
_KEPT = 4  # scenarios of each function


def remembered(
    is_same: Callable[[Scenario, Scenario], bool] = is_,
) -> Callable[[Callable[[Scenario], T]], Callable[[Scenario], T]]:
    """Cache a function's results for the last scenarios.

    Args:
        is_same: whether its results for two scenarios are the same.
    """

    def decorate(find: Callable[[Scenario], T]) -> Callable[[Scenario], T]:
        known: list[tuple[Scenario, T]] = []

        @wraps(find)
        def look_up(scenario: Scenario) -> T:
            for other, result in known:
                if is_same(other, scenario):
                    return result
            known.append((scenario, find(scenario)))
            del known[:-_KEPT]
            return known[-1][1]

        return look_up

    return decorate
