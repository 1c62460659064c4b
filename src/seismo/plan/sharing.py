"""How many devices a run is worth: what a step takes on one, and on several that share the grid.

    step = max(largest part / speed, halos / LINK) + stages * MEETING

The last two terms are for several devices: halos travel while the core is updated, and in each
stage devices wait for one another. Parts are measured by what their points cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.choice import Choice
from seismo.decomposition import Division, Subdomain, cost
from seismo.errors import ScenarioError
from seismo.output.quantities import with_unit
from seismo.plan import speed
from seismo.plan.memory import memory_of
from seismo.plan.room import Several, fewest, prepared
from seismo.setup import Setup
from seismo.simulation import divide
from seismo.survey import Share

LINK = 2.5e11  # bytes a second from one device to the next (two H200s, NVLink)
MEETING = 1e-5  # s; there it was half of that
NEAR = 1.1  # a device more has to make a step shorter by more than this


def step_seconds(setup: Setup, backend: Backend, rate: float, division: Division) -> float:
    """Estimate the time of a step on some devices.

    Args:
        setup: what to run.
        backend: one of them.
        rate: point updates a second of one.
        division: of the grid among them.
    """
    subdomains, stages = division.subdomains, setup.physics.stages
    whole = cost(setup.grid, setup.grid.box)
    largest = max(cost(setup.grid, s.owned) for s in subdomains) / whole
    computing = largest * setup.grid.size * setup.batch / rate
    if len(subdomains) == 1:
        return computing
    numbers = sum(len(stage.writes) for stage in stages) * setup.batch
    bytes_ = max(map(_halo, subdomains)) * numbers * np.dtype(backend.precision).itemsize
    return max(computing, bytes_ / LINK) + len(stages) * MEETING


def _halo(subdomain: Subdomain) -> int:
    return sum(box.size for box in subdomain.edges_and_core()[0])


def worth_taking(setup: Setup, backend: Backend, most: int) -> tuple[int, str]:
    """Give the number of devices that a run is worth, of so many, and say why."""
    rate = speed.points_per_second(setup, backend)
    found: dict[int, float] = {}
    for count in range(
        fewest(memory_of(setup, backend.lane_width), backend, most) or most, most + 1
    ):
        try:
            division = divide(setup, backend.lane_width, Several(count))
            found[count] = step_seconds(setup, backend, rate, division)
        except ScenarioError:  # it cannot be cut so
            continue
    if not found:
        return 1, ""
    best = min(found.values())
    chosen = min(count for count, seconds in found.items() if seconds <= NEAR * best)
    shown = [n for n in sorted({1, chosen, most}) if n in found]
    times = ", ".join(f"{with_unit(found[n], 's')} on {n}" for n in shown)
    return chosen, f"takes {chosen} of {most} GPUs: a step is expected to take {times}"


def enough(
    choose: Callable[[Any], list[Choice]], wanted: Any, scenario: Any, share: Share | None = None
) -> tuple[list[Choice], str]:
    """Choose as many devices as are wanted, or as help where that is "auto", and say why."""
    choices = choose(wanted)
    if wanted != "auto":
        return choices, ""
    backend = choices[0].make(scenario.precision)
    setup = prepared(scenario, backend, share=share)
    count, note = worth_taking(setup, backend, len(choices))
    return choose(count), note
