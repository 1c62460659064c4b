"""Grids that keep to the wanted accuracy by less work, for a run that takes more than it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from seismo.errors import SeismoError
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.lines import percent, rounded_down
from seismo.runs.prediction.remedy import (
    MOST_TRIED,
    TRIALS,
    all_causes_within,
    coarsest,
    dividing,
    has_chosen_grid,
    mended,
)
from seismo.runs.prediction.resolution import of_spacing
from seismo.runs.resources.speed import order_factor
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

# Time of a simulated second beside order 8 on the same grid (`seismo.solver.accuracy.stencil`): of
# a step, over the length of its time.
ORDER_COST = {8: 1.0, 12: 1.3 / 0.94, 16: 1.65 / 0.91}
_CHEAPER = 0.7  # share of the work from which on a coarser grid is named
_TOO_COARSE = 0.92  # factor of the spacing after a grid that errs by too much


@dataclass(frozen=True)
class CheaperGrid:
    """A grid that keeps to the wanted accuracy by less work.

    Attributes:
        order: of the differences.
        spacing: in m.
        work: beside that of the run as it is.
        error: of the traces, expected.
    """

    order: int
    spacing: float
    work: float
    error: float

    def __str__(self) -> str:
        """Name the two keys, and the work that they save."""
        return (
            f"a grid.spacing of about {self.spacing:g} m with grid.order {self.order} is expected "
            f"to err by {percent(self.error)}, and takes {self.work:.2g} of the work"
        )


def cheaper_grid(discretization: Discretization, expected: Expected) -> CheaperGrid | None:
    """Return the grid that takes least work for the wanted accuracy, if it saves a third.

    Each order is tried on the coarsest grid whose causes of errors together keep to it, and its
    expected error is computed as of any other.
    """
    spec = discretization.scenario.grid
    refined = bool(discretization.scenario.grid.planes)
    if expected.error > spec.accuracy or spec.stencil != "fitted" or refined:
        return None
    if has_chosen_grid(discretization):
        return None
    kept = mended(discretization, expected)
    factors = {
        order: coarsest(partial(all_causes_within, discretization, kept, order=order))
        for order in ORDER_COST
    }
    order = min(factors, key=lambda order: work(discretization, order, factors[order]))
    coarser = factors[order]
    largest = max(discretization.waves.spacing)
    for _ in range(TRIALS):
        spacing = dividing(discretization, rounded_down(coarser * largest))
        saving = work(discretization, order, spacing / largest)
        points = discretization.grid.size * (largest / spacing) ** discretization.grid.dimensions
        if saving > _CHEAPER or not (discretization.earth.layered or points < MOST_TRIED):
            return None
        try:
            scenario = of_spacing(discretization, spacing / largest).changed({"grid.order": order})
            error = expected_error(discretize(scenario)).error
        except SeismoError:
            return None
        if error <= spec.accuracy:
            return CheaperGrid(order, spacing, saving, error)
        coarser *= _TOO_COARSE
    return None


def work(discretization: Discretization, order: int, coarser: float) -> float:
    """Return the work of an order on a grid so many times as coarse, beside that of the run.

    Layers keep their points.
    """
    grid = discretization.grid
    current = discretization.stencil.order
    now = ORDER_COST.get(current, order_factor(current))
    points = 1.0
    for axis in grid.axes:
        a = AXES.index(axis)
        outside = grid.low[a] + grid.high[a]
        points *= (outside + (grid.points[a] - outside) / coarser) / grid.points[a]
    return ORDER_COST.get(order, order_factor(order)) / now * points / coarser
