"""What parts of the model have alike: keys of parameters, and that they change something."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import model_validator

from seismo.equations.framework.parameters import CONSTANTS, Parameter
from seismo.equations.framework.registry import PARAMETERS
from seismo.scenario.base import Field, ScenarioSection, with_keys

Keys = dict[str, tuple[Any, Any]]  # type and `Field` by key
with_parameters = partial(with_keys, PARAMETERS.values())


def keys_of(parameter: Parameter, kind: Any, description: str) -> Keys:
    """Return the key of a parameter, which may be left out (`seismo.scenario.earth.rock_rules`)."""
    return {parameter.name: (kind | None, Field(None, description=description))}


class DepthPart(ScenarioSection):
    """A part that varies with depth alone."""

    relative_to: Literal["ground"] | None = Field(
        None,
        description="ground: its depths count from the ground, which it follows; default: they are "
        "z of the grid's axis",
    )


class ChangingPart(ScenarioSection):
    """A part that gives one property at least, and keeps those that it leaves out."""

    @model_validator(mode="after")
    def _changes_something(self) -> ChangingPart:
        if all(getattr(self, name, None) is None for name in PARAMETERS):
            known = ", ".join(f"'{name}'" for name in PARAMETERS if name not in CONSTANTS)
            raise ValueError(f"changes nothing: give at least one of {known}, or elastic constants")
        return self


class GriddedPart(ChangingPart):
    """A part whose properties are samples at points."""

    interpolation: Literal["linear", "cells"] = Field(
        "linear",
        description="between samples: linear, or cells, each of which is one rock and ends midway "
        "to the next sample",
    )
