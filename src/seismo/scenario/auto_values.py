"""Values that may be left to the program: ``auto``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_core import core_schema

AUTO = "auto"


@dataclass(frozen=True)
class Shorthand:
    """Annotation of a section or list that may be written shorter; `words` describe how."""

    words: str


class OrAuto:
    """Annotation of a value that may be left to the program: ``auto``."""

    words = AUTO

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the word, and what it annotates."""
        inner = handler(source)
        written = core_schema.wrap_serializer_function_ser_schema(self._checked, schema=inner)
        return core_schema.no_info_wrap_validator_function(
            self._checked, inner, serialization=written
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        return {"anyOf": [{"const": AUTO}, handler(schema["schema"])]}

    @staticmethod
    def _checked(value: Any, check: Callable[[Any], Any]) -> Any:
        return AUTO if value == AUTO else check(value)


@dataclass(frozen=True)
class AutoOrCount:
    """Annotation of a whole number from 1 on that may be left to the program: ``auto``.

    With a `length` it is a list of so many, with `choices` one of them.
    """

    length: int = 0
    choices: tuple[int, ...] = ()

    @property
    def allowed(self) -> str:
        """Describe what may stand there."""
        if self.choices:
            return f"auto, or one of {', '.join(map(str, self.choices))}"
        what = f"a list of {self.length} whole numbers" if self.length else "a whole number"
        return f"auto, or {what}, at least 1"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the word and whole numbers, no texts that look like them."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        number: dict[str, Any] = {"type": "integer", "minimum": 1}
        if self.choices:
            number = {"type": "integer", "enum": list(self.choices)}
        ends = {"minItems": self.length, "maxItems": self.length}
        several = {"type": "array", "items": number, **ends}
        return {"anyOf": [{"const": AUTO}, several if self.length else number]}

    def _checked(self, value: Any) -> Any:
        is_choice = value in self.choices if self.choices else True
        if value == AUTO or (not self.length and _is_count(value) and is_choice):
            return value
        counts = value if isinstance(value, list | tuple) else ()
        if self.length and len(counts) == self.length and all(map(_is_count, counts)):
            return tuple(counts)
        raise ValueError(f"must be {self.allowed}")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1
