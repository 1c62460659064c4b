"""Fields in 16 bits (`precision: float16`): the same equation, in units in which its numbers suit.

A number of 16 bits (float16) has 11 bits, from 6e-5 to 65504; smaller numbers lose bits, larger are
infinite. Velocities are therefore kept times s_v and stresses times s_s, powers of two that round
nothing. With k = s_s / s_v the equations are as before, of a medium k times as heavy and as stiff:

    (k rho) d(s_v v)/dt = div (s_s s),    d(s_s s)/dt = (k c) grad (s_v v)

Waves of pressure alone have a single factor, and are stepped by increments
(`Physics.in_increments`): rounding would change the difference of two steps. Their lengths are in
units near the spacing, so that layer memory is as large as pressures, and kept in 16 bits, too.

Formulas compute in float32, and round on storing. Of the model, arrays that all planes read have 16
bits, rounded up or down at random (`seismo.backends.row_kernels`).

Beside the strongest source velocities, or pressures where there are none, are brought near
2^`_PEAK`, as they are estimated, within a factor of ten; stresses are rho c times as large. That
leaves room for as much again, and far away six decades with all bits. One scale serves all sources
of a run; for sources of unlike strength see `seismo.features.loss.mechanisms`.

The expected error of traces by such fields is one of the causes of `seismo check`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import pressures, scale_to, strain_rates
from seismo.equations.framework.table import Physics, SourceTerm
from seismo.equations.rock.relaxation import Relaxation
from seismo.features.loss.mechanisms import unlike
from seismo.grid.grid import AXES
from seismo.runs.prediction.lines import Cause, Report, never, percent
from seismo.solver.discretization import Discretization

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

VELOCITY = "m/s"
STRESS = "Pa"
_PEAK = 12  # power of two
_FURTHER = 2  # powers of two, up to which stresses may stay beside a moment
_STRAIN = 0.25  # of a moment's effect on its cell
_LEAST = 1e-3  # of the model: below 6e-5 numbers of 16 bits lose bits
_MOST = 3e4
_SOFTEST = 20.0  # vp / vs: c11 - c13, twice a shear modulus, is a small difference in softer rock


def can_be_short(physics: Physics) -> bool:
    """Whether the fields of an equation may be kept in 16 bits.

    Fields of lossless elastic waves may, and fields that step by increments.
    """
    if physics.in_increments:
        return True
    plain = not any(f.remembers or f.slope for f in physics.fields)
    units = {f.unit for f in physics.fields} == {VELOCITY, STRESS}
    return plain and units and physics.differences == "first" and not physics.interpolates


def in_16_bits(physics: Physics, velocity: float, stress: float, model: bool) -> Physics:
    """Return an equation of velocities and stresses that are kept in 16 bits, times powers of two.

    Args:
        physics: that `can_be_short`.
        velocity: factor of velocities.
        stress: factor of stresses.
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
        physics: that has `in_increments`.
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
        factors: of the medium; applied to the model arrays that sources read.
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


# A module that imports this module.


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
    # Of stress by the impedance at the strongest source; the static stress of a slow source has to
    # fit, too.
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

    A static share stays, where nothing moves any more: the strain times the velocity.
    """
    strained = [source for source in sources if terms_on_stress(discretization, source)]
    if not strained:
        return 0.0
    # The rate of a quantity one derivative lower.
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
    if not all(source.is_driven for source in scenario.sources):
        return "waves from outside are added to fields of 32 bits"
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


_NOISE = 5e-3  # of traces after `_STEPS` steps: measured 2e-3 to 9e-3, a quarter of it in the band
_STEPS = 1000
_CHANGES = {"acceleration", "strain_rate", "rotation", "divergence"}  # differences of fields
_LOUDER = 5.0  # times as much noise, which is white; measured 2 to 8
# Of sources of stress, by 2-D runs 14 and 28 cells away, within a factor of 2:
_FINE = 20.0  # points per S wavelength at the first; with n times as many, n times as much noise
_LASTING = 3.0  # times as much where a moment stays behind
_STAYS = 0.1  # of the largest moment: counts as such
_SAMPLES = 4097  # of a signal
# Of stresses in soft rock, by 2-D runs with vp / vs of 2, 10, 25, 50 and 100, within a factor of 2:
_SOFT = 10.0  # vp / vs; with n times as much, n times as much noise
_MOST_SOFT = 5.0  # times as much


def rounding_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by fields of 16 bits; 0 where they have more.

    Each step rounds every number by 2^-12 of itself at most: noise that grows as the root of the
    number of steps. Measured 5 to 40 wavelengths from a moment, in 2-D and 3-D, at orders 4 to 12.
    It is white, so that differences in space and time have more of it. Cells beside a source have
    most: the more points a wavelength has, the more their motion exceeds that of waves; and static
    moment there is rounded until the end. Rock that is soft in shear turns noise of normal stresses
    into more motion. Acoustic waves, 2e-3 to 6e-3, have none of these.
    """
    if not discretization.scenario.in_16_bits:
        return 0.0
    changing = any(
        quantity.of_change for map_ in discretization.maps for quantity in map_.quantities
    )
    changing |= any(not _CHANGES.isdisjoint(group.quantities) for group in discretization.groups)
    noise = _NOISE * (_LOUDER if changing else 1.0)
    noise *= min(_MOST_SOFT, max(1.0, discretization.extremes.ratio_max / _SOFT))
    sources = [source for shot in discretization.shots for source in shot.sources]
    strained = [source for source in sources if terms_on_stress(discretization, source)]
    if strained:
        noise *= max(1.0, _points_per_wavelength(discretization, strained) / _FINE)
        noise *= _LASTING if _lasts(discretization, strained) else 1.0
    return min(1.0, noise * math.sqrt(max(1.0, discretization.total_steps / _STEPS)))


def _points_per_wavelength(discretization: Discretization, sources: Sequence[PointSource]) -> float:
    """Return the most points that an S wave of the dominant frequency has at a source."""
    positions = np.array([source.position for source in sources])
    rock = discretization.earth.at(positions, discretization.grid.dimensions)
    return float(rock["vs"].max()) / (
        discretization.dominant_frequency * min(discretization.waves.spacing)
    )


def _lasts(discretization: Discretization, sources: Sequence[PointSource]) -> bool:
    """Whether a source leaves a moment, or a volume, behind."""
    if any(isinstance(source.wavelet, SlipRate) for source in sources):
        return True
    signals = {
        (id(source.wavelet), source.derivative, term.derivative): (source, term.derivative)
        for source in sources
        for term in terms_on_stress(discretization, source)
    }
    for source, derivative in signals.values():
        # Moment: the integral of the rate that acts on stresses.
        rate = source.signal(np.linspace(source.start, source.end, _SAMPLES), derivative)
        moment = np.abs(np.cumsum(rate))
        if moment[-1] > _STAYS * moment.max():
            return True
    return False


def _noise(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield the noise that rounding adds, and the weak waves that drown in it."""
    if noise := rounding_error(discretization):
        yield (
            "precision",
            f"float16, on GPUs: rounding adds some {percent(noise)} of noise to the traces, most "
            "of it above the band of the sources, where an interval of receivers filters it; it "
            "drowns phases and components some hundred times weaker than the strongest waves "
            "around them, and motion below 1e-6 of that beside the strongest source loses bits",
        )


CAUSES = (
    Cause(
        "fields of 16 bits", rounding_error, "medium", falls_with_spacing=never, key="precision",
        remedy="give precision: float32",
    ),
)  # fmt: skip
REPORTS = (Report("accuracy", _noise),)
