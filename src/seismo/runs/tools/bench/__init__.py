"""Speed of this machine, in numbers that mean the same on every machine.

Points per second say nothing without the memory they move. A stencil code that reuses each loaded
value perfectly still has to read and write every field once a step; these bytes, times the points
per second, divided by the bandwidth that a plain update loop reaches on the same cores, is the
share of the possible speed. `CASES` are five fixed scenarios (the ones that `benchmarks/` runs
beside other codes), `measure_bandwidth` is the yardstick, `run_cases` compares both.

Absorbing layers count as points. Compilation, allocation and the first steps (which fault the
pages in) are not timed.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from seismo.backends import machine
from seismo.backends.select import BackendChoice
from seismo.errors import SeismoError
from seismo.examples import HERE
from seismo.runs.tools.bench.cases import (
    CARD_CASES,
    CASES,
    FREQUENCY,
    LAYER_POINTS,
    LOWER,
    ROCK_CASES,
    SHIPPED,
    SPACING,
    STEP,
    THOMSEN,
    UPDATES,
    UPPER,
    WARM_UP_STEPS,
    Case,
    select,
    usual,
)

if TYPE_CHECKING:
    from seismo.scenario import Scenario


__all__ = [
    "CARD_CASES",
    "CASES",
    "FREQUENCY",
    "LAYER_POINTS",
    "LOWER",
    "ROCK_CASES",
    "SHIPPED",
    "SPACING",
    "STEP",
    "THOMSEN",
    "UPDATES",
    "UPPER",
    "WARM_UP_STEPS",
    "Case",
    "select",
    "usual",
]


@dataclass(frozen=True)
class Bandwidth:
    """Gigabytes a second, read and written, of two loops over arrays larger than the caches."""

    update: float
    copy: float

    @property
    def best(self) -> float:
        """The faster of the two loops: the bandwidth of the cores."""
        return max(self.update, self.copy)


@dataclass(frozen=True)
class Row:
    """The result of a case: `seconds` holds every repeat, the rest follows from the median."""

    case: str
    points: int
    steps: int
    seconds: tuple[float, ...]
    bytes_per_point: float
    bandwidth: float

    @property
    def mpoints_per_s(self) -> float:
        """Million point updates a second."""
        return self.points * self.steps / statistics.median(self.seconds) / 1e6

    @property
    def gigabytes_per_s(self) -> float:
        """Bytes a perfect kernel would have moved, a second."""
        return self.mpoints_per_s * self.bytes_per_point / 1e3

    @property
    def share(self) -> float:
        """Share of the measured bandwidth."""
        return self.gigabytes_per_s / self.bandwidth

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, derived numbers included."""
        derived = ("mpoints_per_s", "gigabytes_per_s", "share")
        return asdict(self) | {name: getattr(self, name) for name in derived}


@numba.njit(parallel=True, fastmath=True)
def _update(field: np.ndarray, scale: np.float32) -> None:
    for index in numba.prange(field.size):
        field[index] *= scale


@numba.njit(parallel=True, fastmath=True)
def _copy(field: np.ndarray, other: np.ndarray, scale: np.float32) -> None:
    for index in numba.prange(field.size):
        field[index] = other[index] * scale


