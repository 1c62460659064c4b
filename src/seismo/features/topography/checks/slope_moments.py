"""What traces err by whose moments act next to ground that slopes.

Moments there act by strains that are fitted to the rows below
(`seismo.features.topography.interpolation`). With p points in a wavelength, d cells below the
ground, and its dip above the moment::

    0.1 tan(dip) (10 / p)^2.5 exp(-d / 2),    0.21 tan(dip) (10 / p)^2 exp(-d / 2) below order 8

Moments in any direction half a row to four rows below planes of 5 to 45 degrees, 7 to 14 points per
shortest wavelength. Where a contact lies among the rows no strains are fitted: four times as much.
"""

from __future__ import annotations

import numpy as np

from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization
from seismo.solver.surface.traction_free_slopes import MOST_ROWS

# On ground that dips by 45 degrees, by the least order that it is of.
_MOMENTS = {8: PowerLaw(0.1, 2.5), 2: PowerLaw(0.21, 2.0)}
_MOMENT_DECAY = 0.5  # per cell
_AT_CONTACTS = 4.0  # times as much where no strains are fitted


def slope_moment_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of moments; 0 on flat ground, and of fluids."""
    ground = discretization.interpolation
    if discretization.topography is None or ground.by_depth:
        return 0.0
    acting = (source for shot in discretization.shots for source in shot.sources)
    positions = np.array([s.position for s in acting if s.is_local and s.kind != "force"])
    if not positions.size:
        return 0.0
    x, y, z = positions.T
    across = y if discretization.grid.dimensions == 3 else None
    slopes = [
        discretization.topography.surface(across, x, along=a)
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
