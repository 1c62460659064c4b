"""Causes of error by ground that is not flat.

Ground too short for the grid is smoothed off, and ground beside absorbing layers is level
(`seismo.features.topography.shape`). Where smoothing moves the ground by `d`, the largest root mean
square within a wavelength of any place between sources and receivers, traces err by::

    2 k d sqrt(L / w),    k = 2 pi f / c, w = c / f, c the slowest wave, L the longest path

since all ground that waves pass scatters, in 3-D by half of that; and by 0.6 of it where levelling
moves ground about sources and receivers. Told over found is 0.3 to 4, more for acoustic waves.

In fluids the pressure vanishes on the ground, but motion is largest, and the rows that closed
differences change err by what a slope adds. With p points in a wavelength, d cells below the ground
and its steepest dip, motion errs by::

    0.055 tan(dip) (10 / p)^3 exp(-1.2 d),    0.07 tan(dip) (10 / p)^2 exp(-1.2 d) below order 8

In solids moments act by strains that are fitted to the rows below
(`seismo.features.topography.interpolation`). With the dip above the moment traces err by::

    0.1 tan(dip) (10 / p)^2.5 exp(-d / 2),    0.21 tan(dip) (10 / p)^2 exp(-d / 2) below order 8

Where a contact lies among the rows no strains are fitted: four times as much. Found with dips of 5
to 45 degrees and 5 to 14 points per shortest wavelength.
"""

from __future__ import annotations

import math

import numpy as np

from seismo.features.topography.ground import ground_of
from seismo.features.topography.rows import Topography
from seismo.features.topography.shape import Ground
from seismo.runs.prediction.lines import Cause, never
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

_SCATTERED = {2: 2.0, 3: 1.0}  # by dimensions
_LEVELLED = 0.6
# On ground that dips by 45 degrees, by the least order that it is of.
_MOTION = {8: PowerLaw(0.055, 3.0), 2: PowerLaw(0.07, 2.0)}
_MOTION_DECAY = 1.2  # per cell
_MOMENTS = {8: PowerLaw(0.1, 2.5), 2: PowerLaw(0.21, 2.0)}
_MOMENT_DECAY = 0.5  # per cell
_AT_CONTACTS = 4.0  # times as much where no strains are fitted


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
    return None if discretization.vertical is None else ground_of(discretization.scenario)


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


def ground_motion_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of motion; 0 on flat ground, or of solids."""
    if discretization.vertical is None or "p" not in discretization.physics.gradients:
        return 0.0
    depths = [
        float(discretization.grid.index("z", group.all_positions[:, 2].min()))
        for group in discretization.groups
        if set(group.quantities) != {"pressure"}
    ]
    if not depths:
        return 0.0
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * max(waves.spacing))
    dip = discretization[Topography].steepest * math.exp(-_MOTION_DECAY * max(0.0, min(depths)))
    law = next(law for order, law in _MOTION.items() if discretization.stencil.order >= order)
    return waves.spectra.error(dip * law(points))


def slope_moment_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of moments; 0 on flat ground, and of fluids."""
    ground = discretization.interpolation
    if discretization.vertical is None or ground.by_depth:
        return 0.0
    acting = (source for shot in discretization.shots for source in shot.sources)
    positions = np.array([s.position for s in acting if s.is_local and s.kind != "force"])
    if not positions.size:
        return 0.0
    x, y, z = positions.T
    across = y if discretization.grid.dimensions == 3 else None
    slopes = [
        discretization[Topography].surface(across, x, along=a)
        for a in discretization.grid.axes
        if a != "z"
    ]
    depths = np.maximum(np.asarray(discretization.grid.index("z", z)), 0.0)
    dip = float((np.linalg.norm(slopes, axis=0) * np.exp(-_MOMENT_DECAY * depths)).max())
    if ground.tilted is None or ground.tilted.rows < MOST_ROWS:
        dip *= _AT_CONTACTS
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * max(waves.spacing))
    law = next(law for order, law in _MOMENTS.items() if discretization.stencil.order >= order)
    return min(1.0, waves.spectra.error(dip * law(points)))


CAUSES = (
    Cause("motion on ground that slopes", ground_motion_error, "surface", power=2.0),
    Cause("moments beside ground that slopes", slope_moment_error, "surface", power=2.0),
    Cause("ground too short for the grid", smoothing_error, "surface", power=1.0),
    Cause(
        "ground that is level beside absorbing layers", levelling_error, "surface",
        falls_with_spacing=never,
        remedy="enlarge grid.extent, or move receivers away from its sides",
    ),
)  # fmt: skip
