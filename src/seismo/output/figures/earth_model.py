"""The earth model as it was used: a panel per parameter, with sources and receivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seismo.errors import ScenarioError
from seismo.output.figures.choice import Names, components
from seismo.output.figures.geometry_marks import draw_geometry
from seismo.output.figures.section import (
    CrossSection,
    draw_image,
    frame_section,
    sections,
    source_position,
    thinned_above,
)
from seismo.output.figures.style import (
    SEQUENTIAL,
    WIDTH,
    entitle,
    length_unit,
    outer_labels,
    panels,
    side_bar,
    styled,
)
from seismo.output.run_results import RunResults
from seismo.output.store.layout import axis_label, pretty_unit

_ALIKE = 1e-6  # of the values of a parameter: rounding of 32 bits


@styled
def model(results: RunResults, *, parameters: Names | None = None) -> Figure:
    """Draw the model parameters; in 3-D the three sections through the first source.

    Args:
        results: the results file.
        parameters: which ones (default: all in the file, but in 2-D not phi).

    Raises:
        ScenarioError: the file holds no model, or not that parameter.
    """
    ground = results.model
    names = components(results.model, parameters)
    if not names:
        raise ScenarioError(f"{results.path}: holds no model; set output.model: true")
    axes = ground.axes
    if parameters is None and "y" not in axes:
        names = [name for name in names if name != "phi"]
    planes = sections(axes, source_position(results, None), results.ground)
    row_count, columns = _layout(len(names), planes, axes)
    ratios = [1 / plane.shape_ratio(axes) for plane in planes]
    height = _height(row_count, columns, planes, axes)
    options: dict[str, Any] = {"width_ratios": ratios} if len(planes) > 1 else {}
    figure, grid = panels(row_count, columns, height, **options)
    scale, unit = length_unit(*axes.values())
    handles = list[Line2D]()
    for number, name in enumerate(names):
        row = grid[number] if len(planes) > 1 else [grid.flat[number]]
        handles += _draw_parameter(results, name, planes, row, scale, unit)
    used = len(names) * len(planes)
    if len(planes) == 1:
        outer_labels(grid, used)
    # A mark of each kind: a point beside one section may be on another.
    kinds = dict[str, Line2D]()
    for mark in handles:
        kinds.setdefault(str(mark.get_label()).replace("sources", "source"), mark)
    figure.legend(handles=list(kinds.values()), loc="outside lower center", ncols=4)
    entitle(figure, results, thinned_above(results, axes))
    return figure


def _draw_parameter(
    results: RunResults,
    name: str,
    planes: Sequence[CrossSection],
    row: Sequence,
    scale: float,
    unit: str,
) -> list[Line2D]:
    """Draw a parameter on sections; return the marks of sources and receivers."""
    marks = list[Line2D]()
    axes = results.model.axes
    planes_of_values = [
        p.oriented(results.model.values_of(name, p.index(axes)), axes) for p in planes
    ]
    low = float(min(np.nanmin(c) for c in planes_of_values))
    high = float(max(np.nanmax(c) for c in planes_of_values))
    colours = mpl.colormaps[SEQUENTIAL]
    ticks = dict[str, Any]()
    if high - low <= _ALIKE * max(abs(low), abs(high)):  # a single colour, and its value beside it
        colours = ListedColormap([colours(0.5)])
        ticks = {"ticks": [low], "format": "%.6g"}
        high = low + 1.0
        low -= 1.0
    title = axis_label(name, pretty_unit(results.model.unit(name)))
    for plane, panel, section_values in zip(planes, row, planes_of_values, strict=True):
        image = draw_image(
            panel, plane, section_values, axes, scale, cmap=colours, vmin=low, vmax=high
        )
        marks += draw_geometry(panel, plane, results, axes, scale, None)
        frame_section(panel, plane, axes, scale, unit)
        panel.set_title(plane.title() or title)
    if len(row) == 1:
        side_bar(row[0], image, **ticks)
    else:
        side_bar(row[-1], image, thickness=0.07, label=title, **ticks)
    return marks


def _layout(
    count: int, planes: Sequence[CrossSection], axes: dict[str, np.ndarray]
) -> tuple[int, int]:
    if len(planes) > 1:
        return count, len(planes)
    # Wide sections are stacked, tall ones stand side by side.
    columns = 1 if planes[0].shape_ratio(axes) < 0.35 else min(count, 2 if count != 3 else 3)
    if planes[0].shape_ratio(axes) < 0.9:
        columns = min(columns, 2)
    return -(-count // columns), columns


def _height(
    row_count: int, columns: int, planes: Sequence[CrossSection], axes: dict[str, np.ndarray]
) -> float:
    ratios = [plane.shape_ratio(axes) for plane in planes]
    if len(planes) > 1:
        panel = (WIDTH - 2.2) / sum(1 / ratio for ratio in ratios)
    else:
        panel = (WIDTH / columns - 1.3) * ratios[0] + 0.2
    return float(np.clip(row_count * (panel + 0.6) + 0.6, 2.2, 11.0))
