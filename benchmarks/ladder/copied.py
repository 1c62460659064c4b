"""The wavefield goes to the card before each step and comes back after it.

What is wrong: a step moves each field through the card's memory once or twice, at terabytes a
second. The way to the host and back has a hundredth of that.
"""

from __future__ import annotations

from collections.abc import Callable

from ladder.stand import Interior, Stand, difference, whole
from ladder.worth import Side, Worth

Take = Callable[[int, int], None]


def step(interior: Interior, take: Take, steps: int) -> None:
    """Take steps of a simulation whose fields live on the host."""
    fields = [part.fields.wavefield for part in interior.simulation.solvers]
    for number in range(steps):
        held = [{name: interior.backend.fetch(a) for name, a in f.items()} for f in fields]
        for arrays, values in zip(fields, held, strict=True):
            for name, array in arrays.items():
                array[:] = interior.backend.array(values[name])
        take(number, 1)


def measure(stand: Stand) -> Worth:
    """Compare it with fields that stay."""
    interior = Interior(stand.backend, whole("acoustic", 3, 8, stand.scale.elastic))
    take, points = interior.backend.program(interior.steps(interior.product)), interior.points
    off = interior.answer(lambda first, count: step(interior, take, count))
    sides = [
        Side(name, points / stand.seconds(some, stand.backend.wait) / 1e9)
        for name, some in (
            ("fields copied to the card and back each step", lambda n: step(interior, take, n)),
            ("fields stay on the card", lambda n: take(0, n)),
        )
    ]
    n = stand.scale.elastic
    scenario = f"acoustic 3-D, order 8, {n}^3"
    return Worth(scenario, "Gpoint/s", tuple(sides), difference(off, interior.wanted))
