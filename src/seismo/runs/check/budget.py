"""Budgets of time and memory, which a run has to keep to."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seismo.errors import ScenarioError
from seismo.runs.progress import clock_time
from seismo.runs.resources.memory import PYTHON_BYTES
from seismo.scenario import units
from seismo.scenario.units import with_unit

_SHORT = 10.0  # s
_OPTIONS = {"--within": units.TIME, "--memory": units.SIZE}


@dataclass(frozen=True)
class Budget:
    """The most that a run may take.

    Attributes:
        seconds: of stepping, None for any.
        memory: bytes on the fullest memory, of a card or the machine; None for any.
    """

    seconds: float | None = None
    memory: float | None = None

    def __str__(self) -> str:
        """Name both, as far as there are bounds."""
        bounds = []
        if self.seconds is not None:
            bounds.append(duration(self.seconds))
        if self.memory is not None:
            bounds.append(with_unit(self.memory, "B"))
        return " and ".join(bounds)

    def share(self, seconds: float, memory: float) -> float:
        """Return the larger share of the budget that a time and bytes, beside Python's, take."""
        of_arrays = (self.memory or math.inf) - PYTHON_BYTES
        of_memory = (memory - PYTHON_BYTES) / of_arrays if of_arrays > 0.0 else math.inf
        return max(seconds / (self.seconds or math.inf), of_memory)


def read_budget(within: str | float | None, memory: str | float | None) -> Budget | None:
    """Return the budget of a duration and a size, numbers in SI or with units; None without both.

    Raises:
        ScenarioError: one is no duration or no size, or not above 0; it names the option.
    """
    options = dict(zip(_OPTIONS, (within, memory), strict=True))
    limits = [None if text is None else _limit(name, text) for name, text in options.items()]
    return None if limits == [None, None] else Budget(*limits)


def _limit(option: str, text: str | float) -> float:
    try:
        limit = units.to_si(text, _OPTIONS[option])
    except units.UnitError as error:
        raise ScenarioError(f"{option} {text}: {error}") from None
    if limit <= 0.0:
        raise ScenarioError(f"{option} {text}: must be above 0")
    return limit


def duration(seconds: float) -> str:
    """Format a time, a short one to three digits."""
    return clock_time(seconds) if seconds >= _SHORT else with_unit(seconds, "s")
