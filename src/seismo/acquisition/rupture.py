"""A rupture as files have it: slip at points of a fault, in SI, not yet on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from seismo.acquisition.slip_rate import SlipRate, weighted_sum


@dataclass(frozen=True, eq=False)
class Slip:
    """Slip of a subfault in one direction.

    Attributes:
        subfault: number in the file, from 0.
        where: file and line, for messages.
        longitude: of the centre, in degrees.
        latitude: of the centre, in degrees.
        depth: of the centre in m below the surface.
        strike: degrees.
        dip: degrees.
        rake: of this slip, in degrees.
        area: m2.
        onset: time of the first slip rate in s.
        step: s between slip rates.
        size: of the slip in m, as the file says.
        rates: slip rates (n) m/s.
        rigidity: Pa, None where the file says nothing about it.
        sigma: standard deviation in s of the Gaussian that smooths its rate, 0 for none.
    """

    subfault: int
    where: str
    longitude: float
    latitude: float
    depth: float
    strike: float
    dip: float
    rake: float
    area: float
    onset: float
    step: float
    size: float
    rates: np.ndarray
    rigidity: float | None
    sigma: float = 0.0

    @cached_property
    def slipped(self) -> float:
        """Slip in m that its rates amount to."""
        return float(self.rates.sum() * self.step)

    @cached_property
    def rate(self) -> SlipRate:
        """Slip rate over the slip, 1/s: of unit area."""
        rate = SlipRate.of(self.onset, self.step, self.rates / self.slipped)
        return rate.smoothed(self.sigma) if self.sigma else rate


@dataclass(frozen=True, eq=False)
class Rupture:
    """All slip of a fault; `count` subfaults are in the file, with those that do not slip."""

    path: Path
    count: int
    slips: tuple[Slip, ...]

    def smoothed(self, sigma: float) -> Rupture:
        """Return it with slip rates smoothed by a Gaussian of standard deviation s."""
        return replace(self, slips=tuple(replace(slip, sigma=sigma) for slip in self.slips))

    @cached_property
    def potencies(self) -> np.ndarray:
        """Area times slip (slip) m3, which times a rigidity is a moment."""
        return np.array([s.area * s.slipped for s in self.slips])

    @cached_property
    def rigidities(self) -> np.ndarray | None:
        """Rigidity (slip) Pa of the file, None where it lacks that of some."""
        moduli = [s.rigidity for s in self.slips]
        return None if None in moduli else np.array(moduli, float)

    @cached_property
    def rate(self) -> SlipRate:
        """Moment rate of all over their moment, 1/s; of one rigidity where the file has none."""
        moments = self.potencies * (1.0 if self.rigidities is None else self.rigidities)
        return weighted_sum([s.rate for s in self.slips], moments / moments.sum())
