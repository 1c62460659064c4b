"""Checkpoint files and the lock of a run directory, by themselves.

Whatever happens to a file, either it gives back the very numbers that were written or it is called
damaged; there is no third.
"""

import errno
import json
import os
import socket
import stat
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from seismo.errors import ScenarioError, StorageError
from seismo.grid.decomposition import (
    CheckpointArray,
    GlobalBlock,
    index_range,
    index_ranges,
)
from seismo.output.run_directory import checkpoint, lock, sealed, unsealed
from seismo.output.run_directory.checkpoint import DamagedError
from seismo.output.run_directory.lock import Lock

FACTS = {"batch": 2, "dt": 0.1 + 0.2}


def arrays(seed: int = 1) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        "part0.vx": generator.standard_normal(100, np.float32),
        "record": generator.standard_normal((7, 5)),
        "nothing": np.zeros((0, 3), np.float32),
        "no channels": np.zeros((7, 0)),
        "odd": np.array([np.nan, -0.0, np.inf, 5e-324]),
    }


def whole(name: str, array: np.ndarray) -> GlobalBlock:
    strides = tuple(int(np.prod(array.shape[n + 1 :])) for n in range(array.ndim))
    return GlobalBlock(name, 0, strides, tuple(index_range(0, n) for n in array.shape))


def held(arrays: dict) -> dict[str, CheckpointArray]:
    """Let all of them be the whole of their name."""
    return {name: CheckpointArray(array, [whole(name, array)]) for name, array in arrays.items()}


def write(folder, done: int, seed: int = 1) -> None:
    checkpoint.write(folder, done, FACTS, held(arrays(seed)), lambda part: part)


def filled(path) -> dict[str, np.ndarray]:
    found = {name: np.full_like(array, 7) for name, array in arrays().items()}
    checkpoint.fill([path], path, held(found), np.asarray)
    return found


def same(found, wanted) -> bool:
    return all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(checkpoint, "BLOCK", 64)


def test_numbers_come_back_bit_by_bit(tmp_path):
    write(tmp_path, 12)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    header = checkpoint.header_of(path)
    assert (header["done"], header["batch"], header["dt"]) == (12, 2, FACTS["dt"])
    checkpoint.verify(path)
    assert same(filled(path), arrays())
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_folder_of_that_name_is_no_checkpoint(tmp_path):
    (tmp_path / "checkpoint-000000000099.zip").mkdir()
    for done in (5, 6, 7):
        write(tmp_path, done)
    assert [path.name[-6:] for path in checkpoint.checkpoint_files(tmp_path)] == [
        "07.zip",
        "06.zip",
    ]


def test_the_last_two_are_kept(tmp_path):
    for done in (5, 100, 20):
        write(tmp_path, done, done)
    newest, before = checkpoint.checkpoint_files(tmp_path)
    assert (checkpoint.header_of(newest)["done"], checkpoint.header_of(before)["done"]) == (100, 20)
    assert same(filled(before), arrays(20))


def test_any_unzip_opens_it(tmp_path):
    write(tmp_path, 1)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    done = subprocess.run([sys.executable, "-m", "zipfile", "-t", path], capture_output=True)
    assert done.returncode == 0


def sound(path) -> bool:
    """Tell whether a file passes for a checkpoint, and then its numbers are right."""
    said = ""
    try:
        header = checkpoint.header_of(path)
        checkpoint.verify(path)
        found = filled(path)
    except DamagedError as error:
        said = str(error)
    if not said:
        assert header["batch"] == FACTS["batch"]
        assert same(found, arrays())
    assert said.startswith(str(path) if said else "")
    assert "\n" not in said
    return not said


def test_a_cut_file_is_damaged(tmp_path):
    write(tmp_path, 1)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert not sound(path), length


