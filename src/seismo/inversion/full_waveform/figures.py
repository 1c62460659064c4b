"""Figures of an inversion: the misfit by iteration, the models of the start and of the bands."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from seismo.inversion.full_waveform.history import InversionResults
from seismo.inversion.survey.section_figure import entitle, mark_geometry, middle_section
from seismo.output.figures.section import CrossSection, draw_image, frame_section
from seismo.output.figures.style import (
    COLOURS,
    DIVERGING,
    SEQUENTIAL,
    WIDTH,
    length_unit,
    outer_labels,
    panels,
    quiet_frame,
    side_bar,
    styled,
)
from seismo.output.store.layout import axis_label, pretty_unit


@styled
def misfit(results: InversionResults) -> Figure:
    """Draw the misfit over the first of its band by iteration, a line for each band."""
    figure, axes = panels(1, 1, 3.0)
    panel = axes[0, 0]
    relative = results.column("relative_misfit")
    bands = results.column("band")
    for number, corner in enumerate(np.unique(bands)):
        rows = np.flatnonzero(bands == corner)
        colour = COLOURS[number % len(COLOURS)]
        panel.plot(rows, relative[rows], ".-", color=colour, label=_band_name(corner))
    if (relative > 0.0).all():
        panel.set_yscale("log")
    panel.set_xlabel("iteration")
    panel.set_ylabel("misfit over the first of its band")
    panel.legend()
    quiet_frame(panel)
    entitle(figure, results)
    return figure


@styled
def models(results: InversionResults) -> Figure:
    """Draw parameters at the start, at the end of each band, and the change; in 3-D sections.

    Sections of 3-D models are vertical, through the middle of the sources.
    """
    stages = {"start": 0} | {_band_name(c): n for c, n in results.last_of_bands.items()}
    columns = min(3, len(stages) + 1)
    each = -(-(len(stages) + 1) // columns)
    plane = middle_section(results)
    ratio = plane.shape_ratio(results.axes)
    panel_width = WIDTH / columns - 1.0
    height = len(results.parameters) * each * (panel_width * ratio + 0.75) + 0.6
    figure, grid = panels(len(results.parameters) * each, columns, float(np.clip(height, 2.5, 12)))
    for number, name in enumerate(results.parameters):
        rows = grid[number * each : (number + 1) * each]
        _draw_parameter(results, name, plane, rows, stages)
    entitle(figure, results)
    return figure


def _draw_parameter(
    results: InversionResults, name: str, plane: CrossSection, rows: np.ndarray,
    stages: dict[str, int],
) -> None:  # fmt: skip
    index = plane.index(results.axes)
    cuts = {
        word: plane.oriented(results.model(name, n)[index], results.axes)
        for word, n in stages.items()
    }
    low = min(float(cut.min()) for cut in cuts.values())
    high = max(float(cut.max()) for cut in cuts.values())
    scale, unit = length_unit(*results.axes.values())
    label = axis_label(name, pretty_unit(results.unit[name]))
    panels_of_parameter = list(rows.flat)
    for panel, (word, cut) in zip(panels_of_parameter, cuts.items(), strict=False):
        image = draw_image(
            panel, plane, cut, results.axes, scale, cmap=SEQUENTIAL, vmin=low,
            vmax=max(high, low + 1e-6 * abs(low)),
        )  # fmt: skip
        frame_section(panel, plane, results.axes, scale, unit)
        panel.set_title(f"{label}, {word}")
        mark_geometry(panel, results, plane, scale)
        side_bar(panel, image)
    change = cuts[list(cuts)[-1]] - cuts["start"]
    largest = float(np.abs(change).max()) or 1.0
    panel = panels_of_parameter[len(cuts)]
    image = draw_image(
        panel, plane, change, results.axes, scale, cmap=DIVERGING, vmin=-largest, vmax=largest
    )
    frame_section(panel, plane, results.axes, scale, unit)
    panel.set_title(f"change of {label}")
    side_bar(panel, image)
    outer_labels(rows, len(cuts) + 1)


def _band_name(corner: float) -> str:
    return "all frequencies" if math.isinf(corner) else f"below {corner:g} Hz"


KINDS: dict[str, Callable[[InversionResults], Figure]] = {"misfit": misfit, "models": models}
