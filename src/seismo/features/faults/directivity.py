"""Moment rates of finite faults as distant stations see them, by direction.

Waves of slowness p (its length 1 / c) take the moment rate of a subfault at x to a station earlier
by p . x, so that the station sees the apparent moment rate

    M'(t) = sum_k M_k'(t - t_k + p . x_k)

(Ben-Menahem 1961, BSSA 51, 401-435). It is shortest, and highest in frequency, where p . x_k comes
next to the onsets t_k: ahead of the rupture. Behind it the subfaults arrive separately: at a
rupture velocity v and a spacing L all of them are in phase at multiples of 1 / (L (1 / v + 1 / c)),
above which a file's rupture is not continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.slip_rate import SlipRate, SlipRates
from seismo.acquisition.wavelet_shapes import FLOOR

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
