"""Checks of times and moments: whether sources, samples and maps fit in the time of a run.

A source may move otherwise than its magnitude says (`MOMENTS`). A magnitude is the moment M0 that
stays. A wavelet is a moment rate unless it is said to be the moment itself, so that its area is the
share of M0 that is reached: 1 of `gaussian_rate`, `brune`, `triangle` and `smoothed_ramp`
(`seismo.acquisition.wavelets`), 0 of a Ricker wavelet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.events import half_duration_of_moment, read_event
from seismo.acquisition.moment_tensor import magnitude_of, moment_of
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import PointSource
from seismo.acquisition.spectra import is_moment
from seismo.grid.grid import AXES
from seismo.grid.time_step import common_interval, kinder_interval
from seismo.runs.prediction.lines import WarningLines
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

MOST_CROSSINGS = 20.0  # of a region whose faces let waves out: nothing is left then
MOST_BEGUN = 0.01  # of its largest value: a wavelet's share before the run begins


def _arrivals(discretization: Discretization) -> WarningLines:
    """Compare the duration with when direct waves arrive, and when they have passed."""
    duration = discretization.scenario.time.duration
    for group in discretization.groups:
        total = sum(int(group.recording(shot.name).sum()) for shot in discretization.shots)
        first, _ = _passage(discretization, group, discretization.fastest)
        missed = int((first > duration).sum())
        if missed:
            yield (
                f"time.duration: {duration:.4g} s ends before any wave can reach {missed} of "
                f"{total} traces of receivers {group.name}; the last first arrival comes "
                f"after {first.max():.4g} s at the earliest"
            )
        for name, speed in _direct_waves(discretization):
            first, passed = _passage(discretization, group, speed)
            cut = (first <= duration) & (passed > duration)
            if cut.any():
                yield (
                    f"time.duration: {duration:.4g} s ends before the direct {name} can have "
                    f"passed {cut.sum()} of {total} traces of receivers {group.name}; it has "
                    f"passed them after {passed[cut].max():.4g} s at the earliest"
                )
                break


def _direct_waves(discretization: Discretization) -> Iterator[tuple[str, float]]:
    """Name the waves that travel straight from a source, with their largest velocity in m/s."""
    yield "wave", discretization.fastest
    kinds = {source.kind for shot in discretization.shots for source in shot.sources}
    sheared = {"vp", "vs"} <= set(
        discretization.earth.needs
    ) and discretization.extremes.vs_max > 0.0
    if sheared and kinds - {"explosion", "pressure", "volume_rate", "plane_wave"}:
        yield "S wave", discretization.extremes.vs_max


def _passage(
    discretization: Discretization, group: ReceiverGroup, speed: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return when a direct wave of that speed arrives and has passed, (trace) in s.

    Of several sources that whose wave comes, or has passed, first.
    """
    axes = [AXES.index(a) for a in discretization.grid.axes]
    arrivals = []
    ends = []
    for shot in discretization.shots:
        positions = group.at(shot.name)[group.recording(shot.name)]
        times = np.array([s.travel_times(positions, axes, speed) for s in shot.sources])
        arrivals.append((times + [[s.delay] for s in shot.sources]).min(axis=0))
        ends.append((times + [[_over(s)] for s in shot.sources]).min(axis=0))
    return np.concatenate(arrivals), np.concatenate(ends)


def _over(source: PointSource) -> float:
    """Return the time in s after which a source changes by less than 5 % of its range."""
    times = np.linspace(source.delay, source.end, 500)
    amplitudes = wavelets.evaluate(source.wavelet, times - source.delay, source.base)
    acting = np.abs(amplitudes - amplitudes[-1]) > 0.05 * np.ptp(amplitudes)
    return float(times[acting][-1]) if acting.any() else source.end


def _long_gone(discretization: Discretization) -> WarningLines:
    """Name a duration many times as long as the slowest wave takes out of the region."""
    faces = discretization.scenario.boundaries
    extremes = discretization.extremes
    others = [faces.bottom, faces.x_min, faces.x_max]
    others += [faces.y_min, faces.y_max] * (discretization.grid.dimensions == 3)
    if set(others) != {"absorbing"} or faces.top not in ("absorbing", "free_surface"):
        return
    speeds = [extremes.vp_min, extremes.vs_min if "vs" in discretization.earth.needs else 0.0]
    slowest = min((speed for speed in speeds if speed > 0.0), default=discretization.fastest)
    lengths = [np.ptp(discretization.grid.limits(axis)) for axis in discretization.grid.axes]
    crossing = float(np.linalg.norm(lengths)) / slowest
    end = max(source.end for shot in discretization.shots for source in shot.sources)
    duration = discretization.scenario.time.duration
    if duration > max(end, 0.0) + MOST_CROSSINGS * crossing:
        yield (
            f"time.duration: {duration:.4g} s ({discretization.clock.steps} steps) is "
            f"{(duration - end) / crossing:.3g} times as long as the slowest wave "
            f"({slowest:.4g} m/s) takes across the region ({crossing:.3g} s), "
            "whose faces let waves out: hardly anything will be left of them; check its unit"
        )


