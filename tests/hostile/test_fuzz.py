"""Scenario files that nobody would write: one line a mistake, whatever is in them, no traceback.

A file that runs is changed at random: its text, and its tree of keys and values. `seismo check`
goes as far as a run does before its first array; exit code 70, a fault of the program, is what must
not come.
"""

import random
import subprocess
import sys

import pytest

import fuzz


def test_a_run_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    """Its steps, and the snapshots due at some of them, would be listed one by one."""
    text = fuzz.SCENARIOS[0].replace("duration: 0.1 s", "duration: 2e16")
    (tmp_path / "s.yaml").write_text(text)
    code, said = fuzz.call("check", str(tmp_path / "s.yaml"))
    assert code == 2
    assert "time.duration: 2e+16: takes" in said
    assert "more than 2e+07; shorten it, or check its unit" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("time: {duration: 0.1 s}", "time: {duration: 0.1 s, courant: 5e-324}",
         "time.courant: 5e-324: must be a number, at least 0.001"),
        ("interval: 50 ms", "interval: 1e300", "interval: 1e+300: must be a number in s, above 0, "
         "at most 1e+06"),
        ("interval: 2 ms", "interval: 9223372036854775808", "at most 1e+06"),
    ],
)  # fmt: skip
def test_times_that_no_clock_counts_are_refused(tmp_path, old, new, said):
    """Steps of 0 s, and samples that are more steps apart than 64 bits count."""
    assert old in fuzz.SCENARIOS[0]
    (tmp_path / "s.yaml").write_text(fuzz.SCENARIOS[0].replace(old, new))
    code, message = fuzz.call("check", str(tmp_path / "s.yaml"))
    assert code == 2
    assert said in message


def test_changed_scenarios(tmp_path):
    """Here, where warnings are errors."""
    for number in range(25):
        assert not fuzz.scenario(tmp_path, random.Random(f"scenarios {number}")), number


def run_fuzz(kind: str, *numbers: int) -> None:
    """Run cases in a process that forks others."""
    words = [sys.executable, fuzz.__file__, kind, *map(str, numbers)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_files():
    run_fuzz("files", 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_more_of_each_kind(kind):
    """By the thousand: `python tests/hostile/fuzz.py KIND COUNT`."""
    run_fuzz(kind, {"scenarios": 1000, "files": 200}.get(kind, 30), 100_000)
