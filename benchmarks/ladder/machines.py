"""The same scenario on the processor and on the card, and what Python alone can do there."""

from __future__ import annotations

from ladder import loops, slices
from ladder.stand import Interior, Stand, difference, layered, run_of, simulate, whole
from ladder.worth import Side, Worth

STEPS = 64


def processor(stand: Stand) -> Worth:
    """Compare NumPy, compiled loops on one core and on all, and the product, on the processor."""
    n = stand.scale.processor
    interior = Interior(stand.processor, whole("acoustic", 3, 8, n))
    backend = interior.backend
    ways = (
        ("NumPy", slices.bind),
        ("njit", loops.serial),
        ("njit(parallel=True)", loops.parallel),
        ("the product", lambda backend, call: call.bind(backend)),
    )
    found = [interior.measured(stand, lambda call, way=way: way(backend, call)) for _, way in ways]
    sides = (Side(name, v / 1e9) for (name, _), (v, _) in zip(ways, found, strict=True))
    scenario = f"acoustic 3-D, order 8, {n}^3, {backend.threads} threads"
    return Worth(scenario, "Gpoint/s", tuple(sides), max(apart for _, apart in found))


def both(stand: Stand) -> Worth:
    """Compare the processor and the card: the same file, the same answer."""
    document, answers, sides = layered("elastic", 3, 4, stand.scale.elastic // 2), [], []
    for name, backend in (("processor", stand.processor), ("card", stand.backend)):
        simulation = simulate(backend, document, STEPS)
        simulation.advance(simulation.total_steps)
        answers.append(simulation.field("vz"))
        updates = simulation.points * simulation.total_steps / 1e9
        sides.append(Side(name, updates / stand.seconds(run_of(simulation), backend.wait)))
    n = stand.scale.elastic // 2
    scenario = f"elastic 3-D, order 4, {n}^3 and layers"
    return Worth(scenario, "Gpoint/s", tuple(sides), difference(*answers))
