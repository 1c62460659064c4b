"""Compiled code on disk: no process may take what another has kept under another key."""

from seismo.backends.c_functions import _KeyedCache


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
