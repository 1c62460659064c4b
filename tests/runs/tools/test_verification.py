"""`seismo verify` compares small runs with exact solutions, and notices what is wrong."""

from dataclasses import replace

import pytest

from seismo.errors import ScenarioError
from seismo.runs.run import run_on
from seismo.runs.tools import verification
from seismo.runs.tools.verification import (
    select_cases,
    targets_of,
    verify,
)

QUICK = "SH, 2-D"


def test_a_case_meets_its_bar(command_line):
    code, out, err = command_line("verify", QUICK, "--backend", "cpu", "--threads", "1")
    assert code == 0
    assert "on the CPU, 1 thread" in err
    head, line, last = out.splitlines()
    assert line.startswith("elastic SH, 2-D, whole space")
    assert len(head) == len(line)
    assert line.endswith(" s")
    assert last == "all errors are below their bars"


def test_traces_that_are_a_little_wrong_are_noticed(command_line, monkeypatch):
    """Two thousandths of the amplitude are more than the bar of a thousandth."""
    sound = verification.shear_2d()
    wrong = replace(sound, exact=lambda source, dt: 1.002 * sound.exact(source, dt))
    monkeypatch.setattr(verification, "cases", lambda: [wrong])
    code, out, _ = command_line("verify", "--backend", "cpu")
    assert code == 1
    assert "FAILED" in out.splitlines()[1]
    assert out.splitlines()[-1].startswith("1 of the errors exceed their bars")


def test_a_run_that_fails_is_told_and_others_follow():
    sound = verification.shear_2d()
    broken = replace(sound, document={**sound.document, "grid": {}})
    (target,) = targets_of("cpu", None, None)
    first, second = verify([broken, sound], target, run_on)
    assert not first.passed
    assert "grid" in str(first)
    assert "FAILED: " in str(first)
    assert second.passed


def test_a_case_of_no_such_name():
    with pytest.raises(ScenarioError, match="no case is called so; there are: acoustic, 2-D"):
        select_cases(["lamp"])
    assert len(select_cases(["3-D"])) == 3


def test_what_cannot_be_used_is_refused(command_line, monkeypatch):
    code, _, err = command_line("verify", QUICK, "--backend", "gpu")
    assert code == 2
    assert "no NVIDIA driver" in err or "GPU" in err
    monkeypatch.setattr(verification, "verify", lambda cases, target, run: [])
    assert command_line("verify", QUICK)[0] == 0  # there is no GPU, and none was asked for
    assert command_line("verify", QUICK, "--device", "3")[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize("case", verification.cases(), ids=lambda case: case.name)
def test_every_case_meets_its_bar(case):
    (target,) = targets_of("cpu", None, None)
    (verdict,) = verify([case], target, run_on)
    assert verdict.passed, str(verdict)


@pytest.mark.gpu
def test_every_case_meets_its_bar_on_a_gpu():
    (target,) = targets_of("gpu", None, None)
    assert [str(v) for v in verify(verification.cases(), target, run_on) if not v.passed] == []
