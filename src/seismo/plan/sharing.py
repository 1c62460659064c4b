"""How many GPUs a run is worth: none, one, or several that share the grid.

    step = max(largest part / speed, halos / LINK) + stages * MEETING

The last two terms are for several devices: halos travel while the core is updated, and in each
stage devices wait for one another. Parts are measured by what their points cost. A small run is
over on the CPU before a GPU has been started.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.backends.base import Backend
from seismo.backends.choice import Choice, choose_all, optional_gpu
from seismo.decomposition import Division, Subdomain, cost
from seismo.errors import ScenarioError
from seismo.output.quantities import with_unit
from seismo.plan import speed
from seismo.plan.memory import memory_of
from seismo.plan.room import Several, fewest, prepared
from seismo.ranks import Alone
from seismo.setup import Setup, make_grid
from seismo.simulation import divide
from seismo.survey import Share

LINK = 2.5e11  # bytes a second from one device to the next (two H200s, NVLink)
MEETING = 1e-5  # s; there it was half of that
NEAR = 1.1  # a device more has to make a step shorter by more than this
START = 0.6  # s from the command to the first step that a GPU takes longer than a CPU (an H200)
DOUBT = 4.0  # small runs on 16 threads took up to 3.2 times the estimate: in doubt, a GPU is taken
SMALL = 1 << 20  # points of a grid whose earth is looked at before anybody looks for a GPU


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
    for count in range(fewest(memory_of(setup, backend), backend, most) or most, most + 1):
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


def spared(setup: Setup, backend: Backend, card: str) -> str:
    """Say why a run is sooner done on the CPU than on a GPU; nothing where it may not be.

    Args:
        setup: what to run.
        backend: the CPU.
        card: name of the GPU.
    """
    here = speed.Ideal(backend.name, backend.describe())
    most = DOUBT * speed.seconds(setup, speed.points_per_second(setup, here), here)
    at_once, there = replace(setup, batch=len(setup.shots)), speed.Ideal("gpu")
    if most > START + speed.seconds(at_once, math.inf, there):
        return ""
    return (
        f"so small a run takes it {with_unit(most, 's')} at most, and {card} {START:g} s to "
        "start (--backend gpu takes that)"
    )


def chosen(
    scenario: Any,
    backend: str = "auto",
    device: int | None = None,
    count: Any = None,
    threads: int | None = None,
    ranks: Alone | None = None,
    share: Share | None = None,
) -> tuple[list[Choice], str, Setup | None]:
    """Choose where a scenario runs, say why where that is not plain, and give what it took to know.

    Args:
        scenario: a checked scenario.
        backend: see `choose_all`; "auto" takes the CPU for small runs where it may choose.
        device: see `choose_all`.
        count: of GPUs, see `choose_all`; "auto" takes as many as help.
        threads: see `choose_all`.
        ranks: see `choose_all`.
        share: of the shots, all when None.

    Raises:
        DeviceError: what is wanted is not there, or cannot be used.
        ScenarioError: the scenario cannot be run as written.
    """
    known, card = None, optional_gpu(count, backend, device, threads, ranks)
    if card and make_grid(scenario).size <= SMALL:
        own = choose_all(None, "cpu")
        first = own[0].make(scenario.precision)
        known = prepared(scenario, first, share=share)
        if why := spared(known, first, card):
            return own, why, known
    choices = choose_all(count, backend, device, threads, ranks)
    if count != "auto" or choices[0].together is None:
        return choices, "", known
    first = choices[0].make(scenario.precision)
    known = prepared(scenario, first, share=share, known=known)
    enough, why = worth_taking(known, first, len(choices))
    return choose_all(enough, backend, device, threads, ranks), why, known
