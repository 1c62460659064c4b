"""The GPU's own kernels, run by Numba's CUDA simulator against the NumPy reference: no GPU needed.

The cases are in `simulated_cases.py`. They run in a process of their own, since Numba decides when
it is imported whether it simulates.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

TESTS = Path(__file__).parent


def simulate(*arguments: str) -> None:
    """Run cases under the simulator; a failure shows what pytest said there."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header",
         "simulated_cases.py", *arguments],
        cwd=TESTS, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_kernels_equal_numpy():
    some = "planes spaces piece order tile single bed side cards more"
    simulate("-k", some.replace(" ", " or "))


def test_the_watch_whole_runs_and_the_ladder():
    simulate("-k", "largest or run or ladder")


@pytest.mark.slow
def test_every_combination_equals_numpy():
    simulate("-m", "slow")
