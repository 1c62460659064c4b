"""The scenario: one YAML file, checked once, then plain data in SI.

``load`` and ``parse`` read YAML strictly, ``from_dict`` and ``load`` take its keys from Python too.
All three report every mistake at once with its line, key, value and remedy.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from seismo.errors import ScenarioError
from seismo.scenario.document import Scenario, check
from seismo.scenario.strict_yaml import (
    Document,
    read,
    read_file,
)
from seismo.scenario.template import template

__all__ = ["Scenario", "ScenarioInput", "from_dict", "json_schema", "load", "parse", "template"]

ScenarioInput = Scenario | Mapping[str, Any] | str | os.PathLike[str]


def load(scenario: ScenarioInput) -> Scenario:
    """Read and check a scenario.

    Args:
        scenario: the path of its YAML file; or nested dicts and lists with the keys of the YAML,
            where relative paths begin at the working directory; or one that is loaded already.

    Raises:
        ScenarioError: with every mistake, or where the file cannot be read.
    """
    if isinstance(scenario, Scenario):
        return scenario.confirmed()
    if isinstance(scenario, Mapping):
        return from_dict(scenario)
    if not isinstance(scenario, str | os.PathLike):
        raise ScenarioError(
            f"{type(scenario).__name__}: is no scenario; give the path of a YAML file, or a dict "
            "of its keys"
        )
    file = pathlib.Path(scenario)
    return check(read_file(file), file.parent)


def parse(text: str, name: str = "scenario.yaml") -> Scenario:
    """Read and check a scenario from YAML `text`; relative paths begin at the folder of `name`.

    Raises ScenarioError with every mistake.
    """
    return check(read(text, name), pathlib.Path(name).parent)


def from_dict(data: Mapping[str, Any], base: str | os.PathLike[str] = ".") -> Scenario:
    """Check a scenario given as nested dicts and lists with the keys of the YAML.

    Raises ScenarioError with every mistake.
    """
    plain = dict(data) if isinstance(data, Mapping) else data
    return check(Document("", data=plain), pathlib.Path(base))


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario, for editors."""
    schema = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
