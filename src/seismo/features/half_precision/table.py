"""Fields of 16 bits: the same equation, in units in which its numbers suit them.

A number of 16 bits (float16) has 11 bits, from 6e-5 to 65504; what is smaller loses bits, what is
larger is infinite. Velocities are therefore kept times s_v and stresses times s_s, powers of two
that round nothing. With k = s_s / s_v the equations are as before, of a medium k times as heavy and
as stiff:

    (k rho) d(s_v v)/dt = div (s_s s),    d(s_s s)/dt = (k c) grad (s_v v)

Waves of pressure alone have one factor, and are stepped by increments (`Physics.in_increments`):
rounding would change the difference of two steps. Their lengths are in units near the spacing, so
that what layers remember of derivatives is as large as pressures, and kept in 16 bits, too.

Formulas compute in float32, and round what they store. Of the model those arrays have 16 bits that
all planes read, rounded up or down at random (`seismo.backends.row_kernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from seismo.equations.framework.table import Physics, SourceTerm

VELOCITY = "m/s"
STRESS = "Pa"


def can_be_short(physics: Physics) -> bool:
    """Whether the fields of an equation may be kept in 16 bits.

    Those of lossless elastic waves may, and those that step by increments.
    """
    if physics.in_increments:
        return True
    plain = not any(f.remembers or f.slope for f in physics.fields)
    units = {f.unit for f in physics.fields} == {VELOCITY, STRESS}
    return plain and units and physics.differences == "first" and not physics.interpolates


def in_16_bits(physics: Physics, velocity: float, stress: float, model: bool) -> Physics:
    """Return an equation of velocities and stresses that are kept in 16 bits, times powers of two.

    Args:
        physics: one that `can_be_short`.
        velocity: what velocities are multiplied by.
        stress: what stresses are multiplied by.
        model: whether the model is kept in 16 bits, too.
    """
    scale_of = {VELOCITY: velocity, STRESS: stress}
    scales = {f.name: scale_of[f.unit] for f in physics.fields}
    heavier = stress / velocity
    # Densities and stiffnesses alike.
    return _kept(physics, scales, (heavier, heavier), model)


def pressures_in_16_bits(physics: Physics, scale: float, length: float, model: bool) -> Physics:
    """Return an equation of pressures by increments, which are kept in 16 bits, layers and all.

    Args:
        physics: one that has `in_increments`.
        scale: power of two that pressures are multiplied by.
        length: power of two near the spacing in m; in its units fluxes and second derivatives are
            about as large as pressures, and k = (c dt)^2 is near 1.
        model: whether the model is kept in 16 bits, too.
    """
    assert physics.in_increments
    physics = physics.in_increments(physics)
    scales = dict.fromkeys((f.name for f in physics.fields), scale)
    kept = _kept(physics, scales, (1.0 / length, 1.0 / length**2), model)
    return replace(kept, short_layers=True, length=length)


def _kept(
    physics: Physics, scales: Mapping[str, float], factors: tuple[float, float], model: bool
) -> Physics:
    """Return an equation whose fields, by name, are kept in 16 bits and times a power of two.

    Args:
        physics: the equation.
        scales: of its fields.
        factors: of the medium, and what sources read of the model arrays is multiplied by then.
        model: whether the model is kept in 16 bits, too.
    """
    of_medium, of_arrays = factors
    read = {name for stage in physics.stages for name in stage.coefficients_in(True)}
    return replace(
        physics,
        short_coefficients=tuple(sorted(read - physics.sparse.keys())) if model else (),
        fields=tuple(replace(f, short=True, scale=scales[f.name]) for f in physics.fields),
        coefficients=partial(_coefficients, physics.coefficients, of_medium),
        drives={
            kind: tuple(_scaled(term, scales[term.field], of_arrays) for term in terms)
            for kind, terms in physics.drives.items()
        },
        observables={
            quantity: {
                component: tuple(replace(t, factor=t.factor / scales[t.field]) for t in terms)
                for component, terms in components.items()
            }
            for quantity, components in physics.observables.items()
        },
    )


def _coefficients(coefficients: Callable, factor: float, medium: Mapping, dt: float) -> dict:
    """Return the model arrays of a medium whose numbers are so many times as large."""
    return coefficients({name: factor * np.asarray(v) for name, v in medium.items()}, dt)


def _scaled(term: SourceTerm, scale: float, factor: float) -> SourceTerm:
    """Return how a source acts on a field that is kept `scale` times as large."""

    def scale_of(mean: Callable, dt: float) -> np.ndarray:
        # Model arrays as they are.
        return scale * term.scale(lambda name, **how: mean(name, **how) / factor, dt)

    return replace(term, scale=scale_of)
