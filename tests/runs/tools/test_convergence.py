"""`seismo verify scenario.yaml` measures errors by a finer run, and says what it cannot do."""

import json

import numpy as np
import pytest
import yaml

from seismo.backends import machine
from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.exact.metrics import relative_l2, relative_l2_of_receivers, resampled
from seismo.output.results import open_results
from seismo.runs.check.plan import make_plan
from seismo.runs.tools.convergence import plan_comparison
from seismo.scenario import from_dict, parse

TEXT = """\
physics: acoustic
grid: {extent: {x: 600 m, z: 400 m}, accuracy: 2 %}
time: {duration: 0.3 s}
model: [{type: uniform, vp: 2 km/s}]
sources: [{type: explosion, position: {x: 200 m, z: 150 m}, moment: 1e12,
           wavelet: {type: ricker, frequency: 20 Hz}}]
receivers:
  - {name: near, type: points, positions: [{x: 240 m, z: 150 m}, {x: 300 m, z: 160 m}]}
  - {name: far, type: points, positions: [{x: 503 m, z: 157 m, code: FAR}]}
output: {snapshots: [{name: waves, fields: [p], interval: 50 ms}]}
"""


def changed(**sections):
    """Return the scenario with other sections."""
    return from_dict(yaml.safe_load(TEXT) | sections)


def test_a_chosen_grid_is_verified(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(TEXT)
    code, out, err = command_line("verify", "s.yaml", "--backend", "cpu", "--json")
    data = json.loads(out)
    assert err.index("this run ") < err.index("finer run ") < err.index("on the CPU")
    assert {row["name"]: row["receiver"] for row in data["receivers"]}["far"] == "FAR"
    assert code == any(row["measured"] > data["wanted"] for row in data["receivers"])
    assert data["finer_run"]["expected"]["error"] < 0.5 * data["run"]["expected"]["error"]
    with open_results("s.h5") as coarse, open_results("s-finer.h5") as fine:
        assert coarse.snapshots
        assert not fine.snapshots
        assert parse(fine.scenario).grid.spacing.x < parse(coarse.scenario).grid.spacing.x
        near, finer = coarse.traces["far"], fine.traces["far"]
        inside = near.time <= finer.time[-1]
        reference = resampled(finer.values_of("pressure"), finer.time, near.time[inside])
        error = relative_l2(near.values_of("pressure")[..., inside], reference)
    assert error == pytest.approx(data["receivers"][1]["measured"], rel=1e-6)
    assert 0.0 < error < 3.0 * data["receivers"][1]["expected"]
    # Complete results are taken.
    code, out, err = command_line("verify", "s.yaml", "--backend", "cpu")
    assert err.count("is complete already") == 2
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["receivers", "near", "far"]


def test_a_typed_grid_has_half_the_spacing():
    typed = changed(grid={"extent": {"x": 600.0, "z": 400.0}, "spacing": 12.5})
    comparison = plan_comparison(typed, make_plan)
    assert comparison.finer.grid.spacing.x == 6.25
    assert comparison.finer.boundaries.layer.points >= 2 * typed.boundaries.layer.points
    assert comparison.finer.grid.accuracy == typed.grid.accuracy / 4.0
    assert comparison.fine.expected.error < comparison.coarse.expected.error


def test_what_both_runs_err_by_is_named():
    lossy = changed(
        model=[{"type": "uniform", "vp": 2000.0, "qp": 30.0}], attenuation={"mechanisms": 1}
    )
    ((name, error),) = plan_comparison(lossy, make_plan).shared
    assert "mechanisms" in name
    assert error > 0.002


def test_a_smaller_difference_where_memory_ends(monkeypatch):
    grid = {"extent": {"x": 6000.0, "z": 4000.0}, "spacing": 12.5}
    typed = changed(grid=grid, output={})
    both = plan_comparison(typed, make_plan)
    room = (both.coarse.largest_need + 9 * both.fine.largest_need) // 10
    monkeypatch.setattr(machine, "available_memory", lambda: room)
    assert plan_comparison(typed, make_plan).finer.grid.spacing.x == pytest.approx(0.7 * 12.5)
    monkeypatch.setattr(machine, "available_memory", lambda: both.coarse.largest_need)
    with pytest.raises(InsufficientMemoryError, match=r"^no finer run fits: .*--accuracy$"):
        plan_comparison(typed, make_plan)


def test_what_it_cannot_compare_is_refused(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match=r"receivers: .*add a set of receivers"):
        plan_comparison(changed(receivers=[]), make_plan)
    ensemble = {
        "members": 3,
        "draw": [{"type": "uniform", "key": "model[0].vp", "lowest": 1900.0, "highest": 2100.0}],
    }
    several = changed(ensemble=ensemble, time={"duration": 0.3, "step": 1e-3}, output={})
    with pytest.raises(ScenarioError, match="leave the ensemble out"):
        plan_comparison(several, make_plan)
    for names, message in ((["s.yaml"], "cannot be read"), (["s.yaml", "SH"], "a single scenario")):
        code, _, err = command_line("verify", *names)
        assert code == 2
        assert message in err


def test_errors_of_receivers():
    times = np.linspace(0.0, 1.0, 401)
    reference = np.sin(20.0 * times) * np.array([1.0, 2.0, 1e-5])[:, None, None]
    traces = reference * np.array([1.01, 0.98, 3.0])[:, None, None]
    assert relative_l2_of_receivers(traces, reference) == pytest.approx([0.01, 0.02, 0.0])
    others = times[:-1] + 0.001
    assert resampled(reference, times, others)[0, 0] == pytest.approx(
        np.sin(20.0 * others), abs=1e-5
    )
