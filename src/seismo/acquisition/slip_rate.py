"""Moment rates of finite faults: samples of their own interval, taken to the steps of a run.

Between the samples of a file a rate is linear, and it rises from zero and falls to zero within an
interval: its integral is the sum of the samples times the interval. A run samples it once a step.
Values of the rate itself at these times would alias frequencies above half the sampling frequency,
and change the moment where the step is long. Means over each step do neither: of frequencies near a
multiple of 1 / dt, which alias to zero, the mean is zero, and the sum of means is the integral. A
mean is the rate times sinc(f dt), which differences of the means take back:

    rate = (1 - d2 / 24 + 3 d4 / 640 - 5 d6 / 7168) mean,   d2 = m[n + 1] - 2 m[n] + m[n - 1],

the series of arcsin(x) / x at x^2 = -d2 / 4, exact to (pi f dt)^8 (1e-9 at 40 steps a period).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from seismo.acquisition.wavelet_shapes import WaveletShape

_SERIES = (-1.0 / 24.0, 3.0 / 640.0, -5.0 / 7168.0)
_PER_SIGMA = 6  # knots
_PER_RATE = 48  # steps of a sum in a short rate
_SHORT = 0.05  # of the rates are shorter
_SIGMAS = 4.5  # reach of a Gaussian: 4e-5 of its peak
_MOST_SAMPLES = 1 << 20  # of the sum of many rates
_BLOCK = 1 << 19  # numbers that are computed together


@dataclass(frozen=True, eq=False)
class SlipRate:
    """A moment rate in 1/s, of unit area where it is of all the moment: a sum of B-splines.

    Attributes:
        first: time in s at which the first B-spline has its centre.
        step: s between the centres of B-splines.
        knots: (n) 1/s, their coefficients, of which `degree` at either end are zero.
        degree: 1, lines between knots, or 3, whose spectrum falls with the fourth power.

    Several rates of equally many knots may be a single object: knots (rate, n), first and step
    (rate, 1), and all times and values (rate, n).
    """

    first: Any
    step: Any
    knots: np.ndarray
    degree: int = 1
    sums: np.ndarray = field(init=False, repr=False)
    type: ClassVar[str] = "slip_rate"
    amplitude: ClassVar[float] = 1.0
    delay: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        """Sum up the coefficients before each knot."""
        zero = np.zeros((*self.knots.shape[:-1], 1))
        sums = np.concatenate([zero, np.cumsum(self.knots, axis=-1)], axis=-1)
        object.__setattr__(self, "sums", sums)

    @staticmethod
    def of(onset: Any, step: Any, samples: np.ndarray, degree: int = 1) -> SlipRate:
        """Return the rate of samples (n) 1/s, the first of which is at the onset in s."""
        rests = degree == 1 and samples.ndim == 1 and samples[0] == 0.0
        before = degree - int(rests)
        outside = [np.zeros((*samples.shape[:-1], n)) for n in (before, degree)]
        knots = np.concatenate([outside[0], samples, outside[1]], axis=-1)
        return SlipRate(onset - before * step, step, knots, degree)

    @property
    def last(self) -> float:
        """Time of the last knot in s."""
        return self.first + (self.knots.shape[-1] - 1) * self.step

    @property
    def area(self) -> float:
        """The integral of the rate."""
        return float(self.sums[-1] * self.step)

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the rate (as t) at times t (s)."""
        return self._splined(t, _VALUES[self.degree])

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return the rate's rate of change (as t) at times t (s)."""
        return self._splined(t, _SLOPES[self.degree]) / self.step

    def integral(self, t: np.ndarray) -> np.ndarray:
        """Return the share of the moment (as t) that is reached at times t (s)."""
        k, _ = self._interval_of(t)
        return self.step * (_taken(self.sums, k) + self._splined(t, _INTEGRALS[self.degree]))

    def resampled(self, t: np.ndarray) -> np.ndarray:
        """Return the rate (n) at equally spaced times (n) in s, without aliases; see above."""
        dt = t[..., 1:2] - t[..., :1]
        ahead = len(_SERIES)
        edges = t[..., :1] + dt * (np.arange(-ahead, t.shape[-1] + ahead + 1) - 0.5)
        difference = np.diff(self.integral(edges)) / dt
        rate = difference[..., ahead:-ahead].copy()
        for order, factor in enumerate(_SERIES, 1):
            difference = np.diff(difference, 2)
            rest = ahead - order
            rate += factor * difference[..., rest : difference.shape[-1] - rest]
        return rate

    def smoothed(self, sigma: float) -> SlipRate:
        """Return the rate convolved with a Gaussian of unit area and standard deviation s.

        Means over steps and B-splines of degree 3 have variances of 1 / 12 and 1 / 3 step^2.
        """
        refined = max(1, math.ceil(float(np.max(self.step)) * _PER_SIGMA / sigma))
        step = self.step / refined
        width = math.sqrt(max(sigma**2 - 5.0 / 12.0 * np.max(step) ** 2, 0.0)) / float(np.max(step))
        reach = math.ceil(_SIGMAS * width)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        count = (self.knots.shape[-1] - 1) * refined + 2
        edges = self.first + step * (np.arange(count) - 0.5)
        means = np.diff(self.integral(edges)) / step
        knots = np.zeros((*means.shape[:-1], means.shape[-1] + 2 * reach))
        for n, share in enumerate(kernel / kernel.sum()):
            knots[..., n : n + means.shape[-1]] += share * means
        return SlipRate.of(self.first - reach * step, step, knots, 3)

    def shape(self) -> WaveletShape:
        """Return it as a shape with the times of the rate."""
        length = self.last - self.first
        points = max(4096, 8 * self.knots.size)
        return WaveletShape(
            self.value, self.slope, self.first, self.last, 1.0 / length, points=points
        )

    def _interval_of(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of the knots (as t) whose B-splines reach times t, and how far in it."""
        behind = self.degree // 2
        along = (np.asarray(t, float) - self.first) / self.step
        last = self.knots.shape[-1] - 1 - behind
        along = np.clip(along, behind, last)
        k = np.minimum(along.astype(np.intp), last - 1)
        return k - behind, along - k

    def _splined(self, t: np.ndarray, weights: SplineWeights) -> np.ndarray:
        k, b = self._interval_of(t)
        terms = (_taken(self.knots, k + n) * w for n, w in enumerate(weights(b)))
        return sum(terms, np.zeros(b.shape))


def _taken(knots: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return values of knots (n) or (rate, n) at indices (m), or (rate, m)."""
    return knots[k] if knots.ndim == 1 else np.take_along_axis(knots, k, -1)


SplineWeights = Callable[[np.ndarray], Sequence[np.ndarray]]
# Values of the B-splines of the knots around an interval at a share b of it, their slopes, and
# their integrals up to there (de Boor 2001, A Practical Guide to Splines, ch. IX).
_VALUES: dict[int, SplineWeights] = {
    1: lambda b: (1.0 - b, b),
    3: lambda b: ((1.0 - b) ** 3 / 6.0, _inner(1.0 - b), _inner(b), b**3 / 6.0),
}
_SLOPES: dict[int, SplineWeights] = {
    1: lambda b: (-np.ones(b.shape), np.ones(b.shape)),
    3: lambda b: (-0.5 * (1.0 - b) ** 2, -_rise(1.0 - b), _rise(b), 0.5 * b**2),
}
_INTEGRALS: dict[int, SplineWeights] = {
    1: lambda b: (1.0 - 0.5 * (1.0 - b) ** 2, 0.5 * b**2),
    3: lambda b: (1.0 - (1.0 - b) ** 4 / 24.0, 1.0 - _area(1.0 - b), _area(b), b**4 / 24.0),
}


def _inner(b: np.ndarray) -> np.ndarray:
    return (1.0 + 3.0 * b + 3.0 * b**2 - 3.0 * b**3) / 6.0


def _rise(b: np.ndarray) -> np.ndarray:
    return 0.5 + b - 1.5 * b**2


def _area(b: np.ndarray) -> np.ndarray:
    return 1.0 / 24.0 + (b + 1.5 * b**2 + b**3 - 0.75 * b**4) / 6.0


@dataclass(frozen=True, eq=False)
class SlipRates:
    """Many rates, of samples at intervals of their own.

    Attributes:
        onset: (rate) s, of the first samples.
        step: (rate) s between samples.
        starts: (rate + 1) where the samples of each begin.
        samples: of all, in turn, in 1/s.
        sigma: standard deviation in s of the Gaussian that smooths them, 0 for none.
    """

    onset: np.ndarray
    step: np.ndarray
    starts: np.ndarray
    samples: np.ndarray
    sigma: float = 0.0

    def rate(self, number: int) -> SlipRate:
        """Return the rate of a number."""
        samples = self.samples[self.starts[number] : self.starts[number + 1]].astype(float)
        rate = SlipRate.of(float(self.onset[number]), float(self.step[number]), samples)
        return rate.smoothed(self.sigma) if self.sigma else rate

    def subset(self, numbers: np.ndarray) -> SlipRates:
        """Return the rates of these numbers."""
        sizes = np.diff(self.starts)[numbers]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        taken = np.repeat(self.starts[numbers] - starts[:-1], sizes) + np.arange(starts[-1])
        return replace(
            self, onset=self.onset[numbers], step=self.step[numbers], starts=starts,
            samples=self.samples[taken],
        )  # fmt: skip

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (rate) in s before the first of which, and after the second, each is zero."""
        # A rate rises to its first sample, and falls from its last, within a step.
        firsts, lasts = (self.samples[n] for n in (self.starts[:-1], self.starts[1:] - 1))
        rises = np.where(firsts == 0.0, 0.0, self.step)
        falls = np.where(lasts == 0.0, 0.0, self.step)
        reach = np.zeros_like(self.step)
        if self.sigma:  # that of the Gaussian, a mean over a step, and a spline's (`smoothed`)
            reach += (_SIGMAS + 5.0 / _PER_SIGMA) * self.sigma
        last = self.onset + (np.diff(self.starts) - 1) * self.step
        return self.onset - rises - reach, last + falls + reach

    def resampled(self, numbers: np.ndarray, first: np.ndarray, count: int, dt: float):
        """Return rates (numbers, count), each at `count` times at dt s from times first (s)."""
        resampled = np.empty((numbers.size, count))
        for rows in self._alike(numbers, count + 2 * len(_SERIES) + 1):
            times = first[rows, None] + dt * np.arange(count)
            resampled[rows] = self._together(numbers[rows]).resampled(times)
        return resampled

    def weighted_sum(self, weights: np.ndarray) -> SlipRate:
        """Return the weighted sum (weights) of all; the integral is that of the sum."""
        return self.weighted_sums(weights, np.zeros((1, weights.size)))[0]

    def weighted_sums(self, weights: np.ndarray, shifts: np.ndarray) -> list[SlipRate]:
        """Return weighted sums (weights) of all, each by its means over short steps.

        All sums together have `_MOST_SAMPLES` steps at most.

        Args:
            weights: (rate).
            shifts: (sum, rate) s by which each is later, rounded to steps.
        """
        starts, ends = self.ends
        begin = float(starts.min())
        end = float(ends.max())
        step = max(self._short_step, (end - begin + np.ptp(shifts)) * len(shifts) / _MOST_SAMPLES)
        later = np.rint(shifts / step).astype(np.int64)
        earliest = int(later.min())
        later -= earliest
        totals = np.zeros((len(shifts), int(np.ceil((end - begin) / step)) + 3 + int(later.max())))
        size = totals.shape[1]
        low = ((starts - begin) / step).astype(np.int64)
        lasting = ((ends - begin) / step).astype(np.int64) + 2 - low
        for count in np.unique(_rounded_up(lasting)).tolist():
            numbers = np.flatnonzero(_rounded_up(lasting) == count)
            for rows in self._alike(numbers, count):
                members = numbers[rows]
                edges = low[members, None] + np.arange(count + 1) - 0.5
                reached = self._together(members).integral(begin + step * edges)
                means = (weights[members, None] * np.diff(reached, axis=1) / step).ravel()
                steps = low[members, None] + np.arange(count)
                for total, moved in zip(totals, later, strict=True):
                    at = np.minimum(steps + moved[members, None], size - 1)
                    total += np.bincount(at.ravel(), means, size)
        degree = 3 if self.sigma else 1
        return [SlipRate.of(begin + earliest * step, step, total, degree) for total in totals]

    @property
    def _short_step(self) -> float:
        """Step in s by whose means sums keep the frequencies of all rates."""
        if self.sigma:
            return self.sigma / (2.0 * _PER_SIGMA)
        lasting = float(np.quantile((np.diff(self.starts) + 1) * self.step, _SHORT))
        return min(float(self.step.min()) / 2.0, lasting / _PER_RATE)

    def _alike(self, numbers: np.ndarray, times: int) -> Iterator[np.ndarray]:
        """Yield the indices of rates that can be computed together."""
        lengths = _rounded_up(np.diff(self.starts)[numbers])
        kinds = np.stack([lengths, self.step[numbers]], axis=1) if self.sigma else lengths[:, None]
        for kind in np.unique(kinds, axis=0):
            rows = np.flatnonzero((kinds == kind).all(axis=1))
            most = max(1, int(_BLOCK / max(times, kind[0])))
            yield from np.split(rows, np.arange(most, rows.size, most))

    def _together(self, numbers: np.ndarray) -> SlipRate:
        """Return rates of equal lengths as a single one with knots (rate, knot)."""
        sizes = np.diff(self.starts)[numbers]
        order = np.arange(sizes.max())
        there = order < sizes[:, None]
        at = np.where(there, self.starts[numbers, None] + order, 0)
        samples = np.where(there, self.samples[at], 0.0)
        step = self.step[numbers, None]
        if not self.sigma:
            return SlipRate.of(self.onset[numbers, None], step, samples)
        rate = SlipRate.of(self.onset[numbers, None], step[:1], samples)
        return rate.smoothed(self.sigma)


def _rounded_up(counts: np.ndarray) -> np.ndarray:
    """Return counts as multiples of 16, so that similar lengths are computed together."""
    return -(-counts // 16) * 16
