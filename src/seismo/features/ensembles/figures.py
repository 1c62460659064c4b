"""Figures of an ensemble: fans of traces, statistics of maps, and the drawn values."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.features.ensembles.results import Ensemble, EnsembleTraces, MapStatistics
from seismo.output.figures import FigureKind
from seismo.output.figures.choice import EmptyFigureError, Names, components
from seismo.output.figures.section import CrossSection, draw_image, frame_section
from seismo.output.figures.style import (
    COLOURS,
    SEQUENTIAL,
    WIDTH,
    amplitude_label,
    entitle,
    length_unit,
    outer_labels,
    panels,
    quiet_frame,
    side_bar,
    styled,
)
from seismo.output.store.arrays import choose

_MOST_STATIONS = 4  # unless they are named
_BANDS = (0.18, 0.35)  # opacity of the outer and the inner band


@styled
def fans(
    results: Ensemble,
    *,
    receivers: str | None = None,
    shot: str | int | None = None,
    codes: Names | None = None,
    quantities: Names | None = None,
) -> Figure:
    """Draw the median of traces over the members, between their percentiles, by station.

    The light band has all members, the dark band those from the least to the greatest of
    `ensemble.percentiles`.

    Args:
        results: an ensemble.
        receivers: name of the receiver set (default: the first).
        shot: name or number of the shot (default: the first).
        codes: of the stations (default: four of the set).
        quantities: components (default: the first three).

    Raises:
        ScenarioError: the file lacks the data.
    """
    traces = _first(results, results.traces, receivers, "receivers")
    names = components(traces, quantities)
    stations = _stations(traces, codes)
    number = _shot(traces.shots, shot)
    figure, grid = panels(len(stations), len(names), 1.3 * len(stations) + 1.0, sharex=True)
    ends = _percentiles(results)
    for column, name in enumerate(names):
        samples = [
            np.asarray(traces.values_of(name, (slice(None), number, station)), float)
            for station in stations
        ]
        peak = max(float(np.abs(each).max(initial=0.0)) for each in samples)
        factor, label = amplitude_label(name, traces.unit(name), peak)
        for panel, station, each in zip(grid[:, column], stations, samples, strict=True):
            _draw_fan(panel, traces.time, each * factor, ends)
            panel.set_title(traces.codes[station], loc="left")
            panel.set_ylabel(label)
            quiet_frame(panel)
        grid[-1, column].set_xlabel("time (s)")
    words = "median of {} members, percentiles {:g} to {:g}, and all"
    entitle(figure, results, traces.name, words.format(len(results), *ends))
    return figure


def _draw_fan(panel: Axes, time: np.ndarray, samples: np.ndarray, ends: tuple[Any, Any]) -> None:
    """Draw samples (member, time) as their median between percentiles."""
    low, median, high = np.percentile(samples, [ends[0], 50.0, ends[1]], axis=0)
    outer = (samples.min(axis=0), samples.max(axis=0))
    for opacity, (lower, upper) in zip(_BANDS, (outer, (low, high)), strict=True):
        panel.fill_between(time, lower, upper, color=COLOURS[0], alpha=opacity, linewidth=0)
    panel.plot(time, median, color="black", linewidth=0.8)
    panel.margins(x=0.0)


@styled
def statistics(
    results: Ensemble,
    *,
    maps: str | None = None,
    shot: str | int | None = None,
    quantities: Names | None = None,
) -> Figure:
    """Draw mean, deviation and percentiles of maps; of maps on a line curves.

    Args:
        results: an ensemble.
        maps: name of the set of maps (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: of the maps (default: all of the set).

    Raises:
        ScenarioError: the file lacks the data, or maps are volumes.
    """
    group = _first(results, results.statistics, maps, "maps")
    wanted = [quantities] if isinstance(quantities, str) else quantities
    known = dict.fromkeys(group.quantities)
    names = list(known) if wanted is None else [_known(known, name) for name in wanted]
    number = _shot(group.shots, shot)
    if len(group.axes) > 2:
        raise ScenarioError(
            f"{results.path}: maps {group.name} are volumes, of which no statistics are drawn; "
            "open them with seismo.open_ensemble"
        )
    draw = _draw_curves if len(group.axes) == 1 else _draw_images
    figure = draw(group, names, number)
    entitle(figure, results, f"{len(results)} members", *group.described_plane)
    return figure


def _draw_curves(group: MapStatistics, names: list[str], shot: int) -> Figure:
    """Draw statistics on a line over its coordinate."""
    ((axis, coordinate),) = group.axes.items()
    scale, unit = length_unit(coordinate)
    figure, grid = panels(len(names), 1, 2.1 * len(names) + 0.6, sharex=True)
    for panel, name in zip(grid[:, 0], names, strict=True):
        mean = group.values_of(f"{name}_mean", (shot,))
        factor, label = amplitude_label(
            name, group.unit(f"{name}_mean"), float(np.nanmax(mean, initial=0.0))
        )
        along = coordinate * scale
        panel.plot(along, mean * factor, color="black", label="mean")
        for row_number, number in enumerate(group.percentiles):
            curve = group.values_of(f"{name}_percentile", (row_number, shot)) * factor
            colour = COLOURS[row_number % len(COLOURS)]
            panel.plot(along, curve, color=colour, label=f"percentile {number:g}")
        deviation = group.values_of(f"{name}_deviation", (shot,))
        panel.fill_between(
            along, (mean - deviation) * factor, (mean + deviation) * factor, color="black",
            alpha=_BANDS[0], linewidth=0, label="mean and deviation",
        )  # fmt: skip
        panel.set_ylabel(label)
        panel.set_ylim(0.0, None)
        quiet_frame(panel)
    grid[-1, 0].set_xlabel(f"{axis} ({unit})")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_images(group: MapStatistics, names: list[str], shot: int) -> Figure:
    """Draw statistics of planes, a row for each quantity."""
    axes = group.axes
    horizontal, vertical = list(axes)[::-1]
    plane = CrossSection(horizontal, vertical)
    scale, unit = length_unit(*axes.values())
    columns = 2 + len(group.percentiles)
    width = WIDTH * columns / 2.5
    height = len(names) * ((width / columns - 1.1) * plane.shape_ratio(axes) + 0.7) + 0.8
    figure, grid = panels(len(names), columns, float(np.clip(height, 2.2, 11.0)), width=width)
    for row, name in zip(grid, names, strict=True):
        images = {
            "mean": group.values_of(f"{name}_mean", (shot,)),
            "deviation": group.values_of(f"{name}_deviation", (shot,)),
        } | {
            f"percentile {number:g}": group.values_of(f"{name}_percentile", (row_number, shot))
            for row_number, number in enumerate(group.percentiles)
        }
        for panel, (title, image) in zip(row, images.items(), strict=True):
            largest = float(np.nanmax(image, initial=0.0))
            factor, label = amplitude_label(name, group.unit(f"{name}_mean"), largest)
            drawn = draw_image(
                panel, plane, plane.oriented(image, axes) * factor, axes, scale, cmap=SEQUENTIAL,
                vmin=0.0, vmax=largest * factor or 1.0,
            )  # fmt: skip
            panel.set_title(f"{title}: {label}")
            side_bar(panel, drawn)
            frame_section(panel, plane, axes, scale, unit)
    outer_labels(grid, grid.size)
    return figure


@styled
def draws(results: Ensemble) -> Figure:
    """Draw how often values were drawn, a panel for each key.

    Args:
        results: an ensemble.
    """
    columns = min(3, len(results.draws))
    row_count = -(-len(results.draws) // columns)
    figure, grid = panels(row_count, columns, 2.0 * row_count + 0.5)
    for panel in grid.flat[len(results.draws) :]:
        panel.set_visible(False)
    for panel, (key, column) in zip(grid.flat, results.draws.items(), strict=False):
        panel.hist(column, bins=min(30, 3 + int(np.sqrt(column.size))), color=COLOURS[0])
        panel.set_xlabel(f"{key} ({results.draw_units[key] or 1})")
        panel.set_ylabel("members")
        quiet_frame(panel)
    entitle(figure, results, f"{len(results)} members")
    return figure


def _first(results: Ensemble, sets: Any, name: str | None, word: str) -> Any:
    """Return a set by its name, or the first.

    Raises:
        ScenarioError: there is none.
    """
    if not sets:
        raise EmptyFigureError(f"{results.path}: has no {word} to draw")
    return sets[name] if name is not None else next(iter(sets.values()))


def _known(known: dict[str, None], name: str) -> str:
    choose(known, name, "quantities")
    return name


def _shot(shots: list[str], shot: str | int | None) -> int:
    """Return the number of a shot by its name or number, the first by default."""
    if shot is None:
        return 0
    if str(shot) in shots:
        return shots.index(str(shot))
    choose(dict.fromkeys([*shots, *map(str, range(len(shots)))]), str(shot), "shots")
    return int(shot)


def _stations(traces: EnsembleTraces, codes: Names | None) -> list[int]:
    """Return the numbers of the stations that are drawn."""
    known = traces.codes
    if codes is not None:
        wanted = [codes] if isinstance(codes, str) else list(codes)
        return [choose({code: n for n, code in enumerate(known)}, code, "codes") for code in wanted]
    # Evenly through the set, without its ends.
    count = min(_MOST_STATIONS, len(known))
    return [int((2 * k + 1) * len(known) // (2 * count)) for k in range(count)]


def _percentiles(results: Ensemble) -> tuple[float, float]:
    """Return the least and the greatest percentile that the scenario names."""
    numbers = results.section("ensemble").get("percentiles") or (16.0, 84.0)
    return min(numbers), max(numbers)


KINDS = {
    kind.name: kind
    for kind in (
        FigureKind("fans", "traces of all members: median and percentiles", fans),
        FigureKind("statistics", "maps: mean, deviation and percentiles", statistics),
        FigureKind("draws", "how often values were drawn", draws),
    )
}
