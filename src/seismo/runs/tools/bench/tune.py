"""Find the layouts of threads that are fastest on a card, and keep them for its runs.

The table that seismo brings was measured on a single kind of card. Here each of its entries in
turn, but entries for memory variables, is replaced by others, and a case of the benchmark takes
steps with each. A faster layout stays, if it is so again beside the known layout. Whole steps
count: kernels run side by side, and the fastest alone need not be so there.

A kernel takes seconds to compile, and less than a second to time. A kernel depends on a single
entry: kernels of all layouts of a case are compiled side by side before the first is timed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, product
from math import inf
from typing import TYPE_CHECKING, Any

from seismo.backends.base import Step
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.code_cache import CompileRequest, compile_elsewhere
from seismo.backends.gpu.sweeps.layouts import (
    H200,
    BlockShape,
    LayoutKey,
    Shapes,
    shape_for,
)
from seismo.backends.kernel_cache import kernel_cache
from seismo.equations.framework.registry import physics_for
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import MemoryDemand, demands
from seismo.runs.tools.bench import time_again
from seismo.runs.tools.bench.cases import (
    TUNED,
    Case,
    tuning_case,
)
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card

BETTER = 0.99  # of the time: less is noise
REPEATS = 5
BOXES = {
    "xz": ("inner", "layer", "side", "corner"),
    "xyz": ("inner", "layer", "edge", "side", "corner"),
}
ORDERS = (4, 8)
HIGH_ORDERS = (12, 16)  # tuned where they are asked for


def _plain(*layouts: tuple[int, int, int, int]) -> list[BlockShape]:
    return [BlockShape((x, y, z), 1, blocks) for x, y, z, blocks in layouts]


_MARCHES = [
    BlockShape(threads, planes, blocks)
    for threads, blocks in (((32, 8, 1), 2), ((32, 8, 1), 3), ((16, 16, 1), 2), ((32, 16, 1), 1))
    for planes in (8, 16, 32)
]
_ROWS = ((8, 2), (16, 1))
_ASKING = [BlockShape((32, rows, 1), 32, blocks, ahead=2) for rows, blocks in _ROWS]
_SHORT = [  # neighbours along z come out of the second-level cache
    BlockShape((x, y, 1), planes, blocks, ahead=1)
    for x, y, blocks in ((32, 8, 2), (16, 8, 4), (8, 16, 4))
    for planes in (4, 10)
]
_TILES = [
    BlockShape((x, y, 1), planes, blocks, ahead=ahead, tile=True)
    for x, y, blocks in ((32, 8, 2), (16, 16, 2), (16, 8, 3))
    for planes in (10, 28, 64)
    for ahead in (0, 2)
]
_ACROSS = [
    BlockShape((x, y, 1), 64, blocks, ahead=ahead)
    for x, y, blocks in ((32, 4, 3), (32, 8, 2), (32, 2, 6), (16, 8, 3))
    for ahead in (0, 1)
]
_TILES_ACROSS = [
    BlockShape((x, y, 1), 64, blocks, ahead=ahead, tile=tile, waves=3)
    for x, y, blocks in ((32, 4, 2), (16, 8, 2), (8, 8, 4))
    for ahead in (1, 2)
    for tile in (False, True)
]
_MARCHING = {  # by kind of formula and of box
    "second": {"inner": _MARCHES + _ASKING + _SHORT, "layer": _ACROSS},
    "centred": {"inner": _MARCHES + _ASKING},
    "mixed": {"inner": _MARCHES + _ASKING},
}
_IN_TILES = {"inner": _TILES, "layer": _TILES_ACROSS}  # second differences, by kind of box
_SOLIDS = _plain(
    (16, 8, 1, 5), (16, 8, 1, 8), (8, 4, 4, 5), (32, 8, 1, 3), (32, 4, 2, 2), (32, 4, 2, 3),
    (32, 4, 2, 4), (16, 8, 2, 3), (16, 4, 4, 3), (16, 4, 4, 4), (32, 4, 4, 3), (32, 2, 4, 3),
)  # fmt: skip
_NARROW_SOLIDS = _plain(
    (8, 8, 2, 4), (8, 8, 4, 3), (8, 16, 1, 4), (8, 32, 1, 4), (8, 4, 8, 3), (8, 4, 4, 4),
    (8, 4, 4, 10),
)  # fmt: skip
_PLATES = _plain((64, 1, 4, 4), (32, 1, 8, 4), (32, 1, 4, 4), (16, 1, 16, 4), (32, 1, 8, 2))
_NARROW_PLATES = _plain((8, 1, 16, 4), (8, 1, 32, 2), (8, 1, 8, 8))


def candidates(key: LayoutKey) -> list[BlockShape]:
    """List the layouts to try for an entry of the table."""
    axes, kind, box, order = key
    volume = "y" in axes
    known = [shape_for(H200, key)]
    if box in ("side", "corner"):
        return known + (_NARROW_SOLIDS if volume else _NARROW_PLATES)
    if not volume:
        return known + _PLATES
    marches = _MARCHING.get(kind, {}).get(box, [])
    # Planes in shared memory pay where many numbers of a plane are neighbours.
    tiles = _IN_TILES.get(box, []) if kind == "second" and order in HIGH_ORDERS else []
    return known + _SOLIDS + marches + tiles


def entries(physics: str, axes: str, order: int) -> list[LayoutKey]:
    """List the entries of the table that a case depends on."""
    table = physics_for(physics, len(axes))
    stages = [stage for stage in table.stages if stage.where == "everywhere"]
    kinds = dict.fromkeys(table.formula(stage, even=True).kind for stage in stages)
    return [(axes, *pair, order) for pair in product(kinds, BOXES[axes])]


@dataclass(frozen=True)
class Wave:
    """The next compilation: the kernels of all layouts of a case."""

    case: str
    layouts: int
    kernels: int

    def __str__(self) -> str:
        """Describe the compilation."""
        return f"{self.case}: {self.layouts} layouts to time, {self.kernels} kernels to compile"


@dataclass(frozen=True)
class TooLarge:
    """A case that the card cannot hold; its layouts stay as they are."""

    case: str
    demand: MemoryDemand

    def __str__(self) -> str:
        """Describe its demand."""
        return f"{self.case}: skipped: {self.demand}"


@dataclass(frozen=True)
class KernelLayout:
    """A layout for an entry of the table."""

    key: LayoutKey
    shape: BlockShape

    def __str__(self) -> str:
        """Name the differences."""
        shape = self.shape
        traits = [f"{' x '.join(map(str, shape.threads))} threads"]
        traits += [f"{shape.blocks_per_multiprocessor} blocks"]
        traits += [f"{shape.planes} planes"] * (shape.planes > 1)
        traits += ["ahead"] * bool(shape.ahead)
        traits += ["in shared memory"] * shape.tile
        traits += [f"{shape.together} planes together"] * (shape.together > 1)
        traits += ["asking by sectors"] * shape.sectors
        return f"{' '.join(map(str, self.key))}: {', '.join(traits)}"


@dataclass(frozen=True)
class Trial(KernelLayout):
    """A layout that is timed next, the n-th of its case from 0 on."""

    number: int


@dataclass(frozen=True)
class Failed(KernelLayout):
    """A layout that the card cannot take, and why."""

    why: str

    def __str__(self) -> str:
        """Describe why it was skipped."""
        return f"{super().__str__()}: skipped: {self.why}"


@dataclass(frozen=True)
class Tuned(KernelLayout):
    """The new entry of the table; before and after, in seconds of a case's steps."""

    before: float
    after: float

    def __str__(self) -> str:
        """Describe the result."""
        gain = f"{self.before / self.after - 1:.1%} faster" if self.after < self.before else "kept"
        return f"{super().__str__()}, {gain}"


