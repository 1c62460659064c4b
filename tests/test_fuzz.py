"""Scenario files that nobody would write: one line a mistake, whatever is in them, no traceback.

A file that runs is changed at random: its text, and its tree of keys and values. `seismo check`
goes as far as a run does before its first array; exit code 70, a fault of the program, is what must
not come.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import KINDS, SCENARIOS
from seismo import cli

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.integers(), st.floats(),
    st.sampled_from([10**9, 1e300, -1e-300, 1e-12, 2**63, "", "..", "/etc/passwd", "~", "1e999",
                     "3 km/s", "0 m", "-5 m", "nan", "\0", "x" * 2000, "vp.npy", "../x", "auto",
                     [], {}, [[]], [0], [1, 2, 3], {"x": 1}, {"type": "file"}]),
    st.text(max_size=8), st.lists(st.floats(), max_size=3),
)  # fmt: skip


PIECES = [
    b"\n", b": ", b"- ", b"{", b"]", b"&a", b"*a", b"!!python/name:os.system ", b"\t", b"1e9", b"-",
    b"0", b"\xff", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode(), b"<<: ", b"---\n", b"'", b'"',
]  # fmt: skip


def leaves(data, path=()):
    """List every place in a tree."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


@st.composite
def trees(draw) -> str:
    """Replace, remove, add or move some keys of a scenario."""
    data = copy.deepcopy(yaml.safe_load(draw(st.sampled_from(SCENARIOS))))
    for _ in range(draw(st.integers(1, 3))):
        places = list(leaves(data))
        if not places:
            break
        *above, key = draw(st.sampled_from(places))
        owner = data
        for part in above:
            owner = owner[part]
        action = draw(st.sampled_from(["replace", "replace", "remove", "add", "copy"]))
        if action == "replace":
            owner[key] = draw(ODD)
        elif action == "remove":
            del owner[key]
        elif action == "add" and isinstance(owner, dict):
            owner[draw(st.text(max_size=6) | st.sampled_from(["type", "x", "path"]))] = draw(ODD)
        elif isinstance(owner, list):
            owner.append(copy.deepcopy(owner[key]))
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


@st.composite
def texts(draw) -> bytes:
    """Cut, repeat and replace pieces of the text."""
    text = draw(st.sampled_from(SCENARIOS)).encode()
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(text)))
        last = min(len(text), first + draw(st.integers(0, 12)))
        piece = draw(st.binary(max_size=6) | st.sampled_from(PIECES))
        text = text[:first] + piece + text[draw(st.sampled_from([first, last])) :]
    return text


def assert_no_fault(folder, content: str | bytes, capsys) -> None:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / "s.yaml").write_bytes(data)
    np.save(folder / "vp.npy", np.full((11, 11, 16), 2000.0, np.float32))
    code = cli._call(["check", str(folder / "s.yaml")], debug=False)
    said = capsys.readouterr().err
    assert code in (0, 2, 4, 75), said
    assert (code == 0) == (not said), said


FEW = settings(
    max_examples=60, derandomize=True, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def test_a_run_without_end_is_refused_before_it_fills_the_memory(tmp_path, capsys):
    """Its steps, and the snapshots due at some of them, would be listed one by one."""
    (tmp_path / "s.yaml").write_text(SCENARIOS[0].replace("duration: 0.1 s", "duration: 2e16"))
    assert cli._call(["check", str(tmp_path / "s.yaml")], debug=False) == 2
    said = capsys.readouterr().err
    assert "time.duration: 2e+16: takes" in said
    assert "more than 2e+07; shorten it, or check its unit" in said


@FEW
@given(trees())
def test_changed_values(tmp_path, capsys, content):
    assert_no_fault(tmp_path, content, capsys)


@FEW
@given(texts())
def test_changed_text(tmp_path, capsys, content):
    assert_no_fault(tmp_path, content, capsys)


def run_fuzz(kind: str, *numbers: int) -> None:
    """Run cases in a process that forks others."""
    words = [sys.executable, Path(__file__).with_name("fuzz.py"), kind, *map(str, numbers)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_files():
    run_fuzz("files", 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_more_of_each_kind(kind):
    """By the thousand: `python tests/fuzz.py KIND COUNT`."""
    run_fuzz(kind, {"scenarios": 1000, "files": 200}.get(kind, 30), 100_000)
