"""Results of functions of a scenario, kept for check, plan and run, which ask again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import is_
from typing import TypeVar

from seismo.scenario import Scenario

T = TypeVar("T")
_KEPT = 4  # scenarios of each function


def remembered(
    is_same: Callable[[Scenario, Scenario], bool] = is_,
) -> Callable[[Callable[[Scenario], T]], Callable[[Scenario], T]]:
    """Let a function remember what it has found of the last scenarios.

    Args:
        is_same: whether what it finds of two scenarios is the same.
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
