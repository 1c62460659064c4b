"""Strength of the absorbing layers of a run, and the profiles of theirs (`cpml`) on its grid."""

from __future__ import annotations

import math

import numpy as np

from seismo.solver.discretization import Discretization, derived_once
from seismo.solver.medium.cpml import (
    ALPHA_DROP,
    PmlParameters,
    default_profile,
    least_shift,
    profile,
)

GUIDING_ALPHA_DROP = 0.5  # the same where a medium may guide waves that grow
GUIDING_SHIFT = 0.05  # smallest alpha / d there: with less they grow for sources of low frequency


def strength(
    discretization: Discretization, damping: float, points: int | None = None
) -> PmlParameters:  # fmt: skip
    """Return the strength of layers that damp the fields by a share `damping` of their d.

    Args:
        discretization: of the run.
        damping: share of d.
        points: of the layers, None for its own.
    """
    spec = discretization.scenario.boundaries.layer
    alpha = spec.alpha
    # Default frequency shift, alpha = pi f with f in dominant frequencies.
    if alpha is None:
        alpha = discretization.physics.layer_shift * discretization.dominant_frequency
    guided = discretization.field_damping
    guides = guided.shift_at(damping)
    least = guides * GUIDING_SHIFT
    if discretization.physics.differences == "second":
        # Second differences: alpha in proportion to d, so that nothing grows.
        least = least_shift(discretization.stencil.first, discretization.stencil.second)
    reflection, power, steep = default_profile(
        (points or spec.points) // discretization.subdivision
    )
    return PmlParameters(
        spec.reflection or reflection, spec.kappa, math.pi * alpha, spec.power or power,
        discretization.fastest, least, damping, guided.acts_from(damping),
        ALPHA_DROP + guides * (GUIDING_ALPHA_DROP - ALPHA_DROP), steep,
    )  # fmt: skip


@derived_once
def profiles(discretization: Discretization) -> list[dict[str, np.ndarray]]:
    """Return, in each phase, the profile (8, points) of the layers along each axis (`profile`)."""
    layers = [strength(discretization, damping) for _, damping in discretization.layer_phases]
    dt = discretization.clock.dt
    grid = discretization.grid.damped
    return [
        {a: profile(grid, a, layer, dt, discretization.subdivision) for a in grid.axes}
        for layer in layers
    ]
