"""Runs that are killed, stopped, out of disk or damaged resume to the results of an unbroken one.

Equality is to the last bit, of everything but the words about how and when a run was made.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml

import seismo
from seismo.errors import ScenarioError, StoppedError, StorageError, UnstableError
from seismo.output.run_directory import checkpoint, sealed, unsealed
from seismo.output.run_directory.lock import Lock
from seismo.runs import compatibility, request
from seismo.runs import run as runner
from seismo.runs.loop import run_loop
from seismo.runs.request import Request, Signals
from seismo.runs.run import resume
from seismo.scenario import from_dict
from seismo.solver import discretize
from seismo.solver.medium.field_damping import LayerDamping
from solver import slow_but

pytestmark = pytest.mark.usefixtures("no_remedies")

SCENARIO = {
    "physics": "elastic",
    "grid": {"extent": {"x": 300.0, "z": 200.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.2, "step": 0.002, "dispersion_removal": True},
    "boundaries": {"top": "free_surface", "layer": {"points": 6}},
    "model": [
        {"type": "uniform", "vp": 1500.0, "vs": 0.0, "rho": 1000.0},
        {"type": "block", "z": [93.0, 300.0], "vp": 1800.0, "vs": 900.0, "rho": 1700.0},
    ],
    "sources": [{"type": "explosion", "position": {"x": 103.0, "z": 60.0}, "moment": 1e9,
                 "wavelet": {"type": "ricker", "frequency": 15.0}}],
    "survey": {"shots": [{"position": {"x": x, "z": 60.0}} for x in (60.0, 103.0, 222.0)],
               "batch": 2},
    "receivers": [{"type": "points", "quantities": ["velocity", "pressure"],
                   "positions": [{"x": 205.0, "z": 100.0}, {"x": 111.0, "z": 30.0}]}],
    "output": {"snapshots": [{"fields": ["velocity", "sxx"], "interval": 0.018, "decimate": 2}],
               "maps": [{"quantities": ["pgv", "pga"]}]},
    "checkpoint": {"steps": 23},
}  # fmt: skip
# Few steps and datasets: every operation on files is met.
SHORT = SCENARIO | {
    "physics": "acoustic_variable_density",
    "time": {"duration": 0.05, "step": 0.002},
    "boundaries": {"layer": {"points": 6}},
    "model": [{"type": "uniform", "vp": 1500.0, "rho": 1000.0}],
    "survey": {"shots": SCENARIO["survey"]["shots"][:2], "batch": 1},
    "receivers": [SCENARIO["receivers"][0] | {"quantities": ["pressure"]}],
    "output": {"snapshots": [{"fields": ["vx"], "interval": 0.018}], "model": False},
    "checkpoint": {"steps": 19},
}


def contents(path: Path) -> dict[str, bytes]:
    """Give the bytes of every dataset of a results file, but of how fast the machine was."""
    found: dict[str, bytes] = {}

    def keep(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("telemetry/"):
            values = np.asarray(item[...])
            found[name] = (
                repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
            )
            found[f"{name}: peak"] = str(item.attrs.get("peak")).encode()

    with h5py.File(path) as file:
        file.visititems(keep)
        found["hash of the traces"] = str(file.attrs.get("traces_sha256")).encode()
    return found


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> dict[str, bytes]:
    """What an unbroken run without checkpoints leaves."""
    path = tmp_path_factory.mktemp("wanted") / "x.h5"
    seismo.run(SCENARIO | {"checkpoint": {}}, path).close()
    found = contents(path)
    assert sum(name.startswith("snapshots") for name in found) > 10
    return found


@pytest.fixture(scope="module")
def wanted_short(tmp_path_factory) -> dict[str, bytes]:
    """The same of the short run."""
    path = tmp_path_factory.mktemp("short") / "x.h5"
    seismo.run(SHORT | {"checkpoint": {}}, path).close()
    return contents(path)


def stop_at(step: int, signals: Signals):
    """Make a reporter that asks a run to stop as soon as it tells of a step."""

    def report(progress) -> None:
        if progress.phase == "step" and progress.step >= step:
            signals.stop = True

    return report


def stopped(scenario, path: Path, step: int, **keys) -> StoppedError:
    signals = Signals()
    with pytest.raises(StoppedError) as caught:
        seismo.run(scenario, path, stop_at(step, signals), signals=signals, **keys)
    return caught.value


def report_every_step(monkeypatch) -> None:
    """Report every step, so that runs can be stopped anywhere."""
    monkeypatch.setattr(run_loop, "REPORT_EVERY", -1.0)
    monkeypatch.setattr(
        run_loop.StepTimer, "queueable_steps", property(lambda pace: 1 - pace._steps)
    )


@pytest.fixture
def every_step(monkeypatch):
    report_every_step(monkeypatch)


def chunk_of(path: Path) -> int:
    """Give a place within the last numbers that a file holds."""
    found: list = []

    def look(_: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset) and item.chunks:
            item.id.chunk_iter(found.append)

    with h5py.File(path) as file:
        file.visititems(look)
    last = max(found, key=lambda info: info.byte_offset)
    return last.byte_offset + last.size // 2


def assert_complete(path: Path, wanted: dict[str, bytes]) -> None:
    found = contents(path)
    assert [name for name in wanted if found[name] != wanted[name]] == []
    assert found.keys() == wanted.keys()
    assert [p.name for p in path.parent.iterdir() if ".run" in p.name or "partial" in p.name] == []


@pytest.mark.parametrize("step", slow_but({104}, [1, 9, 10, 104, 105, 160]))
def test_a_run_that_is_asked_to_stop_goes_on_to_the_same_bits(tmp_path, every_step, wanted, step):
    """Before, at and behind snapshots (every 9 steps), looks, and the end of a batch."""
    path = tmp_path / "x.h5"
    error = stopped(SCENARIO, path, step)
    assert error.exit_code == 85
    assert f"go on with: seismo resume {path}.run" in str(error)
    assert not path.exists()
    said: list = []
    with resume(f"{path}.run", Request(report=said.append)):
        assert_complete(path, wanted)
    assert sum(progress.note.startswith("going on from step ") for progress in said) == 1


def test_a_run_goes_on_with_the_layers_that_it_began_with(
    tmp_path, every_step, monkeypatch, wanted
):
    """Trial runs, which decide about them, may end otherwise on another processor."""
    path = tmp_path / "x.h5"
    stopped(SCENARIO, path, 57)
    monkeypatch.setattr(discretize, "field_damping", lambda *run: LayerDamping(0.02, 0.02, 0.02))
    with resume(f"{path}.run"):
        assert_complete(path, wanted)


def test_a_scenario_that_was_edited_meanwhile_is_refused(tmp_path, every_step, monkeypatch):
    """By its key and line, as `run --resume` does; without the file a run goes on."""
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "s.yaml"
    scenario.write_text(yaml.safe_dump(SHORT, sort_keys=False))
    stopped(scenario, tmp_path / "s.h5", 30)
    text = scenario.read_text()
    edited = text.replace("x: 300.0", "x: 310.0", 1)
    assert edited != text
    scenario.write_text(edited)
    with pytest.raises(
        ScenarioError, match=r"s\.yaml:\d+:\d+: grid\.extent\.x: .* run with 300\.0;"
    ):
        resume("s.h5.run")
    scenario.write_text(f"# longer\n{text}")
    stopped_again = Signals()
    with pytest.raises(StoppedError):
        resume("s.h5.run", Request(report=stop_at(60, stopped_again), signals=stopped_again))
    scenario.unlink()
    resume("s.h5.run").close()


def test_a_scenario_that_was_changed_in_python_is_not_that_of_its_file(
    tmp_path, every_step, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "s.yaml"
    scenario.write_text(yaml.safe_dump(SHORT, sort_keys=False))
    stopped(seismo.load(scenario).changed({"time.duration": 0.19}), tmp_path / "s.h5", 30)
    with resume("s.h5.run") as results:
        assert "duration: 0.19" in results.scenario


def test_a_checkpoint_of_absurd_size_is_damaged(tmp_path, every_step):
    """Members that unpack to more than the file, ranks that nobody has."""
    stopped(SHORT, tmp_path / "x.h5", 30)
    folder = tmp_path / "x.h5.run"
    (path, *_) = checkpoint.checkpoint_files(folder)
    for changes, said in (
        ({"ranks": 10**12}, "is of 1000000000000 ranks"), ({"ranks": "2"}, "is of '2' ranks"),
        ({"results": "../x.h5"}, "is no name that a file can have"),
        ({"results": 5}, "does not say its results"),
        ({"text": "#" * (1 << 20)}, "are larger than the file"),
    ):  # fmt: skip
        with zipfile.ZipFile(path) as archive:
            header = unsealed(archive.read("header.json"))
        victim = folder / path.name
        kept = victim.read_bytes()
        for other in checkpoint.checkpoint_files(folder):
            if other != victim:
                other.unlink()
        packing = zipfile.ZIP_DEFLATED if "text" in changes else zipfile.ZIP_STORED
        with zipfile.ZipFile(victim, "w", packing) as archive:
            archive.writestr("header.json", sealed(header | changes))
        with pytest.raises((ScenarioError, StorageError), match=said):
            resume(folder)
        victim.write_bytes(kept)


def test_a_part_says_that_it_is_one_and_how_far_it_goes(tmp_path, every_step):
    """Steps of 2 ms, 105 for a batch of shots: the first has traces once it is done."""
    path = tmp_path / "x.h5"
    stopped(SCENARIO, path, 60)
    with seismo.open_results(f"{path}.run/part-000.h5") as first:
        assert first.status == "unfinished"
        assert first.message.startswith("until t = 46 ms of 200 ms in shot_000 to shot_001; ")
        assert f"STATUS      unfinished: {first.message[:30]}" in first.info()
        assert "12 times from 0 to 0.198 s, 3 of them stored" in first.info()
        assert "pressure not stored, vx not stored, vz not stored" in first.info()
        assert [len(s.stored("vx")) for s in first.snapshots.values()] == [3, 3, 0]
        assert np.isnan(first.traces["receivers"].values_of("vx")).all()
    stopped(SCENARIO, path, 140, resume=True)
    parts = sorted(Path(f"{path}.run").glob("part-*.h5"))
    with seismo.open_results(parts[-1]) as last:
        assert last.message.startswith("until t = 18 ms of 200 ms in shot_002; ")
    held = [seismo.open_results(part) for part in parts]
    assert [0, 1] in [one.traces["receivers"].stored("vx") for one in held]
    with resume(f"{path}.run") as whole:
        assert (whole.status, whole.message) == ("complete", "")


def test_time_on_the_wall_is_counted_before_the_first_step(tmp_path, every_step, monkeypatch):
    """Stopped at the snapshot of step 0; here the clock of the machine has run for years."""
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 1e9 + clock())
    signals = Signals()
    signals.stop = True
    with pytest.raises(StoppedError, match="stopped after step 0 of"):
        seismo.run(SHORT, tmp_path / "x.h5", signals=signals)
    with resume(tmp_path / "x.h5.run") as results:
        assert 0.0 < results.summary["elapsed_s"] < 1e6


@pytest.mark.slow  # `test_ranks.py` stops a run twice every day
def test_a_run_may_stop_again_and_again(tmp_path, every_step, wanted):
    path = tmp_path / "x.h5"
    steps = [int(str(stopped(SCENARIO, path, 1, resume=True)).split("step ")[1].split()[0])]
    for _ in range(2):
        error = stopped(SCENARIO, path, steps[-1] + 50, resume=True)
        steps.append(int(str(error).split("step ")[1].split()[0]))
    assert steps == sorted(set(steps))
    seismo.run(SCENARIO, path, resume=True).close()
    assert_complete(path, wanted)


def test_checkpoints_by_steps_and_by_time(tmp_path, wanted, every_step):
    notes: list[int] = []

    def report(progress) -> None:
        if progress.phase == "checkpoint":
            notes.append(progress.step)

    seismo.run(SCENARIO, tmp_path / "x.h5", report).close()
    assert notes[:4] == [23, 46, 69, 92]
    assert len(notes) > 8
    assert_complete(tmp_path / "x.h5", wanted)
    notes.clear()
    frequent = SHORT | {"checkpoint": {"wall_time": 1e-9}, "time": {"duration": 0.02, "step": 2e-3}}
    seismo.run(frequent, tmp_path / "y.h5", report).close()
    assert len(notes) > 20
    seismo.run(frequent | {"checkpoint": {}}, tmp_path / "z.h5").close()
    assert_complete(tmp_path / "y.h5", contents(tmp_path / "z.h5"))


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory) -> Path:
    """The folder of a run that stopped with two checkpoints behind it."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as patched:
        report_every_step(patched)
        stopped(SCENARIO, folder / "x.h5", 50)
    assert len(checkpoint.checkpoint_files(folder / "x.h5.run")) == 2
    return folder / "x.h5.run"


