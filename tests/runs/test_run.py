"""A run from scenario to results file: what is in it, where and when, and what errors leave behind.

Grids are tiny: the physics has its own tests. Equality is exact wherever two ways read the same
numbers; the one tolerance, of velocity snapshots, is derived where it is used.
"""

import copy
import gc
import json
import math
import tempfile
import threading
from dataclasses import replace

import h5py
import numpy as np
import pytest

import seismo
import seismo.scenario
from seismo.backends import machine
from seismo.errors import InsufficientMemoryError, ScenarioError, StorageError, UnstableError
from seismo.runs import run as runner
from seismo.runs.check.plan import make_plan
from seismo.runs.loop import run_loop
from seismo.runs.progress import (
    Lines,
    Progress,
    clock_time,
)
from seismo.solver import discretize
from seismo.solver.accuracy import stability_monitor

FREQUENCY = 10.0
DT = 0.002
SCENARIO = {
    "title": "a pulse in water",
    "physics": "acoustic_variable_density",
    "grid": {"extent": {"x": 300.0, "z": 200.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.3, "step": DT, "dispersion_removal": False},
    "boundaries": {"layer": {"points": 8}},
    "model": [
        {"type": "uniform", "vp": 1500.0, "rho": 1000.0},
        {"type": "block", "z": [150.0, 300.0], "vp": 1800.0},
    ],
    "sources": [{"type": "explosion", "position": {"x": 103.0, "z": 100.0}, "moment": 1e9,
                 "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
    "receivers": [
        {"name": "nodes", "type": "points", "quantities": ["pressure"],
         "positions": [{"x": 200.0, "z": 100.0}, {"x": 200.0, "z": 60.0, "code": "XX.DEEP"}]},
        {"name": "between", "type": "points", "quantities": ["velocity"], "interval": 0.004,
         "positions": [{"x": 205.0, "z": 100.0}]},
        {"name": "motion", "type": "points", "quantities": ["velocity"],
         "positions": [{"x": 205.0, "z": 100.0}]},
    ],
    "output": {"snapshots": [
        {"name": "field", "fields": ["pressure", "velocity"], "interval": 0.02},
        {"name": "late", "fields": ["p"], "interval": 0.02, "start": 0.1, "stop": 0.2,
         "decimate": 3}]},
}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return seismo.run(SCENARIO, tmp_path_factory.mktemp("run") / "pulse.h5")


def changed(**sections):
    return copy.deepcopy(SCENARIO) | sections


def surveyed(positions, **keys):
    shots = [{"position": {"x": x, "z": 100.0}} for x in positions]
    return changed(survey={"shots": shots, **keys}, receivers=SCENARIO["receivers"][:2])


def test_the_file_says_what_was_run(results):
    assert (results.title, results.dt) == ("a pulse in water", DT)
    assert results.attributes["steps"] == 150
    assert "vp: 1500" in results.scenario
    summary = results.summary
    assert summary["steps"] == 150
    assert summary["points"] == (31 + 16) * (21 + 16)
    for name in ("elapsed_s", "points_per_second", "bytes_per_second"):
        assert summary[name] > 0
    assert json.loads(results.attributes["half_cell"]) == {"vx": "x", "vz": "z"}
    assert (summary["output_stalls"], summary["output_stalled_s"]) == (0, 0.0)
    assert 0 < summary["snapshot_bytes"] < 4 * 31 * 21 * 3 * 16 + 4 * 11 * 7 * 6


def test_the_file_says_what_check_frowns_at(results):
    plan = make_plan(seismo.scenario.from_dict(SCENARIO))
    assert results.warnings == [w for w in plan.warnings if not w.startswith(("memory", "disk"))]
    assert results.warnings
    assert "".join(results.warnings[0].split()) in "".join(results.info().split())


def test_the_model_is_the_earth_at_the_nodes_of_the_extent(results):
    vp, axes = results.model.values_of("vp"), results.model.axes
    assert vp.shape == (21, 31)
    assert list(axes) == ["z", "x"]
    assert (axes["x"][0], axes["x"][-1], axes["z"][-1]) == (0.0, 300.0, 200.0)
    np.testing.assert_array_equal(vp, np.where(axes["z"][:, None] < 150, 1500, 1800) + 0 * vp)
    assert set(results.model) == {"vp", "rho"}


def test_sources_and_wavelets_are_those_asked_for(results):
    (source,) = results.sources
    assert source["type"] == "explosion"
    assert (source["x"], source["x_requested"], source["moment"]) == (103.0, 103.0, 1e9)
    assert (source["index_x"], source["offset_x"]) == (18, pytest.approx(3.0))
    with h5py.File(results.path) as file:
        units = {name: column.attrs.get("units") for name, column in file["sources"].items()}
        assert (units["index_x"], units["offset_x"], units["delay"]) == ("1", "m", "s")
        assert units["moment"] == "N"  # N m per metre of y
        assert file["wavelets/wavelet"].attrs["units"] == "1/s"
        assert file["wavelets/time"].attrs["axis"] == "T"
    assert (source["start"], source["centre"]) == (0.0, pytest.approx(1.5 / FREQUENCY))
    tau = np.arange(151) * DT - 1.5 / FREQUENCY
    a = (math.pi * FREQUENCY * tau) ** 2
    np.testing.assert_allclose(results.wavelets.samples[0], (1 - 2 * a) * np.exp(-a), atol=1e-12)


def test_traces_have_codes_places_and_times(results):
    nodes = results.traces["nodes"]
    assert nodes.shape("pressure") == (1, 2, 151)
    assert nodes.codes[1] == "XX.DEEP"
    np.testing.assert_array_equal(nodes.z, [100.0, 60.0])
    np.testing.assert_allclose(nodes.time, np.arange(151) * DT)
    np.testing.assert_allclose(results.traces["between"].time, np.arange(76) * 0.004)
    assert np.abs(nodes.values_of("pressure")).max() > 0


def test_a_snapshot_of_pressure_is_the_trace_at_its_time(results):
    """Pressure stands on nodes at whole steps: both read the same number."""
    series, trace = results.snapshots["field"], results.traces["nodes"]
    np.testing.assert_allclose(series.time, np.arange(16) * 0.02)
    np.testing.assert_array_equal(
        series.values_of("pressure")[:, 10, 20], trace.values_of("pressure")[0, 0, ::10]
    )


def test_a_snapshot_of_velocity_stands_at_its_time(results):
    """The mean of two half steps is 1 - (w dt)^2 / 8 of the value, 1.2 % at w / 2 pi = 25 Hz.

    That is where the Ricker wavelet of 10 Hz has fallen to 3 %; half a step away the snapshot would
    be off by w dt / 2 = 16 %.
    """
    snapshot = results.snapshots["field"].values_of("vx")[:, 10, 20]
    trace = results.traces["motion"].values_of("vx")[0, 0, ::10]
    error = np.abs(snapshot - trace).max() / np.abs(trace).max()
    assert 0 < error < (2 * math.pi * 25 * DT) ** 2 / 8


def test_start_stop_and_decimate(results):
    late, whole = results.snapshots["late"], results.snapshots["field"]
    np.testing.assert_allclose(late.time, np.arange(5, 11) * 0.02)
    np.testing.assert_allclose(late.axes["x"], np.arange(0, 301, 30))
    np.testing.assert_array_equal(late.values_of("p"), whole.values_of("pressure")[5:11, ::3, ::3])


def test_every_shot_of_a_survey_is_its_own_run(tmp_path):
    """Three shots in batches of two and one: the same numbers as one shot alone."""
    reports = []
    pairs = surveyed([80.0, 103.0, 222.0], batch=2)
    survey = seismo.run(pairs, tmp_path / "survey.h5", reports.append)
    alone = seismo.run(surveyed([222.0]), tmp_path / "alone.h5")
    assert survey.traces["nodes"].shots == ["shot_000", "shot_001", "shot_002"]
    np.testing.assert_array_equal(
        survey.traces["nodes"].values_of("pressure")[2],
        alone.traces["nodes"].values_of("pressure")[0],
    )
    np.testing.assert_array_equal(
        survey.snapshots["field/shot_002"].values_of("vz"), alone.snapshots["field"].values_of("vz")
    )
    assert [s["shot"] for s in survey.sources] == survey.traces["nodes"].shots
    assert {r.shots for r in reports if r.phase == "step"} == {"shots 1-2 of 3", "shots 3-3 of 3"}
    assert reports[-1].fraction == 1.0


def test_a_scenario_without_a_file_lives_as_long_as_its_results():
    results = seismo.run(changed(output={}))
    path = results.path
    assert path.exists()
    results.close()
    del results
    gc.collect()
    assert not path.exists()


def test_shear_waves_in_a_plane_need_no_p_velocity():
    rock = {"type": "uniform", "vs": 400, "rho": 1900}
    document = {
        "physics": "elastic_sh", "time": {"duration": 0.3}, "model": [rock],
        "grid": {"extent": {"x": 400, "z": 300}, "spacing": 10},
        "sources": [{"type": "force", "force": {"y": 1}, "position": {"x": 200, "z": 100},
                     "wavelet": {"type": "ricker", "frequency": 8}}],
        "receivers": [{"type": "points", "positions": [{"x": 300, "z": 100}]}],
    }  # fmt: skip
    traces = []
    for model in ([rock], [rock | {"vp": 800}]):
        with seismo.run(document | {"model": model}) as results:
            traces.append(results.traces["receivers"].values_of("vy"))
    assert np.abs(traces[0]).max() > 0.0
    np.testing.assert_array_equal(*traces)
    with pytest.raises(ScenarioError, match=r"model\[0\].vp: missing"):
        seismo.check(document | {"physics": "elastic"})


def test_the_results_of_a_file_lie_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "somewhere").mkdir()
    file = tmp_path / "somewhere" / "pulse.yaml"
    from seismo.scenario import from_dict

    file.write_text(from_dict(changed(output={})).to_yaml())
    monkeypatch.chdir(tmp_path)
    assert seismo.run(file).path.resolve() == (tmp_path / "pulse.h5").resolve()


@pytest.mark.parametrize("way", ["changed", "copied"])
def test_what_is_not_as_its_file_is_stored_as_it_runs_and_leaves_the_files_results(
    tmp_path, monkeypatch, way
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pulse.yaml").write_text(seismo.scenario.from_dict(changed(output={})).to_yaml())
    scenario = seismo.load("pulse.yaml")
    if way == "changed":
        other = scenario.changed({"time.duration": "0.1 s"})
    else:
        time = scenario.time.model_copy(update={"duration": np.float64(0.1)})
        other = scenario.model_copy(update={"time": time})
    with seismo.run(other) as results:
        assert results.attributes["steps"] == 50
        assert results.scenario_text == results.scenario
        assert seismo.scenario.parse(results.scenario_text).time.duration == 0.1
    assert not (tmp_path / "pulse.h5").exists()


def _unstable(scenario, factor):
    stable = discretize.discretize(scenario)
    dt = factor * stable.clock.limit
    return replace(stable, clock=replace(stable.clock, dt=dt, steps=400))


def test_an_unstable_run_says_where_and_keeps_what_was_sound(tmp_path, monkeypatch):
    """5 % above the limit the fastest mode grows by a factor of 1.9 a step.

    The traces kept are those of a run that was meant to end there.
    """
    unstable = _unstable(seismo.scenario.from_dict(SCENARIO), 1.11)
    monkeypatch.setattr(runner.UnplacedRun, "discretized", lambda *_: unstable)
    with pytest.raises(UnstableError, match=r"step \d+ .*p reaches .* x = .*vp 1[58]00") as caught:
        seismo.run(SCENARIO, tmp_path / "x.h5")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(f", in {tmp_path / 'x.h5'}")
    steps = caught.value.good - 4
    with seismo.open_results(tmp_path / "x.h5") as kept:
        assert kept.status == "unstable"
        assert str(caught.value).startswith(kept.message)
        assert "UNSTABLE" in repr(kept)
        assert kept.verify()
        assert "unstable: the wavefield is unstable at step" in " ".join(kept.info().split())
        pressure = kept.traces["nodes"].values_of("pressure")
        assert pressure.shape == (1, 2, 401)
        assert np.isnan(pressure[..., steps + 1 :]).all()
        assert kept.traces["nodes"].attribute("pressure", "peak") == np.nanmax(np.abs(pressure))
        field = kept.snapshots["field"].values_of("pressure")
        assert np.isfinite(field[0]).all()
        assert np.isnan(field[-1]).all()
    ending = replace(unstable, clock=replace(unstable.clock, steps=steps))
    monkeypatch.setattr(runner.UnplacedRun, "discretized", lambda *_: ending)
    monkeypatch.setattr(stability_monitor, "OVERFLOW", np.inf)
    with seismo.run(SCENARIO | {"output": {}}, tmp_path / "short.h5") as short:
        for name, quantity in (("nodes", "pressure"), ("motion", "vx"), ("between", "vz")):
            wanted = short.traces[name].values_of(quantity)
            found = _traces(tmp_path / "x.h5", name, quantity)[..., : wanted.shape[-1]]
            np.testing.assert_array_equal(found, wanted)
            assert wanted.any()


def _traces(path, name, quantity):
    with seismo.open_results(path) as results:
        return results.traces[name].values_of(quantity)


def test_an_unstable_batch_keeps_the_batches_before(tmp_path, monkeypatch):
    """The second of three shots meets a wavefield of NaN; the third never begins."""
    take, batches = run_loop.Simulation.start, []

    def start(simulation, prepared):
        take(simulation, prepared)
        batches.append(prepared)
        if len(batches) == 2:
            simulation.solvers[0].fields.arrays(0)["p"][:] = np.nan

    monkeypatch.setattr(run_loop.Simulation, "start", start)
    survey = surveyed([80.0, 103.0, 222.0], batch=1) | {"output": {}}
    with pytest.raises(UnstableError, match="until 0 s of shot_001, and 1 shot before, in"):
        seismo.run(survey, tmp_path / "x.h5")
    pressure = _traces(tmp_path / "x.h5", "nodes", "pressure")
    assert np.isfinite(pressure[0]).all()
    assert np.isnan(pressure[1, :, 1:]).all()
    assert np.isnan(pressure[2]).all()


def test_the_next_shots_are_prepared_while_others_are_under_way(tmp_path, monkeypatch):
    """In a thread of its own, begun before the last step of the shot before."""
    prepare, steps, threads = run_loop.Simulation.prepare, run_loop.TimeLoop.run, []
    numbers = iter(range(3))
    begun = [threading.Event() for _ in range(3)]

    def prepared(simulation, shots):
        threads.append(threading.current_thread().name)
        begun[len(threads) - 1].set()
        return prepare(simulation, shots)

    def stepped(*arguments):
        number = next(numbers)
        assert number == 2 or begun[number + 1].wait(5.0)
        steps(*arguments)

    monkeypatch.setattr(run_loop.Simulation, "prepare", prepared)
    monkeypatch.setattr(run_loop.TimeLoop, "run", stepped)
    survey = surveyed([80.0, 103.0, 222.0], batch=1) | {"output": {}}
    seismo.run(survey, tmp_path / "x.h5").close()
    assert threads == [threading.current_thread().name, *["seismo-prepare_0"] * 2]


def test_temporary_results_of_an_unstable_run_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unstable = _unstable(seismo.scenario.from_dict(SCENARIO), 1.11)
    monkeypatch.setattr(runner.UnplacedRun, "discretized", lambda *_: unstable)
    with pytest.raises(UnstableError, match=r"halve the time step \(time.step: [0-9.]+ .?s\)$"):
        seismo.run(SCENARIO)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupt(progress: Progress) -> None:
        if progress.phase == "step":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seismo.run(SCENARIO, tmp_path / "x.h5", interrupt)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("what", "error"),
    [("available_memory", InsufficientMemoryError), ("free_disk", StorageError)],
)
def test_a_run_that_does_not_fit_is_refused(tmp_path, monkeypatch, what, error):
    monkeypatch.setattr(machine, what, lambda *_: 1000)
    with pytest.raises(error, match="1 kB"):
        seismo.run(SCENARIO, tmp_path / "x.h5")
    assert not list(tmp_path.iterdir())


def test_check_says_what_the_disk_lacks(monkeypatch):
    monkeypatch.setattr(machine, "free_disk", lambda folder: 1000)
    (found,) = (
        w for w in make_plan(seismo.scenario.from_dict(SCENARIO)).warnings if w.startswith("disk")
    )
    assert found.startswith("disk: the results take up to ")
    assert found.endswith(" has 1 kB left; the run will be refused")


@pytest.mark.parametrize("link", ["out.h5", "sub"])
def test_no_link_takes_results_out_of_the_scenarios_folder(tmp_path, link):
    """A scenario and its folder may come from somebody else; `--output` is one's own."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "out.h5").write_text("dear")
    name = "out.h5" if link == "out.h5" else "sub/out.h5"
    (own / link).symlink_to(other / "out.h5" if link == "out.h5" else other)
    scenario = seismo.scenario.from_dict(changed(output={"path": name}), own)
    with pytest.raises(ScenarioError, match="a link leaves the scenario's folder; use --output"):
        seismo.run(scenario)
    assert any("a link leaves the scenario's folder" in w for w in make_plan(scenario).warnings)
    assert [path.read_text() for path in other.iterdir()] == ["dear"]
    with pytest.raises(ScenarioError, match="holds no results of seismo that can be read, or"):
        seismo.run(scenario, own / name)
    (other / "out.h5").unlink()
    seismo.run(scenario, own / name).close()
    assert (other / "out.h5").stat().st_size > 100


def test_a_log_gets_one_line_per_five_percent(capsys):
    import sys

    with Lines(sys.stdout) as lines:
        for step in range(1, 1001):
            lines(Progress("step", step, 1000, 0.001 * step, 0.01 * step, 2e8))
    written = capsys.readouterr().out.splitlines()
    assert len(written) == 20
    assert written[0] == "  5 %  step 50/1000  t = 50 ms  200 Mpoint/s  9.5 s left"


def test_durations_are_readable():
    assert [clock_time(t) for t in (0.5, 42, 190, 7500)] == [
        "0.5 s", "42 s", "3 min 10 s", "2 h 05 min",
    ]  # fmt: skip
