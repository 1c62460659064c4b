"""How long a run will take: the bytes it moves over what the machine moves a second.

`SHARES` says which share of its backend's bandwidth each equation reaches, layers included
(`seismo bench` measures it): on two cores, and on an H200.
"""

from __future__ import annotations

import numpy as np

from seismo.backends.base import Backend
from seismo.setup import Setup

SHARES = {
    ("acoustic", 2): {"cpu": 0.35, "gpu": 0.60},
    ("acoustic", 3): {"cpu": 0.25, "gpu": 0.60},
    ("acoustic_variable_density", 2): {"cpu": 0.45, "gpu": 0.50},
    ("acoustic_variable_density", 3): {"cpu": 0.30, "gpu": 0.50},
    ("elastic", 2): {"cpu": 0.60, "gpu": 0.55},
    ("elastic", 3): {"cpu": 0.30, "gpu": 0.65},
    ("elastic_sh", 2): {"cpu": 0.45, "gpu": 0.50},
}  # TODO(lead): the GPU's are guesses from the aims of `seismo bench`
STEP_SECONDS = {"cpu": 3e-4, "gpu": 1.5e-5}  # launching and recording, whatever the size


def points_per_second(setup: Setup, backend: Backend) -> float:
    """Estimate the point updates a second on a backend (measures its bandwidth, 0.2 s)."""
    item = np.dtype(setup.scenario.precision).itemsize
    share = SHARES[setup.physics.name, setup.grid.dimensions][backend.name]
    return share * backend.bandwidth() / (setup.physics.numbers_per_point * item)


def seconds(setup: Setup, speed: float, backend: Backend) -> float:
    """Estimate the time of stepping in s at a number of point updates a second."""
    steps = setup.clock.steps + setup.extra_steps
    batches = -(-len(setup.shots) // setup.batch)
    launching = batches * STEP_SECONDS[backend.name]
    return steps * (setup.grid.size * len(setup.shots) / speed + launching)
