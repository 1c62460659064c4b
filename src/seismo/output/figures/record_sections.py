"""Record sections: the traces of a shot side by side, as an image or as wiggles.

Receivers stand along an axis, which the figure names. Traces are processed before they are drawn:

gain        agc:W divides by the root mean square within a window of W seconds around each sample,
            t:P multiplies by (t / t_last)^P; both are scaled to the trace's own peak after that
reduction   t - d / v, d the horizontal distance from the source: a wave of velocity v stands level
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.output.figures.choice import (
    Names,
    Percentile,
    first_components,
    refuse_empty,
    shot_index,
    shot_words,
    trace_set,
)
from seismo.output.figures.section import source_position
from seismo.output.figures.style import (
    DIVERGING,
    WIDTH,
    amplitude_label,
    clip_level,
    entitle,
    length_unit,
    outer_labels,
    panels,
    quiet_frame,
    styled,
)
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import TraceSet
from seismo.output.store.arrays import choose
from seismo.output.store.layout import axis_label, pretty_unit
from seismo.scenario import units
from seismo.scenario.units import with_unit

MOST_CODES = 15  # receivers whose codes are written
_MOST_TICKS = 5
_LEAST_GAP = 0.02  # of the mean: closer traces cover each other
_NAMED_GAP = 0.2  # and their codes, where these are written
_FLOOR = 1e-3  # of a trace's largest root mean square: quieter windows are not raised to it
_AGC_WINDOW = 0.1  # of the record, where none is said
_MOST_WIGGLES = 60
_SWING = 2.5  # spacings of the traces: larger amplitudes are cut
_BOX = 5.0  # spacings: traces cut so far below their peaks are boxes
_NOISE = 5e-5  # of the largest peak: on nodal lines, rounding and errors of the differences
_NO_RECORD = "0.85"  # grey, which neither scale of colours has at rest
_COLOURS = {"seismic": DIVERGING, "grey": "gray_r"}


def placed(
    results: RunResults, traces: TraceSet, index: int, source: dict[str, float], by: str | None
) -> tuple[np.ndarray, np.ndarray, str, dict[float, str]]:
    """Return the receivers that record, in their order, their places, the label, and the ticks.

    Raises:
        ScenarioError: receivers have no such place.
    """
    is_survey = len(traces.shots) > 1 or bool(results.section("survey"))
    if by is None and source and (traces.moves or (is_survey and _is_line(traces, index))):
        by = "offset"
    positions, label = abscissa(traces, index, source, by)
    recording = np.flatnonzero(traces.recording(index))
    positions = positions[recording]
    # Receivers at equal places, but for rounding, keep their order.
    order = np.argsort(np.round(positions, _digits(positions)), kind="stable")
    positions, ticks = spread(positions[order])
    return recording[order], positions, label, ticks


def abscissa(
    traces: TraceSet, index: int, source: dict[str, float], by: str | None
) -> tuple[np.ndarray, str]:
    """Return where each trace of a shot stands (receiver) and the axis label.

    Raises:
        ScenarioError: `by` is not possible for these receivers.
    """
    columns = {axis: traces.coordinate(axis, index) for axis in "xyz"}
    coordinates = {axis: positions for axis, positions in columns.items() if positions is not None}
    if (along := traces.column("fibre_distance")) is not None:
        coordinates["fibre"] = along
    by = by or ("fibre" if along is not None else _natural(coordinates, source))
    if by == "number":
        return np.arange(len(traces.codes), dtype=float), "receiver number"
    if by in coordinates:
        positions = coordinates[by]
        words = "distance along the fibre" if by == "fibre" else by
    elif by in ("distance", "offset") and source:
        positions, quantity = offsets(traces, index, source)
        words = quantity or "horizontal distance"
        if by == "distance":
            positions = np.abs(positions)
            words = "horizontal distance"
    else:
        raise ScenarioError(
            f"by {by!r}: use {', '.join([*coordinates, 'distance', 'offset', 'number'])}"
        )
    # A distance has the unit of a line of the same receivers.
    factor, unit = length_unit(positions, *coordinates.values())
    return positions * factor, f"{words} ({unit})"


def offsets(
    traces: TraceSet, index: int, source: dict[str, float]
) -> tuple[np.ndarray, str | None]:
    """Return the horizontal distances (receiver) m, signed in 2-D, and their name."""
    along = {a: c for a in "xy" if (c := traces.coordinate(a, index)) is not None}
    distances = [v - source[a] for a, v in along.items() if a in source]
    if not distances:
        return np.zeros(len(traces.codes)), None
    if len(along) == 1:
        return distances[0], "offset"
    return np.sqrt(np.sum(np.square(distances), axis=0)), "horizontal distance"


def _is_line(traces: TraceSet, index: int) -> bool:
    """Whether receivers of a 2-D run lie along x."""
    columns = {a: c for a in "xyz" if (c := traces.coordinate(a, index)) is not None}
    return "y" not in columns and _natural(columns, {"x": 0.0}) == "x"


def spread(positions: np.ndarray) -> tuple[np.ndarray, dict[float, str]]:
    """Return places (receiver, growing) where no two traces cover each other, and their ticks.

    Where any do, or their codes would, all are put side by side at equal distances, and ticks label
    a few with their places; otherwise there are none.
    """
    gaps = np.diff(positions)
    least = _NAMED_GAP if positions.size <= MOST_CODES else _LEAST_GAP
    if not gaps.size or gaps.min() >= least * gaps.mean() > 0.0:
        return positions, {}
    every = 1 if positions.size <= MOST_CODES else -(-positions.size // _MOST_TICKS)
    ticked = range(0, positions.size, every)
    rounded = np.round(positions, _digits(positions) - 1)  # three digits, for which there is room
    return np.arange(positions.size, dtype=float), {float(n): f"{rounded[n]:.10g}" for n in ticked}


def _digits(positions: np.ndarray) -> int:
    """Return the decimals that tell a thousandth of the largest place, or less."""
    largest = np.abs(positions).max(initial=0.0)
    return 3 - int(np.floor(np.log10(largest))) if largest > 0.0 else 0


def _natural(coordinates: dict[str, np.ndarray], source: dict[str, float]) -> str:
    spans = {
        axis: float(np.ptp(coordinate))
        for axis, coordinate in coordinates.items()
        if coordinate.size
    }
    longest = max(spans, key=lambda axis: spans[axis], default=None)
    if longest is None or spans[longest] == 0.0:
        return "number"
    # A line on the ground is a line whatever its heights.
    along = coordinates[longest]
    is_level = longest in "xy" and np.unique(along).size == along.size
    beside = [span for axis, span in spans.items() if axis not in (longest, "z" * is_level)]
    others = max(beside, default=0.0)
    return longest if others < 0.05 * spans[longest] or not source else "distance"


def with_gain(samples: np.ndarray, time: np.ndarray, gain: str) -> np.ndarray:
    """Return traces (receiver, time) with gain, each to its own peak, except traces at rest.

    Args:
        samples: of the traces.
        time: (time) s.
        gain: ``agc``, ``agc:0.3 s``, ``t`` or ``t:1.5``.

    Raises:
        ScenarioError: it is none of these.
    """
    kind, has_number, text = gain.partition(":")
    if kind.strip() == "agc":
        window = _AGC_WINDOW * float(time[-1] - time[0])
        if has_number:
            window = _number(gain, text, units.TIME)
        raised = _automatic(samples, time, window)
    elif kind.strip() == "t":
        power = _number(gain, text, None) if has_number else 1.0
        raised = samples * (np.clip(time, 0.0, None) / time[-1]) ** power
    else:
        raise ScenarioError(f"gain {gain!r}: use agc, agc:0.3 s, t or t:1.5")
    peaks = np.abs(raised).max(axis=-1, keepdims=True)
    return raised / np.where(peaks > 0.0, peaks, 1.0)


def reduced(
    samples: np.ndarray, time: np.ndarray, distances: np.ndarray, velocity: float
) -> np.ndarray:
    """Return traces (receiver, time) at the reduced times: trace(t + d / v), NaN after its end.

    distances (receiver) m; velocity m/s.
    """
    delays = np.abs(distances) / velocity
    return np.array([
        np.interp(time + delay, time, trace, right=np.nan)
        for trace, delay in zip(samples, delays, strict=True)
    ])  # fmt: skip


def reduction_velocity(value: str | float) -> float:
    """Return a velocity in m/s, of a number or a text such as ``6 km/s``.

    Raises:
        ScenarioError: it is none, or not above 0.
    """
    velocity = _number(f"{value}", str(value), units.VELOCITY, "reduction")
    if not velocity > 0.0:
        raise ScenarioError(f"reduction {value!r}: give a velocity above 0, such as 6 km/s")
    return velocity


def _automatic(samples: np.ndarray, time: np.ndarray, window: float) -> np.ndarray:
    """Divide by the running root mean square (Yilmaz 2001, section 1.5)."""
    step = float(time[1] - time[0])
    half = max(1, round(0.5 * window / step))
    padded = np.pad(samples.astype(float) ** 2, ((0, 0), (half + 1, half)))
    total = padded.cumsum(axis=-1)
    level = np.sqrt(np.maximum(total[:, 2 * half + 1 :] - total[:, : -2 * half - 1], 0.0))
    least = _FLOOR * level.max(axis=-1, keepdims=True)
    return samples / np.where(least > 0.0, np.maximum(level, least), 1.0)


def _number(option: str, text: str, unit: units.Dimension | None, name: str = "gain") -> float:
    try:
        return float(text) if unit is None else units.to_si(text.strip(), unit)
    except (ValueError, units.UnitError) as error:
        raise ScenarioError(f"{name} {option!r}: {error}") from None


def largest_magnitude(samples: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Return the largest recorded magnitude, 0 if none."""
    return np.nanmax(np.abs(samples), axis=axis, initial=0.0)


