"""Scenarios drawn before they are run, and the bar of runs in notebooks."""

import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import seismo
import solver
from seismo.cli import main
from seismo.errors import ScenarioError
from seismo.runs.progress import (
    NotebookBar,
    Progress,
    notebook_bar,
)

DOCUMENT = {
    "physics": "acoustic",
    "grid": {"extent": {"x": 400.0, "z": 300.0}, "spacing": 10.0},
    "time": {"duration": 0.1},
    "model": [{"type": "uniform", "vp": 2000.0}],
    "sources": [{"type": "explosion", "position": {"x": 200.0, "z": 100.0},
                 "wavelet": {"type": "ricker", "frequency": 15.0}}],
    "receivers": [solver.points([{"x": 300.0, "z": 100.0}], name="near")],
}  # fmt: skip


def test_a_preview_is_what_the_results_hold_besides_waves() -> None:
    before = seismo.preview(DOCUMENT)
    after = seismo.run(DOCUMENT)
    assert before.status == "preview"
    assert before.sources == after.sources
    assert before.traces["near"].codes == after.traces["near"].codes
    for name in ("vp",):
        assert np.array_equal(before.model.values_of(name), after.model.values_of(name))
    assert np.array_equal(before.wavelets.samples, after.wavelets.samples)
    with pytest.raises(ScenarioError, match="near: a preview has no waves; run the scenario first"):
        before.plot("gather")
    assert before.path.exists()
    path = before.path
    del before
    gc.collect()
    assert not path.exists()


@pytest.mark.parametrize("kind", ["model", "wavelets"])
def test_previews_are_drawn(kind: str) -> None:
    assert seismo.preview(DOCUMENT).plot(kind).axes


def test_the_command_draws_a_scenario_beside_it(tmp_path, capsys) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(seismo.load(DOCUMENT).to_yaml())
    with pytest.raises(SystemExit) as ended:
        main(["plot", str(path)])
    assert not ended.value.code
    pictures = capsys.readouterr().out.split()
    assert pictures == [str(tmp_path / f"small-{kind}.png") for kind in ("model", "wavelets")]
    with pytest.raises(SystemExit) as ended:
        main(["plot", str(path), "gather"])
    assert ended.value.code == ScenarioError.exit_code
    assert "has no waves yet; run it first" in capsys.readouterr().err


@pytest.fixture
def pages(monkeypatch) -> list[str]:
    """Stand in for a notebook: the pages that it has shown."""
    shown: list[str] = []
    display = SimpleNamespace(update=shown.append)
    frontend = SimpleNamespace(
        HTML=str, display=lambda page, display_id: (shown.append(page), display)[1]
    )
    shell = SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", frontend)
    return shown


def test_a_run_in_a_notebook_shows_a_bar(pages) -> None:
    seismo.run(DOCUMENT)
    assert all("<progress value=" in page for page in pages)
    assert 'value="1.0000"' in pages[-1]


def test_the_bar_shows_notes_as_text(pages) -> None:
    NotebookBar()(Progress("caution", note="a < b"))
    assert "warning: a &lt; b" in pages[0]


def test_there_is_none_elsewhere() -> None:
    assert notebook_bar() is None
