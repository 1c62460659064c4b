"""Memory and time that plane waves take."""

from __future__ import annotations

import numpy as np

from seismo.features.plane_waves.terms import incident_size
from seismo.grid.decomposition import Subdomain
from seismo.runs.resources.memory import FeatureMemory
from seismo.runs.resources.speed import Machine
from seismo.solver.discretization import Discretization

INCIDENT_NANOSECONDS: dict[str, dict[str, float]] = {
    "cpu": {"points": 2.5, "signals": 2.2},
    "gpu": {},
}  # fmt: skip
# Numbers moved for each: its field twice, signal, scale and two indices; signal and samples.
INCIDENT_NUMBERS = {"points": 7.0, "signals": 2.0}


def memory(
    discretization: Discretization, subdomain: Subdomain, plane_size: int, item: int
) -> FeatureMemory:
    """Count the bytes of points, signals and filters, with numbers of `item` bytes."""
    return FeatureMemory(sources=incident_size(discretization).nbytes(item))


def incident_seconds(discretization: Discretization, backend: Machine) -> float:
    """Estimate the time in s that adding plane waves about their boxes takes."""
    size = incident_size(discretization)
    threads = int(backend.describe().get("threads", 1))
    number = np.dtype(discretization.scenario.arithmetic).itemsize / backend.bandwidth()
    counts = {"points": size.points, "signals": size.signals}
    known = INCIDENT_NANOSECONDS[backend.name]
    step = sum(
        count * max(INCIDENT_NUMBERS[kind] * number, known.get(kind, 0.0) * 1e-9 / threads)
        for kind, count in counts.items()
    )
    return step * discretization.total_steps