@pytest.fixture
def unfinished(tmp_path, every_step, stopped_run) -> Path:
    """The results file of a copy of that run."""
    shutil.copytree(stopped_run, tmp_path / "x.h5.run")
    return tmp_path / "x.h5"


def rewrite_header(path: Path, change) -> None:
    """Change the header of a checkpoint, and let the archive be sound."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | {"header.json": json.dumps(header)}).items():
            archive.writestr(name, data)


def test_a_manifest_with_a_flipped_bit_is_one_line(unfinished):
    """What it would have said, such as steps that are a text, is not believed."""
    manifest = Path(f"{unfinished}.run", "manifest.json")
    whole = manifest.read_bytes()
    for key in (b'"until": ', b'"bytes": ', b'"file": "'):
        data = bytearray(whole)
        data[data.index(key) + len(key)] ^= 4
        manifest.write_bytes(data)
        with pytest.raises(StorageError, match=r"manifest.json: is damaged: .*; start over"):
            seismo.run(SCENARIO, unfinished, resume=True)


@pytest.mark.parametrize("damage", slow_but({"flipped"}, ["cut", "flipped", "emptied", "header"]))
def test_a_damaged_checkpoint_gives_way_to_the_one_before(unfinished, wanted, damage):
    newest, _ = checkpoint.checkpoint_files(Path(f"{unfinished}.run"))
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 4
    if damage == "header":
        rewrite_header(newest, lambda header: header["arrays"].popitem())
    else:
        newest.write_bytes({"cut": data[:-100], "flipped": data, "emptied": b""}[damage])
    said: list = []
    seismo.run(SCENARIO, unfinished, said.append, resume=True).close()
    (warning,) = (p.note for p in said if p.phase == "warning")
    assert warning.startswith(f"{newest}: is damaged: ")
    assert any("going on from step 46 " in p.note for p in said if p.phase == "checkpoint")
    assert_complete(unfinished, wanted)


def test_a_checkpoint_that_was_passed_over_is_not_taken_later(tmp_path, every_step, wanted):
    """It could not be read for a while; by then the snapshot of step 54 is dropped."""
    path = tmp_path / "x.h5"

    def fail(progress) -> None:
        if progress.phase == "step":
            raise KeyboardInterrupt

    stopped(SCENARIO, path, 57)
    newest, _ = checkpoint.checkpoint_files(Path(f"{path}.run"))
    whole = newest.read_bytes()
    newest.write_bytes(b"")
    with pytest.raises(KeyboardInterrupt):
        seismo.run(SCENARIO, path, fail, resume=True)
    if newest.exists():
        newest.write_bytes(whole)
    seismo.run(SCENARIO, path, resume=True).close()
    assert_complete(path, wanted)


def test_a_checkpoint_whose_results_are_gone_is_refused(unfinished):
    manifest = Path(f"{unfinished}.run", "manifest.json")
    manifest.unlink()
    with pytest.raises(StorageError, match=r"manifest.json: is damaged: .*; start over with --no-"):
        seismo.run(SCENARIO, unfinished, resume=True)
    manifest.write_text(sealed({"format": "seismo parts", "version": 3, "parts": []}))
    with pytest.raises(StorageError, match="names no part of the first 50 steps"):
        seismo.run(SCENARIO, unfinished, resume=True)
    assert not unfinished.exists()


def test_a_damaged_part_is_refused_before_stepping(unfinished, wanted):
    """In its numbers, or in the mark that it begins with."""
    folder = Path(f"{unfinished}.run")
    before = sorted(folder.iterdir())
    for name, where in (("part-000.h5", "numbers"), ("part-001.h5", "mark")):
        part = folder / name
        whole = part.read_bytes()
        data = bytearray(whole)
        data[0 if where == "mark" else chunk_of(part)] ^= 4
        part.write_bytes(data)
        with pytest.raises(StorageError, match=rf"{name}: .*damaged: .* again with --no-resume$"):
            resume(folder)
        assert sorted(folder.iterdir()) == before
        assert not unfinished.exists()
        part.write_bytes(whole)
    resume(folder).close()
    assert_complete(unfinished, wanted)


def test_a_folder_of_another_name_is_not_gone_on_with(unfinished):
    moved = Path(f"{unfinished}.run").rename(unfinished.with_name("y.h5.run"))
    with pytest.raises(ScenarioError, match=r"a run to x.h5; rename it to x.h5.run, or"):
        resume(moved)
    assert [path.name for path in moved.parent.iterdir()] == ["y.h5.run"]


def test_without_a_sound_checkpoint_a_run_is_refused(unfinished):
    for path in checkpoint.checkpoint_files(Path(f"{unfinished}.run")):
        path.write_bytes(b"nonsense")
    with pytest.raises(StorageError, match="no checkpoint is sound; start over with --no-resume"):
        seismo.run(SCENARIO, unfinished, resume=True)
    with pytest.raises(StorageError, match=r"zip: is damaged: .*; no checkpoint is sound; start"):
        resume(f"{unfinished}.run")


def test_going_on_is_not_offered_to_another_scenario(unfinished):
    text = (
        r"of another scenario, whose time.duration 0.2, left a checkpoint; choose another --output"
    )
    with pytest.raises(ScenarioError, match=text) as caught:
        seismo.run(SCENARIO | CHANGES["time.duration"], unfinished)
    assert "--resume" not in str(caught.value).replace("--no-resume", "")


def test_nobody_chooses_for_the_user(unfinished, wanted):
    with pytest.raises(ScenarioError, match="with --resume, or start over with --no-resume"):
        seismo.run(SCENARIO, unfinished)
    seismo.run(SCENARIO, unfinished, resume=False).close()
    assert_complete(unfinished, wanted)


CHANGES = {
    "time.duration": {"time": SCENARIO["time"] | {"duration": 0.4}},
    r"time.dispersion_removal.* a run with true": {
        "time": {"duration": 0.2, "step": 0.002, "dispersion_removal": False}
    },
    r"model\[1\].vs: .* a run with 900.0": {
        "model": [SCENARIO["model"][0], SCENARIO["model"][1] | {"vs": 901.0}]
    },
    "precision": {"precision": "float64"},
    'title: .* a run with ""': {"title": "another"},
    "output.snapshots": {"output": {}},
}


@pytest.mark.parametrize("words", CHANGES)
def test_another_scenario_is_refused_by_name(unfinished, words):
    with pytest.raises(ScenarioError, match=words) as caught:
        seismo.run(SCENARIO | CHANGES[words], unfinished, resume=True)
    assert "write that, or start over with --no-resume" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(checkpoint.checkpoint_files(Path(f"{unfinished}.run"))) == 2


def test_another_program_is_refused_by_name(unfinished, monkeypatch):
    monkeypatch.setattr(compatibility, "package_version", lambda name: f"9.{len(name)}")
    with pytest.raises(ScenarioError, match=r"program seismo was \S+, and is 9.6 now"):
        seismo.run(SCENARIO, unfinished, resume=True)


def test_a_changed_file_is_refused_by_name(tmp_path, every_step):
    values = np.full((21, 31), 1500.0, np.float32)
    np.save(tmp_path / "vp.npy", values)
    scenario = from_dict(
        SHORT | {"model": [SHORT["model"][0], {"type": "file", "vp": {"path": "vp.npy"}}]}, tmp_path
    )
    stopped(scenario, tmp_path / "x.h5", 9)
    np.save(tmp_path / "vp.npy", values + 1)
    with pytest.raises(ScenarioError, match=r"model\[1\].vp.path: .*vp.npy has changed since"):
        seismo.run(scenario, tmp_path / "x.h5", resume=True)
    np.save(tmp_path / "vp.npy", values)
    seismo.run(scenario, tmp_path / "x.h5", resume=True).close()


@pytest.mark.parametrize(("step", "told"), [(9, False), (50, True)])
def test_an_interrupted_run_says_how_to_go_on_from_its_checkpoint(tmp_path, every_step, step, told):
    path, said = tmp_path / "x.h5", []

    def interrupt(progress) -> None:
        said.append(progress.note)
        if progress.phase == "step" and progress.step >= step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seismo.run(SCENARIO, path, interrupt)
    assert (said[-1] == f"go on with: seismo resume {path}.run") is told
    assert Path(f"{path}.run").exists() is told


@pytest.mark.parametrize(
    "error", [pytest.param(KeyboardInterrupt, marks=pytest.mark.slow), StorageError("full")]
)
def test_a_run_that_starts_over_and_ends_before_its_first_checkpoint(
    unfinished, monkeypatch, error
):
    """Whether it has begun to step, or has sealed what that checkpoint goes with: nothing stays."""

    def fail(*_) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "write", fail)
        with pytest.raises((KeyboardInterrupt, StorageError)):
            seismo.run(SCENARIO, unfinished, resume=False)
    assert list(unfinished.parent.iterdir()) == []
    stopped(SCENARIO, unfinished, 50)
    with monkeypatch.context() as patched:
        patched.setattr(run_loop.Run, "_built", fail)
        with pytest.raises((KeyboardInterrupt, StorageError)):
            seismo.run(SCENARIO, unfinished, resume=False)
    assert list(unfinished.parent.iterdir()) == []


def test_a_run_that_starts_over_leaves_no_parts_before_it_is_set_up(unfinished, monkeypatch):
    def fail(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "memory_of", fail)
    with pytest.raises(KeyboardInterrupt):
        seismo.run(SCENARIO, unfinished, resume=False)
    assert list(unfinished.parent.iterdir()) == []


def test_the_results_instead_of_their_folder(unfinished):
    with pytest.raises(ScenarioError, match=r"x.h5: no such folder; .* a run, x.h5.run"):
        resume(unfinished)
    unfinished.write_text("other")
    with pytest.raises(ScenarioError, match=r"x.h5: is no folder; name .* a run, x.h5.run"):
        resume(unfinished)


def test_folders_that_nothing_can_go_on_from(tmp_path):
    with pytest.raises(ScenarioError, match=r"y: no such folder; name the .* RESULTS.run"):
        resume(tmp_path / "y")
    with pytest.raises(ScenarioError, match="holds no checkpoint; name the folder of a run, RES"):
        resume(tmp_path)


def test_what_may_change(unfinished, wanted):
    """How often checkpoints are written, where results go, how many shots advance together."""
    moved = unfinished.with_name("y.h5")
    Path(f"{unfinished}.run").rename(f"{moved}.run")
    other = SCENARIO | {"checkpoint": {"wall_time": 7.0}}
    seismo.run(other, moved, resume=True).close()
    assert_complete(moved, wanted)


def test_complete_results_are_left_as_they_are(tmp_path):
    path = tmp_path / "x.h5"
    seismo.run(SHORT, path, resume=True).close()
    before, said = path.stat().st_mtime_ns, []
    seismo.run(SHORT, path, said.append, resume=True).close()
    assert said[-1].note == f"{path}: is complete already; nothing is left to do"
    resume(tmp_path / "x.h5.run", Request(report=said.append)).close()
    assert said[-1] == said[-2]
    with pytest.raises(ScenarioError, match=r"x.h5: is a results file: it is complete, nothing is"):
        resume(path)
    assert path.stat().st_mtime_ns == before


def test_complete_results_of_another_run_are_not_replaced_by_a_slip(
    tmp_path, every_step, monkeypatch
):
    path = tmp_path / "x.h5"
    seismo.run(SHORT, path).close()
    before = path.read_bytes()
    other = SHORT | {"sources": [SHORT["sources"][0] | {"moment": 2e9}]}
    words = r"sources\[0\].moment: 2000000000.0: .*x.h5 is complete, and of a run with 1000000000.0"
    with pytest.raises(ScenarioError, match=words):
        seismo.run(other, path, resume=True)
    with monkeypatch.context() as patched:
        patched.setattr(compatibility, "package_version", lambda name: "9")
        with pytest.raises(ScenarioError, match=r"by other versions .*; start over with --no-res"):
            seismo.run(SHORT, path, resume=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    stopped(other, path, 30, resume=False)
    seismo.run(other, path, resume=True).close()
    assert path.read_bytes() != before


def test_two_runs_in_one_place(tmp_path):
    with Lock(tmp_path / "x.h5.run"), pytest.raises(ScenarioError) as caught:
        seismo.run(SHORT, tmp_path / "x.h5")
    assert f"another run writes here: process {os.getpid()} on " in str(caught.value)
    assert "; wait for it, stop it, or write elsewhere" in str(caught.value)


def test_an_error_keeps_the_last_checkpoint_and_nothing_else(tmp_path, every_step, wanted):
    def fail(progress) -> None:
        if progress.phase == "step" and progress.step > 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seismo.run(SCENARIO, tmp_path / "x.h5", fail)
    names = sorted(path.name for path in (tmp_path / "x.h5.run").iterdir())
    assert names == [
        "checkpoint-000000000023.zip", "checkpoint-000000000046.zip", "manifest.json",
        "part-000.h5", "part-001.h5", "status.json",
    ]  # fmt: skip
    for name in ("part-000.h5", "part-001.h5"):
        assert contents(tmp_path / "x.h5.run" / name).keys() == wanted.keys()
    resume(tmp_path / "x.h5.run").close()
    assert_complete(tmp_path / "x.h5", wanted)


def test_a_run_that_blows_up_leaves_no_checkpoint(tmp_path, every_step, monkeypatch):
    """It is found when the next checkpoint is due, and that is not written."""

    def spoil(simulation, count):
        advance(simulation, count)
        if simulation.step == 60:
            simulation.solvers[0].fields.arrays(0)["szz"][:] = np.nan

    advance = run_loop.Simulation.advance
    monkeypatch.setattr(run_loop.Simulation, "advance", spoil)
    with pytest.raises(UnstableError, match="unstable at step 69 "):
        seismo.run(SCENARIO, tmp_path / "x.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]


@pytest.mark.parametrize("share", [1, 2, 3])
def test_a_share_of_the_shots(tmp_path, share, wanted):
    (tmp_path / "s.yaml").write_text(from_dict(SCENARIO | {"checkpoint": {}}).to_yaml())
    with seismo.run(tmp_path / "s.yaml", tmp_path / "x.h5", shots=f"{share}/3") as results:
        traces = results.traces["receivers"]
        assert traces.shots == [f"shot_{share - 1:03d}"]
        third = len(wanted["traces/receivers/vx"]) // 3
        one = wanted["traces/receivers/vx"][(share - 1) * third : share * third]
        assert traces.values_of("vx").tobytes() == one


@pytest.mark.parametrize(
    ("shots", "words"),
    [
        ("0/3", "give a share"), ("4/3", "4 is more than 3; give"), ("1", "give a share"),
        ("a/b", "give a share"), ("1/4", "the scenario has 3"),
    ],
)  # fmt: skip
def test_an_impossible_share_is_refused(tmp_path, shots, words):
    with pytest.raises(ScenarioError, match=f"--shots {shots}: {words}"):
        seismo.run(SCENARIO, tmp_path / "x.h5", shots=shots)


def test_the_time_a_job_has_left(monkeypatch):
    for text, wanted in (
        ("1-02:03:04", 93784), ("02:03:04", 7384), ("03:04", 184), ("UNLIMITED", None), ("", None),
    ):  # fmt: skip
        assert request.seconds(text) == wanted
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1900000000")
    assert request.time_of_end() == 1900000000.0
    assert request.time_of_end(10.0) == pytest.approx(time.time() + 10.0, abs=5.0)
    monkeypatch.delenv("SLURM_JOB_END_TIME")
    assert request.time_of_end() is None
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setattr(request, "_output_of", lambda *command: "10:00\n")
    assert request.time_of_end() == pytest.approx(time.time() + 600.0, abs=5.0)


def test_a_run_stops_before_its_time_is_up(tmp_path, every_step, monkeypatch):
    """With a tenth of the time to spare; here the clock jumps. It goes on as after a signal."""
    now = time.time()
    monkeypatch.setattr(request.time, "time", lambda: now)

    def report(progress) -> None:
        nonlocal now
        if progress.phase == "step" and progress.step == 30:
            now += 85.0

    with pytest.raises(StoppedError, match="s before its time is up; go on with"):
        seismo.run(SCENARIO, tmp_path / "x.h5", report, time_limit=90.0)
    newest, _ = checkpoint.checkpoint_files(tmp_path / "x.h5.run")
    assert checkpoint.header_of(newest)["done"] >= 30


def test_the_first_checkpoint_has_the_time_that_its_size_takes(monkeypatch):
    """At most half of all there is: a run always gets on."""
    monkeypatch.setattr(request, "SLOW_DISK", 1e-6)
    now = time.time()
    monkeypatch.setattr(request.time, "time", lambda: now)
    stop = request.StopRequest(Signals(), now + 300, 9)
    assert not stop.reason
    now += 115
    assert not stop.reason
    now += 10
    assert stop.reason == "175 s before its time is up"
    monkeypatch.setattr(request, "SLOW_DISK", 1e9)
    stop = request.StopRequest(Signals(), now + 300, 9)
    now += 265
    assert not stop.reason


SLOW_START = """
import sys, time
from seismo import cli
from seismo.runs.loop import run_loop
run_loop.REPORT_EVERY = -1.0
run_loop.StepTimer.queueable_steps = property(lambda pace: 1 - pace._steps)
settle = run_loop.StepTimer.settle
run_loop.StepTimer.settle = lambda pace: (time.sleep(0.01), settle(pace))
cli.main(sys.argv[1:])
"""


def test_signals_to_the_command_line(tmp_path, wanted, command_line):
    """SIGUSR1 saves and goes on, SIGTERM saves and stops, twice is once; then `seismo resume`."""
    (tmp_path / "s.yaml").write_text(from_dict(SCENARIO | {"checkpoint": {}}).to_yaml())
    words = [sys.executable, "-c", SLOW_START]
    run = subprocess.Popen(
        [*words, "run", "s.yaml", "--output", "x.h5", "--progress", "1"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in run.stderr:
        if " step " in line and " % " in line:
            break
    run.send_signal(signal.SIGUSR1)
    for line in run.stderr:
        if line.startswith("checkpoint at step"):
            break
    run.send_signal(signal.SIGTERM)
    run.send_signal(signal.SIGTERM)
    *_, said = run.stderr
    assert run.wait() == 85
    run.stderr.close()
    assert "on SIGTERM; go on with: seismo resume " in said
    code, out, err = command_line("resume", tmp_path / "x.h5.run")
    assert code == 0, err
    assert out.splitlines()[-1].endswith("x.h5")
    assert_complete(tmp_path / "x.h5", wanted)


SLOW_MODEL = """
import signal, sys, time
from seismo import cli
from seismo.solver.medium import coefficients
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def endless(*arguments, **options):
    print("sampling", file=sys.stderr, flush=True)
    for _ in range(1000):
        time.sleep(0.1)
