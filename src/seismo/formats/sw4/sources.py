"""Sources of an SW4 input: point forces, moment tensors, ruptures, and their time functions.

Components of moments and forces are on SW4's axes, which are the grid's: x at the azimuth of
`grid`, y 90 degrees clockwise of it, z down. A scenario with `geographic` counts mechanisms from
north, so that components are turned by the azimuth there; strikes count from north in SW4, too.

Time functions become wavelets: the same function if known here, else its samples. A source of
SW4 acts as M g(t - t0) or F g(t - t0): g is the moment itself, not its rate. With u = f tau, f the
option `freq` and tau = t - t0 (SW4 users' guide, "Time-functions"; its file time_functions.C):

    Gaussian          f exp(-u^2 / 2) / sqrt(2 pi)
    Erf, GaussianInt  (1 + erf(u / sqrt 2)) / 2
    Ricker            (2 (pi u)^2 - 1) exp(-(pi u)^2)
    RickerInt         -tau exp(-(pi u)^2)
    Brune             1 - exp(-u) (1 + u)
    DBrune            f u exp(-u)

A moment that ends at a constant is carried over as its rate, which a wavelet of unit area
describes. Functions that no wavelet here describes are sampled into a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError
from seismo.formats.converted_run import ConvertedRun, short
from seismo.formats.reading import read_lines
from seismo.formats.sw4.ground import InputCommand, ToGrid

SAMPLES = 2000  # of a function without a wavelet
_SIN = (1, -1 / 9, 1 / 25, -1 / 49)  # of the odd harmonics of a triangle

FunctionOfTime = Callable[[float], float]  # of u
_TENSOR = ("mxx", "myy", "mzz", "mxy", "mxz", "myz")
_ANGLES = ("strike", "dip", "rake")
_FORCES = ("fx", "fy", "fz")
_POSITION = ("x", "y", "z", "lat", "lon", "depth")
_KNOWN = {*_TENSOR, *_ANGLES, *_FORCES, *_POSITION, "m0", "f0", "t0", "freq", "type", "ncyc",
          "dfile"}  # fmt: skip
DEFAULT_TYPE = "RickerInt"


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
    """Return sin(u) under a Gaussian of a number of cycles, SW4's GaussianWindow."""
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


@dataclass(frozen=True)
class SourceFrame:
    """What sources refer to.

    Attributes:
        azimuth: of x in degrees.
        on_earth: whether the scenario has `geographic`.
        to_grid: longitude and latitude to x and y of SW4's grid.
    """

    azimuth: float
    on_earth: bool
    to_grid: ToGrid


def source_of(
    run: ConvertedRun, command: InputCommand, frame: SourceFrame, duration: float, number: int
) -> dict[str, Any] | None:
    """Return a source of the scenario; None where it cannot be carried over.

    Args:
        run: that is converted.
        command: `source` of the input.
        frame: reference of mechanisms.
        duration: of the run in s.
        number: of the source, for names of files.

    Raises:
        ScenarioError: an option is malformed, or the source has no place.
    """
    if command.has("sacbase", "sacbasedisp"):
        reason = "moments and forces of SAC files are not read: give dfile="
        run.leave_out(command.label, reason, alters=True)
        return None
    for key in command.beyond({*_KNOWN, "event"}):
        run.leave_out(command.label_of(key), "sources have no such option here")
    is_force = command.has(*_FORCES)
    wavelet = _wavelet(run, command, not is_force, duration, number)
    if wavelet is None:
        return None
    time_function = wavelet.pop("time_function", None)
    source = {
        "type": "force" if is_force else "moment_tensor",
        "position": _position(command, frame),
    }
    source |= _force(command) if is_force else _moment(command, frame)
    if time_function:
        source["time_function"] = time_function
    return source | {"wavelet": wavelet}


def _position(command: InputCommand, frame: SourceFrame) -> dict[str, Any]:
    level = "depth" if command.has("depth") else "z"
    depth = short(command.number(level))
    if command.has("lat", "lon"):
        x, y = frame.to_grid(command.number("lon"), command.number("lat"))
    else:
        x = command.number("x")
        y = command.number("y")
    return {"x": short(round(x, 3)), "y": short(round(y, 3)), level: depth}


def _force(command: InputCommand) -> dict[str, Any]:
    size = command.number("f0", 1.0)
    components = {key[1]: short(size * command.number(key, 0.0)) for key in _FORCES}
    force = {axis: component for axis, component in components.items() if component}
    if not force:
        raise ScenarioError(f"{command.label}: the force is zero; give fx, fy or fz")
    return {"force": force}


