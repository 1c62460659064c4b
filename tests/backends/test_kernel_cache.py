"""The kernel cache: nothing damaged, exchanged or planted runs, and how long files stay."""

import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from seismo.backends import kernel_cache
from seismo.backends.cpu import c_functions
from seismo.backends.gpu import code_cache
from seismo.backends.kernel_cache import (
    DAY,
    UNUSED,
    KernelCache,
    cache_folder,
)

NAMES = (f"{'0a' * 20}.ptx", f"{'1b' * 20}.ptx.{'0f' * 16}", f"{'2c' * 20}.obj")
CODE = b"\x80code\n of a kernel"


@pytest.fixture
def kept(tmp_path):
    return KernelCache(tmp_path / "kept")


def test_what_is_stored_is_loaded_by_any_process(kept):
    kept.store("a.obj", CODE)
    assert KernelCache(kept.folder).load("a.obj") == kept.load("a.obj") == CODE
    assert kept.load("b.obj") is None
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert not kept.problem


def damages(whole: bytes):
    """Yield what may become of a file."""
    yield from (whole[:size] for size in range(len(whole)))
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    yield whole + b"\0"


def test_what_is_damaged_is_as_if_missing(kept):
    """Every length it may be cut to, and every bit."""
    kept.store("a.obj", CODE)
    path = kept.folder / "a.obj"
    for damaged in damages(path.read_bytes()):
        path.write_bytes(damaged)
        assert kept.load("a.obj") is None
    kept.store("a.obj", CODE)
    assert kept.load("a.obj") == CODE


def test_what_is_exchanged_is_as_if_missing(kept):
    kept.store("a.obj", CODE)
    kept.store("b.obj", CODE + b"2")
    (kept.folder / "a.obj").rename(kept.folder / "c.obj")
    shutil.copy(kept.folder / "b.obj", kept.folder / "a.obj")
    assert kept.load("a.obj") is None
    assert kept.load("c.obj") is None


@pytest.mark.parametrize("make", ["mkdir", "link", "fifo"])
def test_what_is_no_file_is_as_if_missing(make, kept, tmp_path):
    other = KernelCache(tmp_path / "other")
    other.store("a.obj", CODE)
    path = kept.folder / "a.obj"
    {
        "mkdir": path.mkdir,
        "link": lambda: path.symlink_to(other.folder / "a.obj"),
        "fifo": lambda: os.mkfifo(path),
    }[make]()
    assert kept.load("a.obj") is None
    kept.store("a.obj", CODE)
    assert make == "mkdir" or kept.load("a.obj") == CODE
    assert bool(kept.problem) == (make == "mkdir")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(mode, tmp_path):
    """A temporary one, of this process, takes its place."""
    mine = KernelCache(tmp_path / "kept")
    mine.store("a.obj", CODE)
    mine.folder.chmod(mode)
    refused = KernelCache(mine.folder)
    assert refused.load("a.obj") is None
    refused.store("b.obj", CODE)
    assert refused.load("b.obj") == CODE
    assert not (mine.folder / "b.obj").exists()
    assert refused.problem.startswith(f"kernel cache {mine.folder}: others may write to it")
    assert "SEISMO_CACHE_DIR" in refused.problem
    temporary = refused.folder
    assert temporary.stat().st_mode & 0o777 == 0o700
    del refused
    assert not temporary.exists()


def test_a_folder_of_another_user_is_not_used(monkeypatch, tmp_path):
    own = os.geteuid()
    monkeypatch.setattr(kernel_cache.os, "geteuid", lambda: own + 1)
    os.chown(tmp_path, 4321, -1) if own == 0 else None
    refused = KernelCache(tmp_path)
    assert f"is a folder of another user (number {tmp_path.stat().st_uid})" in refused.problem
    assert refused.folder != tmp_path


@pytest.mark.parametrize("kind", ["file", "below a file"])
def test_a_folder_that_cannot_be_made_is_said(kind, tmp_path):
    (tmp_path / "file").write_text("")
    wanted = tmp_path / "file" if kind == "file" else tmp_path / "file" / "below"
    refused = KernelCache(wanted)
    assert refused.problem.startswith(f"kernel cache {wanted}: ")
    refused.store("a.obj", CODE)
    assert refused.load("a.obj") == CODE


