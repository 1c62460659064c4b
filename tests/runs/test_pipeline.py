"""Output beside the time loop: what is sent is what is stored, and trouble comes to light.

Storage is lossless and the order fixed, so that every comparison is exact.
"""

import copy
import json
import threading
import time
from contextlib import contextmanager
from functools import partial

import h5py
import numpy as np
import pytest

import seismo
from seismo.backends import machine
from seismo.backends.cpu.backend import CpuBackend
from seismo.errors import DiskSpaceError, StorageError
from seismo.output.pipeline import MARGIN_BYTES, Pipeline, Ring, ring_bytes
from seismo.output.results import open_results
from seismo.output.results_file import ResultsWriter
from seismo.output.run_directory.partial_files import MANIFEST
from seismo.runs.progress import closing_line
from seismo.runs.run import resume
from test_run import SCENARIO

SHAPE = (40, 700)
TIMES = 6
MODEL = {"vp": (np.full((3, 2), 2e3, "f4"), "m/s")}


def frames(shots=1):
    return np.random.default_rng(4).normal(size=(TIMES, shots, *SHAPE)).astype("f4")


@contextmanager
def laid_out(path, shots=("one",), done=None):
    """Open a writer; give it and the datasets of its one series."""
    with ResultsWriter(path, scenario_text="", resolved="", attributes={}, done=done) as writer:
        writer.write_model({"z": np.arange(3.0), "x": np.arange(2.0)}, MODEL)
        folders = [
            writer.create_snapshots(
                "s", shot=shot if len(shots) > 1 else None, times=np.arange(float(TIMES)),
                axes={"z": np.arange(float(SHAPE[0])), "x": np.arange(float(SHAPE[1]))},
                fields={"p": "Pa"},
            )
            for shot in shots
        ]  # fmt: skip
        yield writer, [f"{folder}/p" for folder in folders]


def send_and_die(path, *sends):
    """Send frames as `send_all` does, and end as if by a signal."""
    with laid_out(path) as (writer, names):
        for arguments in sends:
            send_all(writer, names, *arguments)
        raise KeyboardInterrupt


def send_all(writer, names, values, first=0, seals=(), ring=None):
    """Send frames from the `first` on, and seal after some."""
    largest = values[0].nbytes
    with Pipeline(writer, CpuBackend(), ring or ring_bytes(largest, 2 * largest)) as pipeline:
        for index in range(first, len(values)):
            pipeline.send(values[index].ravel().copy(), names, index)
            if index in seals:
                pipeline.seal(index, {})
            pipeline.check()
        return pipeline


def stored(path, *names):
    with h5py.File(path) as file:
        return np.stack([file[name][...] for name in names], axis=1)


@pytest.mark.parametrize("shots", [("one",), ("a", "b", "c")])
def test_what_is_sent_is_what_is_stored(tmp_path, monkeypatch, shots):
    monkeypatch.setattr("seismo.output.store.chunks.LARGEST_CHUNK_BYTES", 9000)
    values = frames(len(shots))
    with laid_out(tmp_path / "r.h5", shots) as (writer, names):
        pipeline = send_all(writer, names, values)
    np.testing.assert_array_equal(stored(tmp_path / "r.h5", *names), values)
    with open_results(tmp_path / "r.h5") as results:
        peaks = [series.attribute("p", "peak") for series in results.snapshots.values()]
        np.testing.assert_array_equal(peaks, np.abs(values).max(axis=(0, 2, 3)))
    assert 0 < pipeline.describe()["snapshot_bytes"] <= values.nbytes


