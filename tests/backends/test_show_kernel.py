"""`seismo show kernel`: what a GPU would be given, on a machine without one."""

import importlib.util
import re

import pytest
import yaml

import solver
from seismo.cli import main

numba_cuda = pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

from numba.cuda import dispatcher  # noqa: E402


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys):
    """Return a function that gives what the command prints on its two outputs, and its code."""
    monkeypatch.setattr(dispatcher, "get_current_device", dispatcher.get_current_device)
    path = tmp_path / "small.yaml"
    document = solver.plan("acoustic", 2, cells=(40, 40), steps=3) | {"precision": "float32"}
    path.write_text(yaml.safe_dump(document))

    def show(*options: str) -> tuple[str, str, object]:
        with pytest.raises(SystemExit) as ended:
            main(["show", "kernel", str(path), *options])
        printed = capsys.readouterr()
        return printed.out, printed.err, ended.value.code

    return show


def test_the_table_says_what_a_thread_takes(shown):
    table, _, code = shown()
    assert code == 0
    interior = next(line for line in table.splitlines() if " interior " in line)
    number, *_, registers, spilled, loads, stores, moved = interior.split()
    assert 16 <= int(registers) <= 255
    assert int(spilled) == 0
    assert int(loads) > int(stores) == 1
    assert int(moved) == 16  # two pressures and the velocity are read, one pressure is written
    ptx, _, code = shown(number, "--architecture", "8.0")
    assert code == 0
    assert ".target sm_80" in ptx
    assert len(re.findall(r"st\.global", ptx)) == int(stores)


def test_without_the_compiler_the_extra_is_named(shown, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    _, error, code = shown()
    assert code == 2
    assert error.strip().endswith("pip install 'seismo[gpu]'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["99"], "kernel 99: there are 1 to "),
        (["--architecture", "hopper"], "from 7.5 to 12.1"),
        (["--architecture", "5.0"], "from 7.5 to 12.1"),
    ],
)
def test_mistakes_are_one_line(shown, options, said):
    _, error, code = shown(*options)
    assert code not in (0, 1)
    assert said in error
    assert len(error.splitlines()) == 1
