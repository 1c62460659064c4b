"""One language: standard terms in names and docstrings, and every type name defined once.

The rules are those of `CONTRIBUTING.md`.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from test_architecture import files, nodes, tree

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "seismo"
# Folders of numerical methods whose blocks all name their method.
NUMERICAL = {"backends", "equations", "features", "grid", "solver"}
# Folders and modules of features that have no numerical methods.
NOT_NUMERICAL = {
    "advice", "checks", "contents", "ensembles", "error", "files", "height_files", "record",
    "report", "section", "shape",
}  # fmt: skip
LEAST_COMMENTS = 0.10  # comments per line of code

# Names that say nothing about the value.
BARE = {
    "apart", "asked", "found", "given", "held", "here", "left", "near", "own", "part", "parts",
    "place", "places", "said", "told", "values", "whole",
}  # fmt: skip
# Private metaphors, with the standard term.
METAPHORS = {
    "crew": "process group",
    "crowd": "feasible rank counts",
    "film": "snapshot buffer",
    "gear": "run context",
    "loan": "remote receiver points",
    "meeting": "neighbour pairs",
    "room": "resources, or free space",
    "strand": "task list",
    "team": "device threads",
    "victim": "crash worker",
}
FOR_TOOLS = re.compile(r"# (fmt|noqa|type)\b")
OPENINGS = re.compile(r"(Give|Tell|Say)s?\b")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
TYPE_NAME = re.compile(r"_?[A-Z][a-z]\w*")


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of every file, which only these tests read."""
    return {path: tree(path) for path in files()}


def folder(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that functions, classes, arguments and assignments bind, with their lines.

    Of attributes the private ones.
    """
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            yield node.attr, node.lineno


def bare_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    return (found for found in bound_names(tree) if found[0].lstrip("_") in BARE)


def metaphors(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for name, line in bound_names(tree):
        words = {word.lower().removesuffix("s") for word in WORD.findall(name)}
        if words & set(METAPHORS):
            yield name, line


def docstring_openings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in nodes(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            if match := OPENINGS.match(text):
                yield match[0], getattr(node, "lineno", 1)


def independent_values(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield assignments that pack values of which none reads what another one assigns."""
    for node in nodes(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and len(target.elts) == len(node.value.elts):
                assigned = {ast.unparse(name) for name in target.elts}
                read = {ast.unparse(n) for n in ast.walk(node.value) if isinstance(n, ast.expr)}
                if not assigned & read:
                    yield ast.unparse(target), node.lineno


def comment_share(paths: list[Path]) -> float:
    """Return the comments per line of code, docstrings and what tools read left out."""
    comments = 0
    code = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        documented: set[int] = set()
        for node in nodes(trees()[path]):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                documented |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        for number, line in enumerate(text.splitlines(), 1):
            code += bool(line.strip()) and line.lstrip()[0] != "#" and number not in documented
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            comments += token.type == tokenize.COMMENT and not FOR_TOOLS.match(token.string)
    return comments / code


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the classes and type aliases of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            yield from filter(TYPE_NAME.fullmatch, names)


def report(rule) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, tree in trees().items()
        for name, line in rule(tree)
    ]


def test_docstrings_open_with_standard_verbs() -> None:
    assert report(docstring_openings) == []


def test_names_say_what_a_value_is() -> None:
    assert report(bare_names) == []


def test_names_are_no_metaphors() -> None:
    assert report(metaphors) == []


def test_assignments_hold_one_thought() -> None:
    """An exchange of two names, or a step of a recursion, may be one assignment."""
    assert report(independent_values) == []


def test_blocks_of_methods_are_commented() -> None:
    """Those of a method lie in several of these folders."""
    numerical = [
        path
        for path in trees()
        if folder(path) in NUMERICAL
        and not NOT_NUMERICAL & {path.stem, *path.relative_to(PACKAGE).parts}
    ]
    assert comment_share(numerical) >= LEAST_COMMENTS


def test_type_names_are_defined_once() -> None:
    modules = defaultdict(set)
    for path, syntax in trees().items():
        for name in type_names(syntax):
            modules[name].add(str(path.relative_to(PACKAGE)))
    assert not {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (docstring_openings, 'def f():\n    """Give the number."""'),
        (bare_names, "found = 1"),
        (bare_names, "def f(whole):\n    pass"),
        (bare_names, "self._held = 1"),
        (metaphors, "class FilmBuffer:\n    pass"),
        (metaphors, "crew_size = 2"),
        (independent_values, "a, b = x, y"),
    ],
)
def test_a_breach_is_reported(rule, code: str) -> None:
    assert len(list(rule(ast.parse(code)))) == 1
