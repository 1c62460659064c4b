"""The clock: a stable time step that fits the output intervals, and conversion of intervals.

The largest stable step of the leapfrog scheme is known exactly: with S the largest symbol of the
staggered difference (2 sum |c_m|), velocity-stress equations need

    dt <= 2 / (c sqrt((S_x / dx)^2 + (S_y / dy)^2 + (S_z / dz)^2)),

and second-order pressure the same with S^2 replaced by the largest symbol of the second difference.
`t = step * dt` is never accumulated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from seismo.errors import ScenarioError

_TICK = 10**9  # intervals are whole nanoseconds,
_PARTS = 1000  # except fractions such as 1/30 s, with denominators up to this
_MOST_SPLITS = 100  # factor by which output intervals may shorten the stable step
_MOST_STEPS = 1 << 62  # that 64 bits count
_RANGE = 1.5  # largest ratio of a suggested interval to the requested interval
_GAIN = 1.4  # least ratio of time steps that makes another interval worth suggesting


def stability_limit(velocity: float, symbols: Iterable[tuple[float, float]]) -> float:
    """Return the largest stable time step in s.

    Args:
        velocity: fastest wave in m/s.
        symbols: for each axis the largest symbol of the first difference (spacing 1), and the
            spacing in m. For second differences, the square root of theirs.
    """
    # Von Neumann: sin^2(w dt / 2) = (c dt / 2)^2 sum (S_a / h_a)^2 <= 1.
    return 2.0 / (velocity * math.sqrt(sum((s / h) ** 2 for s, h in symbols)))


def common_interval(intervals: Iterable[float]) -> float | None:
    """Return the greatest common divisor of intervals in s, or None without any."""
    # gcd of fractions = gcd of the numerators over the common denominator.
    fractions = [as_fraction(i) for i in intervals]
    if not fractions:
        return None
    denominator = math.lcm(*(f.denominator for f in fractions))
    return math.gcd(*(int(f * denominator) for f in fractions)) / denominator


def as_fraction(interval: float) -> Fraction:
    """Return an interval in s as the fraction that is meant, such as 1 / 30."""
    # Accept the simplest fraction that reproduces the interval to rounding: 1 / 30, or nanoseconds.
    simple = Fraction(interval).limit_denominator(_PARTS)
    nanoseconds = Fraction(round(interval * _TICK), _TICK)
    for candidate in (simple, nanoseconds):
        if abs(float(candidate) - interval) <= 1e-9 * interval:
            return candidate
    return Fraction(repr(float(interval)))


@dataclass(frozen=True)
class Clock:
    """The time step and the number of steps.

    Attributes:
        dt: time step in s.
        steps: steps to the end of the requested duration.
        limit: largest stable step in s.
        free: step in s that would be chosen without output intervals.
    """

    dt: float
    steps: int
    limit: float
    free: float

    def steps_between(self, interval: float | None) -> int:
        """Return the integer number of steps in an output interval; 1 without an interval."""
        return 1 if interval is None else max(1, round(interval / self.dt))

    def times(self, steps, interval: float | None) -> np.ndarray:
        """Return the times (n) s after so many steps (n), whole numbers of an interval if given.

        After k intervals of n / d s it is k n / d, rounded once: runs that take other steps have
        the same time axis.
        """
        if interval is None:
            return np.asarray(steps, float) * self.dt
        # k-th output time = k n / d with interval n / d, rounded once.
        exact = as_fraction(interval)
        count = np.asarray(steps) // min(self.steps_between(interval), _MOST_STEPS)
        return count.astype(float) * exact.numerator / exact.denominator


def choose_clock(
    duration: float, limit: float, courant: float, step: float | None, intervals: list[float]
) -> Clock:
    """Choose the time step, or validate the scenario's.

    Args:
        duration: simulated time in s.
        limit: largest stable step in s.
        courant: fraction of the limit to use.
        step: the scenario's own step in s, or None.
        intervals: output intervals in s, which become integer numbers of steps.

    Raises:
        ScenarioError: the step is unstable, intervals are not multiples of it, or no practical step
            divides all of them.
    """
    if step is None:
        dt = _fitting(courant * limit, intervals)
    else:
        # A prescribed step must be stable (CFL) and divide every output interval.
        dt = step
        if dt > limit * (1 + 1e-9):
            raise ScenarioError(
                f"exceeds the stability limit {_ms(limit)}; "
                f"leave it out to choose {_ms(_fitting(courant * limit, intervals))}"
            )
        for interval in intervals:
            count = interval / dt
            if abs(count - round(count)) > 1e-6 * count or round(count) < 1:
                raise ScenarioError(
                    f"does not divide the output interval {_ms(interval)}; "
                    f"leave it out, or use {_ms(_fitting(dt, intervals))}"
                )
    # The last step reaches the duration, to rounding.
    return Clock(dt, max(1, math.ceil(duration / dt - 1e-6)), limit, courant * limit)


def _fitting(largest: float, intervals: list[float]) -> float:
    """Return the largest step up to `largest` that divides all intervals."""
    common = common_interval(intervals)
    if common is None:
        return largest
    if common * _MOST_SPLITS < largest:
        raise ScenarioError(
            f"the output intervals ({', '.join(map(_ms, dict.fromkeys(intervals)))}) have a common "
            f"divisor of {_ms(common)}, far below the stable step {_ms(largest)}; use multiples of "
            "one interval"
        )
    # Largest divisor of the common interval that does not exceed the stable step.
    return common / math.ceil(common / largest - 1e-9)


def kinder_interval(
    largest: float, intervals: Iterable[float]
) -> tuple[float, float, float] | None:
    """Return the interval to change, its replacement and the resulting time step, all in s.

    Candidates are the numbers of two digits around each interval; of candidates with about the
    longest step the closest to its interval wins. None where no step is much longer than the
    present step.
    """
    # Exchange an interval at a time, and recompute the step that divides all of them.
    unique_intervals = set(intervals)
    changes = []
    for interval in unique_intervals:
        for alternative in _candidates(interval):
            try:
                dt = _fitting(largest, [*(unique_intervals - {interval}), alternative])
            except ScenarioError:  # a step too small
                continue
            changes.append((interval, alternative, dt))
    # Keep changes whose step is close to the best and clearly longer than the present step.
    least_step = 0.9 * max((dt for *_, dt in changes), default=0.0)
    least_step = max(least_step, _GAIN * _fitting(largest, list(unique_intervals)))
    # Of these the closest in the logarithm, i.e. by ratio.
    good = [change for change in changes if change[2] >= least_step]
    return min(good, key=lambda change: abs(math.log(change[1] / change[0])), default=None)


def _candidates(interval: float) -> Iterator[float]:
    """Yield the numbers of two digits from interval / 1.5 to interval * 1.5."""
    decade = math.floor(math.log10(interval))
    for digits in (decade - 2, decade - 1, decade):
        tick = Fraction(10) ** digits
        first = math.ceil(interval / _RANGE / tick)
        last = int(interval * _RANGE / tick)
        yield from (float(n * tick) for n in range(max(10, first), min(99, last) + 1))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.6g} ms"