coefficients.cell_average = endless
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("number", "code", "words", "begun"),
    [
        (
            signal.SIGTERM,
            85,
            "stopped before the first step, on SIGTERM; go on with",
            True,
        ),
        (signal.SIGINT, 130, "interrupted", False),
    ],
)
def test_a_signal_while_the_model_is_sampled_ends_a_run_at_once(
    number, code, words, begun, tmp_path, stopped_run
):
    """It leaves nothing, or the checkpoint that it was to go on from."""
    if begun:
        shutil.copytree(stopped_run, tmp_path / "x.h5.run")
    before = checkpoint.checkpoint_files(tmp_path / "x.h5.run")
    (tmp_path / "s.yaml").write_text(from_dict(SCENARIO | {"checkpoint": {}}).to_yaml())
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW_MODEL, "run", "s.yaml", "--output", "x.h5", "--resume"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in run.stderr:
        if line == "sampling\n":
            break
    asked = time.monotonic()
    run.send_signal(number)
    run.send_signal(number)
    *_, said = run.stderr
    assert run.wait() == code
    assert time.monotonic() - asked < 20.0  # of 100
    run.stderr.close()
    assert said.startswith(words)
    assert checkpoint.checkpoint_files(tmp_path / "x.h5.run") == before
    left = {path.name for path in tmp_path.iterdir()} - {"s.yaml", "x.h5.run"}
    assert (left, (tmp_path / "x.h5.run").exists()) == (set(), begun)


