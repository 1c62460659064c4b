"""The notebooks of `docs/notebooks`: every cell runs, in order, and what it shows can be shown."""

import ast
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def shown(source: str, names: dict) -> object:
    """Run the code of a cell; return what its last line shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def display_of(value: object) -> bytes | str | None:
    """Return what a notebook shows of a value: a picture, or else HTML."""
    forms = (getattr(value, name, lambda: None) for name in ("_repr_png_", "_repr_html_"))
    return next(filter(None, (form() for form in forms)), None)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict = {}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            value = shown("".join(cell["source"]), names)
            assert value is None or isinstance(value, float | list) or display_of(value)


def test_there_are_five_and_none_keeps_outputs() -> None:
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        for cell in cells(path):
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None