def _moment(command: InputCommand, frame: SourceFrame) -> dict[str, Any]:
    size = command.number("m0", 1.0)
    if command.has(*_ANGLES):
        strike, dip, rake = (command.number(key, 0.0) for key in _ANGLES)
        if not frame.on_earth:
            strike -= frame.azimuth
        return {**_upright(strike, dip, rake), "moment": short(size)}
    components = {key: size * command.number(key, 0.0) for key in _TENSOR}
    if not any(components.values()):
        raise ScenarioError(
            f"{command.label}: the moment is zero; give Mxx ... Myz, or strike, dip, rake and m0"
        )
    if frame.on_earth and frame.azimuth:
        components = turned(components, frame.azimuth)
    return {"components": {key[1:]: short(size) for key, size in components.items() if size}}


def _upright(strike: float, dip: float, rake: float) -> dict[str, float]:
    """Return angles of the same mechanism whose dip is between 0 and 90 degrees."""
    dip %= 360.0
    if dip > 180.0:  # as that of 360 - dip on the other side
        strike, dip, rake = strike + 180.0, 360.0 - dip, rake + 180.0
    if dip > 90.0:
        strike, dip, rake = strike + 180.0, 180.0 - dip, -rake
    rake = (rake + 180.0) % 360.0 - 180.0
    return {"strike": short(strike % 360.0), "dip": short(dip), "rake": short(rake)}


def turned(components: dict[str, float], azimuth: float) -> dict[str, float]:
    """Return the components to north, east and down of a tensor whose x is at an azimuth."""
    cosine = math.cos(math.radians(azimuth))
    sine = math.sin(math.radians(azimuth))
    mxx, myy, mzz, mxy, mxz, myz = (components[key] for key in _TENSOR)
    largest = max(map(abs, components.values()))
    rotated = {
        "mxx": cosine**2 * mxx - 2.0 * sine * cosine * mxy + sine**2 * myy,
        "myy": sine**2 * mxx + 2.0 * sine * cosine * mxy + cosine**2 * myy,
        "mzz": mzz,
        "mxy": sine * cosine * (mxx - myy) + (cosine**2 - sine**2) * mxy,
        "mxz": cosine * mxz - sine * myz,
        "myz": sine * mxz + cosine * myz,
    }
    return {key: size if abs(size) > 1e-12 * largest else 0.0 for key, size in rotated.items()}


def _wavelet(
    run: ConvertedRun, command: InputCommand, acts_on_moment: bool, duration: float, number: int
) -> dict[str, Any] | None:
    kind = command.options.get("type", DEFAULT_TYPE)
    frequency = command.positive("freq", 1.0)
    delay = command.number("t0", 0.0)
    moment = {"time_function": "moment"} if acts_on_moment else {}
    if command.has("dfile"):
        name = _samples_of_file(run, Path(command.options["dfile"]), number)
        return {"type": "file", "path": name, "delay": short(delay)} | moment
    wavelet = same_wavelet(kind, frequency, acts_on_moment)
    if wavelet is not None:
        return wavelet | {"delay": short(delay)}
    if kind == "GaussianWindow":
        function = window(command.positive("ncyc"))
    elif kind in SAMPLED:
        function = SAMPLED[kind]
    else:
        reason = "no grid carries an impulse" if kind == "Dirac" else "SW4 has no such type"
        run.leave_out(command.label, f"type={kind}: {reason}; choose another one", alters=True)
        return None
    rows = sampled(function, frequency, acts_on_moment, duration - delay)
    if function.rate is not None and acts_on_moment:
        moment = {"time_function": "moment_rate"}
    run.remark("sources", f"{kind} of {command.where} is sampled: no wavelet here is the same.")
    name = _add_samples(run, f"source{number}.txt", f"{kind}, freq={frequency:g}", rows)
    return {"type": "file", "path": name, "delay": short(delay)} | moment


def _samples_of_file(run: ConvertedRun, path: Path, number: int) -> str:
    """Add the samples of SW4's dfile (t0, dt, count; then values) as times and values."""
    located = path if path.is_absolute() else run.source.parent / path
    lines = read_lines(located, "expected a time function of SW4: t0, dt, count, then values")
    words = [word for _, line in lines for word in line.split()]
    try:
        start = float(words[0])
        step = float(words[1])
        count = int(words[2])
        values_of_file = [float(word) for word in words[3 : 3 + count]]
    except (ValueError, IndexError):
        values_of_file = []
        count = -1
    if len(values_of_file) != count:
        raise ScenarioError(f"{located}: is no time function of SW4: t0, dt, count, then values")
    rows = [(start + n * step, value) for n, value in enumerate(values_of_file)]
    return _add_samples(run, f"source{number}.txt", f"samples of {path.name}", rows)


def _add_samples(
    run: ConvertedRun, suffix: str, title: str, rows: list[tuple[float, float]]
) -> str:
    lines = [f"# time in s, value: {title}", *(f"{t:.9g} {value:.9g}" for t, value in rows)]
    return run.add_side_file(suffix, ("\n".join(lines) + "\n").encode())
