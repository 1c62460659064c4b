"""The part of a grid that can move: from rest nothing does ahead of the sources' fastest waves.

After n steps all that is further along an axis from the sources than

    v n + 3 n^(1/3) + 10  points

is less than 1e-7 of the largest, with v the largest group velocity along the axis, in points a
step, of the scheme's plane waves, the shortest ones included. Where short waves are the fastest, a
front fades as Airy's function does, over a distance that grows with the cube root of time. The
numbers hold for a source that acts in a single step, at orders 2 to 16, and so for all others
(`tests/solver/test_moving_part.py`).

The steps of a run come in phases; steps of a phase update the box that can move in its last step.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from seismo.features import acting
from seismo.grid.coefficients import staggered_symbol
from seismo.grid.decomposition import LINE
from seismo.grid.grid import AXES, Box, triple
from seismo.solver.discretization import Discretization

PARTS = 12  # phases of the time in which the moving part grows
WIDTH = 3.0  # points over the cube root of the steps: how far a front fades
AROUND = 10.0  # points
SPREAD = 9  # points on either side of its position on which a source acts
LEAST_SAVED = 0.1  # share of a run's updates that phases are worth
WAVENUMBERS = 32  # along an axis, of the plane waves that are looked at
ALIGNED = 8  # planes and rows that boxes consist of, so that blocks of threads are full


@dataclass(frozen=True)
class Phase:
    """Steps that update the same points, with the same layers.

    Attributes:
        first: step.
        layers: number of the phase of the absorbing layers (`Discretization.layer_phases`).
        box: points that are updated.
    """

    first: int
    layers: int
    box: Box


def points_a_step(discretization: Discretization) -> dict[str, float]:
    """Return the largest group velocity along each axis of the scheme's plane waves.

    With C_a = c dt / h_a and K_a(k_a) the symbol of the differences, sin^2(w dt / 2) = T / 4 for
    T = sum_a (C_a K_a)^2, so that the velocity is C_a^2 K_a K_a' / sqrt(T (1 - T / 4)).
    """
    axes = discretization.grid.axes
    k = np.linspace(1e-3, np.pi, WAVENUMBERS)
    square, slope = zip(*(_squared_symbol(discretization, a, k) for a in axes), strict=True)
    share = discretization.fastest * discretization.clock.dt
    courant = {a: share / discretization.grid.spacing[AXES.index(a)] for a in axes}
    # All directions: T (k_x, k_y, k_z).
    along = dict(zip(axes, np.ix_(*[np.arange(WAVENUMBERS)] * len(axes)), strict=True))
    total = np.zeros((WAVENUMBERS,) * len(axes))
    for a, of_axis in zip(axes, square, strict=True):
        total += courant[a] ** 2 * of_axis[along[a]]
    # At the limit of stability the shortest waves divide by 0, and travel nowhere.
    root = np.sqrt(total * np.maximum(1.0 - total / 4.0, 1e-6))
    # The longest waves travel at c.
    flat = {
        a: max(courant[a], float((courant[a] ** 2 * np.abs(of_axis)[along[a]] / root).max()))
        for a, of_axis in zip(axes, slope, strict=True)
    }
    for faster in acting("points_a_step", discretization.scenario):
        flat = faster(discretization, courant, flat)
    return flat


def _squared_symbol(
    discretization: Discretization, axis: str, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return K^2 (n) of differences along an axis at k (n), and K K', half its derivative."""
    if discretization.physics.differences == "second":
        second = discretization.stencil.second[1:]
        m = np.arange(1.0, len(second) + 1.0)
        square = 2.0 * (1.0 - np.cos(np.outer(k, m))) @ second
        return square, np.sin(np.outer(k, m)) @ (m * second)
    first = discretization.stencil.along(axis)
    m = np.arange(len(first)) + 0.5
    symbol = staggered_symbol(first, k)
    return symbol**2, symbol * (2.0 * np.cos(np.outer(k, m)) @ (m * first))