@dataclass(frozen=True)
class Bench:
    """A case that is timed on a card."""

    case: Case
    discretization: Discretization
    card: Card

    def demand(self, shapes: Shapes) -> MemoryDemand:
        """Describe the need of the case and the free memory of the card."""
        backend = GpuBackend(self.discretization.scenario.precision, self.card, shapes)
        return demands(memory_of(self.discretization, backend), backend)[0]

    def time(self, shapes: Shapes) -> float:
        """Time the steps with a table, s."""
        backend = GpuBackend(self.discretization.scenario.precision, self.card, shapes)
        built = Simulation(self.discretization, backend)
        return statistics.median(time_again(built, self.case) for _ in range(REPEATS))

    def attempt(self, timed: Timed, shapes: Shapes) -> tuple[float, str]:
        """Time them; or say why that cannot be."""
        try:
            return timed(self, shapes), ""
        except Exception as error:  # whatever it is, the next layout may do
            self.card.wait()  # unless the card is lost
            return inf, f"{type(error).__name__}: {error}".partition("\n")[0]

    def prefers(self, timed: Timed, tried: Shapes, known: Shapes) -> bool:
        """Time two tables once more, in turn: a card is not always as fast."""
        return self.attempt(timed, tried)[0] < BETTER * timed(self, known)