def test_pieces_of_a_ring_never_overlap():
    rng, memory = np.random.default_rng(5), np.zeros(1 << 14, np.uint8)
    ring, taken = Ring(memory), []
    for number in range(1, 400):
        size = int(rng.integers(1, 4000))
        while ring._free_start(-(-size // 128) * 128) is None:
            piece, mark = taken.pop(0)
            assert (piece == mark).all()
            ring.give_back()
        piece = ring.take(size)
        piece[:] = number % 251
        taken.append((piece, number % 251))
    assert (ring.stalls, ring.stalled) == (0, 0.0)
    with pytest.raises(ValueError, match="a frame of 20000 bytes"):
        ring.take(20000)


def test_frames_are_made_in_threads_and_stored_in_turn(tmp_path):
    """The one that takes longest is sent first; nothing is left once all is drained."""
    wanted, makers = frames(), []

    def make(n: int):
        time.sleep(0.02 * (TIMES - n))
        makers.append(threading.current_thread())
        return wanted[n, 0]

    with (
        laid_out(tmp_path / "x.h5") as (writer, (name,)),
        Pipeline(writer, CpuBackend(), ring_bytes(1, 1)) as pipeline,
    ):
        for n in range(TIMES):
            pipeline.write(name, n, partial(make, n))
        pipeline.drain()
        assert len(makers) == TIMES
        assert np.array_equal(writer.parts.file[name][:], wanted[:, 0])
    assert threading.main_thread() not in makers


def test_what_fails_where_a_frame_is_made_is_raised_in_the_time_loop(tmp_path, monkeypatch):
    """Nothing is stored behind it."""
    monkeypatch.setattr(ResultsWriter, "store", lambda *_: kept.append(True))
    kept = []

    def make():
        raise MemoryError("too many traces")

    def send_it():
        with (
            laid_out(tmp_path / "x.h5") as (writer, (name,)),
            Pipeline(writer, CpuBackend(), ring_bytes(1, 1)) as pipeline,
        ):
            pipeline.write(name, 0, make)
            pipeline.write(name, 1, lambda: frames()[1, 0])
            pipeline.drain()

    with pytest.raises(MemoryError, match="too many traces"):
        send_it()
    assert not kept
    assert not (tmp_path / "x.h5").exists()


def test_who_waits_for_room_is_counted():
    ring = Ring(np.zeros(1024, np.uint8))
    ring.take(1000)

    def give_back_late():
        while not ring.stalls:
            time.sleep(0.001)
        time.sleep(0.03)
        ring.give_back()

    threading.Thread(target=give_back_late).start()
    assert ring.take(900).size == 900
    assert ring.stalls == 1
    assert 0.02 < ring.stalled < 5.0


SUMMARY = {
    "steps_taken": 10, "elapsed_s": 2.0, "points_per_second": 1e8, "bytes_per_second": 1e9,
}  # fmt: skip


def test_the_closing_line_tells_of_waiting():
    assert "waiting" not in closing_line(SUMMARY | {"output_stalled_s": 0.0})
    assert closing_line(SUMMARY | {"output_stalled_s": 1.2}).endswith(
        "1.2 s of waiting for the disk"
    )


def test_the_closing_line_tells_of_a_busy_machine():
    assert closing_line(SUMMARY | {"share_of_others": 0.04}) == closing_line(SUMMARY)
    assert closing_line(SUMMARY | {"share_of_others": 0.34}).endswith(
        "; other programs used 34% of the processor"
    )


def test_what_this_process_uses_is_not_the_others(monkeypatch):
    """Of 2 s on 4 cores all programs used 5 s, this process 3."""
    used = iter([(100.0, 10.0, 50.0), (105.0, 13.0, 52.0), None])
    monkeypatch.setattr(machine, "_used", lambda: next(used))
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 4)
    others = machine.ExternalLoad()
    assert others.share() == pytest.approx((5 - 3) / (2 * 4))
    assert others.share() is None


def test_a_failure_in_the_writer_reaches_the_time_loop_and_holds_nobody(tmp_path, monkeypatch):
    values = frames()

    def fail(*_arguments):
        raise StorageError("no more")

    monkeypatch.setattr(ResultsWriter, "store", fail)
    with (
        pytest.raises(StorageError, match="no more"),
        laid_out(tmp_path / "r.h5") as (writer, names),
    ):
        send_all(writer, names, values, ring=values[0].nbytes + 999)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seals", [(), (2,), (0, 1, 3), (5,)])
def test_parts_become_one_file(tmp_path, seals):
    values = frames(2)
    with laid_out(tmp_path / "r.h5", ("a", "b")) as (writer, names):
        send_all(writer, names, values, seals=seals)
        assert len(writer.parts.sealed) == len(seals)
        for row in writer.parts.sealed:
            with open_results(writer.parts.folder / row["file"]) as part:
                assert part.snapshots["s/shot_001"].shape("p") == (TIMES, *SHAPE)
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]
    np.testing.assert_array_equal(stored(tmp_path / "r.h5", *names), values)
    with open_results(tmp_path / "r.h5") as results:
        assert results.snapshots["s/shot_000"].attribute("p", "peak") == np.abs(values[:, 0]).max()
        np.testing.assert_array_equal(results.model.values_of("vp"), MODEL["vp"][0])


@pytest.mark.parametrize("done", [1, 2, 3, 4])
def test_a_run_taken_up_again_drops_what_came_later(tmp_path, done):
    """Sealed after 1 and 3, killed after 4; taken up at `done`, from frame `done` + 1 on."""
    values, path = frames(), tmp_path / "r.h5"
    later = [np.full_like(values, mark) for mark in (9.0, 8.0)]  # not to be seen again
    sends = (
        (values[:2], 0, (1,)),
        (later[0][:4] if done < 3 else values[:4], 2, (3,)),
        (later[1][:5], 4),
    )
    with pytest.raises(KeyboardInterrupt):
        send_and_die(path, *sends)
    folder = tmp_path / "r.h5.run"
    assert sorted(p.name for p in folder.iterdir()) == [MANIFEST, "part-000.h5", "part-001.h5"]
    first = 2 if done < 3 else 4
    with laid_out(path, done=done) as (again, names):
        manifest = json.loads((folder / MANIFEST).read_text())
        assert [row["until"] for row in manifest["parts"]] == [n for n in (1, 3) if n <= done]
        send_all(again, names, values, first)
    np.testing.assert_array_equal(stored(path, *names), values)
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]


