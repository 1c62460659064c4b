"""Coordinates of SEG-Y: whole numbers times a scalar of 1, 1/10, ..., 1/10000 m."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

_SCALARS = (1, -10, -100, -1000, -10000)  # negative ones divide
_LARGEST = 2**31 - 1


def scalar_of(lengths: Collection[Any]) -> int:
    """Return the scalar of SEG-Y for lengths in m: of the coarsest unit that rounds none of them.

    If none of the units does that, it is the finest in which all fit.
    """
    fitting = _fitting(largest_of(lengths))
    exact = [
        s
        for s in fitting
        if all(np.allclose(scaled(v, s), np.asarray(v) * abs(s), 0, 1e-6) for v in lengths)
    ]
    return (exact or fitting[-1:])[0]


def largest_of(lengths: Collection[Any]) -> float:
    """Return the largest absolute value of lengths in m."""
    return max(float(np.abs(length).max(initial=0.0)) for length in lengths)


def _fitting(largest: float) -> list[int]:
    """Return the scalars that the fields have room for with a largest length in m."""
    return [s for s in _SCALARS if largest * abs(s) <= _LARGEST] or [_SCALARS[0]]


def shared_scalar(shots: list[tuple[int, float]]) -> int:
    """Return one scalar for shots, of which each has its own and a largest length in m.

    What a unit does not round no finer one does: it is the finest of theirs that fits.
    """
    finest = min(scalar for scalar, _ in shots)
    return max(finest, _fitting(max(largest for _, largest in shots))[-1])


def scaled(length: Any, scalar: int) -> np.ndarray:
    """Return lengths in m as whole numbers of 1 / |scalar| m."""
    return np.rint(np.asarray(length) * abs(scalar))
