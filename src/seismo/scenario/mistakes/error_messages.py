"""Messages about mistakes, which a geophysicist can act on, from the findings of pydantic.

Each mistake becomes ``file:line:column: key.path: value: allowed values; did you mean 'x'?``, and
all of them are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import KeyPath, PlacedMessage, ScenarioError
from seismo.scenario.mistakes import closest_match, intended_key, schema_text
from seismo.scenario.python_data import PythonArray
from seismo.scenario.quantities import NO_SUGGESTION, Mistake, Quantity, Suggestion
from seismo.scenario.strict_yaml import AmbiguousTruth, Document, LineColumn, shortened, tight

MOST_SHOWN = 50
_MOST_EXPLAINED = 4 * MOST_SHOWN  # of the first lines; others are only counted
RULES = "rules"  # pydantic error type that carries mistakes found by the rules between keys
_ABSENT = object()
_INDEXED: Any = (Mapping, list, tuple)


def translate(error: ValidationError, model: type[BaseModel], document: Document) -> list[Mistake]:
    """Return the mistakes that pydantic found in a document, in words.

    Of very many the mistakes of its first lines are explained, and the others named.
    """
    errors = error.errors(include_url=False)
    mistakes = [mistake for e in errors if e["type"] == RULES for mistake in e["ctx"]["mistakes"]]
    items = [item for item in errors if item["type"] != RULES]
    if len(items) > _MOST_EXPLAINED:
        items.sort(
            key=lambda item: line_column_of(document, schema_text.plain_path(item["loc"])) or (0, 0)
        )
    parents = {item["loc"][:depth] for item in items for depth in range(len(item["loc"]))}
    for number, item in enumerate(items):
        if item["type"] == "too_short" and item["loc"] in parents:
            continue  # a list is called too short only because of the mistakes inside it
        if number < _MOST_EXPLAINED:
            mistakes.append(_mistake(item, model, document.data))
        else:
            path = schema_text.plain_path(item["loc"])
            unknown = item["type"] == "extra_forbidden"
            mistakes.append(_unknown(path) if unknown else Mistake(path, "is no value for it"))
    suggested = {(*m.path[:-1], *m.suggestion.meant.split(".")) for m in mistakes if m.is_unknown}
    return [m for m in mistakes if not (m.kind == "missing" and m.path in suggested)]


def _unknown(path: KeyPath, suggestion: Suggestion = NO_SUGGESTION) -> Mistake:
    return Mistake(path, f"unknown key{suggestion.text}", "unknown", suggestion)


def key_path(path: KeyPath) -> str:
    """Return ``model[0].vp`` for ``("model", 0, "vp")``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{_word(key)}"
    return text.removeprefix(".")


def value_at(data: Any, path: KeyPath) -> Any:
    """Return the raw value at `path`, or a mark that there is none."""
    for key in path:
        try:
            data = data[key] if isinstance(data, _INDEXED) else getattr(data, str(key))
        except (KeyError, IndexError, TypeError, AttributeError):
            return _ABSENT
    return data


def scenario_error(document: Document, mistakes: list[Mistake]) -> ScenarioError:
    """Return the error that lists all mistakes of the document, in the order of its lines."""
    # A word such as yes is no truth value where something else is wanted.
    other_paths = {m.path for m in mistakes if m.kind != "truth"}
    of_text = [
        mistake
        for mistake in document.mistakes
        if mistake.path not in other_paths or not isinstance(mistake, AmbiguousTruth)
    ]
    paths_of_text = {m.path for m in of_text}
    listed: list[tuple[LineColumn | None, Mistake, bool]] = [
        (m.line_column, Mistake(m.path, m.problem), False) for m in of_text
    ]
    for mistake in mistakes:
        if mistake.path not in paths_of_text or mistake.is_unknown:
            listed.append((line_column_of(document, mistake.path), mistake, True))
    listed = list(dict.fromkeys(sorted(listed, key=lambda entry: entry[0] or (0, 0))))
    messages: list[str] = []
    for line_column, mistake, with_value in listed[:MOST_SHOWN]:
        value = shown(value_at(document.data, mistake.path)) if with_value else ""
        problem = f"{value}: {mistake.problem}" if value else mistake.problem
        line = _line(document.name, line_column, mistake.path, problem)
        messages.append(PlacedMessage(line, mistake.path, line_column))
    if len(listed) > MOST_SHOWN:
        remaining = f"and {len(listed) - MOST_SHOWN} more mistakes"
        messages.append(f"{document.name or 'scenario'}: {remaining}")
    return ScenarioError(*messages)


