"""Fields in 16 bits (`precision: float16`): what they are kept times, and what asks for 32 bits.

Beside the strongest source velocities, or pressures where there are none, are brought near
2^`_PEAK`, as they are estimated, within a factor of ten; stresses are rho c times as large. That
leaves room for as much again, and far away six decades with all bits. One scale serves all sources
of a run; what some of them send beside others is told by `seismo.features.loss.storage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import (
    pressures,
    scale_to,
    strain_rates,
)
from seismo.equations.framework.table import SourceTerm
from seismo.equations.rock.relaxation import Relaxation
from seismo.features.half_precision.table import (
    STRESS,
    can_be_short,
    in_16_bits,
    pressures_in_16_bits,
)
from seismo.features.loss.storage import unlike
from seismo.grid.grid import AXES

# A module that imports this one.
if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

_PEAK = 12  # power of two
_FURTHER = 2  # powers of two, up to which stresses may stay beside a moment
_STRAIN = 0.25  # of what a moment adds to its cell; measured 0.1 between points of the grid
_LEAST = 1e-3  # of the model: below 6e-5 numbers of 16 bits lose bits
_MOST = 3e4
_SOFTEST = 20.0  # vp / vs: c11 - c13, twice a shear modulus, is a small difference in softer rock


def terms_on_stress(discretization: Discretization, source: PointSource) -> list[SourceTerm]:
    """Return how a source acts on stresses of a solid."""
    physics = discretization.physics
    if "vs" not in physics.needs:
        return []
    terms = [t for t in physics.drives[source.kind] if physics.named(t.field).unit == STRESS]
    return [term for term in terms if source.strength.get(term.component)]


def halved(discretization: Discretization, relaxation: Relaxation | None) -> Discretization:
    """Return a run whose fields are kept in 16 bits.

    Raises:
        ScenarioError: they cannot be.
    """
    physics = discretization.physics
    problem = _problem(discretization)
    if not problem:
        sources = [source for shot in discretization.shots for source in shot.sources]
        largest = (_pressures if physics.in_increments else _velocities)(discretization, sources)
        problem = unlike(sources, largest)
    if problem:
        raise discretization.scenario.mistake(
            "precision", problem=f"too few bits: {problem}; leave precision out, or give float32"
        )
    # Units: by the largest velocity, or pressure, that is expected.
    scale = scale_to(float(largest.max()) or 1.0, _PEAK)
    if physics.in_increments:
        # (c dt)^2 in these units is 2 at most, and above 1e-3 where rock is a tenth as fast.
        length = scale_to(1.0 / min(discretization.waves.spacing), 0)
        fits = (discretization.extremes.vp_min * discretization.clock.dt / length) ** 2 > _LEAST
        return replace(discretization, physics=pressures_in_16_bits(physics, scale, length, fits))
    # Of stress by the impedance at the strongest source; what a slow one leaves has to fit, too.
    heavier = scale_to(_impedance(discretization, sources[int(largest.argmax())].position), 0)
    static = _static_velocity(discretization, sources)
    scale = min(scale, scale_to(static, _PEAK + _FURTHER)) if static else scale
    fits = _model_fits(discretization, heavier)
    return replace(discretization, physics=in_16_bits(physics, scale, scale * heavier, fits))


def _velocities(discretization: Discretization, sources: Sequence[PointSource]) -> np.ndarray:
    """Estimate the largest velocities (source) in m/s, in the cells of the sources."""
    dt = discretization.clock.dt
    end = discretization.total_steps * dt
    rates = strain_rates(
        discretization.physics, discretization.earth, sources, discretization.grid.cell, dt, end
    )
    return rates * discretization.grid.spacing[0]


def _static_velocity(discretization: Discretization, sources: Sequence[PointSource]) -> float:
    """Estimate the largest stress that a moment holds in its cell, over the impedance, in m/s.

    A share of what it adds stays, where nothing moves any more: the strain times the velocity.
    """
    strained = [source for source in sources if terms_on_stress(discretization, source)]
    if not strained:
        return 0.0
    # The rate of what is one derivative lower.
    lower = [replace(source, derivative=source.derivative + 1) for source in strained]
    dt = discretization.clock.dt
    end = discretization.total_steps * dt
    strains = strain_rates(
        discretization.physics, discretization.earth, lower, discretization.grid.cell, dt, end
    )
    speeds = [_rock(discretization, source.position)["vs"].item() for source in strained]
    return float((_STRAIN * strains * speeds).max())


def _pressures(discretization: Discretization, sources: Sequence[PointSource]) -> np.ndarray:
    """Estimate the largest pressures (source) in Pa, in the cells of the sources."""
    dt = discretization.clock.dt
    grid = discretization.grid
    spacings = [grid.spacing[AXES.index(axis)] for axis in grid.axes]
    return pressures(
        discretization.physics,
        discretization.earth,
        sources,
        spacings,
        dt,
        discretization.total_steps * dt,
    )


def _model_fits(discretization: Discretization, heavier: float) -> bool:
    """Whether densities and stiffnesses, so many times as large, have all bits in 16."""
    rock = discretization.extremes
    dt = discretization.clock.dt
    # What formulas read: rho / dt, moduli times dt, and the inverse of these.
    softest = heavier * rock.rho_min * rock.vs_min**2 * dt
    stiffest = heavier * rock.rho_max * discretization.fastest**2 * dt
    numbers = (
        heavier * rock.rho_min / dt, heavier * rock.rho_max / dt,
        softest, stiffest, 1.0 / softest, 1.0 / stiffest,
    )  # fmt: skip
    return rock.ratio_max < _SOFTEST and all(_LEAST < number < _MOST for number in numbers)


def _problem(discretization: Discretization) -> str:
    """Return why fields cannot be kept in 16 bits; "" where they can."""
    scenario = discretization.scenario
    physics = discretization.physics
    # Units of velocity are by the impedance of shear waves: acoustic ones have to be increments.
    if not can_be_short(physics) or not (physics.in_increments or "vs" in physics.needs):
        name = scenario.equation.name
        return f"they do for lossless elastic and acoustic waves, not for {name}"
    if discretization.slips.every or discretization.extremes.fluid:
        return "rows beside fluids (vs = 0) take 32 bits"
    if any(source.type == "plane_wave" for source in scenario.sources):
        return "plane waves are added to fields of 32 bits"
    return ""


def _impedance(discretization: Discretization, position: tuple[float, float, float]) -> float:
    """Return rho vs in Pa s/m at a position."""
    rock = _rock(discretization, position)
    return float((rock["rho"] * rock["vs"]).item())


def _rock(
    discretization: Discretization, position: tuple[float, float, float]
) -> dict[str, np.ndarray]:
    """Return the parameters (1) at a position."""
    return discretization.earth.at(np.array([position]), discretization.grid.dimensions)
