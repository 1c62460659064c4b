"""Sources that share cells add to the wavefield by atomic operations, a thread for each addend.

What is wrong: nothing with the sum, but its order changes from run to run, and with it the last
bits; and adders to one cell wait for one another. Without the atomic operation addends are lost.
(The product: a thread for each cell, which adds its sources up in their order.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from ladder.stand import Stand, difference
from ladder.worth import Side, Worth
from seismo.backends.base import Group
from seismo.backends.point_kernels import amount, inject

THREADS = 128
REACH = 8  # cells along an axis that a source between the nodes acts on
SIDE = 64  # cells along an axis, of the field
PATCH = 16  # and of where the sources are


@dataclass(frozen=True)
class Atomic:
    """The kernel (count, field, cells, weights, signals, samples, clock)."""

    def write(self, tools: Any) -> Callable:
        """Write it."""

        def kernel(count, field, cells, weights, signals, samples, clock):
            n = cuda.grid(1)
            if n < count:
                value = weights[n] * samples[signals[n], clock[0]]
                cuda.atomic.add(field, cells[n], value)

        return kernel


def sources(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give what sources in a small patch add: cells, weights, numbers of sources; by cell."""
    random = np.random.default_rng(4)
    corners = random.integers(0, PATCH, (count, 3))
    steps = np.stack(np.meshgrid(*[np.arange(REACH)] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = corners[:, None, :] + steps
    cells = ((places[..., 2] * SIDE + places[..., 1]) * SIDE + places[..., 0]).ravel()
    signals = np.repeat(np.arange(count), len(steps))
    order = np.argsort(cells, kind="stable")
    weights = random.standard_normal(cells.size).astype(np.float32)
    return cells[order], weights[order], signals[order]


def measure(stand: Stand) -> Worth:
    """Compare it with the product's injection."""
    backend, count = stand.backend, 32 * stand.scale.shots
    cells, weights, signals = sources(count)
    samples = np.random.default_rng(5).standard_normal((count, 4)).astype(np.float32)
    own, starts = np.unique(cells, return_index=True)
    clock = backend.array(np.zeros(1, np.int64))  # stays at the first sample
    shared = [backend.array(a) for a in (weights, signals, samples)]
    fields = [backend.array(np.zeros(SIDE**3, np.float32)) for _ in range(2)]
    off = backend.card.launch(
        Atomic(), (-(-cells.size // THREADS), 1, 1), (THREADS, 1, 1),
        (cells.size, fields[0], backend.array(cells), *shared, clock), addresses=False,
        writes=(fields[0],),
    )  # fmt: skip
    ends = backend.array(np.append(starts, cells.size))
    due = backend.array(np.zeros(own.size, np.int64)), backend.array(np.zeros(own.size, np.float32))
    begins, acting = (backend.array(np.array(n, np.int64)) for n in ([0] * count, [0, 1]))
    weights, signals, samples = shared
    sums = (
        backend.array(own), ends, weights, signals, begins, samples, acting, clock, *due,
    )  # fmt: skip
    on = [
        backend.each(amount, own.size, sums, (8, 9)),
        backend.each(inject, own.size, (fields[1], *due), (0,)),
    ]
    takes = [backend.program(([Group([one]) for one in some],)) for some in ([off], on)]
    for take in takes:
        take(0, 1)
    apart = difference(*(backend.fetch(field) for field in fields))
    names = ("atomic additions", "a thread for each cell")
    sides = tuple(
        Side(name, 1e6 * stand.seconds(lambda n, take=take: take(0, n), backend.wait))
        for name, take in zip(names, takes, strict=True)
    )
    scenario = f"{count} sources, {cells.size:,} addends to {own.size:,} cells"
    said = (
        "of the product's two launches the longer one, which adds up, runs beside the stage before"
    )
    return Worth(scenario, "us", sides, apart, said=said)
