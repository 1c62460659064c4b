"""Numbers of ranks that can share a run: told from its grid, before the earth is sampled.

A grid is cut along z and y independently. So the most parts along each tell which numbers of ranks
have a way: those that are a product of as many or fewer along both. Rows next to a free surface and
to contacts of fluid and solid are not cut, which only the earth tells: parts of a few rows may be
refused later.
"""

from __future__ import annotations

import math
from itertools import count

from seismo.acquisition.geometry import Geometry
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.grid.decomposition import decompose
from seismo.grid.grid import Grid
from seismo.runs.resources.placement import grids_of
from seismo.scenario import Scenario
from seismo.solver.accuracy.stencil import AUTO_ORDERS
from seismo.solver.grid_layout import (
    ground_over,
    halo_of,
    image_faces,
    levels_of,
    make_grid,
    settled,
)
from seismo.solver.parallel.partition import never_cut_axes


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
        # Of two grids the coarser one is cut, and the finer one with it.
        refined = bool(scenario.grid.planes)
        grid = levels_of(scenario)[1].grid if refined else region
        uncut_axes = never_cut_axes(image_faces(scenario, grid, physics), refined)
        halo = _widest_halo(scenario, slopes)
        # Rows that follow the ground, and those that they read.
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
    """Return the most parts along an axis, of rows of which some cannot be cut off."""
    for number in count(2):
        try:
            decompose(grid, halo, (number, 1) if axis == "z" else (1, number), uncut=uncut)
        except ScenarioError:
            break
    return number - 1


def _widest_halo(scenario: Scenario, curved: bool) -> int:
    """Return the points that parts hold of their neighbours, at most where the order is open."""
    order = scenario.grid.order
    return halo_of(scenario, max(AUTO_ORDERS) if order == "auto" else order, curved)
