"""Say how fast this machine steps, in numbers that mean the same on every machine.

Points per second say nothing without the memory they move. A stencil code that reuses each loaded
value perfectly still has to read and write every field once a step; those bytes, times the points
per second, divided by the bandwidth that a plain update loop reaches on the same cores, is the
share of the possible speed. `CASES` are five fixed scenarios (the ones that `benchmarks/` runs
beside other codes), `measure_bandwidth` is the yardstick, `run_cases` puts one against the other.

Absorbing layers count as points. Compilation, allocation and the first steps (which fault the
pages in) are not timed.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from seismo import machine
from seismo.backends.choice import Choice
from seismo.errors import ScenarioError, SeismoError

SPACING = 10.0
STEP = 0.0008  # 0.32 of a spacing at 4 km/s: stable in every code, in 2-D and in 3-D
FREQUENCY = 20.0
LAYER_POINTS = 20
WARM_UP_STEPS = 4
UPPER = {"vp": 2500.0, "vs": 1400.0, "rho": 2100.0}
LOWER = {"vp": 4000.0, "vs": 2300.0, "rho": 2500.0}


@dataclass(frozen=True)
class Case:
    """One benchmark: a scenario, the steps to time and the points (layers and shots included)."""

    name: str
    steps: int
    points: int
    scenario: dict[str, Any]


@dataclass(frozen=True)
class Bandwidth:
    """Gigabytes a second, read and written, of two loops over arrays larger than the caches."""

    update: float
    copy: float

    @property
    def best(self) -> float:
        """The faster of the two loops: what the cores can move."""
        return max(self.update, self.copy)


@dataclass(frozen=True)
class Row:
    """The result of one case: `seconds` holds every repeat, the rest follows from the median."""

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


def _case(
    name: str, physics: str, dimensions: int, total: int, order: int, steps: int, shots: int = 1
) -> Case:
    """Build the scenario of a cube (or square) of `total` points a side, layers included."""
    nodes = total - 2 * LAYER_POINTS
    axes = ("x", "z") if dimensions == 2 else ("x", "y", "z")
    scenario: dict[str, Any] = {
        "title": f"benchmark {name}",
        "physics": physics,
        "grid": {
            "extent": dict.fromkeys(axes, (nodes - 1) * SPACING),
            "spacing": SPACING,
            "order": order,
            "stencil": "taylor",
        },
        "time": {"duration": (steps + 2 * WARM_UP_STEPS) * STEP, "step": STEP},
        "boundaries": {"layer": {"points": LAYER_POINTS}},
        **_medium_and_geometry(physics == "elastic", axes, nodes),
    }
    if shots > 1:
        first = scenario["sources"][0]["position"]
        columns = [number * (nodes - 1) // (shots - 1) for number in range(shots)]
        scenario["survey"] = {
            "shots": [{"position": first | {"x": SPACING * column}} for column in columns]
        }
    return Case(name, steps, total**dimensions * shots, scenario)


def _medium_and_geometry(elastic: bool, axes: tuple[str, ...], nodes: int) -> dict[str, Any]:
    """Return model, sources and receivers: two layers, one source, a line of up to 1000 nodes."""
    keys = ("vp", "vs", "rho") if elastic else ("vp",)
    middle = SPACING * (nodes // 2)
    across = {"y": middle} if "y" in axes else {}
    count = min(nodes, 1000)
    layers = [
        {"top": 0.0} | {key: UPPER[key] for key in keys},
        {"top": middle} | {key: LOWER[key] for key in keys},
    ]
    source = {
        "type": "explosion" if elastic else "pressure",
        "position": {"x": middle, **across, "z": 10 * SPACING},
        "wavelet": {"type": "ricker", "frequency": FREQUENCY},
    }
    line = {
        "type": "line",
        "start": {"x": 0.0, **across, "z": 2 * SPACING},
        "end": {"x": (count - 1) * SPACING, **across, "z": 2 * SPACING},
        "count": count,
        "quantities": ["velocity" if elastic else "pressure"],
    }
    return {
        "model": [{"type": "layers", "layers": layers}],
        "sources": [source],
        "receivers": [line],
    }


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("W1", "acoustic", 2, 2081, 8, 500),
        _case("W2", "acoustic", 3, 256, 8, 100),
        _case("W3", "elastic", 2, 1541, 4, 300),
        _case("W4", "elastic", 3, 160, 4, 60),
        _case("W5", "acoustic", 2, 340, 8, 500, shots=64),
    )
}


# For cards: the grids that their users have, layers of 20 points around them.
CARD_CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("G1", "acoustic", 3, 552, 8, 400),
        _case("G2", "acoustic", 3, 552, 4, 400),
        _case("G3", "elastic", 3, 424, 4, 100),
        _case("G4", "elastic", 3, 424, 8, 100),
        _case("G5", "acoustic", 2, 2041, 8, 8000),
        _case("G6", "elastic", 2, 1541, 4, 4000),
        _case("G7", "acoustic", 2, 340, 8, 20000),
        _case("G8", "acoustic", 2, 340, 8, 2000, shots=64),
    )
}
_USUAL = {"gpu": CARD_CASES}


def usual(choice: Choice) -> list[str]:
    """Name the cases that say most about a machine."""
    return list(_USUAL.get(choice.name, CASES))


def select(names: Iterable[str] = ()) -> list[Case]:
    """Return the named cases, or the five for CPUs.

    Raises ScenarioError when a name is not a case.
    """
    wanted, known = [name.upper() for name in names] or list(CASES), CASES | CARD_CASES
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ScenarioError(
            f"benchmark case {', '.join(unknown)} does not exist; choose from {', '.join(known)}"
        )
    return [known[name] for name in wanted]


@numba.njit(parallel=True, fastmath=True)
def _update(field: np.ndarray, scale: np.float32) -> None:
    for index in numba.prange(field.size):
        field[index] *= scale


@numba.njit(parallel=True, fastmath=True)
def _copy(field: np.ndarray, other: np.ndarray, scale: np.float32) -> None:
    for index in numba.prange(field.size):
        field[index] = other[index] * scale


def _fastest(action: Callable[[], None], repeats: int) -> float:
    """Shortest wall time of an action, s: what disturbs a bandwidth only ever lowers it."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return min(durations)


