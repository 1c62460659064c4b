"""Tests run on the CPU, whatever the machine has; `pytest -m gpu` shows them its GPUs."""

import gc
import importlib
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from seismo.backends.kernel_cache import cache_folder

DAILY = "not slow and not gpu and not slurm"  # as `pyproject.toml` has it

# Files of tests run side by side: matrices of some rows are no work for several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Two thirds of what LLVM takes for a kernel go into one pass, which only chooses how addresses are
# counted: tests do without it. Such code is slower at times, and rounds some sums otherwise: it is
# kept in a folder of its own, where processes started by tests find it.
binding.set_option("", "-disable-lsr")
if not cache_folder().name.endswith("-tests"):  # a process that tests have started
    os.environ["SEISMO_CACHE_DIR"] = f"{cache_folder().absolute()}-tests"


def pytest_configure(config) -> None:
    """Hide GPUs, from processes started by tests too, unless tests that need one are asked for.

    `-m gpu` leaves those out that are slow, too, as the suite on the CPU does: they are
    `-m "gpu and slow"`.
    """
    wanted = config.getoption("markexpr") or ""
    if wanted.strip() == "gpu":
        config.option.markexpr = "gpu and not slow"
    if "gpu" not in wanted or "not gpu" in wanted:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_pycollect_makeitem(collector, name: str, obj: object) -> list | None:
    """Make no items of tests that the daily suite would only deselect, by thousands."""
    options = collector.config.option
    if options.markexpr != DAILY or any("::" in word for word in collector.config.args):
        return None
    marks = [collector.obj, obj] if name.startswith("test_") else []
    marks = [getattr(marked, "pytestmark", []) for marked in marks]
    names = {mark.name for some in marks for mark in (some if isinstance(some, list) else [some])}
    return [] if names & {"slow", "gpu", "slurm"} else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage while modules and items are made, which stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep it from looking at what was collected, and let it pass less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)


@pytest.fixture
def no_remedies(monkeypatch):
    """Seek no grid that keeps to the accuracy, nor a cheaper one: most of what a check takes."""
    from seismo.runs.prediction.assess import assess

    def none(*_: object) -> str:
        return ""

    # `assess` has the search as the default of a parameter.
    monkeypatch.setattr("seismo.runs.check.planned_run.assess", partial(assess, remedy=none))
    monkeypatch.setattr("seismo.runs.prediction.assess.remedy_of", none)
    monkeypatch.setattr(
        "seismo.runs.check.planned_run.cheaper_grid", lambda discretization, expected: None
    )


@pytest.fixture
def exact_contacts(monkeypatch):
    """Let the grid scatter as contacts and free surfaces do: most of what an error takes."""
    monkeypatch.setattr(
        "seismo.runs.prediction.contacts.layered_traces.on_grid",
        lambda stack, rows, first, s, k, *reading: np.full((len(k), 1, 1), np.nan),
    )


@pytest.fixture
def script(monkeypatch):
    """Import one of the scripts, which are no package, by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scripts"))
    return importlib.import_module


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
