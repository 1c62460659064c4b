"""The scenario reference as Markdown, made from the schema itself so that it cannot go stale.

``python -m seismo.scenario.reference`` writes it to standard output; the docs site includes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seismo.scenario import describe
from seismo.scenario.document import Scenario

_HEAD = """\
# Scenario reference

Every key a scenario may hold. Numbers are SI; a text with a unit (`3 km/s`, `25 Hz`, `12 ms`,
`2.7 g/cm3`) is converted, and refused where its dimension is wrong. Angles are degrees. z points
down. *required* keys have no default; *optional* ones may be left out. Unknown keys are mistakes.
"""


def reference() -> str:
    """Return the reference of all keys as Markdown."""
    lines = [_HEAD, *_section("Scenario", "", Scenario)]
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, path: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{_words(model)}\n"
    yield "| key | value | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in model.model_fields.items():
        meaning = _cell(field.description or "")
        yield f"| `{name}` | {_value(field)} | {_default(field)} | {meaning} |"
    yield ""
    for name, field in model.model_fields.items():
        yield from _below(f"{path}.{name}".removeprefix("."), describe.annotation_of(field))


def _below(path: str, annotation: Any) -> Iterator[str]:
    members = describe.branches(annotation)
    bare = describe.unwrapped(members[0])
    if len(members) == 1 and get_origin(bare) is tuple and get_args(bare)[-1] is Ellipsis:
        yield from _below(f"{path}[]", get_args(bare)[0])
    elif len(members) > 1:
        for name, member in zip(describe.tags(annotation), members, strict=True):
            kind = describe.unwrapped(member)
            key = "type: " if "type" in kind.model_fields else ""
            yield from _section(f"`{path}` ({key}{name})", path, kind)
    elif model := describe.model_at(annotation):
        yield from _section(f"`{path}`", path, model)


def _words(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _value(field: FieldInfo) -> str:
    return _cell(describe.allowed(describe.annotation_of(field)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    default = field.default
    if default is None or default == ():
        return "*optional*"
    if isinstance(default, BaseModel):
        return "see below"
    return f"`{json.dumps(default)}`" if isinstance(default, bool) else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
