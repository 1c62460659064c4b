"""Receivers too near a face to be read, which are refused before a run is planned."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.errors import ScenarioError, gathered
from seismo.grid.grid import AXES
from seismo.grid.interpolation import RADIUS
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import receiver_points


def refuse_unreadable(discretization: Discretization) -> None:
    """Refuse receivers too near a face of the grid, of all shots that they move with.

    Raises:
        ScenarioError: it names the first one of each set.
    """
    numbers = {group.name: number for number, group in enumerate(discretization.scenario.receivers)}
    gathered(
        partial(_refuse_group, discretization, grid, numbers[group.name], group)
        for grid in discretization.grids_of_spacing
        for group in grid.groups
    )


def _refuse_group(
    discretization: Discretization, grid: Discretization, number: int, group: ReceiverGroup
) -> None:
    """Refuse the first receiver of a set that lies too near a face."""
    bases = dict.fromkeys((b, c) for _, b, c in group.components(grid.physics).values())
    # Points that interpolation and differences read on either side.
    points = grid.grid.points
    reach = RADIUS + grid.stencil.order // 2
    known = set[tuple[str, float]]()
    shots = [""] if group.motion is None else list(group.motion.sources)
    for shot, axis in product(shots, grid.grid.axes):
        a = AXES.index(axis)
        positions = group.at(shot)
        # How far points reach along an axis depends on the coordinate along it alone.
        index = grid.grid.index(axis, positions[:, a])
        is_near = (index < reach) | (index > points[a] - 1 - reach)
        is_near &= group.recording(shot) & grid.reads(positions)
        for n in np.flatnonzero(is_near).tolist():
            key = (axis, float(positions[n, a]))
            if key in known:
                continue
            known.add(key)
            # The points themselves tell how far they reach.
            try:
                for base in bases:
                    receiver_points(grid.interpolation, group, n, positions[n], base, grid.stencil)
            except ScenarioError as error:
                where = f"in {shot} receiver {group.codes[n]}" if shot else group.codes[n]
                problem = f"{where}: {error}"
                raise discretization.scenario.mistake(
                    "receivers", number, problem=problem
                ) from None
