"""Placement of a run: how devices share it, and how many of the GPUs it is worth.

They cut the grid between them, or each has the whole grid and a share of the shots of a survey, or
there are several grids side by side, each cut between a few devices. The time of a step of
all shots tells which::

    step = largest part / speed + halos / LINK + exchanges * EXCHANGE_SECONDS + launching
    all  = step * batches of shots

Halos and exchanges occur where several devices share a grid: in each stage that changes
points of others, devices wait for each other. Halos travel while the core is updated, but edges by
themselves take longer, and messages that are packed take room from the core: the time of two and
four H200s is within a tenth of the sum where parts have a million points (`benchmarks/`). Parts are
measured by the costs of their points. A small run is over on the CPU before a GPU has been started.

`FeasibleRanks` are known from the grid, before the earth is sampled. A grid is cut along z and y
independently: a number of ranks is feasible if it is a product of parts along both. Rows next to a
free surface and to contacts of fluid and solid are not cut, which depends on the earth: parts of a
few rows may be refused later.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.geometry import Geometry
from seismo.acquisition.sources import Share, evenly
from seismo.backends import machine
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, choose_all, optional_gpu
from seismo.equations.framework.registry import physics_for
from seismo.errors import InsufficientMemoryError, ScenarioError
from seismo.features import acting
from seismo.grid.decomposition import Subdomain, decompose
from seismo.grid.grid import Box, Grid
from seismo.runs.resources import speed
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import HOST, HypotheticalRanks, MemoryDemand, demands
from seismo.scenario import Scenario
from seismo.scenario.units import with_unit
from seismo.solver.accuracy.stencil import AUTO_ORDERS
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import batched, discretize
from seismo.solver.grid_layout import (
    ground_over,
    halo_of,
    image_faces,
    levels_of,
    make_grid,
    settled,
)
from seismo.solver.parallel.partition import Partition, divide, divide_finer, never_cut_axes

LINK = 2.5e11  # bytes a second between devices (H200s, NVLink)
EXCHANGE_SECONDS = 1e-5  # of latency, each exchange of halos
NEAR = 1.1  # a device more has to make a step shorter by more than this
START = 0.6  # s from the command to the first step that a GPU takes longer than a CPU (an H200)
DOUBT = 4.0  # small runs on 16 threads took up to 3.2 times the estimate: in doubt, a GPU is taken
SMALL = 1 << 20  # points of a grid whose earth is looked at before anybody looks for a GPU


class UnplacedRun:
    """A run whose devices are open. It is discretized once: for the choice of these, or after it.

    Attributes:
        scenario: checked.
        share: of the shots, all when None.
        known: its discretization, None before it is asked for.
    """

    def __init__(self, scenario: Scenario, share: Share | None = None) -> None:
        """Keep the scenario."""
        self.scenario = scenario
        self.share = share
        self.known: Discretization | None = None

    def discretized(
        self, backend: Backend, ranks: SerialCommunicator | None = None
    ) -> Discretization:
        """Return the discretization, which has as many shots together as suit the first to ask.

        Args:
            backend: of a device that it may run on.
            ranks: that share it.

        Raises:
            InsufficientMemoryError: a field is larger than all memory. It is raised before the
                earth is sampled, which takes long on such a grid.
            ScenarioError: it cannot be run as written.
        """
        self._refuse_large_fields(backend, ranks.count if ranks else 1)
        if self.known is None:
            self.known = discretize(self.scenario, backend.batch_points, self.share)
        return self.known

    def _refuse_large_fields(self, backend: Backend, ranks: int) -> None:
        scenario = self.scenario
        where, free = _largest_memory(backend)
        field = self.field_size * np.dtype(scenario.arithmetic).itemsize
        if free is not None and field > free * ranks:
            location = scenario.where("grid", "extent")
            points = " x ".join(str(n) for n in make_grid(scenario).points if n > 1)
            raise InsufficientMemoryError(
                f"{location}{': ' * bool(location)}grid.extent: one field of {points} points takes "
                f"{with_unit(field, 'B')}, {with_unit(free, 'B')} are free on {where}; check the "
                "unit, or use a coarser grid.spacing"
            )

    @property
    def field_size(self) -> int:
        """The numbers of a field on all grids.

        A feature that makes several grids counts them by the hook `field_size`.
        """
        for count in acting("field_size", self.scenario):
            return int(count(self.scenario))
        return make_grid(self.scenario).size


def _largest_memory(backend: Backend) -> tuple[str, int | None]:
    """Name the larger of a device's own memory and the host's, and give its free bytes."""
    host = machine.available_memory()
    device_free = backend.free_memory()
    if device_free is None or host is None or host >= device_free:
        return HOST, host
    return str(backend.describe()["device"]), device_free


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
    """A way to share a run between devices.

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
    placed = batched(discretization, backend.batch_points, grids)
    survey = discretization.scenario.survey
    most = placed.each
    if survey is None or survey.batch != "auto" or most == 1:
        return placed
    # Memory grows evenly with the shots on each grid: two counts tell all.
    needs = [
        demands(memory_of(placed.sharing(n, grids), backend), backend, ranks)
        for n in (grids, most * grids)
    ]
    fitting = most
    for least, largest in zip(*needs, strict=True):
        each = max(1, (largest.need - least.need) // (most - 1))
        if least.have is not None:
            fitting = min(fitting, 1 + max(0, least.have - least.need) // each)
    return placed.sharing(evenly(len(placed.shots), fitting, grids), grids)


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
    run: UnplacedRun,
    backend: str = "auto",
    device: int | None = None,
    count: Any = None,
    threads: int | None = None,
    ranks: SerialCommunicator | None = None,
) -> tuple[list[BackendChoice], str]:
    """Choose where a run goes, and return the reason where there was a choice.

    Args:
        run: of a checked scenario; it is discretized where the choice needs that.
        backend: see `choose_all`; "auto" takes the CPU for small runs where it may choose.
        device: see `choose_all`.
        count: of GPUs, see `choose_all`; "auto" takes as many as help.
        threads: see `choose_all`.
        ranks: see `choose_all`.

    Raises:
        DeviceError: a wanted device is not there, or cannot be used.
        ScenarioError: the scenario cannot be run as written.
    """
    precision = run.scenario.precision
    card = optional_gpu(count, backend, device, threads, ranks)
    if card and not run.scenario.in_16_bits and run.field_size <= SMALL:
        on_cpu = choose_all(None, "cpu")
        first = on_cpu[0].make(precision)
        if why := reason_for_cpu(run.discretized(first), first, card):
            return on_cpu, why
    choices = choose_all(count, backend, device, threads, ranks)
    if count != "auto" or choices[0].together is None:
        return choices, ""
    first = choices[0].make(precision)
    enough, why = worth_taking(run.discretized(first), first, len(choices))
    return choose_all(enough, backend, device, threads, ranks), why


class FeasibleRanks:
    """The numbers of ranks that can share a run.

    Attributes:
        points: of the grid, in words.
        shots: of the survey.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Find out how often its grid can be cut.

        Raises:
            ScenarioError: a position in it will not do.
        """
        self._scenario = scenario = settled(scenario)
        region = make_grid(scenario)
        topography = ground_over(scenario, region)
        slopes = topography is not None
        name = scenario.equation.name
        physics = physics_for(name, region.dimensions, scenario.options, slopes)
        # Of two grids the coarser is cut, and the finer with it.
        refined = bool(scenario.grid.planes)
        grid = levels_of(scenario)[1].grid if refined else region
        uncut_axes = never_cut_axes(image_faces(scenario.boundaries, grid, physics), refined)
        halo = _widest_halo(scenario, slopes)
        # Rows that follow the ground, and the rows that they read.
        uncut = frozenset(range(topography.rows + 2 * halo) if topography else ())
        z, y = (1 if axis in uncut_axes else _most(grid, axis, halo, uncut) for axis in "zy")
        self._most = (z, y)
        self.shots = len(Geometry(scenario, region, topography).shots())
        self.points = " x ".join(str(n) for n in region.points if n > 1)

    def suits(self, ranks: int) -> bool:
        """Whether there is a way for so many to share it."""
        try:
            grids = grids_of(self._scenario, ranks, self.shots)
        except ScenarioError:
            return False
        return any(self._is_cut(ranks // n) for n in grids)

    def most(self, ranks: int) -> int:
        """Return the largest number of ranks that can share it, up to so many."""
        ranks = min(ranks, self.shots * math.prod(self._most))
        return next(n for n in range(ranks, 0, -1) if n == 1 or self.suits(n))

    def _is_cut(self, ranks: int) -> bool:
        """Whether a grid has a part for each rank of a group."""
        z, y = self._most
        decomposition = self._scenario.grid.decomposition
        if decomposition != "auto":
            return (
                decomposition[0] <= z
                and decomposition[1] <= y
                and math.prod(decomposition) >= ranks
            )
        return any(ranks % n == 0 and ranks // n <= y for n in range(1, z + 1))


def _most(grid: Grid, axis: str, halo: int, uncut: frozenset[int]) -> int:
    """Return the most parts along an axis, of rows that may be uncut."""
    for number in itertools.count(2):
        try:
            decompose(grid, halo, (number, 1) if axis == "z" else (1, number), uncut=uncut)
        except ScenarioError:
            break
    return number - 1


def _widest_halo(scenario: Scenario, curved: bool) -> int:
    """Return the points that parts hold of their neighbours, at most where the order is open."""
    order = scenario.grid.order
    return halo_of(scenario, max(AUTO_ORDERS) if order == "auto" else order, curved)
