"""The solver's tests once more, on a real card: `pytest -m gpu test_gpu_suite.py`.

Each test builds its simulations with `solver.build`, whose default backend is replaced here. Every
grid compiles its own kernels, so that this takes long with an empty cache.
"""

from typing import Any

import pytest

import solver
import test_solver_backends
import test_solver_conservation
import test_solver_exact
import test_solver_receivers
import test_solver_stability
import test_solver_state
import test_solver_subdomains
from seismo.backends.select import choose

pytestmark = pytest.mark.gpu

MODULES = (
    test_solver_backends, test_solver_conservation, test_solver_exact, test_solver_receivers,
    test_solver_stability, test_solver_state, test_solver_subdomains,
)  # fmt: skip


def _tests_of(module: Any) -> dict[str, Any]:
    """Give a module's tests that are not slow, and its fixtures."""
    found = {}
    for name, value in vars(module).items():
        slow = any(mark.name == "slow" for mark in getattr(value, "pytestmark", ()))
        is_fixture = type(value).__name__ == "FixtureFunctionDefinition"
        if is_fixture or (name.startswith("test_") and callable(value) and not slow):
            found[name] = value
    return found


for _module in MODULES:
    assert not globals().keys() & _tests_of(_module).keys()
    globals().update(_tests_of(_module))


@pytest.fixture(scope="module")
def choice():
    return choose("gpu")


@pytest.fixture(autouse=True)
def on_the_card(choice, monkeypatch):
    monkeypatch.setattr(solver, "CpuBackend", choice.make)
