"""Values that the schema allows at a place, in words: for error messages and for the reference.

Both ask the same pydantic models the same question, so they cannot disagree.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from pydantic import BaseModel, StringConstraints, Tag
from pydantic.fields import FieldInfo

from seismo.errors import KeyPath
from seismo.scenario.quantities import TAG, Described, FilePath, Name, OrAuto, Quantity, Shorthand


def annotation_of(field: FieldInfo) -> Any:
    """Return a field's annotation with the metadata that pydantic took apart."""
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def at(annotation: Any, loc: KeyPath) -> Any:
    """Return the annotation at pydantic's location `loc` below `annotation`, or None."""
    for key in loc:
        annotation = _step(annotation, key)
        if annotation is None:
            return None
    return annotation


def plain_path(loc: KeyPath) -> KeyPath:
    """Return a location without the names of union branches: the keys as a user wrote them."""
    return tuple(key for key in loc if not (isinstance(key, str) and key.startswith(TAG)))


def model_at(annotation: Any) -> type[BaseModel] | None:
    """Return the only model that `annotation` stands for, or None."""
    members = branches(annotation)
    kind = unwrapped(members[0]) if len(members) == 1 else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def branches(annotation: Any) -> list[Any]:
    """Return the members of a union without None, or the annotation itself."""
    bare = unwrapped(annotation)
    if get_origin(bare) not in (Union, types.UnionType):
        return [annotation]
    members = [member for member in get_args(bare) if member is not type(None)]
    return branches(members[0]) if len(members) == 1 else members


def tags(annotation: Any) -> list[str]:
    """Return the names of a union's branches."""
    return [tag.removeprefix(TAG) for member in branches(annotation) if (tag := _tag(member))]


def unwrapped(annotation: Any) -> Any:
    """Return the type inside Annotated."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of a Literal, in words."""
    members = branches(annotation)
    bare = unwrapped(members[0]) if len(members) == 1 else None
    return tuple(map(str, get_args(bare))) if get_origin(bare) is Literal else ()


def is_truth(annotation: Any) -> bool:
    """Whether true and false are the values."""
    members = branches(annotation)
    return len(members) == 1 and unwrapped(members[0]) is bool


def quantity(annotation: Any) -> Quantity | None:
    """Return the Quantity of a number with a unit."""
    return next((item for item in _metadata(annotation) if isinstance(item, Quantity)), None)


def allowed(annotation: Any) -> str:
    """Describe the allowed values."""
    descriptions = [item.allowed for item in _metadata(annotation) if isinstance(item, Described)]
    if descriptions:
        return descriptions[0]
    shorter = [i.words for i in _metadata(annotation) if isinstance(i, Shorthand | OrAuto)]
    return ", or ".join([*shorter, _in_full(annotation)])


def _in_full(annotation: Any) -> str:
    """Describe the allowed values, without shorthands."""
    members = branches(annotation)
    if len(members) > 1:
        return _one_of(tags(annotation) or [allowed(member) for member in members])
    bare = unwrapped(members[0])
    number = quantity(annotation)
    if number:
        return _joined(
            ("a number in " + number.dimension.symbol).removesuffix(" in "), _range(number.bounds())
        )
    if words := choices(annotation):
        return _one_of(words)
    if bare is bool:
        return "true or false"
    if bare is float:
        return _joined("a number", _range(_limits(annotation)))
    if bare is int:
        return _joined("a whole number", _range(_limits(annotation)))
    if bare is str:
        return _text(annotation)
    if get_origin(bare) is tuple:
        return _list(get_args(bare))
    model = model_at(annotation)
    return "keys " + ", ".join(model.model_fields) if model else "any value"


def _step(annotation: Any, key: str | int) -> Any:
    if isinstance(key, str) and key.startswith(TAG):
        return next((member for member in branches(annotation) if _tag(member) == key), None)
    members = branches(annotation)
    bare = unwrapped(members[0]) if len(members) == 1 else None
    if get_origin(bare) is tuple and isinstance(key, int):
        inner = get_args(bare)
        return inner[0] if inner[-1] is Ellipsis else inner[min(key, len(inner) - 1)]
    model = model_at(annotation)
    field = model.model_fields.get(str(key)) if model else None
    return annotation_of(field) if field else None


def _tag(member: Any) -> str | None:
    return next(
        (item.tag for item in getattr(member, "__metadata__", ()) if isinstance(item, Tag)), None
    )


def _metadata(annotation: Any) -> list[Any]:
    metadata = list(getattr(annotation, "__metadata__", ()))
    for item in list(metadata):
        metadata += item.metadata if isinstance(item, FieldInfo) else []
    bare = unwrapped(annotation)
    members = branches(bare)
    return metadata + (
        _metadata(members[0]) if len(members) == 1 and members[0] is not bare else []
    )


def _limits(annotation: Any) -> dict[str, float]:
    limits: dict[str, Any] = {}
    names = {Gt: "gt", Ge: "ge", Lt: "lt", Le: "le", MultipleOf: "multiple_of"}
    for item in _metadata(annotation):
        if type(item) in names:
            limits[names[type(item)]] = getattr(item, names[type(item)])
    return limits


def _range(bounds: dict[str, float]) -> str:
    words = {
        "gt": "above",
        "ge": "at least",
        "lt": "below",
        "le": "at most",
        "multiple_of": "a multiple of",
    }
    return ", ".join(f"{words[name]} {value:g}" for name, value in bounds.items())


def _one_of(words: Sequence[str]) -> str:
    separator = "; " if any(", " in word for word in words) else ", "
    return "one of " * (len(words) > 1) + separator.join(words)


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def _text(annotation: Any) -> str:
    patterns = {
        item.pattern for item in _metadata(annotation) if isinstance(item, StringConstraints)
    }
    if _pattern(Name) in patterns:
        return "a name: letters, digits, '.', '_', '-', first a letter or digit, at most 64 long"
    return "a file path" if _pattern(FilePath) in patterns else "a text"


def _pattern(annotation: Any) -> Any:
    return annotation.__metadata__[0].pattern


def _list(inner: tuple[Any, ...]) -> str:
    if inner[-1] is Ellipsis:
        return "a list" if model_at(branches(inner[0])[0]) else f"a list, each {allowed(inner[0])}"
    kinds = dict.fromkeys(allowed(item) for item in inner)
    return f"a list of {len(inner)} values: {'; '.join(kinds)}"
