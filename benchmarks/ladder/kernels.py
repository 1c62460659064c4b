"""Rows about what a kernel does: each beside the product's, on the same arrays."""

from __future__ import annotations

from ladder import flat, layouts, looped, loops, naive, scalar_queue, strided, tile, unfused
from ladder.stand import Bind, Interior, Stand, whole
from ladder.worth import Side, Worth

Ways = tuple[tuple[str, Bind], ...]


def compared(stand: Stand, interior: Interior, scenario: str, ways: Ways) -> Worth:
    """Measure ways to bind, and the product's."""
    every = (*ways, ("the product", interior.product))
    found = [interior.measured(stand, bind) for _, bind in every]
    sides = (Side(name, v / 1e9) for (name, _), (v, _) in zip(every, found, strict=True))
    return Worth(scenario, "Gpoint/s", tuple(sides), max(apart for _, apart in found))


def _acoustic(stand: Stand, *ways: tuple[str, object]) -> Worth:
    backend, n = stand.backend, stand.scale.space
    bound = tuple((name, lambda call, w=way: w(backend, call)) for name, way in ways)
    return compared(stand, stand.space, f"acoustic 3-D, order 8, {n}^3", bound)


def coalesced(stand: Stand) -> Worth:
    """Threads of a warp, or the innermost loop of a processor, along z and along x."""
    ways = {
        "gpu": (("threads along z", strided.bind), ("the same along x", naive.bind)),
        "cpu": (("innermost loop along z", loops.strided), ("along x", loops.parallel)),
    }
    return _acoustic(stand, *ways[stand.choice.name])


def registers(stand: Stand) -> Worth:
    """Each number from the caches, from shared memory, from registers."""
    return _acoustic(
        stand,
        ("neighbours from the caches", flat.bind),
        ("a tile in shared memory", tile.bind),
        ("a queue in registers", scalar_queue.bind),
        ("lanes of 16 bytes, no queue", layouts.bind(layouts.NO_QUEUE)),
        ("a queue, and the plane in shared memory", layouts.bind(layouts.TILE)),
    )


def blocks(stand: Stand) -> Worth:
    """All planes to one block."""
    one = layouts.bind(layouts.few_blocks(stand.scale.space))
    return _acoustic(stand, ("all planes to one block", one))


def unrolled(stand: Stand) -> Worth:
    """A loop over coefficients, written out, and spilled registers."""
    return _acoustic(
        stand,
        ("a loop over coefficients", looped.bind),
        ("written out", flat.bind),
        ("registers spilled", layouts.bind(layouts.SPILLED)),
    )


def warps(stand: Stand) -> Worth:
    """Blocks of 24 threads."""
    return _acoustic(stand, ("blocks of 24 threads", layouts.bind(layouts.ODD_THREADS)))


def fused(stand: Stand) -> Worth:
    """A kernel for each component."""
    n = stand.scale.elastic
    interior = Interior(stand.backend, whole("elastic", 3, 4, n))
    way = ("a kernel for each component", lambda call: unfused.bind(stand.backend, call))
    return compared(stand, interior, f"elastic 3-D, order 4, {n}^3", (way,))
