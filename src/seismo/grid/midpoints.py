"""Which half points the interpolation between nodes and half points reads, along one axis.

Within the grid P takes four of them (`seismo.grid.coefficients.MIDPOINT`), under a closed free
surface those of `seismo.grid.surface_interpolation`. Arrays have one half point for
each node, half a cell further; what lies within four nodes of their ends is not to be used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from seismo.grid.coefficients import MIDPOINT

_SIZES = np.abs(MIDPOINT)[[1, 0, 0, 1]]
_NONE = np.zeros((0, 0))
_ZERO = 1e-9  # weights that are rounding

Combine = Callable[[list[np.ndarray]], np.ndarray]


def harmonic_means(nodes: np.ndarray) -> np.ndarray:
    """Return the harmonic means (n - 1, ...) of neighbouring nodes (n, ...), 0 beside 0."""
    with np.errstate(divide="ignore"):
        return 2.0 / (1.0 / nodes[:-1] + 1.0 / nodes[1:])


class Midpoints(NamedTuple):
    """Interpolation along one axis of arrays of nodes or half points.

    Attributes:
        axis: of the arrays.
        surface: index of the free surface along it.
        to_half: weights (rows, nodes) of half points under the surface; none without one.
        to_node: the same of nodes.
        layers: which nodes lie in an absorbing layer, of each one.
    """

    axis: int
    surface: int = 0
    to_half: np.ndarray = _NONE
    to_node: np.ndarray = _NONE
    layers: tuple[np.ndarray, ...] = ()

    def mean(self, nodes: np.ndarray) -> np.ndarray:
        """Return the mean of the two nodes beside each half point."""
        return 0.5 * (nodes + self._taken(nodes, 1))

    def at_halves(self, nodes: np.ndarray) -> np.ndarray:
        """Return the sums of nodes times the sizes of the weights, at half points."""
        return self._combined(nodes, -1, self.to_half, _sums)

    def at_nodes(self, halves: np.ndarray) -> np.ndarray:
        """Return the sums of half points times the sizes of the weights, at nodes."""
        return self._combined(halves, -2, self.to_node, _sums)

    def largest(self, nodes: np.ndarray) -> np.ndarray:
        """Return the largest of the nodes that each half point goes to."""
        return self._combined(nodes, -1, self.to_half, _extremes(np.maximum))

    def least(self, halves: np.ndarray) -> np.ndarray:
        """Return the least of the half points that each node takes."""
        return self._combined(halves, -2, self.to_node, _extremes(np.minimum))

    def least_in_layers(self, factors: np.ndarray) -> np.ndarray:
        """Return factors up to 1 at nodes, of which those in a layer are all the least of them."""
        lines = np.moveaxis(factors.copy(), self.axis, 0)
        for layer in self.layers:
            lines[layer] = lines[layer].min(0, initial=1.0)
        return np.moveaxis(lines, 0, self.axis)

    def _taken(self, points: np.ndarray, ahead: int) -> np.ndarray:
        count = points.shape[self.axis]
        return points.take(np.clip(np.arange(count) + ahead, 0, count - 1), self.axis)

    def _combined(
        self, points: np.ndarray, first: int, closed: np.ndarray, rule: Callable
    ) -> np.ndarray:
        """Combine four points from `first` ahead on, and those of the rows under a surface."""
        # One value stands for all where the medium does not vary along the axis.
        if points.shape[self.axis] == 1:
            return rule([points], np.array([_SIZES.sum()]))
        # Interior: P, four points about the one sought.
        combined = rule([self._taken(points, first + m) for m in range(len(_SIZES))], _SIZES)
        lines = np.moveaxis(points, self.axis, 0)[self.surface :]
        # Rows under the free surface: the interpolation of its SBP closure.
        for row, weights in enumerate(np.abs(closed)):
            some = np.flatnonzero(weights > _ZERO)
            some_points = rule([lines[k] for k in some], weights[some])
            np.moveaxis(combined, self.axis, 0)[self.surface + row] = some_points
        return combined


def _sums(points: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return reduce(np.add, (w * v for w, v in zip(weights, points, strict=True)))


def _extreme(operation: np.ufunc, points: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return reduce(operation, points)


def _extremes(operation: np.ufunc) -> Callable:
    return partial(_extreme, operation)