class Zygote:
    """The process of `crash_worker.py`, and what it says of a run."""

    def __init__(self, folder: Path, scenario: dict) -> None:
        self.scenario, self.output = folder / "s.yaml", folder / "x.h5"
        self.run = Path(f"{self.output}.run")
        self.scenario.write_text(from_dict(scenario).to_yaml())
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parents[1] / "support/crash_worker.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def order(self, **what) -> dict:
        order = {"scenario": str(self.scenario), "output": str(self.output), **what}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def clear(self) -> None:
        self.output.unlink(missing_ok=True)
        if self.run.exists():
            for path in self.run.iterdir():
                path.unlink()
            self.run.rmdir()


@pytest.fixture
def zygote(request, tmp_path):
    found = Zygote(tmp_path, SCENARIO if "random" in request.node.name else SHORT)
    yield found
    found.close()


def last(told: dict, what: str) -> int:
    """Give the last step that a child told of."""
    steps = [int(line.split()[1]) for line in told["lines"] if line.startswith(f"{what} ")]
    return max(steps, default=0)


def assert_nothing_lost(zygote: Zygote, told: dict) -> None:
    """What the run said it had stored is there."""
    found = checkpoint.checkpoint_files(zygote.run)
    sound = max((checkpoint.header_of(path)["done"] for path in found), default=0)
    if not zygote.output.exists():
        assert sound >= last(told, "checkpoint")


