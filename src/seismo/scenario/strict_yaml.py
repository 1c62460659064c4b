"""Strict YAML: a scenario is data, so nothing in it may be ambiguous, hidden or executable.

Ordinary YAML readers turn ``1e3`` into a text, ``017`` into 15, ``1:30`` into 90 and ``no`` into
False, keep the last of two equal keys without a word, and expand aliases without bound. This parser
walks the events first (no tags, anchors, second documents; bounded size and depth), then builds
plain data by the rules of YAML 1.2 and remembers the line and column of every key.

Ordinary writers leave a text such as ``1e3`` unquoted, because their own rules take it for a text;
`to_text` quotes every text that is not an evident word, so that the reader reads it back equal.
"""

from __future__ import annotations

import math
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from seismo.errors import KeyPath, ScenarioError
from seismo.formats.reading import no_text, similar_name

LineColumn = tuple[int, int]  # line and column, both from 1

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_NODES = 100_000
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_TIGHT = re.compile(
    r"(?:- +)?([A-Za-z_][A-Za-z0-9_]*):((?:[^\s:/\\]|[\u00a0\u2000-\u200b\u202f])[^#]*)"
)
_TIGHT_ITEM = re.compile(r"-([A-Za-z_][A-Za-z0-9_]*:.*)")
_TRUTH = ("yes", "no", "on", "off", "true", "false")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TextMistake(NamedTuple):
    """A mistake of the YAML text."""

    path: KeyPath
    line_column: LineColumn
    problem: str


class AmbiguousTruth(TextMistake):
    """A word such as yes: a mistake where true or false is wanted, else a text."""


@dataclass
class Document:
    """Plain data read from YAML, with the place of every key and the mistakes of the text."""

    name: str
    text: str = ""
    data: Any = None
    line_columns: dict[KeyPath, LineColumn] = field(default_factory=dict)
    mistakes: list[TextMistake] = field(default_factory=list)


