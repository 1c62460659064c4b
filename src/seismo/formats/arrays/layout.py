"""Axes of arrays of a run with another program, and places on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.conversion.converted_run import ConvertedRun, short


@dataclass(frozen=True)
class ArrayLayout:
    """The axes of the arrays, and along each the points, their spacing and the first one in m.

    Attributes:
        axes: names, in the order of the arrays.
        shape: points.
        spacing: of the points in m.
        origin: of the first point in m.
        indexed: whether places are indices; None: those that are whole numbers.
    """

    axes: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    indexed: bool | None = None

    def by_axis(self, numbers: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return numbers as the scenario writes them, x before y and z."""
        named = dict(zip(self.axes, numbers, strict=True))
        return {axis: short(float(named[axis])) for axis in "xyz" if axis in named}

    def metres(self, positions: np.ndarray) -> np.ndarray:
        """Return positions (..., axes) in m."""
        are_whole = np.issubdtype(positions.dtype, np.integer)
        if are_whole if self.indexed is None else self.indexed:
            return np.asarray(self.origin) + positions * np.asarray(self.spacing)
        return np.asarray(positions, float)


def positions_of(
    run: ConvertedRun, arrays: dict[str, np.ndarray], name: str, axes: int
) -> np.ndarray:
    """Return positions (shots or 1, n, axes), not in m yet."""
    positions = arrays[name]
    if positions.ndim not in (2, 3) or positions.shape[-1] != axes or not positions.size:
        raise ScenarioError(
            f"{run.source}: {name} has the shape {positions.shape}; give (n, {axes}), or (shots, "
            f"n, {axes})"
        )
    return positions if positions.ndim == 3 else positions[None]


def line_of(layout: ArrayLayout, points: np.ndarray) -> dict[str, Any] | None:
    """Return equally spaced points (n, axes) m as a line of a survey."""
    line = np.linspace(points[0], points[-1], len(points))
    if np.abs(line - points).max() > 1e-6 * min(layout.spacing):
        return None
    ends = {"start": layout.by_axis(points[0]), "end": layout.by_axis(points[-1])}
    return {"line": {**ends, "count": len(points)}}
