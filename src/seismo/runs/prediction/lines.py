"""Words of lines about a run: errors in percent, receivers by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from seismo.acquisition.stations.receivers import ReceiverGroup
from seismo.features.topography.ground import true_positions
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization

WarningLines = Iterator[str]
_USELESS = 0.7  # relative error of traces that have little to do with the true ones
_MOST_NAMED = 3


def in_percent(share: float) -> str:
    """Format a share to two digits."""
    return f"{100.0 * share:.2g} %"


def percent(error: float) -> str:
    """Format a relative error."""
    return "more than 70 %" if error > _USELESS else in_percent(error)


def up_to(error: float) -> str:
    """Format a relative error that is a bound."""
    return percent(error) if error > _USELESS else f"up to about {percent(error)}"


def rounded_down(value: float) -> float:
    """Return a number rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}")


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
