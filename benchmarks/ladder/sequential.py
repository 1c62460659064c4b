"""The largest number of a field by one thread for each plane, the planes' by the host.

What is wrong: a few hundred threads on a card that runs a quarter of a million, each in a loop that
waits for one number after the other. (The product: every thread a share, then halves of a block in
shared memory, then one block.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from ladder.stand import NOISE, Stand
from ladder.worth import Side, Worth

THREADS = 128


@dataclass(frozen=True)
class Sequential:
    """The kernel (planes, plane, field, found): the largest magnitude of each plane."""

    def write(self, tools: Any) -> Callable:
        """Write it."""
        zero = np.float32(0)

        def kernel(planes, plane, field, found):
            z = cuda.grid(1)
            if z < planes:
                largest = zero
                for n in range(z * plane, (z + 1) * plane):
                    largest = max(largest, abs(field[n]))
                found[z] = largest

        return kernel


def search(backend: Any, field: Any, planes: int, plane: int) -> Callable[[], float]:
    """Bind the search."""
    found = backend.array(np.zeros(planes, np.float32))
    launch = backend.card.launch(
        Sequential(), (-(-planes // THREADS), 1, 1), (THREADS, 1, 1),
        (planes, plane, field, found), addresses=False, writes=(found,),
    )  # fmt: skip

    def largest() -> float:
        launch()
        return float(backend.fetch(found).max())

    return largest


def measure(stand: Stand) -> Worth:
    """Compare it with the product's search."""
    backend, n = stand.backend, stand.scale.space
    noise = np.random.default_rng(2).standard_normal(NOISE, np.float32)
    field = backend.zeros(n**3)
    field[: n**3] = backend.array(np.resize(noise, n**3))
    off, start = search(backend, field, n, n * n), backend.largest(field, n * n)
    difference = abs(off() - start()().size) / off()
    return Worth(
        f"the largest of {n}^3 numbers", "ms",
        (
            Side("one thread a plane", 1e3 * seconds(stand, off)),
            Side("halves of a block in shared memory", 1e3 * seconds(stand, lambda: start()())),
        ),
        difference,
    )  # fmt: skip


def seconds(stand: Stand, action: Callable[[], Any]) -> float:
    """Time something that waits for its own end."""

    def take(count: int) -> None:
        for _ in range(count):
            action()

    return stand.seconds(take, stand.backend.wait)
