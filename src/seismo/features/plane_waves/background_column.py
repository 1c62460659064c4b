"""The coefficients of the layered earth about the box of a plane wave, in one column."""

from __future__ import annotations

import numpy as np

from seismo.features.plane_waves.plane_wave import WaveBox
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import Box
from seismo.solver.discretization import Discretization
from seismo.solver.medium.coefficients import coefficients_of, medium_of


def background(
    discretization: Discretization, box: WaveBox, count: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the coefficients (row) at the first corner of a box, and by stage the even rows.

    Rows beyond the grid are as the last one.

    Args:
        discretization: the run.
        box: of a plane wave.
        count: rows.
    """
    grid = discretization.grid
    nz = grid.points[2]
    cut = {"y": (False, False), "z": (False, False)}
    (x, y, _) = box.first
    column = Subdomain(grid, Box((x, y, 0), (x + 1, y + 1, nz)), discretization.halo, cut)
    arrays = coefficients_of(discretization, column, medium_of(discretization, column))
    # Beyond the last row the half-space goes on.
    rows = np.minimum(np.arange(count), nz - 1)
    model = {}
    for name, array in arrays.items():
        # Planes z with their halo, and y with its own where the earth varies along it.
        middle = array.shape[1] // 2
        along = np.broadcast_to(array[:, middle, 0], nz + 2 * discretization.halo)
        model[name] = along[rows + discretization.halo]
    return model, {stage: planes[rows] for stage, planes in discretization.even.items()}