def read_file(file: pathlib.Path) -> Document:
    """Read a YAML file.

    Raises ScenarioError where it cannot be read, is not UTF-8, or as `read` does.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError):
            reason += similar_name(file, ".yaml", ".yml")
        raise ScenarioError(f"{file}: cannot be read: {reason}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = no_text(content, error.start)
        raise ScenarioError(f"{file}{problem}; give a scenario, a YAML file") from None
    return read(text, str(file))


def read(text: str, name: str) -> Document:
    """Read YAML `text`; `name` is the file's name in messages.

    Raises ScenarioError where the text is not YAML or breaks a limit; ambiguous values and
    duplicate keys are collected in the document instead, so that all mistakes show at once.
    """
    try:
        if len(text.encode("utf-8")) > MAX_BYTES:
            raise ScenarioError(f"{name}: larger than {MAX_BYTES} bytes; put long tables in a file")
        _check_events(text, name)
        node = yaml.compose(text, Loader=_LOADER)
    except UnicodeEncodeError as error:
        raise ScenarioError(f"{name}: not valid Unicode at character {error.start + 1}") from None
    except yaml.MarkedYAMLError as error:
        raise ScenarioError(_syntax(name, text, error)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ScenarioError(f"{name}: not readable as YAML: {_one_line(str(error))}") from None
    document = Document(name, text)
    if node is not None:
        document.data = _build(node, (), document)
    return document


def _check_events(text: str, name: str) -> None:
    """Walk the events without building anything, so that no trick of the text costs memory."""
    depth = documents = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER), 1):
        location = f"{name}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ScenarioError(
                f"{location}: anchors and aliases (& and *) are not allowed: repeat the value"
            )
        if getattr(event, "tag", None):
            raise ScenarioError(f"{location}: tag {event.tag!r} is not allowed: leave it out")
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise ScenarioError(
                f"{location}: only one YAML document is allowed: split the file at '---'"
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ScenarioError(f"{location}: {_TOO_DEEP}")
        if count > MAX_NODES:
            raise ScenarioError(
                f"{location}: more than {MAX_NODES} values; put long tables in a file"
            )


def _build(node: Any, path: KeyPath, document: Document) -> Any:
    document.line_columns.setdefault(path, _line_column(node))
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, document)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, index), document) for index, item in enumerate(node.value)]
    if node.style:  # quoted and block texts are texts, whatever they look like
        return node.value
    return _scalar(node, path, document)


def _mapping(node: Any, path: KeyPath, document: Document) -> dict[str, Any]:
    result: dict[str, Any] = {}
    last = ""
    number = yaml.ScalarNode("", "")
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            problem = "a key must be a plain word"
            document.mistakes.append(TextMistake(path, _line_column(key), problem))
            continue
        key_path = (*path, key.value)
        if _is_fraction(key, value, number):
            result[last] = text = f"{number.value},{key.value}"
            problem = "a decimal comma ends a value within braces; write digits like 1.5 or 1000"
            problem = f"{shortened(text)}: {problem}"
            document.mistakes.append(TextMistake((*path, last), _line_column(number), problem))
            continue
        if not (key.style or value.value) and (match := _TIGHT.fullmatch(key.value)):
            key_path = (*path, match[1])
            problem = f"{shortened(key.value)}: {tight(key.value)}"
            document.mistakes.append(TextMistake(key_path, _line_column(key), problem))
            document.line_columns[key_path] = _line_column(key)
            result[match[1]] = match[2]
            continue
        if key.value in result:
            line = document.line_columns[key_path][0]
            problem = f"duplicate key, first on line {line}; keep one"
            document.mistakes.append(TextMistake(key_path, _line_column(key), problem))
            continue
        document.line_columns[key_path] = _line_column(key)
        result[key.value] = _build(value, key_path, document)
        last = key.value
        number = value
    return result


def _is_fraction(key: yaml.ScalarNode, value: yaml.Node, number: yaml.Node) -> bool:
    """Whether a key without a value was the end of the `number` before, as in {x: 1,5 km}."""
    return (
        isinstance(number, yaml.ScalarNode)
        and not (number.style or key.style or value.value)
        and bool(_INTEGER.match(number.value))
        and key.value[:1].isdigit()
        and key.start_mark.index == number.end_mark.index + 1
    )


def _scalar(node: Any, path: KeyPath, document: Document) -> Any:
    text = node.value
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    problem = None
    mistake = TextMistake
    if _INTEGER.match(text):
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0":
            problem = f"leading zero, octal or decimal? write {digits.lstrip('0') or '0'}"
        elif len(digits) > 40:
            problem = "too many digits; write it like 1.5e17"
        else:
            return int(text)
    elif _FLOAT.match(text):
        number = float(text)
        if math.isfinite(number):
            return number
        problem = "too large a number"
    elif text.lower() in _TRUTH:
        mistake = AmbiguousTruth
        problem = "ambiguous truth value; write true or false, or quote the text"
    if problem:
        problem = f"{shortened(text)}: {problem}"
        document.mistakes.append(mistake(path, _line_column(node), problem))
    return text


def _line_column(node: Any) -> LineColumn:
    return node.start_mark.line + 1, node.start_mark.column + 1


def tight(text: str) -> str:
    """Describe the remedy for a key and its value without a space between."""
    if match := _TIGHT.match(text):
        return f"put a space behind the colon: '{match[1]}: {match[2].strip()}'"
    return f"put a space behind the dash: '- {text[1:]}'" if _TIGHT_ITEM.match(text) else ""


def _syntax(name: str, text: str, error: yaml.MarkedYAMLError) -> str:
    lines = text.splitlines()
    marks = [mark.line for mark in (error.context_mark, error.problem_mark) if mark]
    for number in (n for line in marks for n in (line, line - 1) if 0 <= n < len(lines)):
        written = lines[number].split(" #")[0].strip()
        if problem := tight(written):
            column = lines[number].index(written) + 1
            return f"{name}:{number + 1}:{column}: {shortened(written)}: {problem}"
    mark = error.problem_mark or error.context_mark
    location = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    begun = f" begun on line {error.context_mark.line + 1}" if error.context_mark else ""
    context = f"{error.context}{begun}" if error.context else ""
    problem = ", ".join(fragment for fragment in (context, error.problem) if fragment)
    if "cannot start any token" in problem:
        problem = "a tab or another character that YAML cannot begin with; indent with spaces"
    elif "mapping values are not allowed" in problem:
        problem = "a key where none can stand; check the indentation and the line above"
    elif "maximum nesting depth" in problem:  # LibYAML's limit, which it meets first from 0.2.6 on
        return f"{name}{location}: {_TOO_DEEP}"
    return f"{name}{location}: not readable as YAML: {_one_line(problem)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def shortened(value: object, longest: int = 60) -> str:
    """Return `value` as one short printable line, for messages."""
    try:
        text = repr(value)
    except RecursionError:
        text = "(a value that contains itself)"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z][A-Za-z0-9_./-]*)*\Z")


class _Writer(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None if _WORD.match(value) else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def to_text(data: Any) -> str:
    """Return `data` (mappings, lists, texts, numbers) as YAML, leaves on one line."""
    text: str = yaml.dump(
        data,
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )
    return text
