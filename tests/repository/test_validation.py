"""The runner of validation cases: what it records, and how it ends when a case fails."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
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
        ("TABLE_PAGE", "front.md"),
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


def test_a_case_without_its_references_is_complete_in_quick_runs(runner, monkeypatch, tmp_path):
    text = 'import sys\nopen(sys.argv[sys.argv.index("--json") + 1], "w").write("[]")\n'
    (tmp_path / "good.py").write_text(text)
    assert main(runner, monkeypatch, "--quick", "good") == 0
    assert main(runner, monkeypatch, "good") == 1


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


def test_traces_are_drawn_but_in_quick_runs(modules, monkeypatch, tmp_path):
    """An odd number of panels, one of which is drawn nowhere."""
    import cases

    monkeypatch.setenv(cases.FIGURES_VARIABLE, str(tmp_path))
    times = np.linspace(0.0, 1.0, 9)
    panels = [cases.Panel(f"v{k}", times, times + 0.1 * k, times) for k in range(3)]
    monkeypatch.setattr(sys, "argv", ["case.py", "--quick"])
    cases.draw_traces("toy", "three traces", panels, "m/s")
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", ["case.py"])
    cases.draw_traces("toy", "three traces", panels, "m/s")
    assert (tmp_path / "toy.png").read_bytes()[:4] == b"\x89PNG"


def test_every_case_is_run(modules):
    """The list of the runner names every script that is a case."""
    run, _ = modules
    scripts = (ROOT / "validation").glob("*.py")
    found = {path.stem for path in scripts if "cases.main(case)" in path.read_text()}
    assert set(run.CASES) == found


def test_every_case_was_measured_for_this_release(modules):
    """All rows on commits of this release, whose trees were clean."""
    run, pages = modules
    results = pages.read_results()
    assert set(results) == set(run.CASES)
    for name, case in results.items():
        assert case["rows"], name
        for row in case["rows"]:
            assert (row.get("version"), row.get("clean")) == (pages.release(), True), row
            assert re.fullmatch("[0-9a-f]{40}", row["commit"]), row


def git(*arguments: str) -> str | None:
    """Return what git says, None where it refuses."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def test_the_commits_that_were_measured_lead_to_this_one(modules):
    """From the first on that names this release; a shallow clone does not know them."""
    _, pages = modules
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("the history is not here")
    cases = pages.read_results().values()
    for commit in {row.get("commit", "") for case in cases for row in case["rows"]}:
        assert git("merge-base", "--is-ancestor", commit, "HEAD") is not None, commit
        changes = git("show", f"{commit}:CHANGELOG.md") or ""
        found = re.search(r"^## (\S+)", changes, re.MULTILINE)
        assert found, commit
        assert found[1] == pages.release(), commit
