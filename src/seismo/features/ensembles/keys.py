"""Keys of a scenario whose values are drawn: where they are, their values and units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seismo.errors import KeyPath, ScenarioError
from seismo.scenario import units
from seismo.scenario.mistakes import closest_match, schema_text
from seismo.scenario.mistakes.error_messages import key_path
from seismo.scenario.python_data import path_of
from seismo.scenario.quantities import ScenarioSection

SECTIONS = ("model", "sources")
_LARGEST_WHOLE = 2**53  # values of draws are floats


@dataclass(frozen=True)
class DrawnKey:
    """A key whose values are drawn.

    Attributes:
        path: of the key.
        value: in the scenario as it is written, in SI.
        dimension: of its values; none of whole numbers.
    """

    path: KeyPath
    value: float
    dimension: units.Dimension | None

    def __str__(self) -> str:
        """Write the path as scenarios name it."""
        return key_path(self.path)

    @property
    def unit(self) -> str:
        """The unit of values in SI, "" without one."""
        return "" if self.dimension is None else self.dimension.symbol

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers, such as seeds."""
        return self.dimension is None

    def to_si(self, value: object) -> float:
        """Return a number, or a text with a unit, in SI.

        Raises:
            UnitError: it is neither, of another dimension, or no whole number where one is needed.
        """
        number = units.to_si(value, self.dimension or units.NUMBER)
        if self.is_whole and number != int(number):
            raise units.UnitError("must be a whole number")
        if self.is_whole and abs(number) > _LARGEST_WHOLE:
            raise units.UnitError(f"must be at most {_LARGEST_WHOLE} where it is drawn")
        return number

    def plain(self, number: float) -> float | int:
        """Return a value as it is typed into a scenario."""
        return int(number) if self.is_whole else float(number)


def key_of(text: str, model: Sequence[Any], sources: Sequence[Any]) -> DrawnKey:
    """Return the key of a path such as model[1].vs.

    Args:
        text: the path.
        model: parts of the model of a scenario.
        sources: its sources.

    Raises:
        ScenarioError: there is no such key, it is not written, or holds no number.
    """
    path = path_of(text)
    if path[0] not in SECTIONS:
        raise ScenarioError(f"must begin with {' or '.join(SECTIONS)}: others are of all members")
    entry: Any = model if path[0] == "model" else sources
    annotation: Any = None
    for depth, name in enumerate(path[1:], 1):
        annotation = _annotation(entry, name, path[:depth], annotation)
        entry = getattr(entry, str(name)) if isinstance(entry, ScenarioSection) else entry[name]
        if entry is None:
            raise ScenarioError(
                f"{key_path(path[: depth + 1])} is not written: write a typical value there"
            )
    quantity = schema_text.quantity(annotation)
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        raise ScenarioError("holds no number: name a key that does")
    if quantity is None and not isinstance(entry, int):
        raise ScenarioError("has values of several kinds, which cannot be drawn")
    return DrawnKey(path, float(entry), None if quantity is None else quantity.dimension)


def _annotation(entry: Any, name: str | int, path: KeyPath, annotation: Any) -> Any:
    """Return the annotation of a key below an entry.

    Raises:
        ScenarioError: the entry has no such key.
    """
    if isinstance(entry, ScenarioSection):
        fields = type(entry).model_fields
        if name not in fields:
            hint = closest_match(str(name), list(fields)).text
            raise ScenarioError(f"{key_path(path)} has no key {name}{hint}")
        return schema_text.annotation_of(fields[str(name)])
    if not isinstance(entry, list | tuple):
        raise ScenarioError(f"{key_path(path)} is a single value: nothing is below it")
    if not isinstance(name, int) or name >= len(entry):
        counted = f"[0] to [{len(entry) - 1}]" if entry else "none"
        raise ScenarioError(f"{key_path(path)} is a list, and has {counted}")
    return schema_text.at(annotation, (name,)) if annotation is not None else None
