"""`seismo status` and `seismo watch` tell how far a run is, whether it goes on, ended or died."""

import json
import os
import shutil
import socket
import time
from pathlib import Path

import pytest

import seismo
from seismo.errors import ScenarioError, StoppedError
from seismo.output.run_directory import sealed, unsealed
from seismo.runs import status
from seismo.runs.loop import run_loop
from seismo.runs.progress import Progress, WavefieldPeak
from seismo.runs.request import Signals
from seismo.runs.status import (
    NAME,
    Heartbeat,
    read_heartbeat,
    status_of,
)

SCENARIO = """\
physics: acoustic
grid: {extent: {x: 300 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.2 s, step: 1 ms, dispersion_removal: false}
boundaries: {layer: {points: 10}}
model: [{type: uniform, vp: 1500 m/s}]
sources:
  - {type: pressure, position: {x: 150 m, z: 100 m}, wavelet: {type: ricker, frequency: 10 Hz}}
receivers:
  - {type: points, positions: [{x: 220 m, z: 100 m}]}
checkpoint: {steps: 60}
"""


def placed(folder, monkeypatch) -> Path:
    """Write a scenario to a folder of its own; its runs report every step, and beat often."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(run_loop, "REPORT_EVERY", -1.0)
    monkeypatch.setattr(
        run_loop.StepTimer, "queueable_steps", property(lambda pace: 1 - pace._steps)
    )
    monkeypatch.setattr(status, "EVERY", 0.001)
    monkeypatch.setattr(status, "_TIDYING", 0.0)
    path = folder / "s.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    return placed(tmp_path, monkeypatch)


def at_step(step: int, act):
    """Make a reporter that acts once, at a step of the run."""

    def report(progress: Progress) -> None:
        if progress.phase == "step" and progress.step == step:
            act()

    return report


def stop(scenario) -> None:
    """Stop a run at its second checkpoint."""
    signals = Signals()
    with pytest.raises(StoppedError):
        seismo.run(
            scenario, progress=at_step(130, lambda: setattr(signals, "stop", True)),
            signals=signals,
        )  # fmt: skip


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """Return the run directory of a run that was stopped."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as monkeypatch:
        stop(placed(folder, monkeypatch))
    return folder / "s.h5.run"


