"""Moment rates of finite faults: samples of their own interval, taken to the steps of a run.

Between the samples of a file a rate is linear, and it rises from zero and falls to zero within one
interval: its integral is the sum of the samples times the interval. A run samples it once a step.
Values of the rate itself at those times would alias what lies above half the sampling frequency,
and change the moment where the step is long. Means over each step do neither: of frequencies near a
multiple of 1 / dt, which alias to zero, the mean is zero, and the sum of means is the integral. A
mean is the rate times sinc(f dt), which differences of the means take back:

    rate = (1 - d2 / 24 + 3 d4 / 640 - 5 d6 / 7168) mean,   d2 = m[n + 1] - 2 m[n] + m[n - 1],

the series of arcsin(x) / x at x^2 = -d2 / 4, exact to (pi f dt)^8 (1e-9 at 40 steps a period).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from seismo.acquisition.wavelet_shapes import WaveletShape

_SERIES = (-1.0 / 24.0, 3.0 / 640.0, -5.0 / 7168.0)
_PER_SIGMA = 6  # knots
_SIGMAS = 4.5  # reach of a Gaussian: 4e-5 of its peak
_MOST_SAMPLES = 1 << 20  # of the sum of many rates


@dataclass(frozen=True, eq=False)
class SlipRate:
    """A moment rate in 1/s, of unit area where it is of all the moment: a sum of B-splines.

    Attributes:
        first: time in s at which the first B-spline has its centre.
        step: s between the centres of B-splines.
        knots: (n) 1/s, their coefficients, of which `degree` at either end are zero.
        degree: 1, lines between knots, or 3, whose spectrum falls with the fourth power.
    """

    first: float
    step: float
    knots: np.ndarray
    degree: int = 1
    sums: np.ndarray = field(init=False, repr=False)
    type: ClassVar[str] = "slip_rate"
    amplitude: ClassVar[float] = 1.0
    delay: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        """Sum up the coefficients before each knot."""
        sums = np.concatenate([[0.0], np.cumsum(self.knots)])
        object.__setattr__(self, "sums", sums)

    @staticmethod
    def of(onset: float, step: float, samples: np.ndarray, degree: int = 1) -> SlipRate:
        """Return the rate of samples (n) 1/s, the first of which is at the onset in s."""
        rests = degree == 1 and samples[0] == 0.0
        before = degree - int(rests)
        knots = np.concatenate([np.zeros(before), samples, np.zeros(degree)])
        return SlipRate(onset - before * step, step, knots, degree)

    @property
    def last(self) -> float:
        """Time of the last knot in s."""
        return self.first + (self.knots.size - 1) * self.step

    @property
    def area(self) -> float:
        """The integral of the rate."""
        return float(self.sums[-1]) * self.step

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the rate (as t) at times t (s)."""
        return self._splined(t, _VALUES[self.degree])

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return the rate's rate of change (as t) at times t (s)."""
        return self._splined(t, _SLOPES[self.degree]) / self.step

    def integral(self, t: np.ndarray) -> np.ndarray:
        """Return the share of the moment (as t) that is reached at times t (s)."""
        k, _ = self._interval_of(t)
        return self.step * (self.sums[k] + self._splined(t, _INTEGRALS[self.degree]))

    def resampled(self, t: np.ndarray) -> np.ndarray:
        """Return the rate (n) at equally spaced times (n) in s, without aliases; see above."""
        dt = t[1] - t[0]
        ahead = len(_SERIES)
        edges = t[0] + dt * (np.arange(-ahead, t.size + ahead + 1) - 0.5)
        difference = np.diff(self.integral(edges)) / dt
        rate = difference[ahead:-ahead].copy()
        for order, factor in enumerate(_SERIES, 1):
            difference = np.diff(difference, 2)
            rest = ahead - order
            rate += factor * difference[rest : difference.size - rest]
        return rate

    def smoothed(self, sigma: float) -> SlipRate:
        """Return the rate convolved with a Gaussian of unit area and standard deviation s.

        Means over steps and B-splines of degree 3 have variances of 1 / 12 and 1 / 3 step^2.
        """
        refined = max(1, math.ceil(self.step * _PER_SIGMA / sigma))
        step = self.step / refined
        width = math.sqrt(max(sigma**2 - 5.0 / 12.0 * step**2, 0.0)) / step
        reach = math.ceil(_SIGMAS * width)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        edges = self.first + step * (np.arange((self.knots.size - 1) * refined + 2) - 0.5)
        knots = np.convolve(np.diff(self.integral(edges)) / step, kernel / kernel.sum())
        return SlipRate.of(self.first - reach * step, step, knots, 3)

    def shape(self) -> WaveletShape:
        """Return it as a shape whose times are those of the rate."""
        length = self.last - self.first
        points = max(4096, 8 * self.knots.size)
        return WaveletShape(
            self.value, self.slope, self.first, self.last, 1.0 / length, points=points
        )

    def _interval_of(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of the knots (as t) whose B-splines reach times t, and how far in it."""
        behind = self.degree // 2
        along = (np.asarray(t, float) - self.first) / self.step
        along = np.clip(along, behind, self.knots.size - 1 - behind)
        k = np.minimum(along.astype(np.intp), self.knots.size - 2 - behind)
        return k - behind, along - k

    def _splined(self, t: np.ndarray, weights: SplineWeights) -> np.ndarray:
        k, b = self._interval_of(t)
        return sum((self.knots[k + n] * w for n, w in enumerate(weights(b))), np.zeros(b.shape))


SplineWeights = Callable[[np.ndarray], Sequence[np.ndarray]]
# What the B-splines of the knots around an interval are at a share b of it, their slopes, and their
# integrals up to there (de Boor 2001, A Practical Guide to Splines, ch. IX).
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


def weighted_sum(rates: Sequence[SlipRate], weights: np.ndarray) -> SlipRate:
    """Return the weighted sum (n weights) of rates, by its means over half the shortest interval.

    Those times are as many as `_MOST_SAMPLES` at most; the integral is that of the sum.
    """
    begin, end = min(r.first for r in rates), max(r.last for r in rates)
    step = max(min(r.step for r in rates) / 2.0, (end - begin) / _MOST_SAMPLES)
    total = np.zeros(int(np.ceil((end - begin) / step)) + 2)
    for rate, weight in zip(rates, weights, strict=True):
        low = int((rate.first - begin) / step)
        high = min(total.size, int((rate.last - begin) / step) + 2)
        edges = begin + step * (np.arange(low, high + 1) - 0.5)
        total[low:high] += weight * np.diff(rate.integral(edges)) / step
    return SlipRate.of(begin, step, total, min(r.degree for r in rates))
