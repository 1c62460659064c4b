"""A faulty scenario with possible values in place of its mistakes.

Rules between keys run on what can be read. One unreadable value would hide its whole section from
them, so a misspelt key gets the name that is meant, and a value that no rule compares with others
is replaced by any possible one.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seismo.equations.framework.parameters import Parameter
from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import KeyPath
from seismo.scenario.overrides import plain
from seismo.scenario.quantities import Mistake
from seismo.scenario.sections.output import are_spectral

_LEFT_OUT = object()
_WAVELET = {"type": "ricker", "frequency": 1.0}
_ALIKE = 0.75  # share of the letters of two words that are the same
_ALWAYS = 1e-9  # s: an interval with multiples between any two times


def _quantities(entry: Mapping[str, Any]) -> list[str]:
    """Return quantities that go with the periods of a map, or with none."""
    return ["sa" if "periods" in entry else "pressure"]


def _periods(entry: Mapping[str, Any]) -> Any:
    """Return periods that go with the quantities of a map."""
    quantities = entry.get("quantities")
    has_periods = isinstance(quantities, list) and are_spectral(quantities)
    return [1.0] if has_periods else _LEFT_OUT


# Possible values of keys that no rule compares with others, by their sections; or functions of the
# entry that they are in.
_STAND_INS: dict[tuple[str, ...], dict[str, Any]] = {
    (): dict.fromkeys(
        ("title", "precision", "averaging", "isotropic_source", "checkpoint", "event"), _LEFT_OUT
    ),
    ("grid",): dict.fromkeys(("order", "stencil", "accuracy", "decomposition"), _LEFT_OUT),
    ("time",): dict.fromkeys(("step", "courant", "dispersion_removal"), _LEFT_OUT),
    ("boundaries",): {"layer": _LEFT_OUT},
    ("sources",): {"wavelet": _WAVELET, "name": _LEFT_OUT, "time_function": _LEFT_OUT}
    | dict.fromkeys(("amplitude", "moment", "magnitude", "strike", "dip", "rake", "delay"), 1.0),
    ("receivers",): {"quantities": _LEFT_OUT, "interval": _LEFT_OUT, "count": 2},
    ("output", "snapshots"): {"interval": _ALWAYS, "steps": 1, "fields": ["pressure"]}
    | dict.fromkeys(("decimate", "relative_error", "plane", "box", "start", "stop"), _LEFT_OUT),
    ("output", "maps"): {"quantities": _quantities, "periods": _periods}
    | dict.fromkeys(("decimate", "damping", "plane", "box"), _LEFT_OUT),
}
# Of entries whose keys do not go together, such as start and stop.
_TOGETHER: dict[tuple[str, ...], dict[str, Any]] = {
    ("output", "snapshots"): {"steps": 1} | dict.fromkeys(("interval", "start", "stop"), _LEFT_OUT),
    ("output", "maps"): {"quantities": ["pressure"], "periods": _LEFT_OUT},
}


@dataclass(frozen=True)
class Mended:
    """The data of a faulty scenario, with stand-ins.

    Attributes:
        data: plain dicts and lists.
        replaced: paths of stand-ins: what rules find there is no mistake of the user.
        retyped: sections whose `type` is misspelt, and has been replaced by what is meant.
    """

    data: Any
    replaced: frozenset[KeyPath]
    retyped: frozenset[KeyPath]


def with_stand_ins(data: dict[str, Any], mistakes: list[Mistake]) -> Mended:
    """Return a copy of the data of a scenario without those mistakes that can be replaced."""
    copy = plain(data)
    replaced = set[KeyPath]()
    retyped = set[KeyPath]()
    for mistake in mistakes:
        section = _at(copy, mistake.path[:-1])
        meant = mistake.suggestion.meant
        if mistake.path[-1:] == ("type",) and isinstance(section, dict):
            if meant and _is_alike(str(section.get("type")), meant):
                section["type"] = meant
                retyped.add(mistake.path[:-1])
            continue
        if mistake.is_unknown and isinstance(section, dict):
            value = section.pop(mistake.path[-1], None)
            if meant and "." not in meant:
                section.setdefault(meant, value)
            continue
        for path, value in _stand_ins(mistake.path):
            section = _at(copy, path[:-1])
            if isinstance(section, dict):
                replaced.add(path)
                value = value(section) if callable(value) else value
                section[path[-1]] = value
                if value is _LEFT_OUT:
                    del section[path[-1]]
    return Mended(copy, frozenset(replaced), frozenset(retyped))


def _is_alike(written: str, meant: str) -> bool:
    """Whether a word is misspelt, not that of another program for something like it."""
    return difflib.SequenceMatcher(None, written.lower(), meant).ratio() >= _ALIKE


def possible_value(parameter: Parameter) -> float:
    """Return some value (SI) of a parameter that a medium may have, other than its default."""
    low, high = parameter.limits
    high = high if math.isfinite(high) else 1e3 + abs(low)
    return low + 0.7 * (high - low)


def _stand_ins(path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield paths, at a path or above it, or in the entry at it, and what can stand there."""
    names = [key for key in path if isinstance(key, str)]
    if names[:1] == ["model"]:
        last = str(path[-2] if path[-1] in ("top", "bottom") and len(path) > 3 else path[-1])
        if last in PARAMETERS:
            yield path, possible_value(PARAMETERS[last])
        return
    for section, stand_ins in _STAND_INS.items():
        count = len(section)
        if tuple(names[:count]) == section and names[count:] and names[count] in stand_ins:
            depth = path.index(names[count], count) + 1
            yield path[:depth], stand_ins[names[count]]
    for key, value in _TOGETHER.get(tuple(names), {}).items():
        yield (*path, key), value


def _at(data: Any, path: KeyPath) -> Any:
    for key in path:
        is_key = key in data if isinstance(data, Mapping) else False
        is_index = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if not (is_key or is_index):
            return None
        data = data[key]
    return data