@pytest.fixture
def stopped(run_folder, tmp_path, monkeypatch):
    """Copy that directory to the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(status, "_TIDYING", 0.0)
    return shutil.copytree(run_folder, tmp_path / "s.h5.run")


def change(folder, **changes) -> None:
    """Write another sign of life into a run directory."""
    beat = unsealed((folder / NAME).read_text())
    (folder / NAME).write_text(sealed(beat | changes))


@pytest.mark.parametrize("name", ["s.yaml", "s.h5", "s.h5.run"])
def test_a_run_that_goes_on(scenario, tmp_path, name):
    states = []

    def look() -> None:
        until = time.monotonic() + 10.0
        while not states or states[-1].progress.step < 130:
            states[:] = status_of(tmp_path / name)
            assert time.monotonic() < until

    seismo.run(scenario, progress=at_step(130, look)).close()
    (state,) = states
    assert (state.state, state.running, state.checkpoint) == ("running", True, 120)
    assert (state.progress.step, state.progress.steps) == (130, 204)
    assert state.duration == pytest.approx(0.2)
    assert state.progress.time == pytest.approx(0.13)
    assert state.progress.points_per_second > 0.0
    assert state.process["pid"] == os.getpid()
    assert state.device.startswith("on the CPU")
    peak = state.progress.peak
    assert (peak.field, peak.unit) == ("p", "Pa")
    assert 0.0 < peak.latest <= peak.largest
    assert "step 130/204  t = 130 ms" in str(state)
    assert "checkpoint  after step 120" in str(state)
    (state,) = status_of(tmp_path / name)
    assert (state.state, state.running, state.exit_code) == ("complete", False, 0)
    assert state.explanation.startswith("204 steps in ")
    assert not (tmp_path / "s.h5.run").exists()


def test_the_last_report_has_the_speed_of_the_run(scenario):
    reports = []
    seismo.run(scenario, progress=reports.append).close()
    assert reports[-1].phase == "done"
    assert reports[-1].points_per_second > 0.0
    assert reports[-1].time == pytest.approx(0.2)


def test_a_run_that_was_stopped_and_one_that_failed(scenario, tmp_path):
    stop(scenario)
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.exit_code, state.checkpoint) == ("stopped", 85, 130)
    assert state.explanation.count("go on with: seismo resume") == 1
    assert "left" not in str(state)

    def fail() -> None:
        raise ZeroDivisionError("of\nits own")

    with pytest.raises(ZeroDivisionError):
        seismo.run(scenario, resume=True, progress=at_step(150, fail))
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.exit_code) == ("failed", 1)
    assert state.explanation.startswith("of its own; go on with")


def test_a_run_whose_process_is_gone(stopped, tmp_path):
    change(stopped, state="running")
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.running) == ("died", False)
    assert state.explanation.startswith(f"process {os.getpid()} is gone; go on with")


@pytest.mark.parametrize(("age", "expected"), [(3.0, "running"), (3600.0, "unknown")])
def test_a_run_on_another_machine(stopped, tmp_path, age, expected):
    """Where its lock is not seen, its last sign of life counts."""
    change(stopped, state="running", host="node7", updated=time.time() - age)
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.running) == (expected, True)
    if expected == "unknown":
        assert state.explanation.endswith("another machine, node7, silent for 1 h 00 min")


@pytest.mark.parametrize("damage", ["cut", "gone", "other version", "empty"])
def test_a_damaged_sign_of_life(stopped, tmp_path, damage):
    beat = stopped / NAME
    if damage == "gone":
        beat.unlink()
    elif damage == "other version":
        change(stopped, version=99)
    else:
        beat.write_text(beat.read_text()[:100] if damage == "cut" else "")
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.checkpoint, state.progress) == ("died", 130, None)
    assert ("status.json cannot be read" in state.explanation) == (damage != "gone")


@pytest.mark.parametrize("kind", ["pipe", "device", "link", "long", "folder"])
def test_a_sign_of_life_that_is_no_small_file(stopped, tmp_path, kind):
    """It is not waited for, not read to its end, and no link is followed."""
    beat = stopped / NAME
    beat.rename(tmp_path / "beat")
    match kind:
        case "pipe":
            os.mkfifo(beat)
        case "device":
            beat.symlink_to("/dev/zero")
        case "link":
            beat.symlink_to(tmp_path / "beat")
        case "long":
            beat.touch()
            os.truncate(beat, 3 << 30)
        case _:
            beat.mkdir()
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.checkpoint, state.progress) == ("died", 130, None)
    assert "status.json cannot be read" in state.explanation


@pytest.mark.parametrize(
    "changes",
    [
        {"updated": "now"}, {"updated": 10**400}, {"updated": None}, {"state": ["running"]},
        {"state": "asleep"}, {"message": 1}, {"pid": "x"}, {"host": None}, {"duration": "long"},
        {"device": 3}, {"progress": None}, {"progress": []}, {"progress": {"phase": 1}},
        {"step": "1"}, {"steps": 1.5}, {"steps": 10**400}, {"peak": 7}, {"health": [1]},
        {"health": {"power": "much"}}, {"elapsed": float("nan")}, {"colour": "red"},
        {"peak": {"field": "p", "unit": "Pa", "latest": "high", "largest": 1.0}},
    ],
    ids=str,
)  # fmt: skip
def test_a_sign_of_life_of_other_types(stopped, command_line, changes):
    """Sealed by whoever wrote it."""
    known = unsealed((stopped / NAME).read_text())
    if not changes.keys() <= known.keys():
        changes = {"progress": known["progress"] | changes}
    change(stopped, **changes)
    code, out, err = command_line("status", "s.h5")
    assert (code, err) == (0, "")
    assert out.startswith("s.h5: died\n")
    assert "status.json cannot be read: it" in out


def test_broken_waves_are_no_damage(stopped, tmp_path):
    known = unsealed((stopped / NAME).read_text())["progress"]
    change(stopped, progress=known | {"peak": known["peak"] | {"latest": float("nan")}})
    assert status_of(tmp_path / "s.h5")[0].state == "stopped"


@pytest.mark.parametrize(("ahead", "expected"), [(5.0, "running"), (7200.0, "unknown")])
def test_a_sign_of_life_from_the_future(stopped, tmp_path, ahead, expected):
    """Clocks differ by seconds; by two hours nobody can tell how long it is silent."""
    change(stopped, state="running", host="node7", updated=time.time() + ahead)
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.age) == (expected, 0.0)
    assert ("node7, whose clock is 2 h 00 min ahead of this one" in str(state)) == (
        expected == "unknown"
    )


def test_a_run_that_goes_on_says_from_where_while_it_prepares(scenario, tmp_path):
    """Not 0 % beside a checkpoint."""
    stop(scenario)
    states = []

    def look(progress: Progress) -> None:
        if progress.phase == "build":
            until = time.monotonic() + 10.0
            while not (states and states[-1].progress.phase == "build"):
                states[:] = status_of(tmp_path / "s.h5")
                assert time.monotonic() < until

    seismo.run(scenario, resume=True, progress=look).close()
    assert "  progress    build, to go on from step 130\n" in str(states[-1])
    assert states[-1].line == "running  build, to go on from step 130"


def test_no_run_at_all(scenario, tmp_path):
    with pytest.raises(ScenarioError, match=r"neither results s\.h5 nor a run to them"):
        status_of(scenario)


def test_shares_of_a_survey_are_told_one_by_one(scenario, tmp_path):
    for name in ("s-1of2.h5", "s-2of2.h5"):
        seismo.run(scenario, tmp_path / name).close()
    assert [state.results.name for state in status_of(scenario)] == ["s-1of2.h5", "s-2of2.h5"]


@pytest.mark.parametrize("name", ["nope", "nope.run", "no[1-]pe.h5", "no/folder", "*", "**.h5"])
def test_names_of_no_run_are_told_as_such(tmp_path, monkeypatch, name):
    """Patterns of file names read such ones otherwise, by the version of Python."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-1of2.h5").touch()
    with pytest.raises(ScenarioError, match=r"neither results .* nor a run to them"):
        status_of(Path(name))


