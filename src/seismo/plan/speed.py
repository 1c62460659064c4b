"""How long a run will take: the bytes it moves over what this machine moves a second.

`SHARES` says which share of the bandwidth of `seismo.machine` each equation reaches, layers
included, on two cores (`seismo bench` measures it).
"""

from __future__ import annotations

import numpy as np

from seismo import machine
from seismo.setup import Setup

SHARES = {
    ("acoustic", 2): 0.35,
    ("acoustic", 3): 0.25,
    ("acoustic_variable_density", 2): 0.45,
    ("acoustic_variable_density", 3): 0.30,
    ("elastic", 2): 0.60,
    ("elastic", 3): 0.30,
    ("elastic_sh", 2): 0.45,
}
STEP_SECONDS = 3e-4  # launching and recording, whatever the size


def points_per_second(setup: Setup, threads: int | None = None) -> float:
    """Estimate the point updates a second on this machine (measures its bandwidth, 0.2 s)."""
    item = np.dtype(setup.scenario.precision).itemsize
    share = SHARES[setup.physics.name, setup.grid.dimensions]
    return share * machine.bandwidth(threads) / (setup.physics.numbers_per_point * item)


def seconds(setup: Setup, speed: float) -> float:
    """Estimate the time of stepping in s at a number of point updates a second."""
    steps = setup.clock.steps + setup.extra_steps
    batches = -(-len(setup.shots) // setup.batch)
    return steps * (setup.grid.size * len(setup.shots) / speed + batches * STEP_SECONDS)
