"""Tests run on the CPU, whatever the machine has; `pytest -m gpu` shows them its GPUs."""

import os

import pytest


def pytest_configure(config) -> None:
    """Hide GPUs, from processes started by tests too, unless tests that need one are asked for."""
    wanted = config.getoption("markexpr") or ""
    if "gpu" not in wanted or "not gpu" in wanted:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture
def command_line(capsys):
    """Call `seismo` with some words; give exit code, output and errors."""
    from seismo import cli

    def call(*words) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return leaving.value.code, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """Return the results of `decomposition_cases.VOLUME` on one rank."""
    import seismo
    from decomposition_cases import VOLUME

    path = tmp_path_factory.mktemp("alone") / "x.h5"
    seismo.run(VOLUME, path).close()
    return path