def test_room_is_kept_for_joining_the_parts(tmp_path, monkeypatch):
    """One part is renamed at the end; several are copied, while there are both."""
    values = frames()
    with laid_out(tmp_path / "r.h5") as (writer, names):
        send_all(writer, names, values[:2])
        assert writer.parts.joining == 0
        send_all(writer, names, values[:3], first=2, seals=(2,))
        joining = writer.parts.joining
        assert joining == writer.parts.sealed[0]["bytes"] > 2 * values[0].nbytes
        room = MARGIN_BYTES + joining // 2  # for a frame on its way
        monkeypatch.setattr(machine, "free_disk", lambda folder: room)
        with pytest.raises(DiskSpaceError, match="needed to end the run"):
            send_all(writer, names, values[:4], first=3, seals=(3,))
        assert writer.parts.joining > joining


def test_a_new_run_takes_nothing_from_a_dead_one(tmp_path):
    values, path = frames(), tmp_path / "r.h5"
    for kept in (np.full_like(values, 3.0), values):
        with pytest.raises(KeyboardInterrupt):
            send_and_die(path, (kept, 0, (2,)))
    with laid_out(path) as (writer, names):
        send_all(writer, names, values[:3])
    found = stored(path, *names)
    np.testing.assert_array_equal(found[:3], values[:3])
    assert np.isnan(found[3:]).all()


OTHERS = '{"file": "../part-000.h5", "bytes": 1, "until": 3, "peaks": {}}'


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        '{"format": "x"}',
        "[]",
        f'{{"format": "seismo parts", "version": 1, "parts": [{OTHERS}]}}',
    ],
)
def test_a_damaged_manifest_is_one_line(tmp_path, damage):
    folder = tmp_path / "r.h5.run"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "part-000.h5").write_text("x")
    (folder / MANIFEST).write_text(damage)
    with (
        pytest.raises(StorageError, match=r"manifest.json: is damaged: .*; start over with"),
        laid_out(tmp_path / "r.h5", done=3),
    ):
        pass
    assert (folder / MANIFEST).read_text() == damage
    assert (tmp_path / "part-000.h5").exists()


def changed(**output):
    return copy.deepcopy(SCENARIO) | {"output": SCENARIO["output"] | output}


def test_a_run_stops_where_the_writer_fails(tmp_path, monkeypatch):
    store, calls = ResultsWriter.store, []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == 9:
            raise StorageError("the disk is gone")
        store(*arguments)

    monkeypatch.setattr(ResultsWriter, "store", fail)
    with pytest.raises(StorageError, match="the disk is gone"):
        seismo.run(SCENARIO, tmp_path / "x.h5")
    assert not list(tmp_path.iterdir())


def test_a_run_that_the_disk_has_no_room_for_stops_at_a_checkpoint(tmp_path, monkeypatch):
    """The disk fills up when the third snapshot is stored."""
    looks = []

    def free(folder):
        looks.append(folder)
        return 1 << 40 if len(looks) < 12 else 5 << 20

    send = Pipeline.send

    def send_and_wait(pipeline, *arguments):
        copied = send(pipeline, *arguments)
        pipeline.drain()
        return copied

    whole = seismo.run(SCENARIO, tmp_path / "whole.h5")
    monkeypatch.setattr(Pipeline, "send", send_and_wait)
    monkeypatch.setattr(machine, "free_disk", free)
    monkeypatch.setattr("seismo.output.pipeline.MARGIN_BYTES", 5 << 20)
    with pytest.raises(DiskSpaceError, match=r"5.24 MB left.*stopped after step") as caught:
        seismo.run(SCENARIO, tmp_path / "x.h5")
    assert caught.value.exit_code == 75
    assert not (tmp_path / "x.h5").exists()
    monkeypatch.undo()
    with resume(tmp_path / "x.h5.run") as found:
        for name in ("pressure", "vx"):
            wanted = whole.snapshots["field"].values_of(name)
            np.testing.assert_array_equal(found.snapshots["field"].values_of(name), wanted)


def test_snapshots_by_steps_in_a_box_and_rounded(tmp_path):
    entry = {"name": "b", "fields": ["p", "vx"], "steps": 10, "relative_error": 1e-3,
             "box": {"x": [100.0, 200.0], "z": [0.0, 95.0]}}  # fmt: skip
    with (
        seismo.run(SCENARIO, tmp_path / "whole.h5") as whole,
        seismo.run(changed(snapshots=[entry]), tmp_path / "x.h5") as rounded,
    ):
        series = rounded.snapshots["b"]
        np.testing.assert_allclose(series.time, whole.snapshots["field"].time)
        assert series.axes["x"].tolist() == list(range(100, 201, 10))
        bound = series.attribute("p", "relative_error_bound")
        assert bound == 2.0**-10
        for name, of in (("p", "pressure"), ("vx", "vx")):
            wanted = whole.snapshots["field"].values_of(of)[:, 0:10, 10:21]
            found = series.values_of(name)
            assert (np.abs(found - wanted) <= bound * np.abs(wanted)).all()
            assert found.any()