def _fastest(action: Callable[[], None], repeats: int) -> float:
    """Shortest wall time of an action, s: disturbances only ever lower a bandwidth."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return min(durations)


def measure_bandwidth(megabytes: int = 512, repeats: int = 7) -> Bandwidth:
    """Measure the bandwidth of the cores, reads and writes, of `a *= s` in place and `a = b * s`.

    `megabytes` is the size of each array; it has to exceed the caches several times.
    """
    size = megabytes * 2**20 // 4
    field = np.ones(size, np.float32)
    other = np.ones(size, np.float32)
    scale = np.float32(1.0)
    _update(field[:1024], scale)
    _copy(field[:1024], other[:1024], scale)
    moved = 2 * field.nbytes / 1e9
    return Bandwidth(
        update=moved / _fastest(lambda: _update(field, scale), repeats),
        copy=moved / _fastest(lambda: _copy(field, other, scale), repeats),
    )


def _own_copies(choice: BackendChoice) -> Bandwidth:
    rate = choice.make("float32").bandwidth() / 1e9
    return Bandwidth(update=rate, copy=rate)


# The host is measured by its own loops; other machines time their copies.
_YARDSTICKS: dict[str, Callable[[BackendChoice], Bandwidth]] = {
    "cpu": lambda _: measure_bandwidth()
}


def yardstick(choice: BackendChoice) -> Bandwidth:
    """Measure the bandwidth that the speed of a backend is held against."""
    return _YARDSTICKS.get(choice.name, _own_copies)(choice)


def prepare(case: Case, choice: BackendChoice | None = None) -> Any:
    """Build the simulation of a case, compiled and with its pages touched, ready to be timed.

    Of a survey it is the first batch of shots. Raises SeismoError when the points differ.
    """
    from seismo.solver import simulation

    built = simulation.build(_validated(case.scenario), choice)
    if case.points % built.points != 0:  # a batch of a survey's shots is a whole part of them
        raise SeismoError(
            f"benchmark {case.name} built {built.points} points where it promises "
            f"{case.points}; its absorbing layers are not as wide as they should be"
        )
    built.advance(WARM_UP_STEPS)
    built.backend.wait()
    return built


def _validated(scenario: dict[str, Any] | Scenario) -> Scenario:
    from seismo.scenario import Scenario

    return Scenario.model_validate(scenario)


def time_once(case: Case, choice: BackendChoice | None = None) -> tuple[float, Any]:
    """Time the steps of a case once, s; a fresh build each time, so that no repeat inherits."""
    built = prepare(case, choice)
    start = time.perf_counter()
    built.advance(case.steps)
    built.backend.wait()
    return time.perf_counter() - start, built


def time_again(built: Any, case: Case) -> float:
    """Time the steps of a case on a simulation that was built for it, s."""
    built.load(built.discretization.shots[: built.discretization.batch])
    built.advance(WARM_UP_STEPS)
    built.backend.wait()
    start = time.perf_counter()
    built.advance(case.steps)
    built.backend.wait()
    return time.perf_counter() - start


def run_cases(
    names: Iterable[str] = (),
    repeats: int = 3,
    bandwidth: Bandwidth | None = None,
    choice: BackendChoice | None = None,
) -> Iterator[Row]:
    """Time the named cases (the five for CPUs when none is named); give a row for each in turn.

    They run where `choice` says, on the CPU when it is None, as its `bandwidth` then is. Raises
    ScenarioError when a name is not a case.
    """
    cases = select(names)
    rate = (bandwidth or measure_bandwidth()).best
    for case in cases:
        built = prepare(case, choice)
        seconds = tuple(time_again(built, case) for _ in range(max(1, repeats)))
        points = int(built.points)
        moved = float(built.bytes_per_point)
        del built  # the next case may need the memory
        yield Row(case.name, points, case.steps, seconds, moved, rate)


def print_table(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the rows as a table, a line a case."""
    table = Table(title="million point updates a second, absorbing layers included")
    headings = "case points steps Mpoint/s B/point GB/s bandwidth spread"
    for heading in headings.split():
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        spread = max(row.seconds) / min(row.seconds) - 1.0
        table.add_row(
            row.case,
            f"{row.points:,}",
            str(row.steps),
            f"{row.mpoints_per_s:.0f}",
            f"{row.bytes_per_point:g}",
            f"{row.gigabytes_per_s:.1f}",
            f"{row.share:.0%}",
            f"{spread:.0%}",
        )
    (console or Console()).print(table)


def describe_machine() -> dict[str, Any]:
    """Return the conditions of the numbers: processor, threads, versions."""
    return {
        "processor": machine.processor(),
        "cores": os.cpu_count(),
        "threads": numba.get_num_threads(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }


def write_json(
    path: Path | str, rows: Sequence[Row], bandwidth: Bandwidth, choice: BackendChoice | None = None
) -> None:
    """Write rows, bandwidth and machine as JSON; the file appears whole or not at all."""
    device = choice.make("float32").describe() if choice else {}
    record = {
        "machine": describe_machine() | device,
        "bandwidth_gb_per_s": asdict(bandwidth),
        "rows": [row.as_dict() for row in rows],
    }
    target = Path(path)
    temporary = target.with_name(target.name + ".tmp")
    temporary.write_text(json.dumps(record, indent=1) + "\n")
    temporary.replace(target)


def find_ladder() -> Any:
    """Return the ladder's module that measures and reports (`ladder.report`)."""
    for folder in (Path.cwd() / "benchmarks", Path.cwd(), HERE):
        if (folder / "ladder" / "report.py").is_file():
            sys.path.insert(0, str(folder))
            break
    return import_module("ladder.report")
