"""Linear interpolation of arrays at fractional indices; what has no weight does not count.

On a tensor grid (each index varying along its own axis) it is done one axis after the other; where
only the first index does, along that axis first; else point by point. Which way is taken depends
on how indices vary, not on how many there are, so that all cuts of a grid see the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def interpolate(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return interpolated values (broadcast shape of the indices), within the edges.

    Args:
        samples: an array with an axis for each index.
        indices: fractional, of one rank, from 0 to the number of points less 1.
    """
    if _on_own_axes(indices):
        return _tensor(samples, indices)
    if len(indices) == 3 and _first_alone(indices):
        first, *across = indices
        planes = _along(samples, 0, first)
        result = _points(np.moveaxis(planes, 0, -1), [index[0] for index in across])
        return np.moveaxis(result, -1, 0)
    return _points(samples, indices)


def closest(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of the closest points (broadcast shape of the indices)."""
    return samples[closest_numbers(samples.shape, indices)]


def closest_numbers(
    shape: tuple[int, ...], indices: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return the numbers along each axis of the closest points."""
    last = np.subtract(shape, 1)
    rounded = (np.floor(index + 0.5) for index in indices)
    return tuple(np.clip(k, 0, n).astype(np.intp) for k, n in zip(rounded, last, strict=True))


def _on_own_axes(indices: Sequence[np.ndarray]) -> bool:
    """Whether each index varies along one axis only, in the order of the samples' axes."""
    varying = [[axis for axis, size in enumerate(p.shape) if size > 1] for p in indices]
    if any(len(axes) > 1 for axes in varying):
        return False
    order = [axes[0] for axes in varying if axes]
    return order == sorted(set(order))


def _first_alone(indices: Sequence[np.ndarray]) -> bool:
    """Whether the first index alone varies along the first axis, and along no other."""
    first, *across = indices
    return first.size == first.shape[0] and all(index.shape[0] == 1 for index in across)


def _tensor(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Interpolate along one axis after the other."""
    result = samples
    for axis, index in enumerate(indices):
        result = _along(result, axis, index)
    return result.reshape(np.broadcast_shapes(*(index.shape for index in indices)))


def _along(samples: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray:
    """Interpolate along one axis, at all values of an index."""
    low, weight = _cell(index.ravel(), samples.shape[axis])
    above = samples.take(low + (weight > 0.0), axis)
    weight = weight.reshape([-1 if a == axis else 1 for a in range(samples.ndim)])
    return samples.take(low, axis) * (1.0 - weight) + above * weight


def _points(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Interpolate point by point, from the corners of each point's cell; further axes follow."""
    cells = [_cell(index, count) for index, count in zip(indices, samples.shape, strict=False)]
    result = np.zeros(())
    further = (1,) * (samples.ndim - len(cells))
    for corner in range(1 << len(cells)):
        index: list[np.ndarray] = []
        share = np.ones(())
        for axis, (low, weight) in enumerate(cells):
            upper = corner >> axis & 1
            index.append(low + upper * (weight > 0.0))
            share = share * (weight if upper else 1.0 - weight)
        result = result + samples[tuple(index)] * share.reshape(share.shape + further)
    return result


def _cell(index: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the point below each place and how far it is to the next, within the edges."""
    index = np.clip(index, 0.0, points - 1.0)
    low = index.astype(np.intp)
    return low, index - low