def kill_and_go_on(zygote: Zygote, wanted: dict[str, bytes], **how) -> None:
    told = zygote.order(**how)
    assert told["code"] in (-signal.SIGKILL, 0)
    assert_nothing_lost(zygote, told)
    again = zygote.order()
    assert again["code"] == 0, again
    assert_complete(zygote.output, wanted)
    zygote.clear()


def operations(zygote: Zygote) -> int:
    """Count the operations on files of an unbroken run."""
    told = zygote.order()
    assert told["code"] == 0
    zygote.clear()
    return last(told, "operations")


def kill_at_operations(zygote: Zygote, wanted: dict[str, bytes], every: int) -> None:
    count = operations(zygote)
    assert count > 200
    for at in range(0, count, every):
        kill_and_go_on(zygote, wanted, at=at)


def kill_at_random(zygote: Zygote, wanted: dict[str, bytes], times: int) -> None:
    begin = time.monotonic()
    zygote.order()
    took = time.monotonic() - begin
    zygote.clear()
    for share in np.random.default_rng(8).random(times):
        kill_and_go_on(zygote, wanted, after=share * took)


def fill_the_disk(zygote: Zygote, wanted: dict[str, bytes], every: int) -> None:
    """From each operation on nothing can be written: exit code 75, and all before is kept."""
    count = operations(zygote)
    for full in range(0, count, every):
        told = zygote.order(full=full)
        if told["code"] == 0:  # only removals were left to do
            assert full > count - 20
        else:
            assert told["code"] == 75, told
            assert any(line.startswith("said ") and "space" in line for line in told["lines"])
            assert_nothing_lost(zygote, told)
            assert zygote.order()["code"] == 0
        assert_complete(zygote.output, wanted)
        zygote.clear()


def test_killed_before_operations_on_files(zygote, wanted_short):
    kill_at_operations(zygote, wanted_short, every=1000)


def test_a_disk_that_fills_up(zygote, wanted_short):
    fill_the_disk(zygote, wanted_short, every=1010)


@pytest.mark.slow
def test_killed_before_every_operation_on_files(zygote, wanted_short):
    kill_at_operations(zygote, wanted_short, every=1)


@pytest.mark.slow
def test_killed_at_sixty_random_moments(zygote, wanted):
    kill_at_random(zygote, wanted, times=60)


@pytest.mark.slow
def test_a_disk_that_fills_up_at_every_operation(zygote, wanted_short):
    fill_the_disk(zygote, wanted_short, every=1)
