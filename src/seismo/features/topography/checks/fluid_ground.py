"""What motion of fluids errs by where it is read next to ground that slopes.

The pressure vanishes there, but motion is largest, and the rows that closed differences change err
by what a slope adds. With p points in a wavelength, d cells below the ground and its steepest dip::

    0.055 tan(dip) (10 / p)^3 exp(-1.2 d),    0.07 tan(dip) (10 / p)^2 exp(-1.2 d) below order 8

Dips of 10 to 45 degrees at 5, 7 and 10 points: found 0.05 to 0.06 on the ground at order 8, 0.067
to 0.073 at order 4, and less than that half a cell to two cells below it.
"""

from __future__ import annotations

import math

from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization

# On ground that dips by 45 degrees, by the least order that it is of.
_MOTION = {8: PowerLaw(0.055, 3.0), 2: PowerLaw(0.07, 2.0)}
_MOTION_DECAY = 1.2  # per cell


def ground_motion_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of motion; 0 on flat ground, or of solids."""
    if discretization.topography is None or "p" not in discretization.physics.gradients:
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
    dip = discretization.topography.steepest * math.exp(-_MOTION_DECAY * max(0.0, min(depths)))
    law = next(law for order, law in _MOTION.items() if discretization.stencil.order >= order)
    return waves.spectra.error(dip * law(points))
