"""What a piece of advice is worth: the same work done in two or more ways, on one machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

LESS_IS_BETTER = ("s", "ms", "us")
NOTHING = 1.05  # a gain below it is none: about what measurements differ by


class NotHereError(Exception):
    """This machine cannot show it; the text says what it lacks."""


@dataclass(frozen=True)
class Side:
    """One way to do the work, and what was measured.

    Attributes:
        name: of the way.
        value: the median.
        spread: the least and the largest of the repeats; None where there was one.
    """

    name: str
    value: float
    spread: tuple[float, float] | None = None

    @classmethod
    def speed(cls, name: str, updates: float, seconds: list[float]) -> Side:
        """Return the speed of so many updates, by the seconds of each repeat."""
        return cls(
            name, updates / median(seconds), (updates / max(seconds), updates / min(seconds))
        )


@dataclass(frozen=True)
class Worth:
    """The same work in several ways.

    Attributes:
        scenario: what is done.
        unit: of the values: a speed, or a time.
        sides: without the advice first, the product last.
        difference: between their answers, relative (L2), the largest; None where only clocks
            were looked at.
        curve: more of the same by what it depends on, such as the batch.
        along: what the curve goes along, with its unit.
        said: what follows, where that is not how many times faster the product is.
    """

    scenario: str
    unit: str
    sides: tuple[Side, ...]
    difference: float | None
    curve: tuple[tuple[float, float], ...] = ()
    along: str = ""
    said: str = ""

    @property
    def gain(self) -> float:
        """How many times faster the last way is than the first."""
        first, last = self.sides[0].value, self.sides[-1].value
        return first / last if self.unit in LESS_IS_BETTER else last / first

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; what was not measured is left out."""
        sides = [{k: v for k, v in asdict(s).items() if v is not None} for s in self.sides]
        return asdict(self) | {"sides": tuple(sides), "gain": self.gain}
