"""Facts of a run that are derived once, when they are first asked for.

A run whose shots are shared out otherwise (`Discretization.sharing`) has the same dictionary of
facts, so that none of them is derived again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, Protocol, TypeVar

Fact = TypeVar("Fact")


class HasFacts(Protocol):
    """A run that keeps its derived facts, by what derives them."""

    @property
    def facts(self) -> dict[object, Any]:
        """The facts derived so far."""


def derived_once(derive: Callable[[Any], Fact]) -> Callable[[Any], Fact]:
    """Let a function of a run derive its fact once, however the run's shots are shared out."""

    @wraps(derive)
    def fact_of(run: HasFacts) -> Fact:
        if derive not in run.facts:
            run.facts[derive] = derive(run)
        fact: Fact = run.facts[derive]
        return fact

    return fact_of


class derived(Generic[Fact]):  # noqa: N801 - used as a decorator
    """A property that is derived once for a run."""

    def __init__(self, derive: Callable[[Any], Fact]) -> None:
        self._fact_of = derived_once(derive)
        self.__doc__ = derive.__doc__

    def __get__(self, run: HasFacts, owner: type) -> Fact:
        """Return the fact."""
        return self._fact_of(run)
