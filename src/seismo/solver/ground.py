"""The ground of a scenario, which the rows of its grid follow."""

from __future__ import annotations

from seismo.grid.grid import Grid
from seismo.grid.topography import Topography
from seismo.scenario import Scenario


def topography_of(scenario: Scenario, grid: Grid) -> Topography | None:
    """Return the ground over a grid; None where it is flat."""
    return None