def line_column_of(document: Document, path: KeyPath) -> tuple[int, int] | None:
    """Return the line and column of `path`, or of the nearest key above it that is written."""
    while path and path not in document.line_columns:
        path = path[:-1]
    return document.line_columns.get(path)


def shown(value: Any) -> str:
    """Return a value for a message; mappings and long lists are better left out."""
    if value is _ABSENT or _many_keys(value):
        return ""
    if isinstance(value, list | tuple) and (len(value) > 6 or any(map(_many_keys, value))):
        return ""
    if value is None:
        return "no value"
    if isinstance(value, np.ndarray):
        return f"array of shape {list(value.shape)}"
    if value is True or value is False:
        return str(value).lower()
    return shortened(value)


def _many_keys(value: Any) -> bool:
    return isinstance(value, Mapping | BaseModel)


def _line(name: str, line_column: tuple[int, int] | None, path: KeyPath, problem: str) -> str:
    where = ":".join(str(text) for text in ((name,) if name else ()) + (line_column or ()))
    return " ".join(
        ": ".join(text for text in (where, key_path(path), problem) if text).splitlines()
    )


def _word(key: str) -> str:
    printable = key.isprintable() and 0 < len(key) <= 40 and "." not in key
    return key if printable else shortened(key, 43)


def _mistake(item: Any, model: type[BaseModel], data: Any) -> Mistake:
    loc = item["loc"]
    kind = item["type"]
    path = schema_text.plain_path(loc)
    annotation = schema_text.at(model, loc)
    takes_arrays = schema_text.model_at(annotation) is PythonArray
    if isinstance(item["input"], np.ndarray) and kind != "extra_forbidden" and not takes_arrays:
        path = path[:1] if path[0] == "model" and len(path) == 2 else path  # its rows, singly
        return Mistake(
            path, _array(path, schema_text.allowed(annotation) if annotation else "one value")
        )
    if kind == "extra_forbidden":
        owner = schema_text.model_at(schema_text.at(model, loc[:-1]))
        return _unknown(path, intended_key(path, owner, model))
    if kind == "missing":
        owner = schema_text.model_at(schema_text.at(model, loc[:-1]))
        return Mistake(path, _missing(path, annotation, owner), "missing")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _type_mistake(path, item["input"], schema_text.tags(annotation))
    if kind == "value_error":
        if path == ("grid", "spacing") and isinstance(item["input"], list):
            return Mistake(path, "is a list: write {x: 10 m, z: 10 m}, or one length for all axes")
        return Mistake(path, str(item["ctx"]["error"]))
    if kind == "invalid_key":
        return Mistake(path, "a key must be a text")
    if kind == "literal_error":
        words = schema_text.choices(annotation)
        # What is listed are names of fields, such as quantities.
        is_listed = isinstance(path[-1], int)
        hint = closest_match(item["input"], words, remarks=not is_listed)
        return Mistake(path, f"must be one of {', '.join(words)}{hint.text}", suggestion=hint)
    if kind == "too_short" and not item["input"]:
        return Mistake(path, "must not be empty")
    if annotation is None:
        return Mistake(path, item["msg"].replace("Input should be", "must be"))
    problem = _not_allowed(item, path, annotation, model, data)
    return Mistake(path, problem, "truth" if schema_text.is_truth(annotation) else "other")


def _not_allowed(
    item: Any, path: KeyPath, annotation: Any, model: type[BaseModel], data: Any
) -> str:
    """Describe the error of a value, and the values that its key takes."""
    kind = item["type"]
    owner = schema_text.model_at(annotation)
    if owner and (problem := _tight(item["input"])):
        return problem
    if owner and "path" in owner.model_fields and isinstance(item["input"], str):
        return f"must be a mapping; write {{path: {shortened(item['input'])}}}"
    if owner and item["input"] is None:
        return _no_value(owner)
    converted = _converted(value_at(data, path), item["input"], schema_text.quantity(annotation))
    hint = _listed(item["input"], annotation) if kind == "tuple_type" else converted
    allowed = _with_keys(schema_text.allowed(annotation))
    negative = str(item["input"]).lstrip().startswith("-")
    if kind == "greater_than_equal" and negative and item["ctx"]["ge"] > 0.0:
        allowed = f"positive: {allowed}"
    if kind == "greater_than_equal" and not negative:
        hint += _why(path, annotation)
    siblings = schema_text.model_at(schema_text.at(model, item["loc"][:-1]))
    if kind == "tuple_type" and siblings is not None and "path" in siblings.model_fields:
        hint = _as_file(item["input"]) or hint
    return f"must be {allowed}{hint}"


