"""Scenarios, inversions, machine profiles, scripts, notebooks and the ladder, to list and to copy.

In the sources the folders beside this file are links to those at the top; an installed seismo has
copies of them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from seismo.errors import ScenarioError
from seismo.output.run_directory import make_folder, write_new
from seismo.scenario.mistakes import closest_match

HERE = Path(__file__).parent
KINDS = ("scenarios", "inversions", "configs", "scripts", "notebooks", "ladder")


@dataclass(frozen=True)
class Example:
    """A file to copy: its kind, its name and what it is."""

    kind: str
    name: str
    summary: str

    @property
    def path(self) -> Path:
        """Where seismo has it."""
        return HERE / self.kind / self.name


def examples() -> list[Example]:
    """Return all of them, by kind and name."""
    return [
        Example(kind, path.name, _summary(path))
        for kind in KINDS
        for path in sorted((HERE / kind).iterdir())
        if path.is_file() and not path.name.startswith(".")
    ]


def copy_examples(name: str, folder: Path, replace: bool = False) -> Iterator[Path]:
    """Copy an example with the files that belong to it, or all of a kind; yield the new files.

    Args:
        name: of a file, with or without its suffix, or of a kind.
        folder: to copy to, which is made; all of a kind go to a folder in it, of that name.
        replace: files that are there with other content.

    Raises:
        ScenarioError: there is no such example, or a file is there with other content.
        StorageError: the disk is full or failing.
    """
    chosen = [example for example in examples() if name in (example.kind, *_names(example))]
    if not chosen:
        names = [each for example in examples() for each in (example.kind, *_names(example))]
        hint = closest_match(name, names).text
        raise ScenarioError(f"{name}: no such example; `seismo examples` lists them{hint}")
    target = folder / name if name in KINDS else folder
    make_folder(target)
    for example in chosen:
        write_new(target / example.name, example.path.read_bytes(), replace)
        yield target / example.name


def _names(example: Example) -> tuple[str, ...]:
    """Return what an example can be asked for by; a file of a scenario comes with it."""
    owner = _owner(example.path)
    return (example.name, example.path.stem, *((owner.name, owner.stem) if owner else ()))


def _owner(path: Path) -> Path | None:
    """Return the scenario that a file is named for: chino_hills_2008_stations.csv has one."""
    scenarios = path.parent.glob("*.yaml") if path.suffix in (".csv", ".nc", ".srf") else ()
    return next((owner for owner in scenarios if path.name.startswith(owner.stem)), None)


def _summary(path: Path) -> str:
    """Return the first line that a file says of itself: its title, docstring or comment."""
    if (owner := _owner(path)) is not None:
        return f"of {owner.name}, copied with it"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    if path.suffix == ".ipynb":
        title = json.loads(text)["cells"][0]["source"][0]
        return str(title).lstrip("# ").strip()
    if path.suffix == ".yaml" and "\ntitle:" in text:
        return str(yaml.safe_load(text)["title"])
    comments = (line.removeprefix("#").strip() for line in text.splitlines() if line[:1] == "#")
    return next((comment for comment in comments if not comment.startswith("!")), "")