def _cut_source(discretization: Discretization) -> WarningLines:
    duration = discretization.scenario.time.duration
    period = 1.0 / discretization.dominant_frequency
    for source in discretization.shots[0].summaries:
        if source.end > duration * (1.0 + 1e-9):
            yield (
                f"time.duration: {duration:.4g} s ends before source {source.name} does "
                f"({source.end:.4g} s)"
            )
        elif not discretization.groups and _over(source) + period > duration:
            yield (
                f"time.duration: {duration:.4g} s ends less than a period ({period:.4g} s) after "
                f"source {source.name} has acted ({_over(source):.4g} s): its waves hardly leave it"
            )


def _begun_source(discretization: Discretization) -> WarningLines:
    """A source that acts before t = 0 begins with a jump."""
    for k, source in enumerate(discretization.shots[0].summaries):
        times = np.linspace(source.start, source.end, 2000)
        size = np.abs(wavelets.evaluate(source.wavelet, times - source.delay, source.base))
        begun = size[times < 0.0].max(initial=0.0) / size.max()
        if begun > MOST_BEGUN:
            yield (
                f"source {source.name}: acts before the run begins, with {begun:.0%} of its "
                f"largest value, which is left out; {_later(discretization, k, source)}"
            )


def _cut_samples(discretization: Discretization) -> WarningLines:
    """Name samples of a wavelet that do not begin or end at 0, as the wavelet is 0 beyond them."""
    duration = discretization.scenario.time.duration
    for source in discretization.shots[0].summaries:
        if source.wavelet.type not in ("file", "array"):
            continue
        times = np.linspace(source.start, source.end, 2000) - source.delay
        samples = wavelets.evaluate(source.wavelet, times, source.base)
        first, last = np.abs(samples[[0, -1]]) / np.abs(samples).max()
        if source.start >= 0.0 and first > MOST_BEGUN:
            yield (
                f"source {source.name}: the samples of its wavelet begin at {first:.0%} of their "
                "largest value, and before them it is 0: it radiates a jump; add the samples "
                "that lead up to it"
            )
        if source.end < duration and last > MOST_BEGUN and not is_moment(source):
            yield (
                f"source {source.name}: the samples of its wavelet end at {last:.0%} of their "
                "largest value, and behind them it is 0: it radiates a jump; add the samples "
                "that lead away from it"
            )


def _later(discretization: Discretization, number: int, source: PointSource) -> str:
    """Return the key to set so that a source begins with the run."""
    section = discretization.scenario.sources[number]
    event = discretization.scenario.event
    if event is not None and section.type in ("event", "finite_fault"):
        return f"set event.at to {event.at - source.start:.4g} s or more"
    wavelet = getattr(section, "wavelet", None)
    has_delay = wavelet is not None and "delay" in wavelet.model_fields_set
    remedy = f"leave sources[{number}].wavelet.delay out, or " if has_delay else ""
    return (
        f"{remedy}set sources[{number}].delay, which is added to the wavelet's own, to "
        f"{source.delay - source.start:.4g} s or more"
    )


def _ineffective_delay(discretization: Discretization) -> WarningLines:
    """The section `event` says when its events act: a delay of their wavelets has no effect."""
    if discretization.scenario.event is None:
        return
    for k, section in enumerate(discretization.scenario.sources):
        delay = getattr(getattr(section, "wavelet", None), "delay", None)
        if section.type == "event" and delay:
            yield (
                f"sources[{k}].wavelet.delay: {with_unit(delay, 's')} has no effect, as event.at "
                f"and the times of {section.path} say when this source acts; leave it out, or set "
                f"sources[{k}].delay to move the source by a time"
            )


def _other_date(discretization: Discretization) -> WarningLines:
    """An origin time far from when the sources act gives exported traces a wrong date."""
    event = discretization.scenario.event
    if event is None:
        return
    sources = [source for shot in discretization.shots for source in shot.sources]
    start = min(source.start for source in sources)
    end = max(source.end for source in sources)
    if not start - (end - start) <= event.at <= end:
        yield (
            f"event.at: the origin time is at t = {event.at:.4g} s of the run, and sources act "
            f"from {start:.4g} to {end:.4g} s: exported traces would have a wrong date; set "
            "event.at to when the rupture begins"
        )