def _array(path: KeyPath, allowed: str) -> str:
    """Lead an array of NumPy to where it may stand."""
    name = "vp" if path == ("model",) else str(path[-1])
    if path[0] == "model" and name in PARAMETERS:
        return (
            f"an array of values, axes z, (y,) x, is a part of the model {{'type': 'array', "
            f"'{name}': array}}; in YAML {{type: file, ...}} reads it from a file"
        )
    return f"must be {_with_keys(allowed)}"


def _converted(written: Any, number: Any, quantity: Quantity | None) -> str:
    """Return the value of a text with a unit, as ``" (it is 2578.31 deg)"``, or nothing."""
    if quantity is None or not isinstance(written, str) or f"{number:g}" in written:
        return ""
    return f" (it is {number:g} {quantity.dimension.symbol}".rstrip() + ")"


def _listed(value: Any, annotation: Any) -> str:
    """Describe how a value is written as a list of the required length."""
    entries = get_args(schema_text.unwrapped(schema_text.branches(annotation)[0]))
    if isinstance(value, Mapping) and value and Ellipsis not in entries:
        return f"; write [{', '.join(map(str, value.values()))}]"
    if isinstance(value, Mapping) and value:
        return f"; begin each entry with a dash: '- {next(iter(value))}: ...'"
    if not isinstance(value, str) or not value.isidentifier():
        return ""
    entry = schema_text.model_at(entries[0])
    return f", each {_with_keys(schema_text.allowed(entry))}" if entry else f"; write [{value}]"


def _as_file(value: Any) -> str:
    """Describe where a file goes whose name stands in place of a list."""
    is_file = isinstance(value, str) and "." in value
    return f"; a file of them is given by path: {value}" if is_file else ""


def _why(path: KeyPath, annotation: Any) -> str:
    """Return the reason for the least value of a parameter, if any."""
    named = next((key for key in reversed(path) if key in PARAMETERS), "")
    reason = PARAMETERS[str(named)].reason if named and annotation is not None else ""
    return f": {reason}" if reason else ""


def _tight(value: Any) -> str:
    return tight(value) if isinstance(value, str) else ""


def _no_value(owner: type[BaseModel]) -> str:
    """Describe the keys that belong below an empty key."""
    fields = owner.model_fields
    needed = [name for name, field in fields.items() if field.is_required()]
    others = ", ".join(name for name in fields if name not in needed)
    if not needed:
        return f"leave it out, or give some of its keys {others}"
    return f"needs {' and '.join(needed)}" + (others and f", and may have {others}")


def _with_keys(allowed: str) -> str:
    return re.sub("^(.*, or )?keys ", r"\1a mapping with the keys ", allowed)


def _missing(path: KeyPath, annotation: Any, owner: type[BaseModel] | None) -> str:
    if isinstance(path[-1], int):
        return f"missing: the list is too short by this value ({schema_text.allowed(annotation)})"
    description = owner.model_fields[path[-1]].description if owner else None
    return f"missing: give {description or 'it'} ({schema_text.allowed(annotation)})"


def _type_mistake(path: KeyPath, value: Any, names: list[str]) -> Mistake:
    allowed = f"one of {', '.join(names)}"
    if problem := _tight(value):
        return Mistake(path, problem)
    if not isinstance(value, Mapping):
        return Mistake(path, f"must be a mapping with a 'type', {allowed}")
    if "type" not in value:
        return Mistake((*path, "type"), f"missing: give {allowed}", "missing")
    hint = closest_match(value["type"], names)
    return Mistake((*path, "type"), f"must be {allowed}{hint.text}", suggestion=hint)


def is_misspelt(missing: Mistake, mistakes: list[Mistake]) -> bool:
    """Whether a key is missing that stands beside it in another spelling, which is named."""
    *section, key = missing.path or ("",)
    return any(
        m.is_unknown
        and list(m.path[:-1]) == section
        and m.suggestion.meant == key
        and m.suggestion.is_synonym
        for m in mistakes
    )
