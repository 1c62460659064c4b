"""Continuation after mistakes: other values in their place, so that rules find further mistakes.

Rules between keys run on a draft of the readable parts. One unreadable value would hide its whole
section from them, so a misspelt key gets the name that is meant, and a value that no rule compares
with others is replaced by a possible value: a stand-in.

Mistakes in files and positions show in a scenario without other mistakes alone. For these, whole
sections and entries with mistakes are replaced by fillers.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from seismo.equations.framework.parameters import Parameter
from seismo.equations.framework.registry import EQUATIONS, PARAMETERS, PHYSICS
from seismo.errors import KeyPath
from seismo.scenario.draft import OWN_KEYS, Draft
from seismo.scenario.model_parts import ModelPart, given_parameters
from seismo.scenario.python_data import plain
from seismo.scenario.quantities import Mistake
from seismo.scenario.sections.grid import Boundaries, GridSpec, TimeSpec
from seismo.scenario.sections.output import Output, are_spectral
from seismo.scenario.sections.receivers import ReceiverSet
from seismo.scenario.sections.sources import Survey

_ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2200.0}
_LONG = 1e9  # s
# Sections that all others are about: with mistakes in them no position is known.
BASIC = ("physics", "grid", "boundaries", "topography", "geographic")

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
        replaced: paths of stand-ins: mistakes that rules find there are not the user's.
        retyped: sections whose `type` is misspelt, and has been replaced by the type that is meant.
    """

    data: Any
    replaced: frozenset[KeyPath]
    retyped: frozenset[KeyPath]


def with_stand_ins(data: dict[str, Any], mistakes: list[Mistake]) -> Mended:
    """Return a copy of the data of a scenario with replaceable mistakes replaced."""
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
    """Return an admissible value (SI) of a parameter, other than its default."""
    low, high = parameter.limits
    high = high if math.isfinite(high) else 1e3 + abs(low)
    return low + 0.7 * (high - low)


