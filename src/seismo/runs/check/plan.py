"""The plan of a run: its size, cost and expected error, known before a step is taken."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import Any, Literal

from seismo.backends.select import BackendChoice, choose
from seismo.errors import InsufficientMemoryError, SeismoError, StorageError
from seismo.features import giving
from seismo.output.run_directory.atomic_file import HiddenFile
from seismo.output.store.opening import results_target
from seismo.runs.check.further_mistakes import load_placed
from seismo.runs.coordinates import size_and_depth
from seismo.runs.prediction.accuracy import Expected
from seismo.runs.prediction.assess import Assessment, Finding, assess
from seismo.runs.prediction.cheaper_grid import CheaperGrid, cheaper_grid
from seismo.runs.prediction.remedy import (
    points_needed,
    uncarried,
)
from seismo.runs.prediction.resolution import LayerResolution, layers_of
from seismo.runs.resources import speed
from seismo.runs.resources.memory import Memory, OutputSize, memory_of, output_of
from seismo.runs.resources.memory_fit import (
    HypotheticalRanks,
    MemoryDemand,
    demands,
    lack_of_disk,
    prepared,
)
from seismo.runs.resources.placement import place_run, select_backends, step_seconds
from seismo.scenario import Scenario, ScenarioInput
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.partition import Partition, divide

__all__ = ["Plan", "check", "make_plan"]


PAGE = 100  # characters of a table's line


@dataclass(frozen=True, repr=False)
class Plan:
    """What a scenario comes down to: its demands, and how good it will be where that is asked.

    Attributes:
        discretization: grid, physics, earth, clock, geometry.
        memory: bytes in memory.
        demands: what is needed of each memory that takes part, and free there.
        output: bytes on the disk.
        device: name of the processor or card that it is planned for.
        division: of the grid among as many of them as share the run.
        sharing: why they share it so, where there was a choice.
        points_per_second: expected point updates a second, on all of them.
        seconds: expected time of stepping, maps included.
        map_seconds: of it for maps of largest values.
        refusals: why the run would not start on this machine.
        exit_code: that `run` would end with for that, 0 where it would start.
    """

    discretization: Discretization
    memory: Memory
    demands: list[MemoryDemand]
    output: OutputSize
    device: str
    division: Partition
    sharing: str
    points_per_second: float
    seconds: float
    map_seconds: float
    refusals: list[str]
    exit_code: int = 0

    @cached_property
    def _assessment(self) -> Assessment:
        return assess(self.discretization)

    @property
    def f_max(self) -> float:
        """Highest frequency of the sources in Hz."""
        return self._assessment.f_max

    @property
    def f_dominant(self) -> float:
        """Lowest dominant frequency of the sources in Hz."""
        return self.discretization.dominant_frequency

    @property
    def layers(self) -> list[LayerResolution]:
        """Media of the earth and how the grid carries their waves."""
        return self._assessment.layers

    @property
    def expected(self) -> Expected:
        """Error of the traces, and what it comes from."""
        return self._assessment.expected

    @property
    def warnings(self) -> list[str]:
        """What a seismologist would ask about, and what follows; refusals last."""
        return self._assessment.warnings + self.refusals

    @cached_property
    def errors(self) -> list[str]:
        """Why the grid does not carry the waves at all."""
        grids = self.discretization.grids_of_spacing
        lines = (text for grid in grids for text in uncarried(grid, layers_of(grid, self.f_max)))
        return list(dict.fromkeys(lines))

    @cached_property
    def points_needed(self) -> float:
        """Points per wavelength with which dispersion keeps to the wanted accuracy."""
        # Of the grid whose waves have the fewest.
        each = [
            (grid, layers_of(grid, self.f_max)) for grid in self.discretization.grids_of_spacing
        ]
        return points_needed(
            *min(each, key=lambda one: min(layer.points_per_wavelength for layer in one[1]))
        )

    @cached_property
    def cheaper(self) -> CheaperGrid | None:
        """A grid that keeps to the wanted accuracy by much less work, if there is one."""
        return cheaper_grid(self.discretization, self.expected)

    @cached_property
    def findings(self) -> dict[Finding, Any]:
        """Facts that features find; None where there is nothing to say."""
        return {
            finding: finding.find(self.discretization, self.expected)
            for feature in giving("findings")
            for finding in feature["findings"]
        }

    @property
    def longer_steps(self) -> Any:
        """How many steps bounded differences save, if these keep to the wanted accuracy."""
        return self._fact("longer_steps")

    @property
    def attenuation(self) -> Any:
        """How well media attenuate, of two grids those that do so more; None where none does."""
        return self._fact("attenuation")

    def _fact(self, key: str) -> Any:
        return next(fact for finding, fact in self.findings.items() if finding.key == key)

    @cached_property
    def remedy(self) -> str:
        """What keeps to the wanted accuracy, where that is missed and no warning says so."""
        return self._assessment.remedy(self.discretization, self.expected)

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
        size = " x ".join(str(n) for n in _described(discretization)["points"].values())
        count = len(self.warnings)
        return (
            f"<Plan {discretization.scenario.title!r}: {size} points, "
            f"{discretization.clock.steps} steps, expected trace error {self.expected}, "
            f"{count} warning{'s' * (count != 1)}>"
        )

    def _repr_html_(self) -> str:
        """Return the page as notebooks show it."""
        return f"<pre>{escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        discretization = self.discretization
        return {
            **_described(discretization),
            "f_max": self.f_max,
            "f_dominant": self.f_dominant,
            "layers": [layer.as_dict() for layer in self.layers],
            "points_needed": self.points_needed,
            "order": discretization.stencil.order,
            "stencil_tolerance": discretization.stencil.tolerance,
            "stencil_bounds": discretization.stencil.bounds,
            "expected": self.expected.as_dict(),
            "remedy": self.remedy,
            "cheaper": self.cheaper and asdict(self.cheaper),
            **{finding.key: fact and fact.as_dict() for finding, fact in self.findings.items()},
            "memory_bytes": self.memory.as_dict(),
            "memory_needed": [demand.as_dict() for demand in self.demands],
            "output_bytes": self.output.as_dict(),
            "device": self.device,
            "division": self.division.describe(),
            "sharing": self.sharing,
            "points_per_second": self.points_per_second,
            "seconds": self.seconds,
            "map_seconds": self.map_seconds,
            "warnings": self.warnings,
            "errors": self.errors,
            "refusals": self.refusals,
            "exit_code": self.exit_code,
        }


def _described(discretization: Discretization) -> dict[str, Any]:
    """Describe grid, time steps, sources and receivers as plain data."""
    grid = discretization.grid
    clock = discretization.clock
    points = dict(zip("xyz", grid.points, strict=True))
    return {
        "title": discretization.scenario.title,
        "physics": discretization.scenario.physics,
        "equation": discretization.scenario.equation.name,
        "dimensions": grid.dimensions,
        "points": {a: points[a] for a in grid.axes},
        "grid_points": discretization.points,
        "dt": clock.dt,
        "dt_limit": clock.limit,
        "steps": clock.steps,
        "extra_steps": discretization.extra_steps,
        "duration": clock.steps * clock.dt,
        "shots": len(discretization.shots),
        "shots_together": discretization.batch,
        "sources": [
            {"name": s.name, "type": s.kind, "wavelet": s.wavelet.type, "start": s.start,
             "centre": s.centre, **size_and_depth(discretization, s)}
            for s in discretization.shots[0].summaries
        ],
        "receivers": {g.name: len(g) for g in discretization.groups},
    }  # fmt: skip


def check(
    scenario: ScenarioInput,
    *,
    backend: str = "auto",
    device: int | None = None,
    gpus: int | Literal["auto"] | None = None,
) -> Plan:
    """Plan a run as `seismo check` does; the plan prints as its page.

    Args:
        scenario: a scenario, the same as nested dicts, or the path of its YAML file.
        backend: see `seismo.run`.
        device: see `seismo.run`.
        gpus: see `seismo.run`.

    Raises:
        ScenarioError: with every mistake, in `messages`.
        DeviceError: there is no such backend or device, or it cannot be used.
        InsufficientMemoryError: one field is more than all memory.
    """
    checked = load_placed(scenario)
    choices, _, known = select_backends(checked, backend, device, gpus)
    return make_plan(checked, choices[0], len(choices), known)


def make_plan(
    scenario: Scenario,
    choice: BackendChoice | None = None,
    devices: int = 1,
    known: Discretization | None = None,
) -> Plan:
    """Plan a run without running it.

    Args:
        scenario: a checked scenario.
        choice: where it will run (`seismo.backends.select.choose`), the CPU when None.
        devices: that share it.
        known: see `prepared`.

    Raises:
        ScenarioError: the scenario cannot be run as written.
    """
    backend = (choice or choose("cpu")).make(scenario.precision)
    ranks = HypotheticalRanks(devices)
    discretization, sharing = place_run(
        prepared(scenario, backend, ranks, known=known), backend, ranks
    )
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
        [text for _, text in refused], next((code for code, _ in refused), 0),
    )  # fmt: skip


def _resource_problems(
    discretization: Discretization, needs: list[MemoryDemand], checkpoints: int
) -> list[tuple[int, str]]:
    """Describe what `run` would refuse, in its order, each with the exit code.

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
