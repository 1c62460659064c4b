"""A rupture as files have it: slip at points of a fault, in SI, not yet on a grid.

It may be of a million subfaults: all attributes are kept in arrays, a number for each slip.

**Directivity** is in the moment rates that distant stations see (`apparent_moment_rates`). Waves of
slowness p (its length 1 / c) take the moment rate of a subfault at x to a station earlier by p . x,
so that the station sees the apparent moment rate

    M'(t) = sum_k M_k'(t - t_k + p . x_k)

(Ben-Menahem 1961, BSSA 51, 401-435). It is shortest, and highest in frequency, where p . x_k comes
next to the onsets t_k: ahead of the rupture. Behind it the subfaults arrive separately: at a
rupture velocity v and a spacing L all of them are in phase at multiples of 1 / (L (1 / v + 1 / c)),
above which a file's rupture is not continuous.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from seismo.acquisition.slip_rate import SlipRate, SlipRates
from seismo.acquisition.wavelet_shapes import FLOOR
from seismo.errors import ModelError

_ROUNDING = 1e-6  # of a subfault's total slip
_LONGEST = 1e6  # s, after which no subfault of an earthquake slips
_LARGEST = 1e20  # m3, area times slip: a million times the largest earthquake's


@dataclass(frozen=True, eq=False)
class Slips:
    """Slip of subfaults in a direction each: arrays (slip).

    Attributes:
        subfault: number in the file, from 0.
        line: of the file, for messages; 0 where it has none.
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
        rigidity: Pa, NaN where the file says nothing about it.
    """

    subfault: np.ndarray
    line: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    onset: np.ndarray
    step: np.ndarray
    size: np.ndarray
    rigidity: np.ndarray

    def __len__(self) -> int:
        """Count them."""
        return len(self.subfault)


@dataclass(frozen=True, eq=False)
class Rupture:
    """All slip of a fault.

    Attributes:
        path: of the file.
        count: of subfaults in the file, including those that do not slip.
        slips: of the subfaults that slip.
        slipped: (slip) m, that the slip rates amount to.
        rates: slip rates over that slip, of unit area.
        assumed: substitutes of data that the file lacks, for messages.
    """

    path: Path
    count: int
    slips: Slips
    slipped: np.ndarray
    rates: SlipRates
    assumed: tuple[str, ...] = ()

    def smoothed(self, sigma: float) -> Rupture:
        """Return it with slip rates smoothed by a Gaussian of standard deviation s."""
        return replace(self, rates=replace(self.rates, sigma=sigma))

    @cached_property
    def potencies(self) -> np.ndarray:
        """Area times slip (slip) m3, which times a rigidity is a moment."""
        return self.slips.area * self.slipped

    @cached_property
    def rigidities(self) -> np.ndarray | None:
        """Rigidity (slip) Pa of the file, None where it is incomplete."""
        return None if np.isnan(self.slips.rigidity).any() else self.slips.rigidity

    @cached_property
    def rate(self) -> SlipRate:
        """Moment rate of all over their moment, 1/s; of one rigidity where the file has none."""
        return self.rates.weighted_sum(self._weights)

    @cached_property
    def rate_at_once(self) -> SlipRate:
        """The same if all began together: waves of no direction have higher frequencies."""
        at_once = replace(self.rates, onset=np.zeros_like(self.rates.onset))
        return at_once.weighted_sum(self._weights)

    @cached_property
    def _weights(self) -> np.ndarray:
        """Shares (slip) of the moment, by their size: slip across the rake may have either sign."""
        moments = np.abs(self.potencies * (1.0 if self.rigidities is None else self.rigidities))
        return moments / moments.sum()

    def where(self, slip: int) -> str:
        """Return the file and line of a slip, for messages."""
        line = int(self.slips.line[slip])
        return f"{self.path}:{line}" if line else str(self.path)


def net_slip(rates: Sequence[Sequence[float]], step: float, where: str) -> list[float]:
    """Return the integral of slip rates in each direction; 0 for rounding errors.

    Args:
        rates: of a subfault along its rake and across it, a list for each.
        step: s between them.
        where: file and line, for messages.

    Raises:
        ModelError: all slip has slipped back, and the moment does not say so.
    """
    moved = [sum(map(abs, rate)) for rate in rates]
    slips = []
    for direction, rate, path in zip(("along", "across"), rates, moved, strict=True):
        counts = path > _ROUNDING * sum(moved)
        net = sum(rate) if counts else 0.0
        if counts and abs(net) <= _ROUNDING * path:
            raise ModelError(
                f"{where}: moves {path * step:g} m back and forth {direction} its rake, and its "
                "slip is 0 in the end: it has no moment; mend its slip rates, or set them 0",
                "path",
            )
        slips.append(float(net * step))
    return slips


@dataclass
class RuptureReader:
    """Slip as it is read, subfault by subfault.

    Attributes:
        count: of subfaults read, including those that do not slip.
    """

    count: int = 0
    _rows: array = field(default_factory=lambda: array("d"))
    _slipped: array = field(default_factory=lambda: array("d"))
    _rates: array = field(default_factory=lambda: array("f"))
    _lengths: array = field(default_factory=lambda: array("q"))

    def add(self, numbers: tuple[float, ...], slipped: float, shape: list[float]) -> None:
        """Add slip in a direction.

        Args:
            numbers: attributes of `Slips`, in order.
            slipped: m, that its rates amount to.
            shape: rates (n) 1/s over that slip.
        """
        self._rows.extend(numbers)
        self._slipped.append(slipped)
        self._rates.extend(shape)
        self._lengths.append(len(shape))

    def rupture(self, path: Path) -> Rupture | None:
        """Return the rupture read; None where nothing slips.

        Raises:
            ModelError: a subfault slips at a time that no earthquake has.
        """
        if not self._lengths:
            return None
        names = [f.name for f in fields(Slips)]
        columns = np.array(self._rows).reshape(-1, len(names)).T
        named = dict(zip(names, columns.copy(), strict=True))
        for name in ("subfault", "line"):
            named[name] = named[name].astype(np.int64)
        slips = Slips(**named)
        starts = np.concatenate([[0], np.cumsum(self._lengths)])
        rates = SlipRates(slips.onset, slips.step, starts, np.array(self._rates))
        rupture = Rupture(path, self.count, slips, np.array(self._slipped), rates)
        _refuse_late(rupture)
        _refuse_large(rupture)
        return rupture


def _refuse_late(rupture: Rupture) -> None:
    first, last = rupture.rates.ends
    # Not of numbers that are too large for a sum, either.
    is_late = ~(np.maximum(np.abs(first), np.abs(last)) < _LONGEST)
    if is_late.any():
        slip = int(is_late.argmax())
        raise ModelError(
            f"{rupture.where(slip)}: subfault {rupture.slips.subfault[slip] + 1} slips from "
            f"{first[slip]:.6g} to {last[slip]:.6g} s, and an earthquake takes less than "
            f"{_LONGEST:g} s; check the unit of its times (s)",
            "path",
        )


def _refuse_large(rupture: Rupture) -> None:
    is_large = ~(np.abs(rupture.potencies) < _LARGEST)
    if is_large.any():
        slip = int(is_large.argmax())
        raise ModelError(
            f"{rupture.where(slip)}: subfault {rupture.slips.subfault[slip] + 1} slips by "
            f"{rupture.slipped[slip]:.6g} m over {rupture.slips.area[slip]:.6g} m2, more than any "
            "earthquake; check the units of its slip and its area",
            "path",
        )


MOST_SUBFAULTS = 40_000  # that are summed: of so many, random phases leave 0.5 % of the moment
_COMPARED = (20, 200)  # subfaults, least and most, whose neighbours are looked for
_PAIRS = 8_000_000  # of them and all others
_SAME = 1e-3  # m between centres that coincide
_DIRECTIONS = 20  # even on the sphere, beside the directions of the fault
_FLAT = 1e-6  # share of the largest variance of positions, below which a fault has no extent
_GRAIN_BAND = (0.8, 1.25)  # times the frequency of the subfaults, as their spacing varies


@dataclass(frozen=True)
class Grain:
    """How a rupture goes over its subfaults.

    Attributes:
        velocity: of the rupture in m/s.
        spacing: of the subfaults in m.
        frequency: lowest in Hz at which they are in phase in any direction.
        share: of the moment, that the apparent moment rate has there.
    """

    velocity: float
    spacing: float
    frequency: float
    share: float


@dataclass(frozen=True)
class Directivity:
    """What a fault radiates by direction.

    Attributes:
        rates: apparent moment rates: of the highest frequency, and of the highest mean frequency.
        grain: None where nothing runs along the fault.
    """

    rates: tuple[SlipRate, ...] = ()
    grain: Grain | None = None


def directivity(
    positions: np.ndarray, moments: np.ndarray, rates: SlipRates, speed: float, area: float
) -> Directivity:
    """Return the radiation of a fault by direction.

    Args:
        positions: x, y, z (slip, 3) m.
        moments: (slip) N m.
        rates: moment rates over moments, 1/s.
        speed: of the waves at the fault in m/s.
        area: of a subfault in m2.
    """
    spacing = _spacing(positions)
    if len(moments) > MOST_SUBFAULTS:
        taken = np.random.default_rng(0).choice(len(moments), MOST_SUBFAULTS, replace=False)
        positions, moments, rates = positions[taken], moments[taken], rates.subset(taken)
    # Slip across the rake may have either sign: sums of signed moments may vanish.
    weights = np.abs(moments) / np.abs(moments).sum()
    offsets = positions - weights @ positions
    variances, axes = np.linalg.eigh(offsets.T @ (weights[:, None] * offsets))
    if not (variances[-1] > 0.0 and speed > 0.0):
        return Directivity()
    along = _own_slownesses(offsets, weights, rates.onset, speed, variances, axes)
    slownesses = np.concatenate([along, _sphere(_DIRECTIONS) / speed])
    apparent = rates.weighted_sums(weights, -slownesses @ offsets.T)
    frequency, spectra = _spectra(apparent)
    highest = [frequency[np.flatnonzero(a >= FLOOR * a.max())[-1]] for a in spectra]
    # Energy of the far velocity, a derivative of the moment rate.
    energy = (frequency * spectra) ** 2
    mean = energy @ frequency / energy.sum(axis=1)
    chosen = dict.fromkeys((int(np.argmax(highest)), int(np.argmax(mean))))
    grain = _grain(offsets, weights, rates.onset, speed, (spacing, area), variances)
    if grain is not None:
        low, high = (factor * grain[2] for factor in _GRAIN_BAND)
        beside = spectra[: len(along), (frequency >= low) & (frequency <= high)]
        share = float(beside.max(initial=0.0) / spectra.max())
    return Directivity(
        tuple(apparent[n] for n in chosen), None if grain is None else Grain(*grain, share)
    )


def _own_slownesses(
    offsets: np.ndarray, weights: np.ndarray, onsets: np.ndarray, speed: float,
    variances: np.ndarray, axes: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return slownesses (n, 3) s/m along the rupture, against it, and along the fault's axes."""
    extended = variances > _FLAT * variances[-1]
    # The plane wave whose times are next to the onsets.
    moved = axes.T @ (offsets.T @ (weights * (onsets - onsets.mean())))
    nearest = axes[:, extended] @ (moved[extended] / variances[extended])
    length = float(np.linalg.norm(nearest))
    level = np.stack([axes[:, -1], axes[:, -2]]) / speed
    slownesses = [level, -level]
    if length * speed >= 1.0:
        slownesses += [nearest[None] / (length * speed), -nearest[None] / (length * speed)]
    elif length > 0.0:  # faster than the waves, or both ways: these leave the fault aslant
        across = axes[:, :1].T * math.sqrt(speed**-2 - length**2)
        slownesses += [nearest + across, -nearest - across]
    return np.concatenate(slownesses)


