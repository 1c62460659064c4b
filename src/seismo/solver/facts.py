"""Facts of a run: those that features give, by type, and those derived once, when first asked for.

A run whose shots are shared out otherwise (`Discretization.sharing`) has the same dictionary of
derived facts, so that none of them is derived again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, Protocol, TypeVar

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Facts:
    """Facts that features give of a run, each asked for by its type, or one that this extends.

    Attributes:
        entries: the facts, of unlike types.
    """

    entries: tuple[object, ...] = ()

    def get(self, kind: type[Fact]) -> Fact | None:
        """Return the fact of a type; None without one."""
        return next((fact for fact in self.entries if isinstance(fact, kind)), None)

    def __getitem__(self, kind: type[Fact]) -> Fact:
        """Return the fact of a type.

        Raises:
            KeyError: no feature has given it.
        """
        fact = self.get(kind)
        if fact is None:
            raise KeyError(kind)
        return fact

    def having(self, *facts: object) -> Facts:
        """Return the same with further facts, which replace others of their types."""
        kinds = tuple(type(fact) for fact in facts)
        return Facts((*(fact for fact in self.entries if type(fact) not in kinds), *facts))


class HasFacts(Protocol):
    """A run that keeps its derived facts, by the functions that derive them."""

    @property
    def derived_facts(self) -> dict[object, Any]:
        """The facts derived so far."""


def derived_once(derive: Callable[[Any], Fact]) -> Callable[[Any], Fact]:
    """Let a function of a run derive its fact once, however the run's shots are shared out."""

    @wraps(derive)
    def fact_of(run: HasFacts) -> Fact:
        if derive not in run.derived_facts:
            run.derived_facts[derive] = derive(run)
        fact: Fact = run.derived_facts[derive]
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
