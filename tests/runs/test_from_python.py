"""What who runs from Python is told: warnings, and the plan that the command line prints."""

import copy
import html
import subprocess
import sys
import warnings

import pytest
import yaml

import seismo

SCENARIO = {
    "physics": "acoustic",
    "grid": {"extent": {"x": 1500.0, "z": 1000.0}, "spacing": 50.0},
    "time": {"duration": 0.4},
    "model": [{"type": "uniform", "vp": 1500.0}],
    "sources": [{"type": "pressure", "position": {"x": 750.0, "z": 500.0},
                 "wavelet": {"type": "ricker", "frequency": 10.0}}],
    "receivers": [{"type": "points", "positions": [{"x": 1000.0, "z": 500.0}]}],
}  # fmt: skip


def told(scenario, **keys):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        seismo.run(scenario, **keys).close()
    return found


def without_remedy(line: str) -> str:
    """Return a warning without its remedy, which `check` alone seeks."""
    return line.partition("; ")[0]


def test_a_run_warns_once_of_what_check_warns_of(tmp_path, capfd):
    plan = seismo.check(SCENARIO)
    found = told(SCENARIO)
    assert [without_remedy(str(one.message)) for one in found] == [
        without_remedy(line) for line in plan.warnings
    ]
    assert "seismo check names a remedy" in str(found[0].message)
    assert "points per wavelength" in plan.warnings[0]
    assert {one.category for one in found} == {seismo.ScenarioWarning}
    assert {one.filename for one in found} == {__file__}, "the caller's line is named"
    assert capfd.readouterr().err == "", "they are recorded, and not printed besides"
    phases = []
    again = told(SCENARIO, output=tmp_path / "a.h5", progress=lambda p: phases.append(p.phase))
    assert len(again) == phases.count("caution") == len(plan.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", seismo.ScenarioWarning)
        with pytest.raises(seismo.ScenarioWarning, match="points per wavelength"):
            seismo.run(SCENARIO)


def test_a_sound_scenario_warns_of_nothing():
    sound = copy.deepcopy(SCENARIO)
    sound["sources"][0]["wavelet"]["frequency"] = 2.5
    sound["time"] |= {"dispersion_removal": True}
    sound["time"]["duration"] = 1.5
    assert seismo.check(sound).warnings == []
    assert told(sound) == []


def test_the_command_line_says_each_warning_once(tmp_path):
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SCENARIO))
    ran = subprocess.run(
        [sys.executable, "-m", "seismo", "run", "s.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line in seismo.check(SCENARIO).warnings:
        assert ran.stderr.count(without_remedy(line)) == 1
    assert "ScenarioWarning" not in ran.stderr


def test_a_plan_prints_as_the_command_does(tmp_path):
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SCENARIO))
    plan = seismo.check(tmp_path / "s.yaml")
    page = str(plan)
    assert page.startswith("physics     acoustic, 2-D, order 8")
    assert all(f"warning {line}" in page for line in plan.warnings)


def test_a_notebook_shows_a_plan_as_its_page_and_an_error_as_its_lines():
    plan = seismo.check(SCENARIO)
    assert plan._repr_html_() == f"<pre>{html.escape(str(plan))}</pre>"
    assert repr(plan).startswith("<Plan ''")
    assert len(repr(plan)) < 200
    error = seismo.ScenarioError("a.yaml:1: first", "a.yaml:2: second")
    assert error._render_traceback_() == ["ScenarioError: a.yaml:1: first", "a.yaml:2: second"]
    assert dir(seismo) == sorted(seismo.__all__)


def test_check_lists_all_mistakes():
    wrong = SCENARIO | {"physics": "acustic", "time": {"duration": -1.0}}
    with pytest.raises(seismo.ScenarioError) as caught:
        seismo.check(wrong)
    assert len(caught.value.messages) == 2