@pytest.mark.parametrize("name", ["s", "s[1].h5", "s*"])
def test_shares_are_found_by_any_name(tmp_path, name):
    path = tmp_path / name
    shares = [path.with_name(f"{path.stem}-{k}of2{path.suffix}") for k in (1, 2)]
    for share in (*shares, tmp_path / f"other-1of2{path.suffix}"):
        share.with_name(f"{share.name}.run").mkdir()
    assert [state.results for state in status_of(path)] == shares


def test_the_sign_of_life_is_not_written_by_whoever_steps(tmp_path):
    """The loop leaves a record; the file is the thread's."""
    beating = Heartbeat(tmp_path, {}, lambda progress: None)
    beating(Progress("step", 1, 2, peak=WavefieldPeak("vx", "m/s", 1.0, 2.0)))
    assert list(tmp_path.iterdir()) == []
    with beating:
        while not (tmp_path / NAME).exists():
            time.sleep(0.001)
        assert read_heartbeat(tmp_path)["progress"]["peak"]["largest"] == 2.0
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_tells_how_far_a_run_is(scenario, tmp_path, monkeypatch):
    """Interrupted right after one, long before the loop has reported a step."""
    monkeypatch.setattr(run_loop, "REPORT_EVERY", 1e9)

    def interrupt(progress: Progress) -> None:
        if progress.phase == "checkpoint" and progress.step == 120:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seismo.run(scenario, progress=interrupt)
    (state,) = status_of(tmp_path / "s.h5")
    assert (state.state, state.checkpoint, state.progress.step) == ("interrupted", 120, 120)
    assert "step 120/204  t = 120 ms" in str(state)


def test_the_commands(scenario, tmp_path, command_line):
    code, _, err = command_line("watch", "s.yaml")
    assert code == 2
    assert "it was not begun" in err
    stop(scenario)
    code, out, _ = command_line("status", "s.yaml", "--json")
    assert code == 0
    assert json.loads(out)[0]["progress"]["fraction"] == pytest.approx(130 / 204)
    code, out, _ = command_line("info", "s.h5")
    assert code == 0
    assert out.startswith("s.h5: stopped, 64 % done\n")
    code, _, err = command_line("info", "s.h5", "--verify")
    assert code == 2
    assert "no results to verify before the end" in err
    code, _, err = command_line("plot", "s.h5")
    assert code == 2
    assert "is not there yet: its run has not ended" in err
    assert command_line("watch", "s.h5")[0] == 85
    seismo.run(scenario, resume=True).close()
    code, out, _ = command_line("watch", "s.h5")
    assert code == 0
    assert out.startswith("s.h5: complete\n")


def test_watching_follows_a_run_to_its_end(scenario, tmp_path, command_line, monkeypatch):
    """It looks again until the run is over, here by an error after its checkpoint."""
    stop(scenario)
    change(tmp_path / "s.h5.run", state="running", host="node7", updated=time.time())
    looks = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            change(tmp_path / "s.h5.run", state="failed", host=socket.gethostname(), message="why")

    monkeypatch.setattr("seismo.cli.runs.time.sleep", sleep)
    code, out, _ = command_line("watch", "s.h5", "--every", "7")
    assert (code, looks) == (1, [7.0, 7.0])
    lines = out.splitlines()
    assert lines[0].startswith("running  64 %  step 130/204")
    assert lines[2] == "s.h5: failed, 64 % done"
