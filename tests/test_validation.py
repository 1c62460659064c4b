"""The runner of validation cases: what it records, and how it ends when a case fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="exact solutions need the validation extra")
ROOT = Path(__file__).parents[1]
CASE = """
import json, sys
row = {{"case": "toy", "sampling": "10 ppw", "error": {error}, "bar": 0.01}}
{before}
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps([row]))
"""


@pytest.fixture
def modules(monkeypatch):
    """Return the runner and the pages, which are scripts and no package."""
    monkeypatch.syspath_prepend(str(ROOT / "validation"))
    import pages
    import run

    yield run, pages
    for module in ("pages", "run", "cases"):
        sys.modules.pop(module, None)


@pytest.fixture
def runner(modules, monkeypatch, tmp_path):
    """Return the runner, with cases of its own and its pages in a temporary folder."""
    run, pages = modules
    made = {"good": (0.001, ""), "bad": (0.02, ""), "broken": (0.0, "raise ValueError")}
    for name, (error, before) in made.items():
        (tmp_path / f"{name}.py").write_text(CASE.format(error=error, before=before))
    front = "before\n<!-- accuracy -->\nold\n<!-- end of accuracy -->\nafter\n"
    (tmp_path / "front.md").write_text(front)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "CASES", dict.fromkeys(made, "Toy"))
    monkeypatch.setattr(pages, "LINES", (pages.Line("a toy", "10", "good", "toy"),))
    for name, file in (
        ("RESULTS", "results.json"),
        ("PAGE", "page.md"),
        ("FRONT_PAGE", "front.md"),
    ):
        monkeypatch.setattr(pages, name, tmp_path / file)
    return run


def main(runner, monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    return runner.main()


@pytest.mark.parametrize(("case", "code"), [("good", 0), ("bad", 1), ("broken", 1)])
def test_a_missed_bar_or_an_error_ends_with_1(runner, monkeypatch, capsys, tmp_path, case, code):
    assert main(runner, monkeypatch, "--quick", case) == code
    said = {"good": "", "bad": "bad: 1 of 1 rows miss", "broken": "broken: ended without rows"}
    assert said[case] in capsys.readouterr().out
    assert not (tmp_path / "results.json").exists()


def test_rows_are_recorded_with_their_commit(runner, monkeypatch, capsys, tmp_path):
    """Cases side by side; one that failed keeps no rows; the pages show this release's alone."""
    old = {"seconds": 1, "rows": [{"case": "old", "error": 0.0}]}
    (tmp_path / "results.json").write_text(json.dumps({"broken": old, "gone": old}))
    assert main(runner, monkeypatch, "--jobs", "2") == 1
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results) == {"good", "bad", "gone"}
    (row,) = results["good"]["rows"]
    assert len(row["commit"]) == 40
    assert row["clean"] in (True, False)
    assert row["machine"]
    assert row["date"]
    assert f"## {row['version']}" in (ROOT / "CHANGELOG.md").read_text()
    assert (tmp_path / "front.md").read_text() == (
        "before\n<!-- accuracy -->\n| case | points | error | others |\n|---|---|---|---|\n"
        "| a toy | 10 | 0.1 % |  |\n<!-- end of accuracy -->\nafter\n"
    )
    page = (tmp_path / "page.md").read_text()
    assert "| toy | 10 ppw | **2 %** (missed) | ≤ 1 %" in page
    assert "| old" not in page


def test_every_case_is_run(modules):
    """The list of the runner names every script that is a case."""
    run, _ = modules
    scripts = (ROOT / "validation").glob("*.py")
    found = {path.stem for path in scripts if "cases.main(case)" in path.read_text()}
    assert set(run.CASES) == found
