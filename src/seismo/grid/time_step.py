"""The clock: a stable time step that fits the output intervals, and when something is due.

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

from seismo.errors import ScenarioError

_TICK = 10**9  # intervals are compared in nanoseconds,
_PARTS = 1000  # but for those that are a fraction such as 1/30 s
_MOST_SPLITS = 100  # parts of a stable step that output intervals may ask for
_NEAR = 1.5  # times an interval, or that part of it: what may stand in for it
_GAIN = 1.4  # times as long a step: what is worth another interval


def stability_limit(velocity: float, symbols: Iterable[tuple[float, float]]) -> float:
    """Return the largest stable time step in s.

    Args:
        velocity: fastest wave in m/s.
        symbols: for each axis the largest symbol of the first difference (spacing 1), and the
            spacing in m. For second differences give the square root of theirs.
    """
    return 2.0 / (velocity * math.sqrt(sum((s / h) ** 2 for s, h in symbols)))


def common_interval(intervals: Iterable[float]) -> float | None:
    """Return the greatest common divisor of intervals in s, or None without any."""
    fractions = [_fraction(i) for i in intervals]
    if not fractions:
        return None
    denominator = math.lcm(*(f.denominator for f in fractions))
    return math.gcd(*(int(f * denominator) for f in fractions)) / denominator


def _fraction(interval: float) -> Fraction:
    simple = Fraction(interval).limit_denominator(_PARTS)
    if abs(float(simple) - interval) <= 1e-9 * interval:
        return simple
    return Fraction(round(interval * _TICK), _TICK)


@dataclass(frozen=True)
class Clock:
    """The time step and the number of steps.

    Attributes:
        dt: time step in s.
        steps: steps to the end of the wanted duration.
        limit: largest stable step in s.
        free: step that would be taken without output intervals, in s.
    """

    dt: float
    steps: int
    limit: float
    free: float

    def steps_between(self, interval: float | None) -> int:
        """Return the whole number of steps in an output interval; every step without one."""
        return 1 if interval is None else max(1, round(interval / self.dt))


def choose_clock(
    duration: float, limit: float, courant: float, step: float | None, intervals: list[float]
) -> Clock:
    """Choose the time step, or check the given one.

    Args:
        duration: simulated time in s.
        limit: largest stable step in s.
        courant: fraction of the limit to use.
        step: the scenario's own step in s, or None.
        intervals: output intervals in s, which become whole numbers of steps.

    Raises:
        ScenarioError: the step is unstable, or intervals are not multiples of it, or of any such.
    """
    if step is None:
        dt = _fitting(courant * limit, intervals)
    else:
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
                    f"leave it out, or use {_ms(interval / math.ceil(interval / dt))}"
                )
    return Clock(dt, max(1, math.ceil(duration / dt - 1e-6)), limit, courant * limit)


def _fitting(largest: float, intervals: list[float]) -> float:
    """Return the largest step up to a stable one of which all intervals are whole numbers."""
    shared = common_interval(intervals)
    if shared is None:
        return largest
    if shared * _MOST_SPLITS < largest:
        raise ScenarioError(
            f"the output intervals ({', '.join(map(_ms, dict.fromkeys(intervals)))}) are whole "
            f"numbers only of steps far below the stable {_ms(largest)}; use multiples of one "
            "interval"
        )
    return shared / math.ceil(shared / largest - 1e-9)


def kinder_interval(
    largest: float, intervals: Iterable[float]
) -> tuple[float, float, float] | None:
    """Return which interval to change, into what, and the step that this leaves, in s.

    Of the numbers of two digits near each interval it takes the nearest with about the longest
    step; None where no such step is much longer than that of the intervals as they are.
    """
    chosen = set(intervals)
    found = []
    for interval in chosen:
        for other in _near(interval):
            try:
                dt = _fitting(largest, [*(chosen - {interval}), other])
            except ScenarioError:  # a step too small
                continue
            found.append((interval, other, dt))
    least = 0.9 * max((dt for *_, dt in found), default=0.0)
    least = max(least, _GAIN * _fitting(largest, list(chosen)))
    good = [change for change in found if change[2] >= least]
    return min(good, key=lambda change: abs(math.log(change[1] / change[0])), default=None)


def _near(interval: float) -> Iterator[float]:
    decade = math.floor(math.log10(interval))
    for digits in (decade - 2, decade - 1, decade):
        tick = Fraction(10) ** digits
        first, last = math.ceil(interval / _NEAR / tick), int(interval * _NEAR / tick)
        yield from (float(n * tick) for n in range(max(10, first), min(99, last) + 1))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.6g} ms"
