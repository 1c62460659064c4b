"""The scenario: one YAML file, checked once, then plain data in SI.

``load`` and ``parse`` read YAML strictly, ``from_dict`` and ``load`` take its keys from Python too.
All three report every mistake at once with its line, key, value and remedy. The names here are
imported when they are first used: features add their keys to the scenario, and import its parts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seismo.scenario.document import (
        Scenario,
        ScenarioInput,
        from_dict,
        json_schema,
        load,
        parse,
    )
    from seismo.scenario.scenario_template import template

__all__ = ["Scenario", "ScenarioInput", "from_dict", "json_schema", "load", "parse", "template"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'seismo.scenario' has no attribute {name!r}")
    module = "scenario_template" if name == "template" else "document"
    value = getattr(importlib.import_module(f"seismo.scenario.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
