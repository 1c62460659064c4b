"""Largest values of the ground motion, kept by the host.

What is wrong: the surface comes to the host after each step, to be compared there. The host waits
for the card and the card for the host, each step, so that graphs of steps are of no use either.
"""

from __future__ import annotations

import numpy as np

from ladder.stand import Stand, difference, layered, simulate
from ladder.worth import Side, Worth

STEPS = 128


def measure(stand: Stand) -> Worth:
    """Compare it with maps on the device."""
    n = stand.scale.elastic
    document = layered("acoustic", 3, 8, n)
    plane = {
        "name": "plane",
        "quantities": ["p"],
        "plane": {"z": document["sources"][0]["position"]["z"]},
    }
    kept = document | {"output": {"maps": [plane]}}
    with_map, without = (simulate(stand.backend, d, STEPS) for d in (kept, document))
    inside = without.discretization.grid.extent
    (x0, y0, z0), (x1, y1, _) = inside.lo, inside.hi
    deep = z0 + n // 2
    peaks = np.zeros((y1 - y0, x1 - x0), np.float32)

    def on_the_host(count: int) -> None:
        for _ in range(count):
            without.step = 0
            for _ in range(STEPS):
                without.advance(1)
                (_, view), *_ = without.views("p")
                np.maximum(peaks, np.abs(view[0, deep, y0:y1, x0:x1]), out=peaks)

    def on_the_device(count: int) -> None:
        for _ in range(count):
            with_map.step = 0
            with_map.advance(STEPS)

    on_the_host(1)
    on_the_device(1)
    (found,), wanted = with_map.maps.peaks(0).values(), peaks.copy()
    wait = stand.backend.wait
    sides = (
        Side("fetched each step", 1e3 * stand.seconds(on_the_host, wait)),
        Side("kept on the device", 1e3 * stand.seconds(on_the_device, wait)),
    )
    scenario = f"{STEPS} steps of acoustic 3-D, order 8, {n}^3, largest |p| of a plane"
    return Worth(scenario, "ms", sides, difference(found.ravel(), wanted.ravel()))
