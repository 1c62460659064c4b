"""Checks of moments: a line for each source that moves otherwise than its magnitude says.

A magnitude is the moment M0 that stays. A wavelet is a moment rate unless it is said to be the
moment itself, so that its area is the share of M0 that is reached: 1 of `gaussian_rate`, `brune`,
`triangle` and `smoothed_ramp` (`seismo.acquisition.wavelets`), 0 of a Ricker wavelet.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.acquisition.events import half_duration_of_moment, read_event
from seismo.acquisition.moment_tensor import magnitude_of, moment_of
from seismo.acquisition.sources import PointSource
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.discretization import Discretization

MOST_MAGNITUDE = 9.6  # of all earthquakes, and a little
MOST_OFF = 0.1  # of the moment: 0.03 of a magnitude
MOST_TIMES = 10.0  # ratio of half durations to those of earthquakes of their moment
_DYN_CM = 1e-7  # N m
_MOST_OF_LINE = 1e17  # N m for each metre: the largest earthquakes over their lengths
_LEAST = 1e12  # N m, moments that stand for earthquakes
_SAMPLES = 4096


def _lost_moment(discretization: Discretization) -> WarningLines:
    """In the plane of x and z nothing moves along y, nor changes along it."""
    if discretization.grid.dimensions == 3 or "xx" not in discretization.physics.components(
        "moment_tensor"
    ):
        return
    for source in (s for s in discretization.shots[0].summaries if s.kind == "moment_tensor"):
        lost = {name: m for name, m in source.strength.items() if "y" in name}
        largest = max(map(abs, source.strength.values()))
        if max(map(abs, lost.values())) > 0.01 * largest:
            named = ", ".join(f"{name} = {m:.3g} N m" for name, m in lost.items())
            yield (
                f"source {source.name}: of its moment tensor {named} takes no part in a 2-D run; "
                "turn it into the plane (strike 90 or 270), or run in 3-D"
            )


def _line_moment(discretization: Discretization) -> WarningLines:
    """Catalogues give the moment of a fault, not of each metre of a line."""
    if discretization.grid.dimensions == 3:
        return
    for source, section in zip(
        discretization.shots[0].summaries, discretization.scenario.sources, strict=True
    ):
        magnitude = getattr(section, "magnitude", None)
        moment = source.scalar_moment or 0.0 if magnitude is None else moment_of(magnitude)
        if magnitude is not None or moment > _MOST_OF_LINE:
            size = "" if magnitude is None else f"magnitude {magnitude:g}: "
            yield (
                f"source {source.name}: {size}a moment of {moment:.3g} N m acts on each metre "
                "along y in a 2-D run: give, as moment, a fault's moment divided by its length, or "
                "run in 3-D"
            )


def _lasting_moment(discretization: Discretization) -> WarningLines:
    """Name a magnitude whose moment the wavelet does not reach, or does not keep."""
    for source, section in zip(
        discretization.shots[0].summaries, discretization.scenario.sources, strict=True
    ):
        if section.type != "moment_tensor" or section.magnitude is None:
            continue
        share = _reached(source)
        moment = moment_of(section.magnitude)
        if abs(share - 1.0) > MOST_OFF:
            what = f"is a moment rate of area {share:.2g}"
            if source.derivative == 0:
                what = f"is the moment itself (time_function) and ends at {share:.2g}"
            yield (
                f"source {source.name}: magnitude {section.magnitude:g}: its {source.wavelet.type} "
                f"wavelet {what}: the moment ends at {share * moment:.3g} N m, not {moment:.3g}; "
                "take a moment rate of area 1: gaussian_rate, brune, triangle or smoothed_ramp"
            )


def _event_moments(discretization: Discretization) -> WarningLines:
    """Name events whose file says another magnitude than its moment tensor has."""
    for source, entry in zip(
        discretization.shots[0].summaries, discretization.scenario.sources, strict=True
    ):
        if entry.type != "event":
            continue
        if problem := read_event(entry, discretization.scenario.base).contradiction:
            yield (
                f"source {source.name}: {entry.path}: {problem}: the tensor acts; CMTSOLUTION has "
                "moments in dyn cm (1e-7 N m), QuakeML in N m"
            )


def _size(discretization: Discretization) -> WarningLines:
    """Name moments that no earthquake has, or none of so short or so long a moment rate."""
    if discretization.grid.dimensions == 2:
        return
    for source, entry in zip(
        discretization.shots[0].summaries, discretization.scenario.sources, strict=True
    ):
        moment = source.scalar_moment
        if not moment:
            continue
        size = (
            f"source {source.name}: its moment of {moment:.3g} N m is Mw {magnitude_of(moment):.1f}"
        )
        if magnitude_of(moment) > MOST_MAGNITUDE:
            smaller = magnitude_of(_DYN_CM * moment)
            yield (
                f"{size}, and no earthquake has had more than {MOST_MAGNITUDE}; check its unit: if "
                f"it is in dyn cm, give 1e-7 times as many N m, which is Mw {smaller:.1f}"
            )
            continue
        event = read_event(entry, discretization.scenario.base) if entry.type == "event" else None
        half_duration = _half_duration(source)
        if half_duration is None or (event and event.contradiction):
            continue
        times = half_duration_of_moment(moment) / half_duration
        # Moments of 1 N m and the like are those of Green's functions.
        is_magnitude = getattr(entry, "magnitude", None) is not None
        is_long = times < 1.0 / MOST_TIMES and not is_magnitude  # smooth sources are chosen
        if times > MOST_TIMES or (is_long and (event or moment > _LEAST)):
            remedy = _other_unit(moment, half_duration, event is not None)
            if is_magnitude:
                remedy = "check the magnitude, and the unit of the wavelet's times (s)"
            yield (
                f"{size}, of which earthquakes have half durations of about "
                f"{half_duration_of_moment(moment):.2g} s, and its moment rate is as wide as a "
                f"triangle of half duration {half_duration:.2g} s; {remedy}"
            )


def _other_unit(moment: float, half_duration: float, of_file: bool) -> str:
    """Return what to check of a moment in N m that does not go with a half duration in s."""
    units = {_DYN_CM: "in dyn cm"}
    if of_file:
        units[1.0 / _DYN_CM] = "in N m, in a file of dyn cm"
    for factor, unit in units.items():
        times = half_duration_of_moment(factor * moment) / half_duration
        if 1.0 / MOST_TIMES < times < MOST_TIMES:
            return (
                f"the moment is probably {unit}: {factor:g} times as many N m are Mw "
                f"{magnitude_of(factor * moment):.1f}"
            )
    return "check the moment, and the unit of the wavelet's times (s)"


def _half_duration(source: PointSource) -> float | None:
    """Return the half duration in s of a triangle as wide as a moment rate; None without an area.

    A triangle of half duration T has the standard deviation T / sqrt(6).
    """
    if source.kind != "moment_tensor" or source.is_extended:
        return None
    times = np.linspace(source.start, source.end, _SAMPLES)
    rate = source.signal(times, 1)
    if not _reached(source):
        return None
    weights = rate / rate.sum()
    variance = float(weights @ (times - weights @ times) ** 2)
    return (6.0 * variance) ** 0.5 if variance > 0.0 else None


def _reached(source: PointSource) -> float:
    """Return the moment that a source ends with, as a share of its strength."""
    times = np.linspace(source.start, source.end, _SAMPLES)
    share = float(source.signal(times, 0)[-1])
    return 0.0 if abs(share) < 1e-3 else share


MOMENTS: tuple[Callable[[Discretization], WarningLines], ...] = (
    _lost_moment,
    _line_moment,
    _lasting_moment,
    _event_moments,
    _size,
)
