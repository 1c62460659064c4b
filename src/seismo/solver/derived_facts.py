"""Facts of a run that are derived once, when they are first asked for.

A run whose shots are shared out otherwise (`Discretization.sharing`) has the same dictionary of
facts, so that none of them is derived again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

Fact = TypeVar("Fact")


class HasFacts(Protocol):
    """A run that keeps its derived facts, by what derives them."""

    @property
    def facts(self) -> dict[object, Any]:
        """The facts derived so far."""


class derived(Generic[Fact]):  # noqa: N801 - used as a decorator
    """A property that is derived once for a run, however its shots are shared out."""

    def __init__(self, derive: Callable[[Any], Fact]) -> None:
        self._derive = derive
        self.__doc__ = derive.__doc__

    def __get__(self, run: HasFacts, owner: type) -> Fact:
        """Return the fact."""
        if self not in run.facts:
            run.facts[self] = self._derive(run)
        return run.facts[self]