def measure_bandwidth(megabytes: int = 512, repeats: int = 7) -> Bandwidth:
    """Measure what the cores move: `a *= s` in place and `a = b * s`, reads and writes counted.

    `megabytes` is the size of each array; it has to exceed the caches several times.
    """
    size = megabytes * 2**20 // 4
    field, other = np.ones(size, np.float32), np.ones(size, np.float32)
    scale = np.float32(1.0)
    _update(field[:1024], scale)
    _copy(field[:1024], other[:1024], scale)
    moved = 2 * field.nbytes / 1e9
    return Bandwidth(
        update=moved / _fastest(lambda: _update(field, scale), repeats),
        copy=moved / _fastest(lambda: _copy(field, other, scale), repeats),
    )


def _own_copies(choice: Choice) -> Bandwidth:
    rate = choice.make("float32").bandwidth() / 1e9
    return Bandwidth(update=rate, copy=rate)


# What the host's own loops measure is measured with them; other machines time their copies.
_YARDSTICKS: dict[str, Callable[[Choice], Bandwidth]] = {"cpu": lambda _: measure_bandwidth()}


def yardstick(choice: Choice) -> Bandwidth:
    """Measure the bandwidth that the speed of a backend is held against."""
    return _YARDSTICKS.get(choice.name, _own_copies)(choice)


def prepare(case: Case, choice: Choice | None = None) -> Any:
    """Build the simulation of a case, compiled and with its pages touched, ready to be timed.

    Of a survey it is the first batch of shots. Raises SeismoError when the points differ.
    """
    from seismo import simulation

    built = simulation.build(_validated(case.scenario), choice)
    if case.points % built.points != 0:  # a batch of a survey's shots is a whole part of them
        raise SeismoError(
            f"benchmark {case.name} built {built.points} points where it promises "
            f"{case.points}; the absorbing layers differ from {LAYER_POINTS} points"
        )
    built.advance(WARM_UP_STEPS)
    built.backend.wait()
    return built


def _validated(scenario: dict[str, Any]) -> Any:
    from seismo.scenario import Scenario

    return Scenario.model_validate(scenario)


def time_once(case: Case, choice: Choice | None = None) -> tuple[float, Any]:
    """Time the steps of a case once, s; a fresh build each time, so that no repeat inherits."""
    built = prepare(case, choice)
    start = time.perf_counter()
    built.advance(case.steps)
    built.backend.wait()
    return time.perf_counter() - start, built


def time_again(built: Any, case: Case) -> float:
    """Time the steps of a case on a simulation that was built for it, s."""
    built.load(built.setup.shots[: built.setup.batch])
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
    choice: Choice | None = None,
) -> list[Row]:
    """Time the named cases (the five for CPUs when none is named) and return a row for each.

    They run where `choice` says, on the CPU when it is None, as its `bandwidth` then is. Raises
    ScenarioError when a name is not a case.
    """
    cases = select(names)
    rate = (bandwidth or measure_bandwidth()).best
    rows = []
    for case in cases:
        built = prepare(case, choice)
        seconds = tuple(time_again(built, case) for _ in range(max(1, repeats)))
        points, moved = int(built.points), float(built.bytes_per_point)
        rows.append(Row(case.name, points, case.steps, seconds, moved, rate))
        del built  # the next case may need the memory
    return rows


def print_table(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the rows as a table, one line a case."""
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
    """Return what the numbers depend on: processor, threads, versions."""
    return {
        "processor": machine.processor(),
        "cores": os.cpu_count(),
        "threads": numba.get_num_threads(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }


def write_json(
    path: Path | str, rows: Sequence[Row], bandwidth: Bandwidth, choice: Choice | None = None
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