def loudest(name: str, samples_of: dict[str, np.ndarray], traces: TraceSet) -> float:
    """Return the largest magnitude of the components that share a component's unit.

    One that is rounding beside others of its unit is not blown up.
    """
    alike = [v for other, v in samples_of.items() if traces.unit(other) == traces.unit(name)]
    return max(float(largest_magnitude(v, None)) for v in alike)


@styled
def gather(
    results: RunResults,
    *,
    receivers: str | None = None,
    shot: str | int | None = None,
    quantities: Names | None = None,
    mode: str | None = None,
    by: str | None = None,
    clip: Percentile = 99.0,
    normalise: bool | None = None,
    gain: str | None = None,
    reduction: str | float | None = None,
    colours: str = "seismic",
) -> Figure:
    """Draw a record section per component, time down the page.

    Args:
        results: the results file.
        receivers: name of the receiver set (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: which ones (default: all of the set, at most three).
        mode: ``image`` or ``wiggle`` (default: wiggle up to 60 receivers).
        by: ``x``, ``y``, ``z``, ``distance`` or, with a sign in 2-D, ``offset`` from the source,
            ``fibre`` (along it), or ``number``; by default the fibre, or the coordinate the
            receivers lie along, else the distance.
        clip: percentile at which the colours of an image saturate; the median of the peaks of the
            traces is a spacing of wiggles, which are cut at two and a half.
        normalise: scale every trace to its own peak; by default where wiggles would be cut far
            below their peaks, in more than a tenth of the traces.
        gain: ``agc`` or ``agc:0.3 s``, automatic gain control in such a window; ``t`` or
            ``t:1.5``, a power of time. Each trace is scaled to its own peak then.
        reduction: velocity, such as ``6 km/s``: times are less distance / velocity.
        colours: of an image, ``seismic`` or ``grey``.

    Raises:
        ScenarioError: the file lacks the data.
    """
    traces = trace_set(results, receivers)
    names, shown = first_components(traces, quantities)
    index = shot_index(traces, shot)
    source = source_position(results, traces.shots[index])
    order, positions, label, ticks = placed(results, traces, index, source, by)
    draw = choose_mode(mode or ("wiggle" if len(positions) <= _MOST_WIGGLES else "image"))
    choose(_COLOURS, colours, "colours")
    refuse_empty(results, traces, names, index)
    figure, grid = panels(1, len(names), 5.0, width=min(WIDTH, 1.5 + 3.3 * len(names)))
    every = {name: np.nan_to_num(traces.values_of(name, index))[order] for name in names}
    if gain is not None:
        every = {name: with_gain(v, traces.time, gain) for name, v in every.items()}
        normalise = True
    distances, words = offsets(traces, index, source)
    every, time_label = _reduced(
        every, traces.time, None if words is None else distances[order], reduction
    )
    codes = [traces.codes[k] for k in order]
    for panel, name in zip(grid[0], every, strict=True):
        least = _NOISE * loudest(name, every, traces)
        samples = _normalised(every[name], least) if normalise else every[name]
        unit = "" if normalise else traces.unit(name)
        draw(panel, Record(
            name, unit, positions, codes, traces.time, samples, clip, normalise, least, colours
        ))  # fmt: skip
        if not samples.any():
            panel.text(0.5, 0.5, "all samples are 0", ha="center", transform=panel.transAxes)
        _label(panel, label, ticks, len(positions), time_label)
        panel.set_ylim(traces.time[-1], traces.time[0])
    outer_labels(grid, len(names))
    shot_text = shot_words(results, traces.shots[index])
    entitle(figure, results, traces.name, shown, shot_text, f"gain {gain}" if gain else "")
    return figure