def test_a_full_disk_is_blamed_on_the_cache(monkeypatch, kept):
    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel_cache.os, "replace", full)
    kept.store("a.obj", CODE)
    assert kept.load("a.obj") is None
    assert not list(kept.folder.iterdir())
    assert "cannot be written: No space left on device" in kept.problem


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path / "named"))
    assert cache_folder() == tmp_path / "named"
    monkeypatch.delenv("SEISMO_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seismo"


def fill(folder, names, age):
    """Write files that were last used `age` seconds ago."""
    for name in names:
        (folder / name).write_text("code")
        os.utime(folder / name, (time.time() - age,) * 2)


def names_in(folder):
    return {path.name for path in folder.iterdir()} - {kernel_cache._EVICTION_MARK}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_used_for_long_is_removed(name, kept):
    fill(kept.folder, [name], UNUSED + 60)
    kept.evict()
    assert not names_in(kept.folder)


def test_what_is_in_use_stays_and_so_do_files_of_others(kept):
    foreign = ("mine.ptx", "results.h5", "c_functions.cpython-311.pyc", "strands.run-98.py311.nbi")
    fill(kept.folder, [*NAMES, *foreign], UNUSED + 60)
    for name in NAMES:
        kept.load(name)
    kept.evict()
    assert names_in(kept.folder) == {*NAMES, *foreign}


def test_beyond_a_limit_what_was_used_last_stays(monkeypatch, kept):
    monkeypatch.setattr(kernel_cache, "MOST_BYTES", 2 * len("code"))
    for age, name in enumerate(NAMES):
        fill(kept.folder, [name], age * DAY)
    kept.evict()
    assert names_in(kept.folder) == set(NAMES[:2])


def test_a_folder_is_looked_through_once_a_day(kept):
    kept.evict()
    fill(kept.folder, NAMES, UNUSED + 60)
    kept.evict()
    assert names_in(kept.folder) == set(NAMES)
    os.utime(kept.folder / kernel_cache._EVICTION_MARK, (time.time() - DAY - 60,) * 2)
    kept.evict()
    assert not names_in(kept.folder)


def test_a_folder_that_is_only_read_is_left_alone(monkeypatch, kept):
    def refuse(*_arguments, **_options):
        raise PermissionError(1, "Operation not permitted")

    kept.store("a.obj", CODE)
    fill(kept.folder, NAMES, UNUSED + 60)
    os.utime(kept.folder / "a.obj", (0, 0))
    monkeypatch.setattr(kernel_cache.Path, "touch", refuse)
    monkeypatch.setattr(kernel_cache.os, "utime", refuse)
    kept.evict()
    assert kept.load("a.obj") == CODE
    assert names_in(kept.folder) == {*NAMES, "a.obj"}


def body(n, values):
    values[n] = n


def compiled():
    """Compile a loop, or load it, as in another process; run it."""
    values = np.zeros(2)
    c_functions._body_function.cache_clear()
    c_functions.body_function(body, False, (values,), np.zeros(1))


def test_code_of_the_cpu_is_kept_and_compiled_again_where_it_is_damaged(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    count = []
    uncached = c_functions.CFunc._compile_uncached
    monkeypatch.setattr(
        c_functions.CFunc, "_compile_uncached", lambda self: count.append(1) or uncached(self)
    )
    compiled()
    compiled()
    assert len(count) == 1
    (path,) = tmp_path.glob("*.obj")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    compiled()
    assert len(count) == 2
    # Names within have numbers of Numba's, which grow with what this process has compiled.
    assert path.stat().st_size == pytest.approx(len(whole), rel=0.01)
    monkeypatch.setattr(body, "__qualname__", "another")
    compiled()
    assert len(count) == 3
    assert len(list(tmp_path.glob("*.obj"))) == 2


def test_a_kernel_of_a_gpu_is_compiled_again_where_it_is_damaged(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    monkeypatch.setattr(
        code_cache, "compile_ptx", lambda request: f".visible .entry {request.kernel}()"
    )
    requests = [code_cache.CompileRequest(name, (), None, False, (9, 0)) for name in "ab"]
    texts = code_cache.load_or_compile(requests)
    one, other = (tmp_path / request.name for request in requests)
    shutil.copy(one, other)
    assert code_cache.load_or_compile(requests) == texts
    one.write_bytes(b"\xff\xfe")
    assert code_cache.load_or_compile(requests) == texts


SCENARIO = """\
physics: acoustic
grid: {extent: {x: 200 m, z: 200 m}, spacing: 10 m, order: 2}
time: {duration: 20 ms}
boundaries: {layer: {points: 4}}
model: [{type: uniform, vp: 2000}]
sources: [{type: pressure, position: {x: 100, z: 100}, wavelet: {type: ricker, frequency: 20 Hz}}]
receivers: [{type: points, positions: [{x: 50, z: 50}]}]
"""


@pytest.mark.slow
def test_runs_with_a_damaged_cache(tmp_path):
    """Files cut, flipped and exchanged at random: the results stay the same, bit for bit."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    folder, chosen = tmp_path / "cache", random.Random(1)
    environment = os.environ | {"SEISMO_CACHE_DIR": str(folder)}

    def run(name):
        command = [sys.executable, "-m", "seismo", "run", "s.yaml", "--quiet", "-o", name]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")

    run("sound.h5")
    for _ in range(12):
        files = sorted(folder.glob("*.obj"))
        for path in chosen.sample(files, 4):
            data = bytearray(path.read_bytes())
            data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
            path.write_bytes(data[: chosen.choice([len(data), chosen.randrange(len(data))])])
        shutil.copy(*chosen.sample(files, 2))
        run("damaged.h5")
        command = [sys.executable, "-m", "seismo", "compare", "sound.h5", "damaged.h5"]
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0


PARALLEL = """
import hashlib, numba, solver
numba.set_num_threads(2)
simulation = solver.build(solver.plan("acoustic", 2, steps=4, cells=200, order=2))
solver.silence(simulation)
solver.add_noise(simulation)
simulation.advance(3)
print(hashlib.sha256(solver.wavefield(simulation, 0)["p"].tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_kept_code_of_parallel_steps_runs_in_a_process_that_compiles_nothing(tmp_path) -> None:
    """Its loops over threads need what Numba sets up when it compiles."""
    environment = os.environ | {
        "SEISMO_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "2",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    command = [sys.executable, "-c", PARALLEL]
    tmp_path.chmod(0o700)
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first == second != ""
