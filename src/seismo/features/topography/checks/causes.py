"""Causes of error by ground that is not flat."""

from __future__ import annotations

from seismo.features.topography.checks.changed_ground import levelling_error, smoothing_error
from seismo.features.topography.checks.fluid_ground import ground_motion_error
from seismo.features.topography.checks.slope_moments import slope_moment_error
from seismo.runs.prediction.cause import Cause, never

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
