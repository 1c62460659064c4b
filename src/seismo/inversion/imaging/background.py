"""The background of an image: a model without contacts, in which waves travel undisturbed."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from seismo.grid.grid import AXES, Grid
from seismo.inversion.imaging.settings import Background
from seismo.model.node_values import nodes_along

_SPEEDS = ("vp", "vs")


def background_of(
    settings: Background, grid: Grid, model: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the background (z, [y,] x) by parameter.

    Slowness is smoothed, so that travel times stay, and other parameters as they are. Nodes above
    a depth stay, and have no part in others.

    Args:
        settings: how it is smoothed.
        grid: of the run.
        model: values (z, [y,] x) by parameter.
    """
    if settings.smooth is None:
        return model
    axes = [axis for axis in "zyx" if axis in grid.axes]
    deviations = [settings.smooth / grid.spacing[AXES.index(axis)] for axis in axes]
    above = -np.inf if settings.above is None else settings.above
    is_free = (nodes_along(grid, "z") >= above).reshape(-1, *(1,) * (len(axes) - 1))

    def smoothed(array: np.ndarray) -> np.ndarray:
        """Return an array whose free values are averages of free ones."""
        free = np.broadcast_to(is_free, array.shape)
        weights, total = (
            gaussian_filter(values_of, deviations, mode="nearest")
            for values_of in (free.astype(float), np.where(free, array, 0.0))
        )
        return np.where(free, total / np.where(free, weights, 1.0), array)

    return {
        name: 1.0 / smoothed(1.0 / array) if name in _SPEEDS and array.all() else smoothed(array)
        for name, array in model.items()
    }
