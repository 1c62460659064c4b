"""Columns of the grid that a plane wave is added to, and how late it comes to each.

Along an axis with no slowness it comes to all of them together, and what they are given differs by
a factor; along another one each has a delay of its own. Columns (y, x) are all products of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seismo.features.plane_waves.filters import AxisDelays
from seismo.features.plane_waves.plane_wave import PlaneWave, WaveBox
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization


class ColumnsAlong(NamedTuple):
    """Columns along x or y.

    Attributes:
        points: (n) their indices.
        numbers: (n) which of the delays each has.
        scales: (n) what its signals are multiplied by.
        delays: that differ.
    """

    points: np.ndarray
    numbers: np.ndarray
    scales: np.ndarray
    delays: AxisDelays


class WaveColumns(NamedTuple):
    """Columns (y, x): all products of those along each axis."""

    x: ColumnsAlong
    y: ColumnsAlong

    @property
    def numbers(self) -> np.ndarray:
        """Which delay each (y, x) has: of those (y, x) that differ, in rows of x."""
        return self.y.numbers[:, None] * len(self.x.delays.offsets) + self.x.numbers

    @property
    def scales(self) -> np.ndarray:
        """What the signals of each (y, x) are multiplied by."""
        return np.multiply.outer(self.y.scales, self.x.scales)


def wave_columns(
    discretization: Discretization, wave: PlaneWave, box: WaveBox, axis: str, field: str
) -> WaveColumns | None:
    """Return the columns in which a field lacks derivatives of a wave, None if there are none.

    Args:
        discretization: the run.
        wave: its plane wave.
        box: of the wave.
        axis: of the derivatives.
        field: name of what they change.
    """
    half = discretization.physics.named(field).half
    x, y = (_along(discretization, wave, box, a, a == axis, a in half) for a in "xy")
    return WaveColumns(x, y) if x.points.size and y.points.size else None


def _along(
    discretization: Discretization,
    wave: PlaneWave,
    box: WaveBox,
    axis: str,
    crossing: bool,
    half: bool,
) -> ColumnsAlong:
    """Return the columns along x or y, across the faces of the box or along them.

    Args:
        discretization: the run.
        wave: its plane wave.
        box: of the wave.
        axis: "x" or "y".
        crossing: whether the derivatives are those along it.
        half: whether the points lie half a cell further.
    """
    grid = discretization.grid
    at: np.ndarray = np.arange(grid.points[AXES.index(axis)])
    points: np.ndarray = at[box.inside(axis, half, at)]
    lacking: np.ndarray = np.ones((points.size, 1))
    offset = 0.5 * half + np.zeros(1)
    # Across the face the sum of a difference, each of whose values comes with its own delay.
    if crossing:
        points, lacking = _across(discretization, box, axis, half)
        arms = np.arange(len(discretization.stencil.first)) + 0.5
        offset = 0.5 * half + np.concatenate([arms, -arms])
    # Horizontal slowness times velocity: the wave's direction along the axis.
    along = wave.level[AXES.index(axis)]
    # No slowness: one delay, and factors that are the sums of the weights.
    if along == 0.0:
        together = AxisDelays(np.zeros((1, 1)), np.ones((1, 1)))
        return ColumnsAlong(points, np.zeros(points.size, np.int64), lacking.sum(1), together)
    # Steps that the wave takes for a cell, counted from the corner that it comes to first.
    steps = along * grid.spacing[AXES.index(axis)] / wave.velocity / discretization.clock.dt
    corner = float(grid.index(axis, wave.position[AXES.index(axis)]))
    offsets = (points[:, None] + offset - corner) * steps
    ones = np.ones(points.size)
    return ColumnsAlong(points, np.arange(points.size), ones, AxisDelays(offsets, lacking))


def _across(
    discretization: Discretization, box: WaveBox, axis: str, half: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points along an axis whose differences cross the boundary, and their weights.

    Returns:
        (n) indices; (n, 2 M) c_m (chi_i - chi_j) / h for j ahead, then those for j behind.
    """
    grid = discretization.grid
    first = discretization.stencil.first / grid.spacing[AXES.index(axis)]
    at = np.arange(grid.points[AXES.index(axis)])
    is_inside = box.inside(axis, half, at).astype(float)
    columns = []
    for sign in (1, -1):
        for m, c in enumerate(first):
            # Half a cell up from nodes are half points of the same number.
            there = at + (m + half if sign > 0 else half - 1 - m)
            # chi = 1 within the box, where fields hold the whole wave; 0 outside.
            chi = is_inside - box.inside(axis, not half, there)
            columns.append(sign * c * chi)
    lacking = np.stack(columns, axis=1)
    reached = (lacking != 0.0).any(axis=1)
    return at[reached], lacking[reached]
