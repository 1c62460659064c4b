"""Find the layouts of threads that are fastest on a card, and keep them for its runs.

The table that seismo brings was measured on one kind of card. Here each of its entries in turn is
replaced by others, a case of the benchmark takes some steps with each, and the fastest stays. What
counts are whole steps: kernels run beside one another, and what is fastest alone need not be so
there.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from seismo.backends.choice import Choice
from seismo.backends.cuda_march import Shape
from seismo.backends.cuda_shapes import Key, Shapes
from seismo.bench import prepare, time_again
from seismo.bench.cases import Case, tuning_case

BETTER = 0.99  # of the time: less is noise
REPEATS = 5
_KINDS = {"acoustic": ("second",), "elastic": ("divergence", "gradient")}
_BOXES = {
    "xz": ("inner", "layer", "side", "corner"),
    "xyz": ("inner", "layer", "edge", "side", "corner"),
}


def _plain(*layouts: tuple[int, int, int, int]) -> list[Shape]:
    return [Shape((x, y, z), 1, False, blocks) for x, y, z, blocks in layouts]


_MARCHES = [
    Shape(threads, planes, True, blocks)
    for threads, blocks in (((32, 8, 1), 2), ((32, 8, 1), 3), ((16, 16, 1), 2), ((32, 16, 1), 1))
    for planes in (8, 32)
]
_ROWS = ((8, 2), (16, 1))
_ASKING = [Shape((32, rows, 1), 32, True, blocks, ahead=2) for rows, blocks in _ROWS]
_TILES = [Shape((32, rows, 1), 32, True, blocks, tile=2) for rows, blocks in _ROWS]
_ACROSS = [
    Shape((x, y, 1), 64, True, blocks)
    for x, y, blocks in ((32, 4, 3), (32, 8, 2), (32, 2, 6), (16, 8, 3))
]
_TURNS = [Shape(threads, 8, False, 4) for threads in ((64, 1, 4), (16, 1, 16), (32, 1, 8))]
_SOLIDS = _plain(
    (32, 8, 1, 3), (32, 4, 2, 2), (32, 4, 2, 3), (32, 4, 2, 4), (16, 8, 2, 3), (16, 4, 4, 3),
    (16, 4, 4, 4), (32, 4, 4, 3), (32, 2, 4, 3),
)  # fmt: skip
_NARROW_SOLIDS = _plain(
    (8, 8, 2, 4), (8, 8, 4, 3), (8, 16, 1, 4), (8, 32, 1, 4), (8, 4, 8, 3), (8, 4, 4, 4),
    (8, 4, 4, 10),
)  # fmt: skip
_PLATES = _plain((64, 1, 4, 4), (32, 1, 8, 4), (32, 1, 4, 4), (16, 1, 16, 4), (32, 1, 8, 2))
_NARROW_PLATES = _plain((8, 1, 16, 4), (8, 1, 32, 2), (8, 1, 8, 8))


def candidates(key: Key) -> list[Shape]:
    """List the layouts to try for an entry of the table."""
    axes, kind, box, _ = key
    volume = "y" in axes
    if box in ("side", "corner"):
        return _NARROW_SOLIDS if volume else _NARROW_PLATES
    inner, layer = (_MARCHES + _ASKING + _TILES, _ACROSS) if volume else (_TURNS, _TURNS)
    marches = {"inner": inner, "layer": layer} if kind == "second" else {}
    return (_SOLIDS if volume else _PLATES) + marches.get(box, [])


@dataclass(frozen=True)
class Tuned:
    """One entry of the table: before and after, in seconds of a case's steps."""

    key: Key
    shape: Shape
    before: float
    after: float

    def __str__(self) -> str:
        """Say what was found."""
        threads = " x ".join(map(str, self.shape.threads))
        gain = (
            f"{self.before / self.after - 1.0:.1%} faster" if self.after < self.before else "kept"
        )
        return f"{' '.join(map(str, self.key))}: {threads} threads, {gain}"


def entries(physics: str, axes: str, order: int) -> list[Key]:
    """List the entries of the table that a case depends on."""
    return [(axes, *pair, order) for pair in product(_KINDS[physics], _BOXES[axes])]


def time_with(case: Case, choice: Choice, shapes: Shapes) -> float:
    """Time the steps of a case with a table, s."""

    def make(precision: str) -> Any:
        backend: Any = choice.make(precision)
        backend.shapes = shapes
        return backend

    built = prepare(case, replace(choice, make=make))
    return statistics.median(time_again(built, case) for _ in range(REPEATS))


def tune(
    choice: Choice, shapes: Shapes, timed: Callable[[Case, Choice, Shapes], float] = time_with
) -> Iterator[Tuned]:
    """Improve a table in place, and tell of each entry.

    Args:
        choice: a GPU.
        shapes: the table to begin with.
        timed: function that times the steps of a case with a table, s.
    """
    for physics, axes, order in product(_KINDS, ("xz", "xyz"), (4, 8)):
        case = tuning_case(physics, axes, order)
        best = timed(case, choice, shapes)
        for key in entries(physics, axes, order):
            before = best
            for shape in candidates(key):
                seconds = timed(case, choice, shapes | {key: shape})
                if seconds < BETTER * best:
                    best, shapes[key] = seconds, shape
            yield Tuned(key, shapes[key], before, best)
