"""A parameter at both ends of a gradient, or one value for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from pydantic_core import core_schema

from seismo.equations.framework.parameters import Parameter
from seismo.scenario.auto_values import Shorthand
from seismo.scenario.base import Field, ScenarioSection, value_of
from seismo.scenario.mistakes import schema_text
from seismo.scenario.units import NOT_A_NUMBER


@dataclass(frozen=True)
class OneForBoth:
    """Annotation of a section with top and bottom: one value of a type is that of both."""

    value_type: Any

    @cached_property
    def _adapter(self) -> TypeAdapter[float]:
        return TypeAdapter(self.value_type)

    def _both(self, value: Any, check: Any) -> Any:
        if isinstance(value, Mapping | BaseModel):
            return check(value)
        try:
            number = self._adapter.validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            cause = first.get("ctx", {}).get("error")
            problem = str(cause or f"must be {schema_text.allowed(self.value_type)}")
            if cause is None or problem.startswith(NOT_A_NUMBER):
                problem += ", or keys top, bottom"
            raise ValueError(problem) from None
        return check({"top": number, "bottom": number})

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the value, and what it annotates."""
        return core_schema.no_info_wrap_validator_function(self._both, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        number = self._adapter.json_schema()
        return {"anyOf": [*number["anyOf"], handler(schema["schema"])]}


def ends_of(parameter: Parameter, module: str) -> tuple[type[ScenarioSection], Any]:
    """Return a section with a parameter at top and bottom, for a module, and its annotation."""
    name = parameter.name
    meaning = parameter.meaning
    value_type = value_of(parameter)
    title = "".join(word[0].upper() + word[1:] for word in meaning.split())
    ends = create_model(
        f"{title}Range",
        __base__=ScenarioSection,
        __doc__=f"{meaning[0].upper()}{meaning[1:]} at both ends of a gradient.",
        __module__=module,
        top=(value_type, Field(description=f"{name} at `z_top` and above")),
        bottom=(value_type, Field(description=f"{name} at `z_bottom` and below")),
    )
    words = Shorthand(schema_text.allowed(value_type))
    return ends, Annotated[ends, OneForBoth(value_type), words]
