"""The receivers that a warning is about: names and places of the first few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.acquisition.stations.receivers import ReceiverGroup
from seismo.features.topography.ground import true_positions
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization

_MOST_NAMED = 3


def named(
    discretization: Discretization,
    group: ReceiverGroup,
    condition: Callable[[np.ndarray], np.ndarray],
    count: int,
) -> str:
    """Format how many of a set meet a condition, and the first few of them with their places.

    Args:
        discretization: the run.
        group: the set.
        condition: function(positions (n, 3) m) -> (n) of truth values.
        count: receivers that meet it.
    """
    texts = []
    for code, position in group.first_where(condition, _MOST_NAMED):
        # z over topography is no row of the grid.
        (true_position,) = true_positions(discretization.topography, position[None]) + 0.0
        coordinates = (
            f"{axis} = {true_position[AXES.index(axis)]:.6g}" for axis in discretization.grid.axes
        )
        texts.append(f"{code} at {', '.join(coordinates)} m")
    if count > len(texts):
        texts.append(f"and {count - len(texts)} more")
    return f"{count} of {len(group)} ({'; '.join(texts)})"
