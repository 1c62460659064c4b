"""Verification of an installation: small runs compared with exact solutions, on every device.

Unlike the test suite it needs nothing but seismo, unlike `validation/` it is short: it
answers whether this machine, with these packages and this driver, computes what it should.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.backends.parallel.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose
from seismo.errors import DeviceError, ScenarioError, SeismoError
from seismo.runs.request import Request
from seismo.runs.run import run_on

if TYPE_CHECKING:
    from seismo.runs.tools.verification.cases import VerificationCase


@dataclass(frozen=True)
class Verdict:
    """What came out of one case.

    Attributes:
        case: its name.
        backend: where it ran.
        error: relative L2 norm of the difference, NaN where the run failed.
        bar: that it must not exceed.
        seconds: of the run, compilation included, and of the exact solution.
        problem: why the run failed.
    """

    case: str
    backend: str
    error: float
    bar: float
    seconds: float
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the bar is met; NaN never is."""
        return bool(self.error <= self.bar)

    def __str__(self) -> str:
        """Format a line of the table."""
        line = (
            f"{self.case:<44}{self.backend:<9}{100 * self.error:>7.2g} %{100 * self.bar:>6.2g} %"
            f"{self.seconds:>6.1f} s"
        )
        return line + ("" if self.passed else f"  FAILED{': ' * bool(self.problem)}{self.problem}")


def select_cases(words: Sequence[str] = ()) -> list[VerificationCase]:
    """Return the cases whose names contain one of some words; all without any.

    Raises:
        ScenarioError: a word is in no name.
    """
    from seismo.runs.tools.verification.cases import cases

    every = cases()
    for word in words:
        if not any(word in case.name for case in every):
            names = "; ".join(case.name for case in every)
            raise ScenarioError(f"{word}: no case is called so; there are: {names}")
    return [case for case in every if not words or any(word in case.name for word in words)]


@dataclass(frozen=True)
class Target:
    """Where cases run: the backend, what is told of it, and what a run is asked for."""

    backend: str
    note: str
    keys: dict[str, Any]


def targets_of(backend: str, device: int | None, threads: int | None) -> list[Target]:
    """Return where to verify: for "auto" on the CPU and, where one can be used, on a GPU.

    Raises:
        DeviceError: what is asked for is not there, or cannot be used.
    """
    if backend != "auto":
        keys = {"device": device, "threads": threads}
        return [_target(choose(backend, device, threads), keys)]
    targets = [_target(choose("cpu", None, threads), {"threads": threads})]
    try:
        targets.append(_target(choose("gpu", device), {"device": device}))
    except DeviceError:
        if device is not None:
            raise
    return targets


def _target(choice: BackendChoice, keys: dict[str, Any]) -> Target:
    return Target(choice.name, choice.note, keys)


def verify(cases: Iterable[VerificationCase], target: Target) -> Iterator[Verdict]:
    """Run cases and yield what came out of each."""
    for case in cases:
        start = time.perf_counter()
        error = float("nan")
        problem = ""
        try:
            error = _error(case, Request(backend=target.backend, **target.keys))
        except DeviceError:
            raise  # of no case: nothing can run there
        except SeismoError as failure:
            problem = str(failure)
        seconds = time.perf_counter() - start
        yield Verdict(case.name, target.backend, error, case.bar, seconds, problem)


def _error(case: VerificationCase, request: Request) -> float:
    """Return the relative L2 norm of the error of all traces of a case."""
    from seismo.exact.metrics import relative_l2

    results = run_on(SerialCommunicator(), case.document, request)
    assert results is not None  # there is no other rank
    with results:
        assert results.wavelets is not None
        traces = results.traces["line"]
        recorded = np.stack([traces.values_of(name)[0] for name in case.components], axis=1)
        exact = case.exact(results.wavelets.samples[0], results.dt)
    return relative_l2(recorded, exact)
