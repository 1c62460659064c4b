"""Seismograms by station and component, each with its name and its peak."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.output.figures.choice import (
    FigureCount,
    Names,
    components,
    receiver_indices,
    refuse_empty,
    shot_index,
    shot_words,
    trace_set,
)
from seismo.output.figures.seismograms.gather import loudest
from seismo.output.figures.style import COLOURS, REST, entitle, panels, quiet_frame, styled
from seismo.output.run_results import RunResults
from seismo.output.store.quantities import axis_label, pretty_unit
from seismo.scenario.units import with_unit

_WIDEST = 10.0  # inches of columns: many are narrower
_MOST_COLUMNS = 6  # of a row: more quantities stand in further rows


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
    """Draw one column per component and one line per station; many components in several rows.

    Args:
        results: the results file.
        receivers: name of the receiver set (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: which ones (default: all of the set).
        codes: receiver codes (default: at most `most`, spread over the set).
        scale: ``individual`` (each trace to its own peak, which is printed, but for those that
            hold rounding only) or ``common``.
        most: the largest number of stations chosen by default.

    Raises:
        ScenarioError: the file does not hold what is asked for.
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
