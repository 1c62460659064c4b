"""Prices of errors: the grids that keep to some errors, and the memory and time that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seismo.backends.base import Backend
from seismo.features.chosen_grids.choice import Candidate, GridSearch
from seismo.runs.prediction.remedy import CLOSE, unreached
from seismo.runs.resources import speed
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import HypotheticalRanks, demands
from seismo.scenario import Scenario
from seismo.scenario.quantities import AUTO

ERRORS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True)
class Price:
    """The cheapest grid for an error, on a device.

    Attributes:
        wanted: relative error of the traces.
        expected: the same, of this grid.
        spacing: in m.
        order: of the differences.
        stencil: `grid.stencil`.
        points: of absorbing layers.
        grid_points: of the grid, layers included.
        memory: bytes on the fullest memory.
        seconds: of stepping.
        obstacle: the cause that keeps every grid from the error; "" without any.
    """

    wanted: float
    expected: float
    spacing: float
    order: int
    stencil: str
    points: int
    grid_points: int
    memory: int
    seconds: float
    obstacle: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def prices(
    scenario: Scenario, backend: Backend, errors: Sequence[float] = ERRORS
) -> Iterator[Price]:
    """Yield the prices of errors.

    Args:
        scenario: with a grid, typed or chosen; other typed keys are kept, a plane
            at a depth apart.
        backend: of the device.
        errors: relative.

    Raises:
        ScenarioError: the scenario cannot be run as written.
    """
    open_scenario = with_open_grid(scenario)
    for error in errors:
        grid = GridSearch(open_scenario.changed({"grid.accuracy": error})).cheapest()
        yield _price(grid, error, backend)


def with_open_grid(scenario: Scenario) -> Scenario:
    """Return a scenario whose grid is left to the program, and layers without typed points."""
    keys: dict[str, Any] = dict.fromkeys(scenario.chosen.keys() - {"grid.accuracy"})
    if scenario.grid.planes:  # at a depth, they belong to a spacing
        is_auto = scenario.typed("grid", "refinement") == AUTO
        keys["grid.refinement"] = AUTO if is_auto else None
    return scenario.changed(keys | {"grid.spacing": AUTO})


def _price(grid: Candidate, error: float, backend: Backend) -> Price:
    run = grid.discretization
    needs = demands(memory_of(run, backend), backend, HypotheticalRanks(1))
    rate = speed.points_per_second(run, backend)
    is_missed = grid.expected.error > CLOSE * error
    return Price(
        wanted=error, expected=grid.expected.error, spacing=grid.coarser * grid.spacing,
        order=grid.keys.get("grid.order", run.stencil.order), stencil=run.scenario.grid.stencil,
        points=grid.keys.get("boundaries.layer.points", run.scenario.boundaries.layer.points),
        grid_points=round(grid.points_beside * run.points),
        memory=round(grid.points_beside * max(need.need for need in needs)),
        seconds=grid.points_beside / grid.coarser * speed.seconds(run, rate, backend),
        obstacle=unreached(run, grid.expected) if is_missed else "",
    )  # fmt: skip