def test_a_flipped_bit_is_found_or_does_no_harm(tmp_path):
    """What is neither numbers nor name, such as a member's date, may change unseen."""
    write(tmp_path, 1)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    whole = path.read_bytes()
    generator = np.random.default_rng(4)
    found = 0
    for place in generator.choice(len(whole), 400, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << generator.integers(8)
        path.write_bytes(changed)
        found += not sound(path)
    assert found > 200


def test_other_arrays_are_refused(tmp_path):
    write(tmp_path, 1)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    other = arrays() | {"record": np.zeros((8, 5))}
    with pytest.raises(DamagedError, match="some values of record are missing"):
        checkpoint.fill([path], path, held(other), np.asarray)


def test_parts_of_a_whole_come_together_in_other_parts(tmp_path):
    """Rows of two files, one of them in both, are taken up in one piece and with margins."""
    rows = np.random.default_rng(3).standard_normal((7, 5))
    paths = []
    for n, own in enumerate([[0, 1, 4], [2, 3, 4, 5, 6]]):
        folder = tmp_path / str(n)
        folder.mkdir()
        place = GlobalBlock("rows", 0, (5, 1), (index_ranges(own), index_range(0, 5)))
        state = {"mine": CheckpointArray(rows[own].copy(), [place])}
        checkpoint.write(folder, 3, FACTS, state, lambda part: part)
        paths += checkpoint.checkpoint_files(folder)
    found = np.full(100, 7.0)
    place = GlobalBlock("rows", 4, (10, 1), (index_range(0, 7), index_range(1, 5)))
    checkpoint.fill(paths, paths[0], {"other": CheckpointArray(found, [place])}, np.asarray)
    wanted = np.zeros(100)
    for n, row in enumerate(rows):
        wanted[4 + 10 * n :][:4] = row[1:]
    assert found.tobytes() == wanted.tobytes()
    with pytest.raises(DamagedError, match="values of other are missing"):
        checkpoint.fill(paths[1:], paths[1], {"other": CheckpointArray(found, [place])}, np.asarray)


@pytest.mark.parametrize(
    "text",
    [
        "{}", "[]", '{"format": "seismo checkpoint", "version": 99}', "x", "[" * 10**5,
        sealed({"format": "seismo checkpoint", "version": 99}), sealed({"format": "another"}),
    ],
)  # fmt: skip
def test_another_format_is_refused(tmp_path, text):
    import zipfile

    with zipfile.ZipFile(tmp_path / "checkpoint-1.zip", "w") as archive:
        archive.writestr("header.json", text)
    with pytest.raises(DamagedError):
        checkpoint.header_of(tmp_path / "checkpoint-1.zip")


def test_no_flipped_bit_of_a_sealed_text_is_believed():
    data = {"format": "x", "until": 12, "share": 0.1 + 0.2, "peaks": {"vx": float("nan")}}
    text = sealed(data).encode()
    assert repr(unsealed(text)) == repr(data)
    for bit in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert repr(unsealed(bytes(flipped))) == repr(data)  # a blank that became a line's end
        except ValueError:
            continue


def test_a_header_that_was_changed_is_damaged(tmp_path):
    """Written anew by another program, with its CRC: another number, one too many, one less."""
    import zipfile

    write(tmp_path, 12)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    name, (dtype, shape) = next(iter(header["arrays"].items()))
    for other in ([dtype, [*shape, 1]], [dtype, []], [dtype], ["f8", shape], None):
        text = json.dumps(header | {"arrays": header["arrays"] | {name: other}})
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in (members | {"header.json": text}).items():
                archive.writestr(member, data)
        with pytest.raises(DamagedError, match="is damaged: it does not have its checksum"):
            checkpoint.header_of(path)


@pytest.mark.parametrize(
    "place",
    [(0, (1,), ((0, 8),)), (-1, (1,), ((0, 2),)), (0, (9,), ((0, 2),)), (0, (1,), ((2, 1),))],
)
def test_no_block_reaches_beyond_its_array(place):
    """It would read memory that is not the array's, or end the process."""
    first, strides, runs = place
    with pytest.raises(ValueError, match="a block of vx ends at"):
        GlobalBlock("vx", first, strides, (runs,)).block(np.zeros(7))
    assert GlobalBlock("vx", 7, (0,), (((0, 0),),)).block(np.zeros(7)).size == 0


def test_blocks_are_read_as_json_holds_them():
    block = GlobalBlock("field.vx", 3, (5, 1), (((0, 2),), ((1, 4),)))
    assert GlobalBlock.read(json.loads(json.dumps(asdict(block)))) == block


def test_a_full_disk_leaves_what_there_was(tmp_path, monkeypatch):
    """At every write in turn: an error that says so, and the checkpoint before is whole."""
    write(tmp_path, 1)
    (first,) = checkpoint.checkpoint_files(tmp_path)
    real, calls = os.pwrite, []

    def counted(*arguments):
        calls.append(1)
        if len(calls) > room[0]:
            raise OSError(errno.ENOSPC, "full")
        return real(*arguments)

    room = [10**9]
    monkeypatch.setattr(os, "pwrite", counted)
    write(tmp_path, 2)
    writes = len(calls)
    assert writes > 20
    checkpoint.checkpoint_files(tmp_path)[0].unlink()
    for room[0] in range(writes):
        calls.clear()
        with pytest.raises(StorageError, match="No space left on device; free some space"):
            write(tmp_path, 2)
        assert list(tmp_path.iterdir()) == [first]
    assert same(filled(first), arrays())


HOLDER = """
import sys, time
from pathlib import Path
from seismo.output.run_directory.lock import Lock
with Lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "run"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def refusal(folder) -> str:
    with pytest.raises(ScenarioError) as caught, Lock(folder):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_second_run_is_told_who_is_the_first(tmp_path, holder):
    said = refusal(tmp_path / "run")
    assert f"process {holder.pid} on {socket.gethostname()}, since 20" in said
    assert json.loads((tmp_path / "run" / lock.NAME).read_text())["pid"] == holder.pid


def test_the_lock_of_a_killed_run_is_taken_over(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert (tmp_path / "run" / lock.NAME).exists()
    with Lock(tmp_path / "run"):
        assert str(os.getpid()) in refusal(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_more_stays(tmp_path):
    with Lock(tmp_path):
        (tmp_path / "part").touch()
    assert [p.name for p in tmp_path.iterdir()] == ["part"]


def test_without_locks_of_the_file_system_the_process_decides(tmp_path, monkeypatch, holder):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    folder, name = tmp_path / "run", tmp_path / "run" / lock.NAME
    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    assert f"if it is dead, remove {name}" in refusal(folder)
    holder.kill()
    holder.wait()
    other = json.loads(name.read_text()) | {"host": "elsewhere"}
    name.write_text(json.dumps(other))
    assert "on elsewhere" in refusal(folder)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    name.write_text(json.dumps(other | {"job": "17"}))  # another task of this job
    assert "on elsewhere, job 17" in refusal(folder)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")  # queued again on another node
    with Lock(folder):
        assert json.loads(name.read_text())["pid"] == os.getpid()
    folder.mkdir()
    name.write_text(json.dumps({"pid": holder.pid, "host": socket.gethostname()}))
    with Lock(folder):
        pass
    assert not folder.exists()


def test_a_folder_may_go_while_it_is_taken(tmp_path, monkeypatch):
    """Whoever had it before ends between the making of the folder and that of the file."""
    folder, real, calls = tmp_path / "run", os.open, []

    def late(path, *arguments, **keys):
        calls.append(path)
        if len(calls) in (1, 3):
            folder.rmdir()
        return real(path, *arguments, **keys)

    monkeypatch.setattr(os, "open", late)
    with Lock(folder):
        assert calls == [folder, folder, lock.NAME, folder, lock.NAME]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    """It would empty what the link leads to."""
    folder, victim = tmp_path / "run", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("dear")
    (folder / lock.NAME).symlink_to(victim)
    assert refusal(folder).startswith(f"{folder / lock.NAME}: is a link, or no file")
    assert victim.read_text() == "dear"


@pytest.mark.parametrize("kind", ["folder", "fifo", "hard link"])
def test_a_lock_of_another_kind_is_refused(kind, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "dear").write_text("dear")
    {
        "folder": lambda path: path.mkdir(),
        "fifo": os.mkfifo,
        "hard link": lambda path: path.hardlink_to(tmp_path / "dear"),
    }[kind](folder / lock.NAME)
    assert "remove it, or write elsewhere" in refusal(folder)
    assert (tmp_path / "dear").read_text() == "dear"


@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_a_run_directory_that_is_no_folder_is_refused(kind, tmp_path):
    folder, other = tmp_path / "run", tmp_path / "other"
    if kind == "link":
        other.mkdir()
    folder.write_text("") if kind == "file" else folder.symlink_to(other)
    assert refusal(folder).startswith(f"{folder}: is a link, or no folder")
    assert not other.exists() or not list(other.iterdir())


def test_a_run_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    """Of another number than the user's, and than that of what the user makes there."""
    owner, real = os.geteuid(), os.fstat

    def fstat(descriptor):
        facts = real(descriptor)
        shift = 1 if stat.S_ISDIR(facts.st_mode) else mapped
        return os.stat_result((*facts[:4], owner + shift, *facts[5:]))

    monkeypatch.setattr(lock.os, "fstat", fstat)
    mapped = 0
    assert f"belongs to another user (number {owner + 1})" in refusal(tmp_path)
    assert not list(tmp_path.iterdir())
    mapped = 1  # a network disk that gives all files one owner
    with Lock(tmp_path):
        pass


def test_what_a_lock_says_steers_no_terminal(tmp_path):
    holder = {"host": "\x1b[2Jelsewhere" + "x" * 500, "pid": [[]], "since": None}
    with Lock(tmp_path):
        (tmp_path / lock.NAME).write_text(json.dumps(holder))
        said = refusal(tmp_path)
    assert "process [[]] on ?[2Jelsewherexx" in said
    assert len(said) < 300
    assert said.isprintable()


def test_a_lock_needs_a_folder_that_can_be_made(tmp_path):
    assert "cannot be written" in refusal(tmp_path / "missing" / "run")