def _label(panel: Axes, label: str, ticks: dict[float, str], count: int, time_label: str) -> None:
    """Label the axes of `count` receivers."""
    panel.set_xlabel(f"{label}\nnot to scale" if ticks else label)
    if ticks:
        panel.set_xticks(list(ticks), list(ticks.values()))
        if count <= MOST_CODES:
            panel.tick_params(axis="x", labelrotation=60)
    panel.set_ylabel(time_label)


def _reduced(
    every: dict[str, np.ndarray], time: np.ndarray, distances: np.ndarray | None,
    reduction: str | float | None,
) -> tuple[dict[str, np.ndarray], str]:  # fmt: skip
    """Return traces by component at reduced times, and the label of the times.

    Raises:
        ScenarioError: the velocity is not understood, or there is no source to count from.
    """
    if reduction is None:
        return every, "time (s)"
    velocity = reduction_velocity(reduction)
    if distances is None:
        raise ScenarioError(f"reduction {reduction!r}: there is no source to count from")
    label = f"time - distance / ({pretty_unit(with_unit(velocity, 'm/s'))}) (s)"
    return {name: reduced(v, time, distances, velocity) for name, v in every.items()}, label


@dataclass(frozen=True)
class Record:
    """A component of a shot: values (receiver, time) at `place` along the section.

    They are NaN beyond the end of the record, where times are reduced. Those that are `normalised`
    are without a unit, shares of each trace's own peak; None leaves it to the drawing. Peaks below
    `least` are rounding, and are not scaled up; `colours` are an image's.
    """

    name: str
    unit: str
    positions: np.ndarray
    codes: list[str]
    time: np.ndarray
    samples: np.ndarray
    clip: float
    normalised: bool | None
    least: float = 0.0
    colours: str = "seismic"


