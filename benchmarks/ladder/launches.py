"""Kernels launched one by one by Numba.

What is wrong: each launch takes Numba 16 us or more, to look at its arguments again and lay them
out. A small kernel is done in a fraction of that. (The product lays them out once and launches
through CuPy, or replays whole steps as graphs.)
"""

from __future__ import annotations

from typing import Any

from numba import cuda

from ladder.acoustic import update_of
from ladder.naive import THREADS, Naive
from ladder.stand import Interior, Stand, difference, whole
from ladder.worth import Side, Worth

POINTS = 32  # along each axis: so small that the launch takes longer than the kernel


def by_numba(backend: Any, call: Any) -> Any:
    """Bind the naive kernel to Numba's own launches."""
    u = update_of(call)
    kernel = cuda.jit(Naive(u.box, u.c).write(backend.card))
    configured = kernel[u.box.blocks(THREADS), THREADS]
    arrays = [cuda.as_cuda_array(a, sync=False) for a in u.arrays]
    return lambda: configured(*arrays)


def measure(stand: Stand) -> Worth:
    """Compare launches by Numba, by CuPy, and in graphs."""
    from ladder import naive

    backend = stand.backend
    interior = Interior(backend, whole("acoustic", 3, 8, POINTS))
    steps = interior.steps(lambda call: naive.bind(backend, call))
    replayed = backend.program(steps)
    off = [by_numba(backend, call) for call in interior.calls]
    single = [launch for (group,) in steps for launch in group]

    def one_by_one(launches: list) -> Any:
        def take(first: int, count: int) -> None:
            for step in range(first, first + count):
                launches[step % len(launches)]()

        return take

    ways = (
        ("launched by Numba", one_by_one(off)),
        ("launched through CuPy", one_by_one(single)),
        ("graphs of 16 steps", replayed),
    )
    wanted, sides, apart = interior.answer(replayed), [], 0.0
    for name, take in ways:
        apart = max(apart, difference(_waited(interior, take), wanted))
        spent = stand.seconds(lambda n, take=take: take(0, n), cuda.synchronize)
        sides.append(Side(name, 1e6 * spent))
    return Worth(f"a step of acoustic 3-D, {POINTS}^3", "us", tuple(sides), apart)


def _waited(interior: Interior, take: Any) -> Any:
    """Give the answer of launches on whatever stream."""

    def waited(first: int, count: int) -> None:
        interior.backend.wait()
        take(first, count)
        cuda.synchronize()

    return interior.answer(waited)
