"""Short filters that delay signals, by parts of a step too, and take differences of them.

A wave with horizontal slowness p has at x the motion of its column a time p . x later. Where time
dispersion is removed from the traces a frequency w of the grid stands for Omega = 2 / dt sin(w dt /
2), and the wave has the phase exp(-i Omega p . x): a delay that depends on frequency. A filter of
some samples about a whole number of steps has it, and the weights of a difference, for all
frequencies that a signal holds, by least squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_SHORTEST = 12  # samples
_LONGEST = 40
_MORE = 4
_FREQUENCIES = 193
ERROR = 3e-7  # of the largest response, times the spectrum, whose peak is 1
_LEAST_WEIGHT = 1e-4  # of frequencies that a signal hardly holds
_RANK = 3e-8  # of the least singular value that counts: weights stay of the size of 1
_SPREAD = 3.0  # steps by which frequencies of a segment arrive apart, at most
_HELD = 1e-5  # of the spectrum's peak: frequencies that count for it
_TRIED = 256  # places that tell how long filters are
_TOGETHER = 4096  # places that are worked out at once


class SignalBand(NamedTuple):
    """The spectrum of signals that filters are fitted to.

    Attributes:
        strength: (n) of a signal at equal steps of frequency from 0 to the highest, at most 1.
        highest: of its frequencies, in radians per step.
        removal: whether delays are those of traces that are freed from time dispersion.
    """

    strength: np.ndarray
    highest: float
    removal: bool

    @property
    def counting(self) -> float:
        """The highest frequency that counts, in radians per step."""
        last = np.flatnonzero(self.strength > _HELD)[-1]
        return self.highest * float(last) / max(1, self.strength.size - 1)

    @property
    def segment(self) -> float:
        """Steps of delay for which filters of one signal serve."""
        return 8.0 * _SPREAD / self.counting**2 if self.removal else np.inf


class RetardedFilters(NamedTuple):
    """Filters of several places.

    Attributes:
        taps: (sample, place) weights.
        lags: (place) steps: sample k counts from the step that is so many earlier.
        error: largest error of a response, times the spectrum, over the largest response.
    """

    taps: np.ndarray
    lags: np.ndarray
    error: float


def retarded_filters(
    offsets: np.ndarray, weights: np.ndarray, references: np.ndarray, band: SignalBand
) -> RetardedFilters:
    """Return filters that sum a signal at several delays with weights.

    Args:
        offsets: (place, term) delays in steps.
        weights: (place, term) weights.
        references: (place) delays in steps for which signals are dispersed already.
        band: of the signals.
    """
    some = np.unique(np.linspace(0, len(offsets) - 1, _TRIED).astype(int))
    for length in range(_SHORTEST, _LONGEST + 1, _MORE):
        _, error = _fitted(offsets[some], weights[some], references[some], band, length)
        if error <= ERROR:
            break
    # All places, some at a time.
    blocks = range(0, len(offsets), _TOGETHER)
    some_places = [slice(first, first + _TOGETHER) for first in blocks]
    fits = [_fitted(offsets[p], weights[p], references[p], band, length) for p in some_places]
    taps = np.concatenate([fit for fit, _ in fits], axis=1)
    lags = _centres(offsets, weights).astype(np.int64) + length // 2
    return RetardedFilters(taps, lags, max(error for _, error in fits))


def _centres(offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the whole numbers of steps that filters stand about."""
    return np.round((offsets * np.abs(weights)).sum(1) / np.abs(weights).sum(1))


def _fitted(
    offsets: np.ndarray, weights: np.ndarray, references: np.ndarray, band: SignalBand, length: int
) -> tuple[np.ndarray, float]:
    """Return the weights (sample, place) of filters of a length, and their largest error."""
    frequency = np.linspace(0.0, band.highest, _FREQUENCIES)
    # Errors count by the spectrum.
    sampled_at = np.linspace(0.0, band.highest, band.strength.size)
    strength = np.interp(frequency, sampled_at, band.strength)
    importance = np.maximum(strength, _LEAST_WEIGHT)[:, None]
    true = 2.0 * np.sin(0.5 * frequency) if band.removal else frequency
    # What the signal does not have of exp(-i Omega delay), about a whole number of steps.
    phase = np.outer(frequency, _centres(offsets, weights) - references)
    response = np.zeros(phase.shape, complex)
    for delay, weight in zip(offsets.T, weights.T, strict=True):
        response += weight * np.exp(1j * (phase - np.outer(true, delay - references)))
    # Weighted least squares of real weights, by real and imaginary parts.
    wanted = response * importance
    wanted = np.concatenate([wanted.real, wanted.imag])
    ahead = np.arange(length) - length // 2
    basis = np.exp(1j * np.outer(frequency, ahead)) * importance
    basis = np.concatenate([basis.real, basis.imag])
    taps = np.linalg.pinv(basis, rcond=_RANK) @ wanted
    missed = np.abs(basis @ taps - wanted).max() / np.abs(response).max()
    return taps, float(missed)
