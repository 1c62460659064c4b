"""Expected error of traces by fields of 16 bits, and its line in `seismo check`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.sources import PointSource
from seismo.features.half_precision.table import terms_on_stress
from seismo.runs.prediction.lines import Cause, Report, never, percent
from seismo.solver.discretization import Discretization

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
