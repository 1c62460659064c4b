"""What traces err by where the ground of the grid is not that of the scenario.

Ground too short for the grid is smoothed off, and ground beside absorbing layers is level
(`seismo.model.ground_shape`). Where smoothing moves the ground by `d`, the root mean square within
a wavelength of a receiver, its trace errs by::

    2 k d sqrt(L / w),    k = 2 pi f / c, w = c / f, c the slowest wave, L the longest path

since all ground that waves pass scatters, in 3-D by half of that; and by 0.6 of it where levelling
does. Worst receivers on the ground of a mountain in 2-D, and on that smoothed to 400 m, told over
found against grids of a quarter to a half of the spacing or longer ones, f 0.3 to 1 Hz, c 1750 m/s,
spacings of 80 to 160 m: smoothing 0.7 to 1.3 under a deep source, 0.5 and 0.9 beside a shallow one,
2.3 on four hills of a formula; levelling 0.7 to 1.6, beside a shallow source 0.4 and 1.1, 0.2 where
a quarter of the trace errs, 4 on one hill. An earthquake in 3-D: 1.5.
"""

from __future__ import annotations

import math

import numpy as np

from seismo.model.ground_shape import Ground
from seismo.solver.discretization import Discretization
from seismo.solver.ground import ground_of

_SCATTERED = {2: 2.0, 3: 1.0}  # by dimensions
_LEVELLED = 0.6


def smoothing_error(setup: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is smoothed off."""
    ground = _ground(setup)
    return 0.0 if ground is None else _error(setup, ground, ground.smoothing, 1.0)


def levelling_error(setup: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is level beside layers."""
    ground = _ground(setup)
    return 0.0 if ground is None else _error(setup, ground, ground.levelling, _LEVELLED)


def _ground(setup: Discretization) -> Ground | None:
    return None if setup.topography is None else ground_of(setup.scenario)


def _error(setup: Discretization, ground: Ground, change: np.ndarray, share: float) -> float:
    """Return the error of the worst trace by a share of a change (m, n) or (n) of ground in m."""
    if not change.any():
        return 0.0
    waves = setup.waves
    frequency = waves.spectra.frequency
    # At the root mean square of a trace's frequencies, the shortest of all traces.
    wavelength = waves.slowest / math.sqrt((waves.spectra.energy @ frequency**2).max())
    moved = _about_receivers(setup, ground, change, wavelength)
    k = 2.0 * np.pi * frequency / waves.slowest
    times = share * _SCATTERED[setup.grid.dimensions] * math.sqrt(waves.longest / wavelength)
    return min(1.0, waves.spectra.error(times * k * moved))


def _about_receivers(
    setup: Discretization, ground: Ground, change: np.ndarray, distance: float
) -> float:
    """Return the largest root mean square [m] of a change about any receiver, or place of maps.

    Of a square that reaches so far [m] along x and y, without change outside the region.
    """
    from scipy.ndimage import uniform_filter

    lines = {"x": ground.x} if ground.y is None else {"y": ground.y, "x": ground.x}
    size = [2 * round(distance / (line[1] - line[0])) + 1 for line in lines.values()]
    mean = uniform_filter(change**2, size, mode="constant")
    if not setup.groups:
        return math.sqrt(max(0.0, float(mean.max())))
    positions = np.concatenate([group.all_positions for group in setup.groups])
    nodes = tuple(
        np.abs(line - positions[:, "xyz".index(axis), None]).argmin(axis=1)
        for axis, line in lines.items()
    )
    # Running sums of a filter may leave less than nothing.
    return math.sqrt(max(0.0, float(mean[nodes].max())))