def choose_mode(mode: str) -> Callable[[Axes, Record], None]:
    """Return the drawing function of a mode.

    Raises:
        ScenarioError: there is no such mode.
    """
    if mode not in _MODES:
        raise ScenarioError(f"mode {mode!r}: use {' or '.join(_MODES)}")
    return _MODES[mode]


def _normalised(samples: np.ndarray, least: float) -> np.ndarray:
    """Return traces to their own peaks, or to `least` where these are smaller."""
    peak = np.maximum(largest_magnitude(samples), least)[:, np.newaxis]
    return samples / np.where(peak > 0, peak, 1.0)


def _draw_image(panel: Axes, record: Record) -> None:
    level = max(clip_level(record.samples, record.clip), 0.0 if record.normalised else record.least)
    factor, label = amplitude_label(record.name, record.unit, level)
    label += ", of each trace's peak" if record.normalised else ""
    if np.isnan(record.samples).any():
        panel.set_facecolor(_NO_RECORD)
    image = panel.pcolormesh(
        record.positions, record.time, record.samples.T * factor, shading="nearest",
        cmap=_COLOURS[record.colours],
        vmin=-level * factor, vmax=level * factor, rasterized=True,
    )  # fmt: skip
    panel.figure.colorbar(
        image, ax=panel, label=label, location="top", extend="both", shrink=0.8, aspect=25, pad=0.02
    )


def _draw_wiggles(panel: Axes, record: Record) -> None:
    peaks = largest_magnitude(record.samples)
    level = 1.0 if record.normalised else typical_peak(peaks)
    individual = record.normalised is None and _uneven(peaks, level)
    levels = np.maximum(peaks, _NOISE * peaks.max()) if individual else np.full(peaks.size, level)
    levels = levels if record.normalised else np.maximum(levels, record.least)
    steps = np.diff(record.positions)
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    for position, trace, trace_level in zip(record.positions, record.samples, levels, strict=True):
        swing = position + np.clip(trace / trace_level, -_SWING, _SWING) * step
        panel.plot(swing, record.time, color="black", linewidth=0.5)
        panel.fill_betweenx(
            record.time, position, swing, where=swing > position, color="black", linewidth=0
        )
    panel.set_xlim(record.positions.min() - _SWING * step, record.positions.max() + _SWING * step)
    if len(record.codes) <= MOST_CODES:
        top = panel.secondary_xaxis("top")
        top.set_xticks(record.positions, record.codes, rotation=60, ha="left", fontsize=7)
        top.tick_params(length=2)
    size = f"one spacing = {pretty_unit(with_unit(level, record.unit))}"
    note = ""
    if individual or record.normalised:
        size = "each to its own peak"
    if individual:
        least, most = (with_unit(peak, record.unit) for peak in (levels.min(), levels.max()))
        note = f"\n{pretty_unit(least)} to {pretty_unit(most)}"
    elif peaks.max() > _SWING * level:
        note = f"\nmedian of the peaks, cut at {_SWING:g}"
    panel.set_title(f"{axis_label(record.name)}, {size}{note}")
    quiet_frame(panel)


def typical_peak(peaks: np.ndarray) -> float:
    """Return the median of the peaks of traces (receiver), except traces at rest.

    A trace above the source may be a thousand times the others, which it should not flatten.
    """
    moving = peaks[peaks > _NOISE * peaks.max()]
    return float(np.median(moving)) if moving.size else 1.0


def _uneven(peaks: np.ndarray, level: float) -> bool:
    """Whether a scale for all makes boxes of more than a tenth of the traces."""
    return bool(np.mean(peaks > _BOX * level) > 0.1)


_MODES = {"image": _draw_image, "wiggle": _draw_wiggles}
