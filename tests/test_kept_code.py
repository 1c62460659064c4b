"""Compiled code on disk: whose it is, and how long it stays."""

import os
import time

import numpy as np
import pytest

from seismo.backends import c_functions, kept_code
from seismo.backends.c_functions import _KeyedCache
from seismo.backends.kept_code import DAY, UNUSED, in_use, tidy

NAMES = (f"{'0a' * 20}.ptx", f"{'1b' * 20}.ptx.k3x_part", f"tiles.py311.{'2c' * 16}.nbi")
DATA = f"tiles.py311.{'2c' * 16}.1.nbc"


def _function():
    """Stand for a loop that many bodies share."""


def test_each_key_has_files_of_its_own(monkeypatch, tmp_path):
    """Both processes have looked before either has kept anything."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    a, b = (_KeyedCache(_function, key) for key in ("a", "b"))
    a._impl.locator.ensure_cache_path()
    monkeypatch.setattr(a._cache_file, "_load_index", dict)
    monkeypatch.setattr(b._cache_file, "_load_index", dict)
    for cache, data in ((a, "code of a"), (b, "code of b")):
        cache._cache_file.save("key", data)
    monkeypatch.undo()
    assert a._cache_file.load("key") == "code of a"
    assert b._cache_file.load("key") == "code of b"


def fill(folder, names, age):
    """Write files that were last used `age` seconds ago."""
    for name in names:
        (folder / name).write_text("code")
        os.utime(folder / name, (time.time() - age,) * 2)


def names_in(folder):
    return {path.name for path in folder.iterdir()} - {kept_code._MARK}


@pytest.mark.parametrize("name", [*NAMES, DATA])
def test_what_was_not_used_for_long_is_removed(name, tmp_path):
    fill(tmp_path, [name], UNUSED + 60)
    tidy(tmp_path)
    assert not names_in(tmp_path)


def test_what_is_in_use_stays_and_so_do_files_of_others(tmp_path):
    foreign = ("mine.ptx", "results.h5", "c_functions.cpython-311.pyc", "strands.run-98.py311.nbi")
    fill(tmp_path, [*NAMES, DATA, *foreign], UNUSED + 60)
    for name in NAMES:
        in_use(tmp_path / name)
    in_use(tmp_path / "missing.ptx")
    tidy(tmp_path)
    assert names_in(tmp_path) == {*NAMES, *foreign}


def test_beyond_a_limit_what_was_used_last_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_code, "MOST_BYTES", 2 * len("code"))
    for age, name in enumerate(NAMES):
        fill(tmp_path, [name], age * DAY)
    tidy(tmp_path)
    assert names_in(tmp_path) == set(NAMES[:2])


def test_a_folder_is_looked_through_once_a_day(tmp_path):
    tidy(tmp_path)
    fill(tmp_path, NAMES, UNUSED + 60)
    tidy(tmp_path)
    assert names_in(tmp_path) == set(NAMES)
    os.utime(tmp_path / kept_code._MARK, (time.time() - DAY - 60,) * 2)
    tidy(tmp_path)
    assert not names_in(tmp_path)


def test_a_folder_of_somebody_else_is_left_alone(monkeypatch, tmp_path):
    def refuse(*_arguments, **_options):
        raise PermissionError(1, "Operation not permitted")

    fill(tmp_path, NAMES, UNUSED + 60)
    monkeypatch.setattr(kept_code.Path, "touch", refuse)
    monkeypatch.setattr(kept_code.os, "utime", refuse)
    tidy(tmp_path)
    in_use(tmp_path / NAMES[0])
    tidy(tmp_path / "missing")
    assert names_in(tmp_path) == set(NAMES)


def test_loading_notes_the_use_and_compiling_tidies(monkeypatch, tmp_path):
    def body(n, values):
        values[n] = n

    def compiled():
        c_functions._body_function.cache_clear()
        c_functions.body_function(body, False, (np.zeros(2),), np.zeros(1))

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    compiled()
    (folder,) = tmp_path.iterdir()
    kept = names_in(folder)
    assert len(kept) == 2
    fill(folder, [DATA], UNUSED + 60)
    for name in (*kept, kept_code._MARK):
        os.utime(folder / name, (time.time() - UNUSED - 60,) * 2)
    compiled()
    assert names_in(folder) == {*kept, DATA}  # nothing was compiled
    body.__qualname__ = "another"
    compiled()
    assert names_in(folder) > kept
    assert DATA not in names_in(folder)
