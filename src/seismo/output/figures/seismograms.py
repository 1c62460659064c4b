"""Seismograms by station and component, their amplitude spectra, and source time functions.

The spectrum is |sum s(t) exp(-2 pi i f t) dt|, one-sided and not doubled: for a pulse of finite
length it estimates the Fourier transform, so its unit is the unit of the trace per hertz.
Traces that end before all motion does, or displaced for good, would spread the jump at their end
over all frequencies: their last tenth is tapered to zero. They begin at rest.

Source time functions are drawn as a run injects them, with their amplitude spectra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from seismo.errors import ScenarioError
from seismo.output.figures.choice import (
    FigureCount,
    Names,
    components,
    first_components,
    receiver_indices,
    refuse_empty,
    shot_index,
    shot_words,
    trace_set,
)
from seismo.output.figures.record_sections import loudest
from seismo.output.figures.style import (
    COLOURS,
    REST,
    WIDTH,
    amplitude_label,
    entitle,
    heading,
    outer_labels,
    panels,
    quiet_frame,
    styled,
)
from seismo.output.report import described
from seismo.output.run_results import RunResults
from seismo.output.store.layout import axis_label, long_name, pretty_unit
from seismo.scenario.units import readable, with_unit

_WIDEST = 10.0  # inches of columns: many are narrower
_MOST_COLUMNS = 6  # of a row: more quantities stand in further rows
TAPERED = 0.1  # of a trace, at its end
_FLOOR = 1e-4  # four decades: below, float32 traces hold little but rounding
# Largest over smallest frequency of an axis -> digits of the labels in each decade.
_LABELLED = (
    (10.0, (1.0, 2.0, 3.0, 5.0, 7.0)),
    (100.0, (1.0, 2.0, 5.0)),
    (1e4, (1.0, 3.0)),
    (np.inf, (1.0,)),
)
_HIGHEST_LEVEL = 0.01  # f_max is where the source spectrum has fallen by 40 dB
_MOST = 8  # sources drawn
_MOST_DESCRIBED = 3  # sources whose depths and sizes stand beside their names
_END = 1e-3  # of the largest sample: a wavelet that stays below has ended


@styled
def traces(
    results: RunResults,
    *,
    receivers: str | None = None,
    shot: str | int | None = None,
    quantities: Names | None = None,
    codes: Names | None = None,
    scale: str = "individual",
    most: FigureCount = 12,
) -> Figure:
    """Draw a column per component and a line per station; many components in several rows.

    Args:
        results: the results file.
        receivers: name of the receiver set (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: which ones (default: all of the set).
        codes: receiver codes (default: at most `most`, spread over the set).
        scale: ``individual`` (each trace to its own peak, which is printed, except traces of
            rounding errors) or ``common``.
        most: the largest number of stations chosen by default.

    Raises:
        ScenarioError: the file lacks the data.
    """
    if scale not in ("individual", "common"):
        raise ScenarioError(f"scale {scale!r}: use individual or common")
    stations = trace_set(results, receivers)
    names = components(stations, quantities)
    index = shot_index(stations, shot)
    refuse_empty(results, stations, names, index)
    indices = receiver_indices(stations, codes, most, index)
    row_count = -(-len(names) // _MOST_COLUMNS)
    columns = -(-len(names) // row_count)
    height = 0.4 + row_count * (0.8 + 0.42 * len(indices))
    width = 1.4 + columns * min(_WIDEST / columns, 2.6)
    figure, grid = panels(row_count, columns, max(2.4, height), width=max(width, 6.6))
    samples_of = {n: np.nan_to_num(stations.values_of(n, index)[indices]) for n in names}
    for column, (panel, (name, samples)) in enumerate(
        zip(grid.flat, samples_of.items(), strict=False)
    ):
        largest = loudest(name, samples_of, stations)
        common = largest if scale == "common" else None
        least = common or REST * largest
        _draw_column(panel, stations.time, samples, least, COLOURS[column % 5])
        if common is None:
            _print_peaks(panel, samples, stations.unit(name))
        panel.set_title(
            axis_label(name)
            + (f", scale {pretty_unit(with_unit(common, stations.unit(name)))}" if common else "")
        )
        labels = (
            [stations.codes[k] for k in indices] if column % columns == 0 else [""] * len(indices)
        )
        panel.set_yticks(-np.arange(len(indices)), labels)
    for panel in grid.flat[len(names) :]:
        panel.set_visible(False)
    scaled = "each trace to its own peak" if scale == "individual" else ""
    entitle(figure, results, stations.name, shot_words(results, stations.shots[index]), scaled)
    return figure


def _draw_column(
    panel: Axes, time: np.ndarray, samples: np.ndarray, least: float, colour: str
) -> None:
    """Draw traces, each to its own peak, or to `least` where that is larger."""
    for row, trace in enumerate(samples):
        peak = max(float(np.abs(trace).max()), least)
        panel.plot(time, 0.45 * trace / (peak or 1.0) - row, color=colour)
    panel.set_xlim(time[0], time[-1])
    panel.set_ylim(-len(samples) + 0.4, 0.6)
    panel.set_xlabel("time (s)")
    panel.tick_params(axis="y", length=0)
    quiet_frame(panel)
    panel.spines["left"].set_visible(False)


def _print_peaks(panel: Axes, samples: np.ndarray, unit: str) -> None:
    for row, trace in enumerate(samples):
        panel.text(
            1.01, -row, pretty_unit(with_unit(float(np.abs(trace).max()), unit)), fontsize=6.5,
            color="0.3", ha="left", va="center", transform=panel.get_yaxis_transform(),
        )  # fmt: skip


@styled
def spectra(
    results: RunResults,
    *,
    receivers: str | None = None,
    shot: str | int | None = None,
    quantities: Names | None = None,
    codes: Names | None = None,
    most: FigureCount = 5,
) -> Figure:
    """Draw the amplitude spectra of receivers, a panel per component.

    Args:
        results: the results file.
        receivers: name of the receiver set (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: which ones (default: all of the set, at most three).
        codes: receiver codes (default: at most `most`, spread over the set).
        most: the largest number of receivers chosen by default.

    Raises:
        ScenarioError: the file lacks the data.
    """
    stations = trace_set(results, receivers)
    names, shown = first_components(stations, quantities)
    index = shot_index(stations, shot)
    refuse_empty(results, stations, names, index)
    indices = receiver_indices(stations, codes, most, index)
    figure, grid = panels(1, len(names), 3.6, width=min(WIDTH * 1.2, 2.0 + 2.7 * len(names)))
    highest = highest_frequency(results)
    for panel, name in zip(grid[0], names, strict=True):
        samples = np.nan_to_num(stations.values_of(name, index)[indices])
        frequency, amplitude = amplitude_spectrum(stations.time, tapered(samples))
        top = float(amplitude.max()) or 1.0
        factor, label = amplitude_label(name, stations.unit(name), top)
        for line, k in enumerate(indices):
            panel.loglog(
                frequency[1:],
                amplitude[line, 1:] * factor,
                color=COLOURS[line % len(COLOURS)],
                label=stations.codes[k],
            )
        _draw_source(panel, results, top * factor)
        _frame(panel, frequency, top * factor, highest)
        panel.set_ylabel(label.removesuffix(")") + " per Hz)" if label.endswith(")") else label)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    shot_text = shot_words(results, stations.shots[index])
    note = f"last {TAPERED:.0%} tapered"
    entitle(figure, results, stations.name, shown, shot_text, note)
    return figure


def tapered(samples: np.ndarray) -> np.ndarray:
    """Return traces (..., time) whose last tenth falls to zero as a cosine squared does."""
    count = samples.shape[-1]
    remaining = (count - np.arange(count)) / max(1.0, TAPERED * count)
    return samples * np.sin(0.5 * np.pi * np.minimum(remaining, 1.0)) ** 2


def amplitude_spectrum(time: np.ndarray, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return frequency (frequency) Hz and the spectra (..., frequency) in unit of samples / Hz.

    Args:
        time: (time) s, evenly spaced.
        samples: (..., time).
    """
    interval = float(time[1] - time[0]) if len(time) > 1 else 1.0
    frequency = np.fft.rfftfreq(len(time), interval)
    return frequency, np.abs(np.fft.rfft(np.asarray(samples, dtype=np.float64))) * interval


def highest_frequency(results: RunResults) -> float | None:
    """Return f_max (Hz): as the run recorded it, else where the source has fallen by 40 dB."""
    recorded = results.attributes.get("f_max")
    if isinstance(recorded, float | int | np.number):
        return float(recorded)
    if results.wavelets is None or len(results.wavelets.time) < 2:
        return None
    frequency, amplitude = amplitude_spectrum(results.wavelets.time, results.wavelets.samples)
    envelope = amplitude.max(axis=0)
    above = np.flatnonzero(envelope > _HIGHEST_LEVEL * envelope.max())
    return float(frequency[above[-1]]) if above.size else None


def _draw_source(panel: Axes, results: RunResults, top: float) -> None:
    if results.wavelets is None or len(results.wavelets.time) < 2:
        return
    frequency, amplitude = amplitude_spectrum(results.wavelets.time, results.wavelets.samples)
    envelope = amplitude.max(axis=0)
    if envelope.max() > 0:
        panel.loglog(
            frequency[1:],
            envelope[1:] / envelope.max() * top,
            color="0.6",
            zorder=0,
            linestyle="--",
            linewidth=1.4,
            label="source wavelet, scaled",
        )


def limit_axes(panel: Axes, frequency: np.ndarray, top: float, highest: float | None) -> float:
    """Show four decades below the largest value, up to 2.5 f_max; return the last frequency."""
    panel.set_ylim(_FLOOR * top, 2 * top)
    right = min(frequency[-1], 2.5 * highest) if highest else frequency[-1]
    lowest = min(frequency[1], right / 2.0)  # of short traces too
    panel.set_xlim(lowest, right)
    # As many labels as fit: several of each decade, or its first alone.
    labelled = next(digits for most, digits in _LABELLED if right <= most * lowest)
    panel.xaxis.set_major_locator(LogLocator(subs=labelled))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    return float(right)


def _frame(panel: Axes, frequency: np.ndarray, top: float, highest: float | None) -> None:
    right = limit_axes(panel, frequency, top, highest)
    panel.set_xlabel("frequency (Hz)")
    if highest and highest <= right:
        panel.axvline(highest, color="0.3", linewidth=0.7, linestyle=":")
        panel.text(
            highest,
            1.01,
            f"$f_{{max}}$ = {highest:.3g} Hz",
            fontsize=7,
            va="bottom",
            ha="center",
            transform=panel.get_xaxis_transform(),
        )
    panel.grid(which="major", color="0.9", linewidth=0.5)
    quiet_frame(panel)


@styled
def wavelets(results: RunResults) -> Figure:
    """Draw the time functions of the sources on the left, their spectra on the right.

    Args:
        results: the results file.

    Raises:
        ScenarioError: the file holds no wavelets.
    """
    injected = results.wavelets
    if injected is None or len(injected.time) < 2:
        raise ScenarioError(f"{results.path}: holds no wavelets")
    time = injected.time
    samples = np.asarray(injected.samples, np.float64)
    # Sources of equal time functions are drawn once.
    _, first = np.unique(samples, axis=0, return_index=True)
    shown = np.sort(first)[:_MOST]
    samples = samples[shown]
    names = [injected.names[n] for n in shown]
    labels = names
    if len(injected.names) == len(names) <= _MOST_DESCRIBED:
        facts = {source.get("name"): described(source) for source in results.sources}
        labels = ["\n".join([n, *facts.get(n, "").split(", ")]).rstrip() for n in names]
    figure, ((pulse, spectrum),) = panels(1, 2, 3.2, width=WIDTH * 1.1)
    largest = np.abs(samples).max()
    factor, label = amplitude_label("wavelet", injected.unit("wavelet"), largest)
    frequency, amplitude = amplitude_spectrum(time, samples)
    top = amplitude.max()
    for n, description in enumerate(labels):
        colour = COLOURS[n % len(COLOURS)]
        pulse.plot(time, factor * samples[n], color=colour, label=description)
        spectrum.loglog(frequency[1:], amplitude[n, 1:] / top, color=colour)
    moving = np.flatnonzero((np.abs(samples) > _END * largest).any(0))
    last = time[min(moving[-1] + moving.size // 10 + 1, time.size - 1)] if moving.size else time[-1]
    pulse.set(xlabel="time (s)", ylabel=label, xlim=(0.0, last))
    # As many ticks whatever the layout: wider labels would make it ask for others, and so on.
    pulse.locator_params(axis="y", nbins=6)
    highest = highest_frequency(results)
    limit_axes(spectrum, frequency, 1.0, highest)
    spectrum.set(xlabel="frequency (Hz)", ylabel="amplitude / largest")
    if highest:
        spectrum.axvline(highest, color="0.3", linewidth=0.7, linestyle=":")
    for panel in (pulse, spectrum):
        panel.grid(which="major", color="0.9", linewidth=0.5)
        quiet_frame(panel)
    if len(names) > 1 or labels != names:
        pulse.legend(fontsize=7)
    entitle(figure, results, "wavelets")
    return figure


_COLUMNS = 2


@styled
def telemetry(results: RunResults, *, quantities: str | Sequence[str] | None = None) -> Figure:
    """Draw the series that were sampled while a run stepped, a panel each, from zero.

    Args:
        results: the results file.
        quantities: which ones (default: all there are).

    Raises:
        ScenarioError: the file lacks the data.
    """
    series = results.telemetry
    if not len(series):
        raise ScenarioError(f"{results.path}: holds no telemetry; run the scenario again")
    names = components(series, quantities)
    row_count = -(-len(names) // _COLUMNS)
    figure, grid = panels(row_count, _COLUMNS, 1.5 * row_count + 0.8, sharex=True)
    time = series.time
    for panel, name in zip(grid.flat, names, strict=False):
        samples = series.values_of(name)
        top = float(np.nanmax(samples, initial=0.0))
        factor, unit = readable(top, series.unit(name))
        panel.plot(time, samples * factor, color=COLOURS[0], marker=".", markersize=2)
        panel.set_ylim(0.0, 1.05 * top * factor or 1.0)
        panel.set_title(heading(long_name(name), unit), loc="left")
        panel.set_xlabel("time on the wall (s)")
        quiet_frame(panel)
    outer_labels(grid, len(names))
    for panel in grid.flat:
        panel.tick_params(labelleft=True)  # each has a scale of its own
    device = str(results.summary.get("device", ""))
    entitle(figure, results, device)
    return figure
