"""A planned run: its size, cost and expected error, as plain properties and data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from seismo.backends.base import Backend
from seismo.features import giving
from seismo.runs.check import choices_of
from seismo.runs.check.budget import Budget
from seismo.runs.coordinates import size_and_depth
from seismo.runs.prediction.accuracy import Expected
from seismo.runs.prediction.assess import Assessment, Finding, assess, uncarried
from seismo.runs.prediction.cheaper_grid import CheaperGrid, cheaper_grid
from seismo.runs.prediction.remedy import points_needed
from seismo.runs.prediction.resolution import LayerResolution, layers_of
from seismo.runs.resources.memory import Memory, OutputSize
from seismo.runs.resources.memory_fit import (
    MemoryDemand,
)
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.partition import Partition


@dataclass(frozen=True, repr=False)
class PlannedRun:
    """The demands of a scenario, and its expected error where that is asked for.

    Attributes:
        discretization: grid, physics, earth, clock, geometry.
        memory: bytes in memory.
        demands: on each memory that takes part, and free there.
        output: bytes on the disk.
        device: name of the processor or card that it is planned for.
        division: of the grid among as many of them as share the run.
        sharing: why they share it so, where there was a choice.
        points_per_second: expected point updates a second, on all of them.
        seconds: expected time of stepping, maps included.
        map_seconds: of it for maps of largest values.
        refusals: why the run would not start on this machine.
        exit_code: that `run` would end with for that, 0 where it would start.
        backend: of a device that it is planned for.
        shows_prices: whether the page has the prices of other errors.
        budget: that the grid was chosen for, None where an error was wanted.
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
    backend: Backend | None = field(default=None, compare=False)
    shows_prices: bool = False
    budget: Budget | None = None

    @cached_property
    def _assessment(self) -> Assessment:
        return assess(self.discretization)

    @property
    def largest_need(self) -> int:
        """Bytes that are needed on the fullest memory, of a card or the machine."""
        return max(demand.need for demand in self.demands)

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
        """Error of the traces, and its causes."""
        return self._assessment.expected

    @property
    def warnings(self) -> list[str]:
        """Questions of a seismologist, and remedies; refusals last."""
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
            *min(each, key=lambda pair: min(layer.points_per_wavelength for layer in pair[1]))
        )

    @cached_property
    def cheaper(self) -> CheaperGrid | None:
        """A grid that keeps to the wanted accuracy by much less work, if there is any."""
        return cheaper_grid(self.discretization, self.expected)

    @cached_property
    def prices(self) -> list[Any]:
        """The grids for other errors, and what they take (`Price`); it takes some seconds."""
        scenario = self.discretization.scenario
        listed = (feature["prices"](scenario, self.backend) for feature in giving("prices"))
        return [price for prices in listed for price in prices]

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
        """How well media attenuate, of two grids the stronger ones; None where none does."""
        return self._fact("attenuation")

    def _fact(self, key: str) -> Any:
        return next(fact for finding, fact in self.findings.items() if finding.key == key)

    @cached_property
    def remedy(self) -> str:
        """The remedy for the wanted accuracy, where that is missed and no warning says so."""
        return self._assessment.remedy(self.discretization, self.expected)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        discretization = self.discretization
        return {
            **described(discretization),
            **({"chosen": chosen} if (chosen := choices_of(discretization.scenario)) else {}),
            **({"budget": asdict(self.budget)} if self.budget else {}),
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
            **({"prices": [price.as_dict() for price in self.prices]} if self.shows_prices else {}),
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


def described(discretization: Discretization) -> dict[str, Any]:
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
