"""Sources of an SW4 input: point forces, moment tensors and ruptures.

Components of moments and forces are on SW4's axes, those of the grid: x at the azimuth of `grid`,
y 90 degrees clockwise of it, z down. A scenario with `geographic` counts mechanisms from north,
so that components are turned by the azimuth there; strikes count from north in SW4, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError
from seismo.formats.conversion.converted_run import ConvertedRun, short
from seismo.formats.reading.text import read_lines
from seismo.formats.sw4.commands import InputCommand
from seismo.formats.sw4.projection import ToGrid
from seismo.formats.sw4.time_functions import (
    SAMPLED,
    same_wavelet,
    sampled,
    window,
)

_TENSOR = ("mxx", "myy", "mzz", "mxy", "mxz", "myz")
_ANGLES = ("strike", "dip", "rake")
_FORCES = ("fx", "fy", "fz")
_POSITION = ("x", "y", "z", "lat", "lon", "depth")
_KNOWN = {*_TENSOR, *_ANGLES, *_FORCES, *_POSITION, "m0", "f0", "t0", "freq", "type", "ncyc",
          "dfile"}  # fmt: skip
DEFAULT_TYPE = "RickerInt"


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
        frame: what mechanisms refer to.
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
