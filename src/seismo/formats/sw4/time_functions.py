"""Time functions of SW4 as wavelets: the same function where there is one, else its samples.

A source of SW4 acts as M g(t - t0) or F g(t - t0): g is the moment itself, not its rate. With
u = f tau, f the option `freq` and tau = t - t0 (SW4 users' guide, "Time-functions"; its file
time_functions.C):

    Gaussian          f exp(-u^2 / 2) / sqrt(2 pi)
    Erf, GaussianInt  (1 + erf(u / sqrt 2)) / 2
    Ricker            (2 (pi u)^2 - 1) exp(-(pi u)^2)
    RickerInt         -tau exp(-(pi u)^2)
    Brune             1 - exp(-u) (1 + u)
    DBrune            f u exp(-u)

A moment that ends at a constant is carried over as its rate, which is what a wavelet of unit area
describes. What no wavelet here describes is sampled into a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seismo.formats.conversion.converted_run import short

SAMPLES = 2000  # of a function without a wavelet
_SIN = (1, -1 / 9, 1 / 25, -1 / 49)  # of the odd harmonics of a triangle

FunctionOfTime = Callable[[float], float]  # of u


@dataclass(frozen=True)
class SampledFunction:
    """A function of u, on an interval beyond which it is 0, or 1 after it where it is a step.

    Attributes:
        value: g, to be multiplied by f^power.
        power: of f in g.
        rate: dg/du of a step; None of a pulse.
        interval: of u.
    """

    value: FunctionOfTime
    power: int = 0
    rate: FunctionOfTime | None = None
    interval: tuple[float, float] = (0.0, 1.0)


def same_wavelet(kind: str, frequency: float, acts_on_moment: bool) -> dict[str, Any] | None:
    """Return the wavelet that is a time function of SW4; None where there is none.

    Args:
        kind: SW4's `type`.
        frequency: SW4's `freq`.
        acts_on_moment: whether it is that of a moment, whose rate may stand for it.

    Returns:
        The wavelet without its delay; `time_function` is among its keys for a moment.
    """
    # RickerInt is -tau exp(-(pi f tau)^2); gaussian_derivative is scaled to a peak of 1.
    peak = short(1.0 / (math.sqrt(2.0 * math.e) * math.pi * frequency))
    pulses: dict[str, dict[str, Any]] = {
        "Gaussian": {"type": "gaussian_rate", "sigma": short(1.0 / frequency)},
        "DBrune": {"type": "brune", "rise": short(1.0 / frequency)},
        "Ricker": {"type": "ricker", "frequency": short(frequency), "amplitude": -1},
        "RickerInt": {
            "type": "gaussian_derivative", "frequency": short(frequency), "amplitude": peak,
        },
    }  # fmt: skip
    # Rates of moments that end at the full moment.
    steps = {"Erf": "Gaussian", "GaussianInt": "Gaussian", "Brune": "DBrune"}
    if kind in pulses:
        return pulses[kind] | ({"time_function": "moment"} if acts_on_moment else {})
    if kind in steps and acts_on_moment:
        return pulses[steps[kind]] | {"time_function": "moment_rate"}
    return None


def sampled(
    function: SampledFunction, frequency: float, acts_on_moment: bool, end: float
) -> list[tuple[float, float]]:
    """Return times in s after t0 and values of g, or of its rate for a moment that is a step.

    Args:
        function: of SW4.
        frequency: SW4's `freq` in Hz.
        acts_on_moment: whether it is that of a moment.
        end: time in s after t0 to which a force that stays is sampled.
    """
    start, stop = (u / frequency for u in function.interval)
    value = function.value
    scale = frequency**function.power
    if function.rate is not None and acts_on_moment:
        value = function.rate
        scale *= frequency
    count = SAMPLES
    if function.rate is not None and not acts_on_moment:
        count = max(SAMPLES, min(100_000, round(SAMPLES * (end - start) / (stop - start))))
        stop = max(stop, end)
    times = [start + (stop - start) * n / count for n in range(count + 1)]
    return [(t, scale * value(t * frequency)) for t in times]


def _sine_sum(u: float) -> float:
    """Return the sum of odd sines that a triangle begins with."""
    return sum(a * math.sin((2 * n + 1) * math.pi * u) for n, a in enumerate(_SIN))


def _liu_rate(u: float) -> float:
    """Return Liu's slip rate (Liu et al. 2006, BSSA 96, 2118-2130), tau = 2 pi / f, over f."""
    x = u / (2.0 * math.pi)
    first = 0.13
    second = 1.0 - first
    area = 1.4 * first + 1.2 * first / math.pi + 0.3 * second
    if not 0.0 <= x < 1.0:
        return 0.0
    if x <= first:
        rate = 0.7 - 0.7 * math.cos(math.pi * x / first) + 0.6 * math.sin(0.5 * math.pi * x / first)
    elif x <= 2.0 * first:
        rate = 1.0 - 0.7 * math.cos(math.pi * x / first)
        rate += 0.3 * math.cos(math.pi * (x - first) / second)
    else:
        rate = 0.3 + 0.3 * math.cos(math.pi * (x - first) / second)
    return rate / area / (2.0 * math.pi)


