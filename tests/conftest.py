"""Tests run on the CPU, whatever the machine has; `pytest -m gpu` shows them its GPUs."""

import os


def pytest_configure(config) -> None:
    """Hide GPUs, from processes started by tests too, unless tests that need one are asked for."""
    wanted = config.getoption("markexpr") or ""
    if "gpu" not in wanted or "not gpu" in wanted:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