def _sphere(count: int) -> np.ndarray:
    """Return directions (count, 3) that are even on a sphere: a Fibonacci lattice."""
    n = np.arange(count) + 0.5
    z = 1.0 - 2.0 * n / count
    turn = math.pi * (3.0 - math.sqrt(5.0)) * n
    across = np.sqrt(1.0 - z**2)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)


def _spectra(rates: list[SlipRate]) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (n) Hz and spectra (rate, n) of rates of the same step.

    B-splines of a degree have the spectrum sinc(f step)^(degree + 1).
    """
    first = rates[0]
    size = 1 << (2 * first.knots.size - 1).bit_length()
    frequency = np.fft.rfftfreq(size, first.step)
    spline = np.sinc(frequency * first.step) ** (first.degree + 1)
    spectra = [np.abs(np.fft.rfft(rate.knots, size)) * spline for rate in rates]
    return frequency, np.array(spectra)


def _grain(
    offsets: np.ndarray, weights: np.ndarray, onsets: np.ndarray, speed: float,
    size: tuple[float, float], variances: np.ndarray,
) -> tuple[float, float, float] | None:  # fmt: skip
    """Return rupture velocity m/s, spacing m and frequency Hz of the subfaults of a fault.

    Their size is the distance in m of neighbours, and the area in m2 of a subfault.
    """
    spacing, area = size
    centres = np.unique(np.round(offsets, 3), axis=0)
    first = int(np.argmin(onsets))
    later = onsets - onsets[first]
    distance = np.linalg.norm(offsets - offsets[first], axis=1)
    moving = (later > 0.0) & (distance > 0.0)
    if not moving.any() or len(centres) < 3:
        return None
    velocity = _median(distance[moving] / later[moving], weights[moving])
    is_row = variances[-2] < (0.1 * spacing) ** 2
    if not is_row:
        spacing = max(spacing, math.sqrt(area))
    return velocity, spacing, 1.0 / (spacing * (1.0 / velocity + 1.0 / speed))


def _spacing(centres: np.ndarray) -> float:
    """Return the median distance in m from a centre (n, 3) to the nearest other."""
    nearest = []
    compared = int(np.clip(_PAIRS // len(centres), *_COMPARED))
    for centre in centres[:: -(-len(centres) // compared)]:
        distances = np.linalg.norm(centres - centre, axis=1)
        # Slip along and across the rake share a centre.
        nearest.append(distances[distances > _SAME].min(initial=math.inf))
    return float(np.median(nearest))


def _median(samples: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted median of samples (n)."""
    order = np.argsort(samples)
    below = np.cumsum(weights[order])
    return float(samples[order][np.searchsorted(below, 0.5 * below[-1])])
