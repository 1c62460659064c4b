"""In how many bits memory variables are kept: 16 where that loses nothing that counts.

A 16-bit number has 11 bits and nine decades, from 6e-5 to 65504. A memory variable is a correction
of order 1/Q of a strain rate, so that its rounding, 2^-12 of itself in every step, changes traces
by some 1e-4. All are multiplied by one power of two, such that the strain rate next to the
strongest source is near 2^`_PEAK`: the largest numbers are seven octaves away from there, and what
is a million times weaker has all of its bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from seismo.acquisition.point_source import PointSource
from seismo.equations.relaxation import Relaxation
from seismo.equations.table import Physics, SourceTerm
from seismo.grid.grid import AXES, Grid
from seismo.model import Earth
from seismo.model.loss import effective_medium
from seismo.scenario import Scenario

LEAST_DECAY = 5e-4  # w_l dt: what a step takes of a variable must not be lost in its rounding
_PEAK = 13
_SAMPLES = 257  # of a signal, to find its peak


def with_storage(
    relaxation: Relaxation, scenario: Scenario, physics: Physics, earth: Earth, grid: Grid,
    sources: Sequence[PointSource],
) -> Relaxation:  # fmt: skip
    """Return the mechanisms with the scale of their variables, where these are kept in 16 bits.

    Raises:
        ScenarioError: 16 bits are asked for, and will not do.
    """
    asked = scenario.attenuation.storage if scenario.attenuation else "auto"
    if asked == 32:
        return relaxation
    problem = _problem(relaxation, scenario, physics)
    if asked == 16 and problem:
        raise scenario.mistake(
            "attenuation", "storage", problem=f"too few bits: {problem}; leave storage out"
        )
    if problem or (asked == "auto" and grid.dimensions == 2):
        return relaxation
    peak = strain_rate(physics, earth, grid, sources, relaxation.dt)
    return replace(relaxation, scale=2.0 ** (_PEAK - math.frexp(peak)[1]))


def _problem(relaxation: Relaxation, scenario: Scenario, physics: Physics) -> str:
    """Return why variables cannot be kept in 16 bits; "" where they can."""
    if scenario.precision != "float32":
        return f"precision is {scenario.precision}"
    if "c44" not in physics.medium:
        return "they do for elastic waves in 3-D and for P-SV waves alone"
    least = relaxation.frequencies[0] * relaxation.dt
    if least < LEAST_DECAY:
        return (
            f"in a step a variable decays by {least:.1e}, and rounding would hide less than "
            f"{LEAST_DECAY:g}; the band begins too low"
        )
    return ""


def strain_rate(
    physics: Physics, earth: Earth, grid: Grid, sources: Sequence[PointSource], dt: float
) -> float:
    """Estimate the largest strain rate in 1/s, which is that of the cell of the strongest source.

    A stress that changes by ds in every step spreads into a strain rate ds / (M dt), a velocity
    that changes by dv into dv / (c dt), with the smallest modulus M and its wave's velocity c.
    """
    spacing = dict(zip(AXES, grid.spacing, strict=True))
    rates = [0.0]
    for source, term, peak in _strongest(physics, sources):
        x, y, z = np.array(source.position)[:, None]
        across = y if grid.dimensions == 3 else None
        medium = effective_medium(earth, z, across, x, spacing, physics.medium)
        arrays = physics.coefficients(medium, dt)

        def mean(name: str, own: bool = False, arrays: dict = arrays) -> np.ndarray:
            return arrays[name]

        change = float(np.max(np.abs(term.scale(mean, dt)))) * peak / grid.cell
        modulus = float(np.max(np.where(medium["c44"] > 0, medium["c44"], medium["c33"])))
        velocity = math.sqrt(modulus / float(np.max(medium["rho"])))
        rates.append(change / (dt * (velocity if term.field.startswith("v") else modulus)))
    return max(rates) or 1.0


def _strongest(
    physics: Physics, sources: Sequence[PointSource]
) -> Iterable[tuple[PointSource, SourceTerm, float]]:
    """Return the strongest source of every kind and way to act, and its peak strength."""
    best: dict[tuple, tuple[float, PointSource, SourceTerm]] = {}
    peaks: dict[tuple, float] = {}
    for source in sources:
        for term in physics.drives.get(source.kind, ()):
            key = (id(source.wavelet), source.derivative, term.derivative)
            if key not in peaks:
                times = np.linspace(source.start, source.end, _SAMPLES)
                peaks[key] = float(np.abs(source.signal(times, term.derivative)).max())
            size = abs(source.strength.get(term.component, 0.0)) * peaks[key]
            kind = (source.kind, term.field)
            if kind not in best or size > best[kind][0]:
                best[kind] = (size, source, term)
    return [(source, term, size) for size, source, term in best.values()]