def _integral(rate: FunctionOfTime, u: float, points: int = 100) -> float:
    """Return the integral of a rate from 0 to u (Simpson)."""
    if u <= 0.0:
        return 0.0
    step = u / points
    inner = sum((4 if n % 2 else 2) * rate(n * step) for n in range(1, points))
    return (rate(0.0) + inner + rate(u)) * step / 3.0


def _brune_smoothed(u: float) -> float:
    """Return Brune's moment, smooth at its beginning up to u = 2.31."""
    if u < 0.0:
        return 0.0
    h = 2.31
    extra = 0.5 * u**2 * (1.0 - u / h) ** 3 if u < h else 0.0
    return 1.0 - math.exp(-u) * (1.0 + u + extra)


def _brune_smoothed_rate(u: float) -> float:
    if u < 0.0:
        return 0.0
    h = 2.31
    rest = 1.0 - u / h
    inside = u < h
    extra = 0.5 * u**2 * rest**3 if inside else 0.0
    slope = u * rest**3 - 1.5 * u**2 * rest**2 / h if inside else 0.0
    return math.exp(-u) * (u + extra - slope)


def _ramp(u: float) -> float:
    return 0.5 * (1.0 - math.cos(math.pi * min(max(u, 0.0), 1.0)))


def _ramp_rate(u: float) -> float:
    return 0.5 * math.pi * math.sin(math.pi * u) if 0.0 < u < 1.0 else 0.0


def _smooth_wave(u: float) -> float:
    coefficients = (2187 / 8, -10935 / 8, 19683 / 8, -15309 / 8, 2187 / 4)
    return sum(c * u ** (n + 3) for n, c in enumerate(coefficients))


def window(cycles: float) -> SampledFunction:
    """Return sin(u) under a Gaussian of some cycles, SW4's GaussianWindow."""
    reach = 6.0 * cycles
    return SampledFunction(
        lambda u: math.sin(u) * math.exp(-0.5 * (u / cycles) ** 2), interval=(-reach, reach)
    )


SAMPLED = {
    "C6SmoothBump": SampledFunction(lambda u: 51480.0 * (u * (1.0 - u)) ** 7),
    "VerySmoothBump": SampledFunction(lambda u: 1024.0 * (u * (1.0 - u)) ** 5),
    "SmoothWave": SampledFunction(_smooth_wave),
    "Triangle": SampledFunction(lambda u: 16.0 / math.pi**2 * _sine_sum(u), power=1),
    "Sawtooth": SampledFunction(lambda u: 8.0 / math.pi**2 * _sine_sum(2.0 * u)),
    "Ramp": SampledFunction(_ramp, rate=_ramp_rate),
    "Liu": SampledFunction(
        lambda u: _integral(_liu_rate, u) if u < 2.0 * math.pi else 1.0, rate=_liu_rate,
        interval=(0.0, 2.0 * math.pi),
    ),
    "BruneSmoothed": SampledFunction(
        _brune_smoothed, rate=_brune_smoothed_rate, interval=(0.0, 30.0)
    ),
    "Erf": SampledFunction(
        lambda u: 0.5 * (1.0 + math.erf(u / math.sqrt(2.0))),
        rate=lambda u: math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi), interval=(-6.0, 6.0),
    ),
    "Brune": SampledFunction(
        lambda u: 1.0 - math.exp(-u) * (1.0 + u), rate=lambda u: u * math.exp(-u),
        interval=(0.0, 30.0),
    ),
}  # fmt: skip
SAMPLED["GaussianInt"] = SAMPLED["Erf"]
