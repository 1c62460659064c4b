"""Course of a run: speed, share of the bandwidth, and the device, by the clock on the wall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from seismo.errors import ScenarioError
from seismo.output.figures.choice import components
from seismo.output.figures.style import (
    COLOURS,
    entitle,
    heading,
    outer_labels,
    panels,
    quiet_frame,
    styled,
)
from seismo.output.run_results import RunResults
from seismo.output.store.quantities import long_name
from seismo.scenario.units import readable

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
