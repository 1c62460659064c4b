"""The scenario reference as Markdown, made from the schema itself so that it cannot go stale.

``python -m seismo.scenario.reference`` writes it to standard output; the docs site includes it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seismo.errors import ScenarioError
from seismo.scenario.document import Scenario
from seismo.scenario.mistakes import closest_match, schema_text

_HEAD = """\
# Scenario reference

Every key a scenario may hold. Numbers are SI; a text with a unit (`3 km/s`, `25 Hz`, `12 ms`,
`2.7 g/cm3`) is converted, and refused where its dimension is wrong. Angles are degrees. z points
down. *required* keys have no default; *optional* ones may be left out. Unknown keys are mistakes.
"""


@dataclass(frozen=True)
class ReferenceSection:
    """The keys of a part of a scenario: its path, such as `sources[]`, its title and model."""

    path: str
    title: str
    model: type[BaseModel]

    @property
    def names(self) -> dict[str, str]:
        """The keys, by their paths as people write them: `sources.delay`."""
        return {_plain(f"{self.path}.{name}"): name for name in self.model.model_fields}

    def line(self, name: str) -> str:
        """Format the description of a key as a paragraph of Markdown."""
        field = self.model.model_fields[self.names[name]]
        cells = (_value(field), _default(field), _cell(field.description or ""))
        return f"`{name}`: {'; '.join(filter(None, cells))}\n"

    def table(self, names: Iterable[str]) -> str:
        """Write it as Markdown, with a selection of its keys."""
        lines = [f"## {self.title}", "", " ".join((self.model.__doc__ or "").split()), ""]
        lines += ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
        fields = {name: self.model.model_fields[name] for name in names}
        lines += [
            f"| `{name}` | {_value(field)} | {_default(field)} | {_cell(field.description or '')} |"
            for name, field in fields.items()
        ]
        return "\n".join([*lines, ""])


def reference() -> str:
    """Return the reference of all keys as Markdown."""
    return "\n".join([_HEAD, *_tables(_sections("", "Scenario", Scenario))])


def reference_of(key: str) -> str:
    """Return the reference of a key, such as `sources` or `time.step`, and of all below it.

    Raises:
        ScenarioError: there is no such key.
    """
    plain_key = _plain(key)
    sections = list(_sections("", "Scenario", Scenario))
    below = [s for s in sections if f"{_plain(s.path)}.".startswith(f"{plain_key}.")]
    holders = [section for section in sections if plain_key in section.names]
    if tables := _tables(below):
        # What the key itself may be comes first: a list, or a word in its place.
        return "\n".join([*dict.fromkeys(s.line(plain_key) for s in holders), *tables])
    if not holders:
        known = {name for section in sections for name in section.names}
        hint = closest_match(plain_key, known).text
        raise ScenarioError(f"{key}: a scenario has no such key{hint}")
    return "\n".join(_tables(holders, plain_key))


def _plain(path: str) -> str:
    """Leave out the number in a list: `sources` for `sources[]` and `sources[0]`."""
    return re.sub(r"\[\d*\]", "", path).removeprefix(".")


def _tables(sections: Iterable[ReferenceSection], only: str = "") -> list[str]:
    """Write sections, or a key of them; equal sections once."""
    tables = (s.table([s.names[only]] if only else s.model.model_fields) for s in sections)
    return list(dict.fromkeys(tables))


def _sections(path: str, title: str, model: type[BaseModel]) -> Iterator[ReferenceSection]:
    yield ReferenceSection(path, title, model)
    for name, field in model.model_fields.items():
        yield from _below(f"{path}.{name}".removeprefix("."), schema_text.annotation_of(field))


def _below(path: str, annotation: Any) -> Iterator[ReferenceSection]:
    members = schema_text.branches(annotation)
    bare = schema_text.unwrapped(members[0])
    if len(members) == 1 and get_origin(bare) is tuple and get_args(bare)[-1] is Ellipsis:
        yield from _below(f"{path}[]", get_args(bare)[0])
    elif len(members) > 1 and schema_text.model_at(members[0]):
        for name, member in zip(schema_text.tags(annotation), members, strict=True):
            kind = schema_text.unwrapped(member)
            key = "type: " if "type" in kind.model_fields else ""
            yield from _sections(path, f"`{path}` ({key}{name})", kind)
    elif model := schema_text.model_at(annotation):
        yield from _sections(path, f"`{path}`", model)


def _value(field: FieldInfo) -> str:
    return _cell(schema_text.allowed(schema_text.annotation_of(field)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    default = field.default
    if default in (None, (), ""):
        return "*optional*"
    if isinstance(default, BaseModel):
        return "see below"
    return f"`{json.dumps(default)}`" if isinstance(default, bool) else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