Timed = Callable[[Bench, Shapes], float]


class _Binder(GpuBackend):
    """Bind the sweeps of a simulation as often as is asked for, and take no steps."""

    def __init__(self, discretization: Discretization, card: Card, shapes: Shapes) -> None:
        super().__init__(discretization.scenario.precision, card, shapes)
        self._sweeps: list[tuple[tuple, dict]] = []
        Simulation(discretization, self)
        self.kernels = self._requests()

    def sweep(self, *arguments: Any, **options: Any) -> Any:
        self._sweeps.append((arguments, options))
        return super().sweep(*arguments, **options)

    def program(self, steps: tuple[Step, ...], others: Any = ()) -> Any:
        self.clocked(steps)
        return lambda first, count: None

    def bind(self, shapes: Shapes) -> frozenset[str]:
        """Bind them with a table; return the names of their kernels."""
        self.shapes = shapes
        for arguments, options in self._sweeps:
            super().sweep(*arguments, **options)
        bound = self._requests()
        self.kernels |= bound
        return frozenset(bound)

    def _requests(self) -> dict[str, CompileRequest]:
        return {request.name: request for request in self.card.take_requests()}

    def drop(self) -> None:
        """Let the arrays go; the backend stays as long as tables that were made for it."""
        self._sweeps.clear()


def _layouts(
    bench: Bench, keys: list[LayoutKey], shapes: Shapes
) -> tuple[dict[LayoutKey, list[BlockShape]], dict[str, CompileRequest]]:
    """List the layouts that differ on the grid of a case, and the kernels of all of them."""
    binder = _Binder(bench.discretization, bench.card, shapes)
    layouts: dict[LayoutKey, list[BlockShape]] = {key: [] for key in keys}
    known = {binder.bind(shapes)}
    for key in keys:
        for shape in candidates(key):
            kernels = binder.bind(shapes | {key: shape})
            if kernels not in known:
                known.add(kernels)
                layouts[key].append(shape)
    binder.drop()
    return layouts, binder.kernels


def tune(
    card: Card,
    shapes: Shapes,
    cases: Iterable[tuple[str, str, int]] = tuple(product(TUNED, BOXES, ORDERS)),
    timed: Timed = Bench.time,
) -> Iterator[Wave | TooLarge | KernelLayout]:
    """Improve a table in place, and report the compilations and results.

    Args:
        card: to be tuned for.
        shapes: the table to begin with.
        cases: physics, axes and order of each.
        timed: function that times the steps of a case with a table, s.
    """
    for physics, axes, order in cases:
        case = tuning_case(physics, axes, order)
        bench = Bench(case, discretize(Scenario.model_validate(case.scenario)), card)
        demand = bench.demand(shapes)
        if not demand.fits:
            yield TooLarge(case.name, demand)
            continue
        keys = entries(physics, axes, order)
        layouts, requests = _layouts(bench, keys, shapes)
        missing = {
            name: request for name, request in requests.items() if not kernel_cache().has(name)
        }
        yield Wave(case.name, sum(map(len, layouts.values())), len(missing))
        compile_elsewhere(missing)
        best = min(timed(bench, shapes) for _ in range(2))  # a card that was idle speeds up
        number = count()
        for key, candidates in layouts.items():
            before = best
            for shape in candidates:
                yield Trial(key, shape, next(number))
                tried = shapes | {key: shape}
                seconds, why = bench.attempt(timed, tried)
                if why:
                    yield Failed(key, shape, why)
                elif seconds < BETTER * best and bench.prefers(timed, tried, shapes):
                    best = seconds
                    shapes[key] = shape
            yield Tuned(key, shapes[key], before, best)
