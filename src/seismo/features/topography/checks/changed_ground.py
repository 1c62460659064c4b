"""What traces err by where the ground of the grid is not that of the scenario.

Ground too short for the grid is smoothed off, and ground beside absorbing layers is level
(`seismo.features.topography.shape`). Where smoothing moves the ground by `d`, the largest
root mean square within a wavelength of any place between sources and receivers, traces err by::

    2 k d sqrt(L / w),    k = 2 pi f / c, w = c / f, c the slowest wave, L the longest path

since all ground that waves pass scatters, in 3-D by half of that; and by 0.6 of it where levelling
moves ground about sources and receivers. Told over found in 2-D, worst receivers, against grids of
a quarter to a half of the spacing, or longer ones: the ground of a mountain, f 0.3 to 1 Hz, c 1750
m/s, spacings of 80 to 160 m, 0.7 to 1.3 under a deep source and 0.5 to 0.9 beside a shallow one;
undulations four spacings long 0.9, steps and fractal ground 2.4 to 2.8, hills of a formula 2.3 to
4, acoustic waves over undulations 20; levelling 0.7 to 1.6, beside a shallow source 0.4 and 1.1,
0.2 where a quarter of the trace errs. An earthquake in 3-D: 1.5.
"""

from __future__ import annotations

import math

import numpy as np

from seismo.features.topography.ground import ground_of
from seismo.features.topography.shape import Ground
from seismo.solver.discretization import Discretization

_SCATTERED = {2: 2.0, 3: 1.0}  # by dimensions
_LEVELLED = 0.6


def smoothing_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is smoothed off."""
    ground = _ground(discretization)
    return 0.0 if ground is None else _error(discretization, ground, ground.smoothing, 1.0, True)


def levelling_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is level beside layers."""
    ground = _ground(discretization)
    return (
        0.0
        if ground is None
        else _error(discretization, ground, ground.levelling, _LEVELLED, False)
    )


def _ground(discretization: Discretization) -> Ground | None:
    return None if discretization.topography is None else ground_of(discretization.scenario)


def _error(
    discretization: Discretization, ground: Ground, change: np.ndarray, share: float, between: bool
) -> float:
    """Return the error of the worst trace by a share of a change (m, n) or (n) of ground in m."""
    if not change.any():
        return 0.0
    waves = discretization.waves
    frequency = waves.spectra.frequency
    # At the root mean square of a trace's frequencies, the shortest of all traces.
    wavelength = waves.slowest / math.sqrt((waves.spectra.energy @ frequency**2).max())
    moved = _largest_about(discretization, ground, change, wavelength, between)
    k = 2.0 * np.pi * frequency / waves.slowest
    times = (
        share * _SCATTERED[discretization.grid.dimensions] * math.sqrt(waves.longest / wavelength)
    )
    return min(1.0, waves.spectra.error(times * k * moved))


def _largest_about(
    discretization: Discretization,
    ground: Ground,
    change: np.ndarray,
    distance: float,
    between: bool,
) -> float:
    """Return the largest root mean square [m] of a change about places that waves come to.

    Of squares that reach so far [m] along x and y from sources and receivers, or from all places
    between these, from any place if only maps are recorded; without change outside the region.
    """
    from scipy.ndimage import uniform_filter

    lines = {"x": ground.x} if ground.y is None else {"y": ground.y, "x": ground.x}
    size = [2 * round(distance / (line[1] - line[0])) + 1 for line in lines.values()]
    mean = uniform_filter(change**2, size, mode="constant")
    if discretization.groups:
        ends = [group.all_positions for group in discretization.groups]
        ends += [np.array([s.position for s in shot.sources]) for shot in discretization.shots]
        positions = np.concatenate(ends)
        nodes = [
            np.abs(line - positions[:, "xyz".index(axis), None]).argmin(axis=1)
            for axis, line in lines.items()
        ]
        passed = tuple(slice(n.min(), n.max() + 1) for n in nodes)
        mean = mean[passed if between else tuple(nodes)]
    # Running sums of a filter may leave less than nothing.
    return math.sqrt(max(0.0, float(mean.max())))
