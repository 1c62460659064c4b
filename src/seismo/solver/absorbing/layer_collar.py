"""The medium of absorbing layers, where an equation asks for another one in them.

It changes over the points of a layer that do not damp (`Grid.collar`), so smoothly that waves pass,
and is that of the layer where it damps (`seismo.equations.framework.declaration.Collar`).
"""

from __future__ import annotations

import numpy as np

from seismo.equations.framework.declaration import Collar
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Grid


def share_along(grid: Grid, axis: str, index: np.ndarray) -> np.ndarray:
    """Return the share (n) of the layers' medium at indices (n) along an axis, from 0 to 1."""
    n = AXES.index(axis)
    beyond = np.zeros(index.shape)
    if grid.low[n]:
        # Points beyond the inner side of either layer.
        beyond = np.maximum(beyond, grid.low[n] - index)
    if grid.high[n]:
        beyond = np.maximum(beyond, index - (grid.points[n] - 1 - grid.high[n]))
    # sin^2 taper across the collar.
    return np.sin(0.5 * np.pi * np.clip(beyond / grid.collar, 0.0, 1.0)) ** 2


def changed(
    coefficients: dict[str, np.ndarray], collar: Collar, grid: Grid, subdomain: Subdomain
) -> dict[str, np.ndarray]:
    """Return coefficients (z, y, x) of a subdomain, with its halo along y and z, as layers ask."""
    share = np.zeros((1, 1, 1))
    for axis in grid.axes:
        n = AXES.index(axis)
        beyond = 0 if axis == "x" else subdomain.halo
        index = np.arange(subdomain.owned.lo[n] - beyond, subdomain.owned.hi[n] + beyond)
        shape = [-1 if a == axis else 1 for a in "zyx"]
        share = np.maximum(share, share_along(grid, axis, index).reshape(shape))
    return collar.change(coefficients, share)
