"""Placement of a run: how devices share it, and how many of the GPUs it is worth.

They cut the grid between them, or each has the whole grid and some of the shots of a survey, or
there are several grids side by side, each cut between a few devices. What a step of all shots takes
tells which::

    step = largest part / speed + halos / LINK + exchanges * EXCHANGE_SECONDS + launching
    all  = step * batches of shots

Halos and exchanges are those of several devices that share a grid: in each stage that changes
points of others, devices wait for one another. Halos travel while the core is updated, but edges by
themselves take longer, and messages that are packed take room from the core: the time of two and
four H200s is within a tenth of the sum where parts have a million points (`benchmarks/`). Parts are
measured by the costs of their points. A small run is over on the CPU before a GPU has been started.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.shots import Share
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose_all, optional_gpu
from seismo.errors import ScenarioError
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import Box
from seismo.runs.resources import speed
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import (
    HypotheticalRanks,
    MemoryDemand,
    demands,
    field_size,
    fitted,
    prepared,
)
from seismo.scenario import Scenario
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import batched
from seismo.solver.parallel.partition import (
    Partition,
    divide,
    divide_finer,
)

LINK = 2.5e11  # bytes a second from one device to the next (H200s, NVLink)
EXCHANGE_SECONDS = 1e-5  # of latency, each exchange of halos
NEAR = 1.1  # a device more has to make a step shorter by more than this
START = 0.6  # s from the command to the first step that a GPU takes longer than a CPU (an H200)
DOUBT = 4.0  # small runs on 16 threads took up to 3.2 times the estimate: in doubt, a GPU is taken
SMALL = 1 << 20  # points of a grid whose earth is looked at before anybody looks for a GPU


def step_seconds(
    discretization: Discretization, backend: Backend, rate: float, division: Partition
) -> float:
    """Estimate the time of a step on devices.

    Args:
        discretization: the run.
        backend: of a device.
        rate: point updates a second of a device.
        division: of the grid among them.
    """
    computing = division.largest * discretization.points * discretization.each / rate
    if len(division.subdomains) == 1:
        return computing
    exchanging = _exchange_seconds(discretization, backend, division)
    if discretization.above is not None:
        above = divide_finer(discretization.above, backend, division)
        exchanging += _exchange_seconds(discretization.above, backend, above)
    return computing + exchanging


def _exchange_seconds(
    discretization: Discretization, backend: Backend, division: Partition
) -> float:
    """Estimate the time that halos of a grid take in a step."""
    exchanged = [
        (stage, discretization.reached(stage))
        for stage in discretization.physics.stages
        if stage.writes
    ]
    numbers = discretization.each * max(
        sum(len(stage.writes) * _edges(subdomain, box) for stage, box in exchanged)
        for subdomain in division.subdomains
    )
    exchanges = sum(box.size > 0 for _, box in exchanged)
    bytes_ = numbers * np.dtype(backend.precision).itemsize
    return bytes_ / LINK + exchanges * EXCHANGE_SECONDS


def _edges(subdomain: Subdomain, changed: Box) -> int:
    return sum((box & changed).size for box in subdomain.edges_and_core()[0])


@dataclass(frozen=True)
class PlacementOption:
    """One way to share a run between devices.

    Attributes:
        discretization: the run so shared.
        seconds: expected time of a step of all shots.
        lack: a memory that is too small for it, None where it fits.
    """

    discretization: Discretization
    seconds: float
    lack: MemoryDemand | None

    @property
    def order(self) -> tuple[float, float]:
        """Less for a better option: first by the memory that it lacks, then by time."""
        return (self.lack.need if self.lack else 0, self.seconds)


def place_run(
    discretization: Discretization,
    backend: Backend,
    ranks: SerialCommunicator,
    batch: int | None = None,
) -> tuple[Discretization, str]:
    """Choose how many grids stand side by side on ranks, and how many shots on them.

    Args:
        discretization: the run.
        backend: of a rank.
        ranks: that share it.
        batch: shots that advance together, where that is no longer open.

    Returns:
        The run so shared; and why so, where there was a choice.

    Raises:
        ScenarioError: it cannot be shared as the scenario says.
    """
    counts = grids_of(discretization.scenario, ranks.count, batch or len(discretization.shots))
    if len(counts) > 1:
        rate = speed.points_per_second(discretization, backend)
        options = _placement_options(discretization, backend, rate, ranks, batch)
        if options:
            best = min(options, key=lambda way: way.order)
            return best.discretization, _reason(best, options, ranks.count)
    placed = _on_grids(discretization, backend, ranks, counts[0], batch)
    if (
        counts[0] > 1
        and _wanted(discretization.scenario) == "shots"
        and (lack := _lack(placed, backend, ranks))
    ):
        raise discretization.scenario.mistake(
            "survey", "spread", problem=f"{lack}; use auto, or grid"
        )
    return placed, ""


def _wanted(scenario: Scenario) -> str:
    return "grid" if scenario.survey is None else scenario.survey.spread


def grids_of(scenario: Scenario, ranks: int, shots: int) -> list[int]:
    """List how many grids a scenario lets stand side by side.

    Raises:
        ScenarioError: it spreads shots, and there are fewer than ranks.
    """
    wanted = _wanted(scenario)
    decomposition = scenario.grid.decomposition
    if wanted == "shots" and shots < ranks:
        problem = f"{shots} at a time for {ranks} ranks; use at most {shots}, or auto, or grid"
        raise scenario.mistake("survey", "spread", problem=problem)
    if wanted == "auto" and decomposition != "auto":  # a rank for each part
        grids, unused = divmod(ranks, math.prod(decomposition))
        return [1 if unused or grids > shots else grids]
    every = [n for n in range(1, ranks + 1) if ranks % n == 0 and n <= shots]
    return {"auto": every, "shots": [ranks], "grid": [1]}[wanted]


def _on_grids(
    discretization: Discretization,
    backend: Backend,
    ranks: SerialCommunicator,
    grids: int,
    batch: int | None,
) -> Discretization:
    """Let grids stand side by side, with as many shots as fit if that is open."""
    if batch is not None:
        return discretization.sharing(batch, grids)
    return fitted(batched(discretization, backend.batch_points, grids), backend, ranks)


def _lack(
    discretization: Discretization, backend: Backend, ranks: SerialCommunicator
) -> MemoryDemand | None:
    needs = demands(memory_of(discretization, backend), backend, ranks)
    return next((need for need in needs if not need.fits), None)


def _placement_options(
    discretization: Discretization,
    backend: Backend,
    rate: float,
    ranks: SerialCommunicator,
    batch: int | None = None,
) -> list[PlacementOption]:
    """List the ways in which the grid can be cut."""
    options = []
    for grids in grids_of(discretization.scenario, ranks.count, batch or len(discretization.shots)):
        placed = _on_grids(discretization, backend, ranks, grids, batch)
        try:
            division = divide(placed, backend, ranks)
        except ScenarioError:
            continue
        step = step_seconds(placed, backend, rate, division) + speed.STEP_SECONDS[backend.name]
        seconds = step * math.ceil(len(placed.shots) / placed.batch)
        options.append(PlacementOption(placed, seconds, _lack(placed, backend, ranks)))
    return options


def _reason(best: PlacementOption, options: list[PlacementOption], ranks: int) -> str:
    """Describe how ranks share a survey, and the times of the other ways."""
    grids = best.discretization.grids
    shots = len(best.discretization.shots)
    how = f"shots are spread over {grids} grids on" if grids > 1 else "the grid is cut between"
    times = ", ".join(
        f"{with_unit(way.seconds, 's')} on {way.discretization.grids}"
        f"{' (too large)' * bool(way.lack)}"
        for way in options
    )
    expected = f"a step of all {shots} shots is expected to take, by the number of grids, {times}"
    return f"{how} {ranks} ranks: {expected}"


def worth_taking(discretization: Discretization, backend: Backend, most: int) -> tuple[int, str]:
    """Return the number of devices that a run is worth, of so many, and say why."""
    rate = speed.points_per_second(discretization, backend)
    fastest: dict[int, float] = {}
    for count in range(1, most + 1):
        with contextlib.suppress(ScenarioError):  # there are fewer shots
            options = _placement_options(discretization, backend, rate, HypotheticalRanks(count))
            if fitting := [option.seconds for option in options if not option.lack]:
                fastest[count] = min(fitting)
    if not fastest:
        return 1, ""
    best = min(fastest.values())
    chosen = min(count for count, seconds in fastest.items() if seconds <= NEAR * best)
    shown = [n for n in sorted({1, chosen, most}) if n in fastest]
    times = ", ".join(f"{with_unit(fastest[n], 's')} on {n}" for n in shown)
    all_of_them = f" of all {len(discretization.shots)} shots" * (len(discretization.shots) > 1)
    return chosen, (
        f"takes {chosen} of {most} GPUs: a step{all_of_them} is expected to take {times}"
    )


def reason_for_cpu(discretization: Discretization, backend: Backend, card: str) -> str:
    """Explain why a run is sooner done on the CPU than on a GPU; nothing where it may not be.

    Args:
        discretization: the run.
        backend: the CPU.
        card: name of the GPU.
    """
    processor = speed.RooflineMachine(backend.name, backend.describe())
    most = DOUBT * speed.seconds(
        discretization, speed.points_per_second(discretization, processor), processor
    )
    at_once = discretization.sharing(len(discretization.shots), discretization.grids)
    accelerator = speed.RooflineMachine("gpu")
    if most > START + speed.seconds(at_once, math.inf, accelerator):
        return ""
    return (
        f"so small a run takes it {with_unit(most, 's')} at most, and {card} {START:g} s to "
        "start (--backend gpu takes that)"
    )


def select_backends(
    scenario: Scenario,
    backend: str = "auto",
    device: int | None = None,
    count: Any = None,
    threads: int | None = None,
    ranks: SerialCommunicator | None = None,
    share: Share | None = None,
) -> tuple[list[BackendChoice], str, Discretization | None]:
    """Choose where a scenario runs; return the reason, and a discretization if that was needed.

    Args:
        scenario: a checked scenario.
        backend: see `choose_all`; "auto" takes the CPU for small runs where it may choose.
        device: see `choose_all`.
        count: of GPUs, see `choose_all`; "auto" takes as many as help.
        threads: see `choose_all`.
        ranks: see `choose_all`.
        share: of the shots, all when None.

    Raises:
        DeviceError: a wanted device is not there, or cannot be used.
        ScenarioError: the scenario cannot be run as written.
    """
    known = None
    card = optional_gpu(count, backend, device, threads, ranks)
    if card and not scenario.in_16_bits and field_size(scenario) <= SMALL:
        on_cpu = choose_all(None, "cpu")
        first = on_cpu[0].make(scenario.precision)
        known = prepared(scenario, first, share=share)
        if why := reason_for_cpu(known, first, card):
            return on_cpu, why, known
    choices = choose_all(count, backend, device, threads, ranks)
    if count != "auto" or choices[0].together is None:
        return choices, "", known
    first = choices[0].make(scenario.precision)
    known = prepared(scenario, first, share=share, known=known)
    enough, why = worth_taking(known, first, len(choices))
    return choose_all(enough, backend, device, threads, ranks), why, known
