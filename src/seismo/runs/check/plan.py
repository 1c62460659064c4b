"""The plan of a run: its size, cost and expected error, known before a step is taken."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Literal

from seismo.backends.select import BackendChoice, choose
from seismo.errors import InsufficientMemoryError, ScenarioError, SeismoError, StorageError
from seismo.features import giving
from seismo.output.run_directory import HiddenFile
from seismo.output.run_results import results_target
from seismo.runs.check import load_placed
from seismo.runs.check.budget import Budget, read_budget
from seismo.runs.check.planned_run import PlannedRun, described
from seismo.runs.resources import speed
from seismo.runs.resources.memory import memory_of, output_of
from seismo.runs.resources.memory_fit import (
    HypotheticalRanks,
    MemoryDemand,
    demands,
    lack_of_disk,
)
from seismo.runs.resources.placement import (
    UnplacedRun,
    place_run,
    select_backends,
    step_seconds,
)
from seismo.scenario import Scenario, ScenarioInput
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.partition import divide

__all__ = ["Plan", "check", "make_plan"]


PAGE = 100  # characters of a table's line


@dataclass(frozen=True, repr=False)
class Plan(PlannedRun):
    """The plan of a run, which prints as the page of `seismo check`."""

    def __str__(self) -> str:
        """The page that `seismo check` prints."""
        from rich.console import Console

        from seismo.runs.check.report import print_plan

        page = io.StringIO()
        print_plan(self, Console(file=page, width=PAGE))
        return page.getvalue().rstrip()

    def __repr__(self) -> str:
        """Name the plan, its grid and its expected error in a line."""
        discretization = self.discretization
        size = " x ".join(str(n) for n in described(discretization)["points"].values())
        count = len(self.warnings)
        return (
            f"<Plan {discretization.scenario.title!r}: {size} points, "
            f"{discretization.clock.steps} steps, expected trace error {self.expected}, "
            f"{count} warning{'s' * (count != 1)}>"
        )

    def _repr_html_(self) -> str:
        """Return the page as notebooks show it."""
        return f"<pre>{escape(str(self))}</pre>"


def check(
    scenario: ScenarioInput,
    *,
    backend: str = "auto",
    device: int | None = None,
    gpus: int | Literal["auto"] | None = None,
    accuracy: str | float | None = None,
    prices: bool = False,
    within: str | float | None = None,
    memory: str | float | None = None,
) -> Plan:
    """Plan a run as `seismo check` does; the plan prints as its page.

    Args:
        scenario: a scenario, the same as nested dicts, or the path of its YAML file.
        backend: see `seismo.run`.
        device: see `seismo.run`.
        gpus: see `seismo.run`.
        accuracy: see `seismo.run`.
        prices: whether the page lists grids for other errors, too, and what they take.
        within: time that the run may take; the grid of the least error in that is planned.
        memory: that it may take, in bytes or as "70 GB"; likewise.

    Raises:
        ScenarioError: with every mistake, in `messages`; or no grid keeps to time and memory.
        DeviceError: there is no such backend or device, or it cannot be used.
        InsufficientMemoryError: a field is larger than all memory.
    """
    budget = read_budget(within, memory)
    return plan_on((backend, device, gpus), scenario, accuracy, prices, budget)[0]


Devices = tuple[str, int | None, int | Literal["auto"] | None]


def plan_on(
    devices: Devices, source: ScenarioInput, accuracy: str | float | None = None,
    prices: bool = False, budget: Budget | None = None,
) -> tuple[Plan, str]:  # fmt: skip
    """Plan a run on devices, and explain their choice where there was any.

    Args:
        devices: backend, device and GPUs, see `seismo.run`.
        source: see `check`.
        accuracy: see `check`.
        prices: see `check`.
        budget: see `check`.

    Raises:
        SeismoError: as `check` does.
    """
    if budget is None:
        scenario = load_placed(source, accuracy)
    elif accuracy is not None:
        raise ScenarioError(
            f"--accuracy {accuracy}: leave it out: --within and --memory seek the least error"
        )
    else:
        scenario = load_placed(source, complete=partial(_least_error, budget, devices))
    return _plan_placed(UnplacedRun(scenario), devices, prices, budget)


def _plan_placed(
    run: UnplacedRun, devices: Devices, prices: bool = False, budget: Budget | None = None
) -> tuple[Plan, str]:
    choices, why = select_backends(run, *devices)
    plan = make_plan(run, choices[0], len(choices), prices, budget)
    return plan, f"{choices[0].note}; {why}" if why else ""


def _least_error(budget: Budget, devices: Devices, scenario: Scenario) -> Scenario:
    """Return a scenario with the grid of the least error in a budget."""

    def plan(discretization: Discretization) -> Plan:
        run = UnplacedRun(discretization.scenario)
        run.known = discretization
        return _plan_placed(run, devices)[0]

    (feature,) = giving("least_error")
    least: Scenario = feature["least_error"](scenario, budget, plan)
    return least


def make_plan(
    run: Scenario | UnplacedRun, choice: BackendChoice | None = None, devices: int = 1,
    prices: bool = False, budget: Budget | None = None,
) -> Plan:  # fmt: skip
    """Plan a run without running it.

    Args:
        run: of a checked scenario, or that.
        choice: where it will run (`seismo.backends.select.choose`), the CPU when None.
        devices: that share it.
        prices: whether its page lists grids for other errors.
        budget: that its grid was chosen for.

    Raises:
        ScenarioError: the scenario cannot be run as written.
    """
    run = run if isinstance(run, UnplacedRun) else UnplacedRun(run)
    backend = (choice or choose("cpu")).make(run.scenario.precision)
    ranks = HypotheticalRanks(devices)
    discretization, sharing = place_run(run.discretized(backend, ranks), backend, ranks)
    division = divide(discretization, backend, ranks)
    memory = memory_of(discretization, backend)
    output = output_of(discretization)
    needs = demands(memory, backend, ranks)
    rate = speed.points_per_second(discretization, backend)
    together = (
        discretization.points
        * discretization.batch
        / step_seconds(discretization, backend, rate, division)
    )
    refused = _resource_problems(discretization, needs, memory.checkpoints)
    return Plan(
        discretization, memory, needs, output, backend.describe()["device"], division, sharing,
        together, speed.seconds(discretization, together, backend),
        speed.map_seconds(discretization, backend),
        [text for _, text in refused], next((code for code, _ in refused), 0), backend, prices,
        budget,
    )  # fmt: skip


def _resource_problems(
    discretization: Discretization, needs: list[MemoryDemand], checkpoints: int
) -> list[tuple[int, str]]:
    """Describe the refusals of `run`, in its order, each with the exit code.

    Results that cannot be written, too little memory or disk.
    """
    scenario = discretization.scenario
    memory = [
        (InsufficientMemoryError.exit_code, f"memory: {need}; it will be refused")
        for need in needs
        if not need.fits
    ]
    try:
        path = results_target(scenario.results_path or "results.h5")
        HiddenFile(path).discard()
    except SeismoError as error:
        where = f"{scenario.where('output', 'path')}: output.path " if scenario.output.path else ""
        return [(error.exit_code, f"{where}{error}; the run will be refused"), *memory]
    lack = lack_of_disk(discretization, path, checkpoints)
    disk = [(StorageError.exit_code, f"disk: {lack}; the run will be refused")] if lack else []
    return memory + disk
