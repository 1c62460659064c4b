"""Record sections: the traces of one shot side by side, as an image or as wiggles."""

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
from seismo.output.figures.sections.section import source_position
from seismo.output.figures.seismograms.abscissa import (
    MOST_CODES,
    offsets,
    placed,
)
from seismo.output.figures.seismograms.processing import (
    largest_magnitude,
    loudest,
    reduced,
    reduction_velocity,
    with_gain,
)
from seismo.output.figures.style import (
    DIVERGING,
    WIDTH,
    amplitude_label,
    clip_level,
    entitle,
    outer_labels,
    panels,
    quiet_frame,
    styled,
)
from seismo.output.results import Results
from seismo.output.store.arrays import choose
from seismo.output.store.quantities import axis_label, pretty_unit
from seismo.scenario.units import with_unit

_MOST_WIGGLES = 60
_SWING = 2.5  # spacings of the traces: what exceeds it is cut
_BOX = 5.0  # spacings: traces cut so far below their peaks are boxes
_NOISE = 5e-5  # of the largest peak: on nodal lines, rounding and errors of the differences

_NO_RECORD = "0.85"  # grey, which neither scale of colours has at rest


@styled
def gather(
    results: Results,
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
        clip: percentile at which the colours of an image saturate; the median of the peaks of
            the traces is one spacing of wiggles, which are cut at two and a half.
        normalise: scale every trace to its own peak; by default where wiggles would be cut far
            below their peaks, in more than a tenth of the traces.
        gain: ``agc`` or ``agc:0.3 s``, automatic gain control in such a window; ``t`` or
            ``t:1.5``, a power of time. Each trace is scaled to its own peak then.
        reduction: velocity, such as ``6 km/s``: times are less distance / velocity.
        colours: of an image, ``seismic`` or ``grey``.

    Raises:
        ScenarioError: the file does not hold what is asked for.
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
    """Print what stands along the axes, of so many receivers."""
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
    """One component of one shot: values (receiver, time) at `place` along the section.

    They are NaN beyond the end of the record, where times are reduced. Those that are `normalised`
    are without a unit, shares of each trace's own peak; None leaves it to the drawing. Peaks below
    `least` are rounding, and are not scaled up; `colours` are those of an image.
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
    """Return the median of the peaks of traces (receiver), of those that move.

    A trace above the source may be a thousand times the others, which it should not flatten.
    """
    moving = peaks[peaks > _NOISE * peaks.max()]
    return float(np.median(moving)) if moving.size else 1.0


def _uneven(peaks: np.ndarray, level: float) -> bool:
    """Whether a scale for all makes boxes of more than a tenth of the traces."""
    return bool(np.mean(peaks > _BOX * level) > 0.1)


_COLOURS = {"seismic": DIVERGING, "grey": "gray_r"}
_MODES = {"image": _draw_image, "wiggle": _draw_wiggles}