def _stand_ins(path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield paths, at a path or above it, or in the entry at it, and their replacements."""
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


def with_fillers(data: Any, draft: Draft, entries: set[KeyPath]) -> Any:
    """Return the data of a scenario with fillers in place of entries and sections.

    Args:
        data: of a faulty scenario, with stand-ins.
        draft: the parts of it that can be read.
        entries: paths of them.
    """
    table = draft.table
    if table is None or draft.dimensions is None:
        return data
    copy = plain(data)
    # Entries before the sections that they are in.
    for entry in sorted(entries, key=len, reverse=True):
        section, *numbers = entry
        if section in BASIC:
            continue
        filler = _filler(draft, table, entry)
        if filler is None or (numbers and not isinstance(copy.get(section), list | dict)):
            copy.pop(section, None)
        elif not numbers:
            copy[section] = filler
        else:
            holder = copy[section] if len(entry) == 2 else copy[section][numbers[0]]
            holder[entry[-1]] = filler
    return copy


def entry_of(path: KeyPath) -> KeyPath:
    """Return the path of the entry of a list that a key belongs to, or else of its section."""
    if path[:1] == ("output",):
        return path[:3] if len(path) > 2 and path[1] in ("snapshots", "maps") else path[:1]
    return path[:2] if len(path) > 1 and isinstance(path[1], int) else path[:1]


def _filler(draft: Draft, table: Any, entry: KeyPath) -> Any:
    """Return a replacement of an entry or a section; None to leave it out."""
    section = entry[0]
    name = f"filler_{entry[-1]}"
    position = _inside(draft)
    if section == "time":
        return {"duration": _LONG}
    if section == "model":
        needs = EQUATIONS[draft.physics or ""].needs
        rock = {"type": "uniform"} | {key: v for key, v in _ROCK.items() if key in needs}
        return rock if len(entry) == 2 else [rock]
    if section == "sources":
        source: dict[str, Any] = {"type": "explosion"}
        if "explosion" not in table.drives:
            source = {"type": "force", "force": {table.components("force")[0]: 1.0}}
        wavelet = {"type": "ricker", "frequency": 1.0}
        source |= {"name": name, "position": position, "wavelet": wavelet}
        return source if len(entry) == 2 else [source]
    if section == "receivers" and len(entry) == 2:
        return {"type": "points", "name": name, "positions": [position]}
    if section == "output" and len(entry) == 3:
        shown = {"name": name, "fields": [table.shown[0]], "steps": 1}
        return shown if entry[1] == "snapshots" else {"name": name, "quantities": shown["fields"]}
    return None


def _inside(draft: Draft) -> Mapping[str, float]:
    """Return a position in the middle of the grid."""
    axes = "xyz" if draft.dimensions == 3 else "xz"
    limits = {axis: draft.limits(axis) for axis in axes}
    middle = {axis: 0.5 * sum(ends) for axis, ends in limits.items() if ends}
    return middle if "z" in middle else middle | {"depth": 0.0}


def draft_of_data(data: dict[str, Any], scenario: type[BaseModel]) -> Draft:
    """Return the parts that can be read of a faulty scenario, with the fields of its class."""
    physics = data.get("physics")
    source = get_args(scenario.model_fields["sources"].annotation)[0]
    model = _try_each(ModelPart, data.get("model"))
    others = {
        key: _try(scenario.model_fields[key].annotation, data[key])
        for key in (data.keys() & scenario.model_fields.keys()) - OWN_KEYS
    }
    readable = [model_part for model_part in model or () if model_part is not None]
    required = given_parameters(readable) | set().union(
        *(getattr(section, "gives", ()) for section in others.values())
    )
    # Keys of a part that cannot be read still tell parameters that the equation has to take.
    unread = [data["model"][n] for n, model_part in enumerate(model or ()) if model_part is None]
    return Draft(
        physics=physics if isinstance(physics, str) and physics in PHYSICS else None,
        grid=_try(GridSpec, data.get("grid")),
        time=_try(TimeSpec, data.get("time")),
        boundaries=_try(Boundaries, data.get("boundaries")),
        model=model,
        sources=_try_each(source, data.get("sources")),
        receivers=_try_each(ReceiverSet, data.get("receivers")),
        survey=_try(Survey, data.get("survey")),
        output=_output(data.get("output"), scenario.model_fields["output"].annotation),
        others=others,
        written=frozenset(data),
        required=frozenset(required | (PARAMETERS.keys() & _keys_below(unread))),
    )


def _output(data: Any, section: Any) -> Output | None:
    """Return the entries of lists that can be read, such as snapshots, None in place of others."""
    if not isinstance(data, dict):
        return None
    kinds = {key: get_args(field.annotation) for key, field in section.model_fields.items()}
    readable: dict[str, Any] = {
        key: _try_each(kind[0], data.get(key)) or ()
        for key, kind in kinds.items()
        if kind[1:] == (...,)
    }
    output: Output = section.model_construct(**readable)
    return output


def _keys_below(data: Any) -> set[str]:
    """Return the keys of all mappings in data."""
    if isinstance(data, dict):
        return {str(key) for key in data}.union(*map(_keys_below, data.values()))
    return set[str]().union(*map(_keys_below, data)) if isinstance(data, list | tuple) else set()


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return the validator of a section, which takes long to build."""
    return TypeAdapter(annotation)


def _try(annotation: Any, data: Any) -> Any:
    try:
        return _adapter(annotation).validate_python(data)
    except ValidationError:
        return None


def _try_each(annotation: Any, data: Any) -> tuple[Any, ...] | None:
    if not isinstance(data, list | tuple):
        return None
    adapter = _adapter(annotation)
    result: list[Any] = []
    for item in data:
        try:
            result.append(adapter.validate_python(item))
        except ValidationError:
            result.append(None)
    return tuple(result)
