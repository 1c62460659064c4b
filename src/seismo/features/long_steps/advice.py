"""Steps that `grid.stencil: long_steps` saves, where the wanted accuracy has room for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from seismo.errors import SeismoError
from seismo.features.long_steps.stencil import LEAST_CELLS, reason_against
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.assess import Finding
from seismo.runs.prediction.lines import Check, WarningLines, percent
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

_WORTH = 0.92  # share of the steps from which on it is named


def no_longer_steps(discretization: Discretization) -> WarningLines:
    """Name the choice of longer steps where there are none."""
    if discretization.scenario.grid.stencil == "long_steps" and not discretization.stencil.bounds:
        cells = _cells_apart(discretization)
        why = (
            "dispersion or the free surface would err by more than 0.3 of grid.accuracy, the grid "
            "would ring at frequencies of the sources, contacts lie within 8 cells of each other, "
            "or the order under a free surface is not 8"
        )
        if not cells:
            why = "maps, and runs without receivers, have nodes in the near fields of sources"
        elif cells < LEAST_CELLS:
            why = f"a receiver lies in the near field of a source, {cells:.3g} cells from it"
        yield f"grid.stencil: long_steps makes no step longer: {why}; leave it out"


def _cells_apart(discretization: Discretization) -> float:
    """Return the cells between a source and what is nearest of it; 0 where maps are wanted."""
    return discretization.waves.nearest / max(discretization.waves.spacing)


@dataclass(frozen=True)
class LongerSteps:
    """What a run with bounded differences takes.

    Attributes:
        steps: beside those of the run as it is.
        error: of the traces, expected.
    """

    steps: float
    error: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Name the key, and what it saves."""
        return (
            f"grid.stencil: long_steps takes {percent(1.0 - self.steps)} fewer steps, and is "
            f"expected to err by {percent(self.error)}"
        )


def longer_steps(discretization: Discretization, expected: Expected) -> LongerSteps | None:
    """Return what bounded differences save, if it is much and they keep to the wanted accuracy."""
    spec = discretization.scenario.grid
    if spec.stencil != "fitted" or expected.error > spec.accuracy:
        return None
    if reason_against(discretization.scenario, discretization.physics, discretization.earth):
        return None
    if _cells_apart(discretization) < LEAST_CELLS:
        return None
    try:
        longer = discretize(discretization.scenario.changed({"grid.stencil": "long_steps"}))
        error = expected_error(longer).error
    except SeismoError:
        return None
    steps = longer.clock.steps / discretization.clock.steps
    if steps > _WORTH or error > spec.accuracy:
        return None
    return LongerSteps(steps, error)


CHECKS = (Check("steps", no_longer_steps),)
FINDINGS = (Finding("longer_steps", "longer", longer_steps),)
