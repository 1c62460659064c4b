"""Moment rates of subfaults, evaluated for a window of steps and the subfaults that act in it.

A subfault acts from shortly before its onset to shortly after its end, in which the transform of
`add_dispersion` rings. That transform moves waves of f dt periods a step to earlier steps, by
the share 1 - sqrt(1 - (pi f dt)^2) of their time. Subfaults begin early enough for waves of twice
the highest frequency of their rates, as it is of a few of them (1 % of the peak of the spectrum),
and of 4.5 steps a period at most.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.trace_processing import add_dispersion
from seismo.features.faults.finite_fault import ActingFault

WINDOW = 128  # steps
_MARGIN = 32  # steps before and after a signal
_BEYOND = 2.0  # times the highest frequency
_LEAST_STEPS = 4.5  # a period
_MEASURED = 12  # subfaults
_SAMPLES = 1 << 20  # computed at once, by each thread
_THREADS = 4
_LENGTHS = 64  # steps: lengths are multiples, so that many signals are computed together


class FaultSignals:
    """The signals of a fault, some of which are kept from window to window."""

    def __init__(
        self, fault: ActingFault, dt: float, steps: int, removal: bool, precision: str,
        offset: float,
    ) -> None:  # fmt: skip
        """Take a fault and the steps of a run.

        Args:
            fault: the fault.
            dt: time step in s.
            steps: of the run.
            removal: whether traces will be freed from time dispersion.
            precision: of the numbers that are kept.
            offset: of the times of signals, in steps.
        """
        self._rates = fault.rates
        self._dt = dt
        self._offset = offset
        self._delay = fault.delay
        self._removal = removal
        self._kind = np.dtype(precision)
        # Onset and end of each subfault in steps.
        starts, ends = ((t + fault.delay) / dt - offset for t in fault.rates.ends)
        self._starts = starts
        self._ends = ends
        self._steps = steps
        # Range of steps: ringing margins, and the shift of the transform.
        early = _MARGIN + self._earlier * np.maximum(starts, 0.0)
        self.first = np.clip(np.floor(starts - early), 0, steps).astype(np.int64)
        last = np.minimum(np.ceil(ends + _MARGIN), steps)
        self.stop = np.where(last > self.first, last, self.first).astype(np.int64)
        # Lengths rounded up, so that many signals are resampled together.
        self._lengths = -(-(self.stop - self.first) // _LENGTHS) * _LENGTHS
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []  # numbers, signals

    def alone(self) -> FaultSignals:
        """Return the same signals, of which it keeps those of its own windows."""
        signals = copy(self)
        signals._blocks = []
        return signals

    def kept_bytes(self, most: int) -> int:
        """Return the bytes of signals that are kept, of so many subfaults together at most."""
        length = (self.stop - self.first).max(initial=0) + _LENGTHS
        return int(most * length) * self._kind.itemsize

    @cached_property
    def _earlier(self) -> float:
        """By what share of their time signals begin before their onsets."""
        # Highest frequency of a few subfaults, even in their numbers.
        late = np.flatnonzero((self._starts > 0.0) & (self._starts < self._steps))
        if not (self._removal and late.size):
            return 0.0
        some = late[np.linspace(0, late.size - 1, _MEASURED).astype(int)]
        highest = max(wavelets.maximum_frequency(self._rates.rate(int(n))) for n in some)
        # Shift of waves of frequency f: 1 - sqrt(1 - (pi f dt)^2) of their time.
        sine = min(math.pi * _BEYOND * highest * self._dt, math.pi / _LEAST_STEPS)
        return 1.0 - math.sqrt(1.0 - sine**2)

    def acting(self, begin: int, numbers: np.ndarray) -> np.ndarray:
        """Return those of some subfaults that act in the window that begins with a step."""
        first = self.first[numbers]
        # Those that begin after the run have no steps: they act in no window.
        some = (first < begin + WINDOW) & (self.stop[numbers] > np.maximum(begin, first))
        return numbers[some]

    def most(self, numbers: np.ndarray) -> int:
        """Return how many of some subfaults act in one window at most."""
        some = numbers[self.stop[numbers] > self.first[numbers]]
        return self.together(self.first[some], self.stop[some])

    def together(self, begin: np.ndarray, end: np.ndarray) -> int:
        """Return how many of what acts in the steps begin <= step < end (n) share a window."""
        size = self._steps // WINDOW + 2
        # Begins less ends, summed over windows: how many act in each.
        begun = np.bincount(begin // WINDOW, minlength=size)
        ended = np.bincount((end - 1) // WINDOW + 1, minlength=size)
        return int(np.cumsum(begun[:size] - ended[:size]).max(initial=0))

    def window(self, begin: int, numbers: np.ndarray) -> np.ndarray:
        """Return the signals (step, subfault) of a window, for subfaults of increasing numbers."""
        self._blocks = [b for b in self._blocks if (self.stop[b[0]] > begin).any()]
        # Drop blocks that have ended; evaluate those that begin.
        known = np.concatenate([b[0] for b in self._blocks] or [np.zeros(0, np.int64)])
        self._work_out(np.setdiff1d(numbers, known))
        samples = np.zeros((numbers.size, WINDOW), self._kind)
        for some, signals in self._blocks:
            rows = np.searchsorted(numbers, some).clip(max=numbers.size - 1)
            in_block = numbers[rows] == some
            # Step of the window within each kept signal; 0 outside it.
            at = begin + np.arange(WINDOW) - self.first[some[in_block], None]
            length = (self.stop - self.first)[some[in_block], None]
            inside = (at >= 0) & (at < length)
            taken = np.take_along_axis(signals[in_block], np.where(inside, at, 0), 1)
            samples[rows[in_block]] = np.where(inside, taken, 0.0)
        return samples.T

    def _work_out(self, numbers: np.ndarray) -> None:
        """Keep the signals of subfaults; none depends on which others are among them."""
        lengths = self._lengths[numbers]
        # Blocks of some, in threads: the transforms do not hold Python's lock.
        blocks: list[np.ndarray] = []
        for length in np.unique(lengths).tolist():
            alike = numbers[lengths == length]
            blocks += np.array_split(alike, -(-alike.size * length // _SAMPLES))
        with ThreadPoolExecutor(_THREADS, "seismo-signals") as pool:
            self._blocks += zip(blocks, pool.map(self._signals, blocks), strict=True)

    def _signals(self, numbers: np.ndarray) -> np.ndarray:
        """Return moment rates (subfault, step) in 1/s from the first of each, alike in length."""
        first = self.first[numbers]
        count = int(self._lengths[numbers[0]])
        dt = self._dt
        # Time of the first sample of each, less the delay of the fault.
        times = (first + self._offset) * self._dt - self._delay
        signals = self._rates.resampled(numbers, times, count, dt)
        if self._removal:
            signals = add_dispersion(signals, (first + self._offset)[:, None])
        return signals.astype(self._kind)