def phases(discretization: Discretization, from_rest: bool) -> tuple[Phase, ...]:
    """Return the phases of a run: without a front to follow, of the absorbing layers.

    Args:
        discretization: the run.
        from_rest: whether nothing moves before its first step.
    """
    grid = discretization.grid
    layers = [first for first, _ in discretization.layer_phases]
    plain = tuple(Phase(first, n, discretization.live) for n, first in enumerate(layers))
    # Planes gain little; plane waves enter on all sides, and waves of another grid from there.
    fronts = acting("fronts", discretization.scenario)
    entered = discretization.interface is not None or any(front(discretization) for front in fronts)
    if not from_rest or grid.dimensions == 2 or entered:
        return plain
    front = _Front(discretization)
    steps = discretization.total_steps
    filled = front.filled()
    starts = {*layers, *(round(filled * n / PARTS) for n in range(PARTS)), filled}
    bounds = [*sorted(starts - {steps}), steps]
    grown = list[Phase]()
    for first, behind in pairwise(bounds):
        number = sum(begin <= first for begin in layers) - 1
        phase = Phase(first, number, front.box(behind))
        # Boxes are rounded up: neighbours may have the same.
        if not grown or (grown[-1].layers, grown[-1].box) != (phase.layers, phase.box):
            grown.append(phase)
    updated = updates(tuple(grown), 0, steps)
    return tuple(grown) if updated < (1.0 - LEAST_SAVED) * grid.size * steps else plain


def updates(run_phases: tuple[Phase, ...], first: int, behind: int) -> int:
    """Return the points that steps update, from a first step on, summed over the steps."""
    ends = [*(phase.first for phase in run_phases[1:]), behind]
    return sum(
        phase.box.size * max(0, min(end, behind) - max(phase.first, first))
        for phase, end in zip(run_phases, ends, strict=True)
    )


def reversed_phases(run_phases: tuple[Phase, ...], steps: int) -> tuple[Phase, ...]:
    """Return the phases of a run that takes the steps of another one backwards, in as many and one.

    Its step k updates the points, with the layers, of the other's step `steps` - k: nothing that
    comes from further outside reaches those of an earlier step.
    """
    ends = [*(phase.first for phase in run_phases[1:]), steps + 1]
    return tuple(
        replace(phase, first=max(0, steps + 1 - end))
        for phase, end in zip(reversed(run_phases), reversed(ends), strict=True)
    )


class _Front:
    """The box that can move after so many steps."""

    def __init__(self, discretization: Discretization) -> None:
        """Take the sources of all shots."""
        self._grid = discretization.grid
        self._steps = discretization.total_steps
        self._speeds = points_a_step(discretization)
        points = [source.position for shot in discretization.shots for source in shot.sources]
        faults = [fault.positions for shot in discretization.shots for fault in shot.faults]
        positions = np.concatenate([np.reshape(points, (-1, 3)), *faults])
        # Along a periodic axis waves come back from the other side.
        periodic = {face.axis for face in discretization.image_faces if face.kind == "periodic"}
        self._sources = {
            a: self._grid.index(a, positions[:, AXES.index(a)])
            for a in self._grid.axes if a not in periodic and len(positions)
        }  # fmt: skip

    def box(self, steps: int) -> Box:
        """Return the points that can move in the last of `count` steps, along x in whole lines."""
        lo = list(self._grid.box.lo)
        hi = list(self._grid.box.hi)
        for axis, sources in self._sources.items():
            n = AXES.index(axis)
            far = self._speeds[axis] * steps + WIDTH * np.cbrt(steps) + AROUND + SPREAD
            unit = LINE if axis == "x" else ALIGNED
            lo[n] = max(lo[n], math.floor((sources.min() - far) / unit) * unit)
            hi[n] = min(hi[n], math.ceil((sources.max() + far + 1.0) / unit) * unit)
        return Box(triple(lo), triple(hi))

    def filled(self) -> int:
        """Return the steps after which all of the grid can move, or all of the run."""
        filling = self._grid.box
        return bisect_left(range(self._steps), True, key=lambda n: self.box(n) == filling)
