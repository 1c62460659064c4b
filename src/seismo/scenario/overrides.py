"""Changes of a scenario in Python: values by the paths of their keys, put into its plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from seismo.errors import KeyPath, ScenarioError
from seismo.scenario.earth.arrays import PythonArray
from seismo.scenario.quantities import Mistake, ScenarioSection
from seismo.scenario.strict_yaml import MAX_DEPTH

_PATH = re.compile(r"[^.\[\]]+(\[[0-9]{1,9}\]|\.[^.\[\]]+)*")
_PART = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


def plain(value: Any, depth: int = 0) -> Any:
    """Return a copy of parts, mappings and lists as dicts and lists, without parts' empty keys.

    Numbers of NumPy's become Python's, arrays of no axes too; other arrays are not copied.

    Raises ScenarioError where it is deeper than any scenario, or contains itself; `depth` says how
    deep a value is.
    """
    if depth > MAX_DEPTH:
        raise ScenarioError(f"scenario: nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, PythonArray):
        return value
    if isinstance(value, ScenarioSection):
        value = {
            key: item_value for key, item_value in value.__dict__.items() if item_value is not None
        }
    if isinstance(value, Mapping):
        return {key: plain(item_value, depth + 1) for key, item_value in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if scalar else value


def path_of(key: object) -> KeyPath:
    """Return ``("model", 0, "vp")`` for ``model[0].vp``.

    Raises ScenarioError where it is no such path.
    """
    if not isinstance(key, str) or not _PATH.fullmatch(key):
        raise ScenarioError(f"{key!r}: give a path of keys, such as 'sources[0].position.x'")
    return tuple(int(number) if number else word for number, word in _PART.findall(key))


def put(data: Any, path: KeyPath, value: Any) -> Mistake | None:
    """Put a value into plain `data`, below keys made where there are none; None takes a key away.

    Returns what stands in the way.
    """
    for depth, key in enumerate(path):
        if problem := _obstacle(data, key):
            return Mistake(path[:depth], problem)
        if depth + 1 < len(path):
            if isinstance(data, dict) and data.get(key) is None:
                data[key] = {}
            data = data[key]
    if value is None and isinstance(data, dict) and path[-1] in data:
        del data[path[-1]]
    else:
        data[path[-1]] = plain(value)
    return None


def _obstacle(data: Any, key: str | int) -> str:
    if isinstance(data, dict) or (isinstance(data, list) and key in range(len(data))):
        return ""
    if isinstance(data, list):
        if isinstance(key, int):
            return f"has no [{key}]: it is a list of {len(data)}; change all of it to add one"
        return f"is a list of {len(data)}: name one of them by its number, from [0], or change all"
    return "is one value as it is written: change it as a whole"