def _small_step(discretization: Discretization) -> WarningLines:
    """A step far below the limit, and the key that would let it grow."""
    clock = discretization.clock
    requested_step = discretization.scenario.time.step
    names = {interval: name for name, interval in _intervals(discretization)}
    change = None if requested_step else kinder_interval(clock.free, names)
    interval, other, longer = change or (0.0, 0.0, clock.free)
    reason = "time.step" if requested_step else _together(names)
    if change:
        reason = f"the interval of {with_unit(interval, 's')} of {names[interval]}"
    than = f"with {with_unit(other, 's')}" if change else "it needs"
    if change or clock.dt < 0.6 * longer:
        yield (
            f"time: the step is {clock.dt / clock.limit:.2f} of the stability limit because of "
            f"{reason}; the run takes {longer / clock.dt:.1f} times as many steps as {than}"
        )


def _together(names: dict[float, str]) -> str:
    """Name output intervals that shorten the step together, or the interval that does so alone."""
    common = common_interval(names)
    if common is None:
        return ""
    named = [f"{with_unit(interval, 's')} of {name}" for interval, name in names.items()]
    for interval, text in zip(names, named, strict=True):
        if interval < 1.01 * common:
            return f"the interval of {text}"
    return (
        f"the intervals of {', '.join(named[:-1])} and {named[-1]}, which divide by "
        f"{with_unit(common, 's')} only (make them multiples of the shortest)"
    )


def _sampling(discretization: Discretization) -> WarningLines:
    highest = discretization.highest_frequency
    for group in discretization.groups:
        if group.interval and 0.4 / group.interval < highest:
            yield (
                f"receivers {group.name}: an interval of {group.interval:g} s keeps frequencies up "
                f"to {0.4 / group.interval:.4g} Hz, the sources reach {highest:.4g} Hz; "
                "the rest is filtered out"
            )


def _seldom(discretization: Discretization) -> WarningLines:
    """Snapshots and samples that come but once, at t = 0, hold nothing."""
    duration = discretization.scenario.time.duration
    for name, interval in _intervals(discretization):
        if interval > duration * (1.0 + 1e-9):
            yield (
                f"{name}: the interval of {interval:g} s is longer than time.duration "
                f"({duration:g} s): only t = 0 is kept, when nothing moves"
            )


def _intervals(discretization: Discretization) -> Iterator[tuple[str, float]]:
    named = [(f"receivers {g.name}", g.interval) for g in discretization.groups]
    named += [
        (f"output.snapshots {s.name}", s.interval) for s in discretization.scenario.output.snapshots
    ]
    return ((name, interval) for name, interval in named if interval)


TIMING: tuple[Callable[[Discretization], WarningLines], ...] = (
    _arrivals, _long_gone, _cut_source, _begun_source, _cut_samples, _ineffective_delay,
    _other_date, _small_step, _sampling, _seldom,
)  # fmt: skip


def unlike_the_motion(discretization: Discretization) -> Iterator[str]:
    """Name periods that are shorter than the sources' waves, or longer than the run."""
    highest = discretization.highest_frequency
    duration = discretization.clock.steps * discretization.clock.dt
    for maps in discretization.all_maps:
        if short := [f"{period:g}" for period in maps.periods if period * highest < 1.0]:
            yield (
                f"maps {maps.name}: periods of {', '.join(short)} s are below those of the "
                f"sources' waves ({1.0 / highest:.3g} s, {highest:.3g} Hz): SA there tends to "
                "PGA, and says nothing of the ground motion at these periods"
            )
        if long := [f"{period:g}" for period in maps.periods if period > duration]:
            yield (
                f"maps {maps.name}: periods of {', '.join(long)} s are longer than the run: SA is "
                f"the largest response within {duration:.4g} s; use a longer time.duration"
            )


MOST_MAGNITUDE = 9.6  # of all earthquakes, and a little
MOST_OFF = 0.1  # of the moment: 0.03 of a magnitude
MOST_TIMES = 10.0  # ratio of half durations to an earthquake's of the same moment
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
            fact = f"is a moment rate of area {share:.2g}"
            if source.derivative == 0:
                fact = f"is the moment itself (time_function) and ends at {share:.2g}"
            yield (
                f"source {source.name}: magnitude {section.magnitude:g}: its {source.wavelet.type} "
                f"wavelet {fact}: the moment ends at {share * moment:.3g} N m, not {moment:.3g}; "
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
        # Moments of 1 N m and the like are for Green's functions.
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
    """Describe how to check a moment in N m that does not go with a half duration in s."""
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
