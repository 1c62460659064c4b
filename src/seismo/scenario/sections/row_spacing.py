"""The spacing along z: one length, or one that grows with depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic_core import core_schema

from seismo.scenario import units
from seismo.scenario.base import Field, Length, Mistake, PositiveLength, ScenarioSection

TALLEST = 10.0  # times the spacing at the top
_LIST = "a list of {below: 1 km, spacing: 100 m}"


class SpacingBelow(ScenarioSection):
    """The spacing along z below a depth, which rows grow to."""

    below: Length = Field(description="z from which on rows may grow")
    spacing: PositiveLength = Field(description="spacing that they grow to")


GrowingSpacing = float | Literal["auto"] | tuple[SpacingBelow, ...]


class LengthOrGrowth:
    """Annotation of a spacing along z: a length, ``auto``, or lengths below some depths."""

    allowed = f"a number in m, above 0; auto; or {_LIST}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept all three."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe them."""
        length = {"type": "number", "exclusiveMinimum": 0, "x-unit": "m"}
        text = {"type": "string", "pattern": r"^\s*[-+]?[0-9.]", "examples": ["10 m"]}
        depth = {"anyOf": [{"type": "number"}, text]}
        rows = {
            "type": "object",
            "properties": {"below": depth, "spacing": {"anyOf": [length, text]}},
            "required": ["below", "spacing"],
            "additionalProperties": False,
        }
        several = {"type": "array", "items": rows, "minItems": 1}
        return {"anyOf": [length, text, {"const": "auto"}, several]}

    def _checked(self, value: Any) -> GrowingSpacing:
        if value == "auto":
            return "auto"
        if isinstance(value, list | tuple):
            return self._rows(value)
        if isinstance(value, Mapping):
            raise ValueError(f"must be {self.allowed}")
        try:
            length = units.to_si(value, units.LENGTH)
        except ValueError as error:
            raise ValueError(f"{error}; or auto, or {_LIST}") from None
        if length <= 0.0:
            raise ValueError(f"must be {self.allowed}")
        return length

    def _rows(self, value: list[Any] | tuple[Any, ...]) -> tuple[SpacingBelow, ...]:
        if not value:
            raise ValueError(f"must not be empty: give {self.allowed}")
        rows = tuple(one if isinstance(one, SpacingBelow) else _row(one) for one in value)
        for above, row in pairwise(rows):
            if row.below <= above.below or row.spacing < above.spacing:
                raise ValueError(
                    f"below {row.below:g} m: depths must increase, and spacings must not decrease"
                )
        return rows


def _row(value: Any) -> SpacingBelow:
    if not isinstance(value, Mapping) or set(value) != {"below", "spacing"}:
        raise ValueError(f"each of the list must have the keys below and spacing: {_LIST}")
    below, spacing = (units.to_si(value[key], units.LENGTH) for key in ("below", "spacing"))
    if spacing <= 0.0:
        raise ValueError(f"spacing {spacing:g} m: must be above 0 m")
    return SpacingBelow(below=below, spacing=spacing)


def growing(along_z: GrowingSpacing, top: float) -> Iterator[Mistake]:
    """Check how a spacing grows from that at the top in m."""
    for number, row in enumerate(along_z if isinstance(along_z, tuple) else ()):
        if not top <= row.spacing <= TALLEST * top:
            yield Mistake(
                ("grid", "spacing", "z", number, "spacing"),
                f"must be from {top:g} m, that along x, to {TALLEST * top:g} m; make it so, or "
                "change grid.spacing.x",
            )


RowSpacing = Annotated[Any, LengthOrGrowth()]
