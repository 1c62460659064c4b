"""The earth model as it was used: a panel per parameter, with sources and receivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seismo.errors import ScenarioError
from seismo.output.figures.choice import Names, components
from seismo.output.figures.map_marks import draw_map_marks
from seismo.output.figures.section import (
    CrossSection,
    draw_image,
    frame_section,
    sections,
    source_position,
    thinned_above,
)
from seismo.output.figures.style import (
    RECEIVER_COLOUR,
    SEQUENTIAL,
    SOURCE_COLOUR,
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

_MOST_MARKERS = 40  # of a set of receivers
_MOST_DOTS = 2000  # the same on a map
_NOWHERE = np.empty((2, 0))
# Of marks on a section, and of marks further from it than a cell.
_BESIDE = " beside the section"
_WORDS = ("", _BESIDE)
_LOOKS: tuple[dict[str, Any], ...] = (
    {"markeredgecolor": "black"},
    {"markerfacecolor": "none", "markeredgecolor": "0.35"},
)


def draw_geometry(
    panel: Axes,
    section: CrossSection,
    results: RunResults,
    axes: Mapping[str, np.ndarray],
    scale: float,
    shot: str | None,
    coast: bool | None = None,
    plane: Mapping[str, float] | None = None,
) -> list[Line2D]:
    """Mark the sources (stars) and receivers (triangles) within `axes`, projected on the section.

    Those further from it than a cell are hollow. Marks on an edge are drawn whole, so that nothing
    clips marks which lie beyond. A map seen from above has marks of its own (`map_marks`), among
    which is the `coast`.

    Args:
        panel: where to draw.
        section: that is drawn.
        results: of the run.
        axes: coordinates in m.
        scale: of the panel, to m.
        shot: name of the shot, None for all.
        coast: whether maps have a coast.
        plane: in m by axis, where that is all that is stored.
    """
    marks: list[Line2D] = []
    if section.vertical == "x":
        draw_map_marks(panel, results, axes, scale, shot, coast)
    if plane is None:
        plane = {} if section.across is None else {section.across: section.position}
    receivers, dots = _receiver_positions(results, section, axes, shot, plane)
    if dots.size:
        marks += panel.plot(
            *(dots * scale), ".", color=RECEIVER_COLOUR, markeredgecolor="black", markersize=3,
            markeredgewidth=0.4, clip_on=False, label="receivers", zorder=6,
        )  # fmt: skip
    for positions, words, look in zip(receivers, _WORDS, _LOOKS, strict=True):
        if positions.size:
            size = 5 if positions.shape[1] < 20 else 3
            marks += panel.plot(
                *(positions * scale), "v", color=RECEIVER_COLOUR, clip_on=False, markersize=size,
                markeredgewidth=0.6, label=f"receivers{words}", **look,
                zorder=7 if section.vertical == "x" else 2,  # above beach balls and degrees
            )  # fmt: skip
    for positions, words, look in zip(
        _source_positions(results, section, axes, shot, plane), _WORDS, _LOOKS, strict=True
    ):
        if positions.size:
            name = "source" if positions.shape[1] == 1 else "sources"
            marks += panel.plot(
                *(positions * scale), "*", color=SOURCE_COLOUR, clip_on=False, markersize=11,
                markeredgewidth=0.7, label=f"{name}{words}", **look,
            )  # fmt: skip
    return marks


def hollow_words(marks: list[Line2D]) -> str:
    """Describe marks of points beside a section, "" where there are none."""
    hollow = any(str(mark.get_label()).endswith(_BESIDE) for mark in marks)
    return "hollow marks: beside it" if hollow else ""


def _source_positions(
    results: RunResults, section: CrossSection, axes: Mapping[str, np.ndarray], shot: str | None,
    plane: Mapping[str, float],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return where sources are marked (2, n): on the section, and beside it."""
    names = section.horizontal + section.vertical + _axis_across(section, plane)
    rows = [[s[name] for name in names] for s in results.sources_of(shot)
            if all(name in s for name in names)]  # fmt: skip
    positions = np.array(rows, float).T.reshape(len(names), -1)
    return _by_distance(positions[:, _within(positions[:2], section, axes)], section, axes, plane)


def _receiver_positions(
    results: RunResults, section: CrossSection, axes: Mapping[str, np.ndarray], shot: str | None,
    plane: Mapping[str, float],
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:  # fmt: skip
    """Return where receivers are marked (2, n), on the section and beside it, and dots of a map.

    Sets are thinned separately: a line of many hides no station. On maps sets of many have dots.
    """
    shown = [(_NOWHERE, _NOWHERE)]
    dotted = [_NOWHERE]
    names = section.horizontal + section.vertical + _axis_across(section, plane)
    for traces in results.traces.values():
        positions = traces.recorded_at(names, shot)
        if positions is not None:
            inside = positions[:, _within(positions[:2], section, axes)]
            if section.vertical == "x" and inside.shape[1] > _MOST_MARKERS:
                dotted.append(_thinned(inside, _MOST_DOTS))
            else:
                on, beside = _by_distance(inside, section, axes, plane)
                shown.append((_thinned(on, _MOST_MARKERS), _thinned(beside, _MOST_MARKERS)))
    on, beside = (np.concatenate(coordinates, axis=1) for coordinates in zip(*shown, strict=True))
    return (on, beside), np.concatenate(dotted, axis=1)


def _axis_across(section: CrossSection, plane: Mapping[str, float]) -> str:
    """Return the axis across a section; none of a map, which shows all that lies below it."""
    return "" if section.vertical == "x" else next(iter(plane), "")


def _by_distance(
    positions: np.ndarray, section: CrossSection, axes: Mapping[str, np.ndarray],
    plane: Mapping[str, float],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Split places (2 or 3, n) into places within a cell of a section (2, n), and beside."""
    axis = _axis_across(section, plane)
    if not axis:
        return positions[:2], _NOWHERE
    is_on = np.abs(positions[2] - plane[axis]) <= _cell_across(section, axes, axis, plane[axis])
    return positions[:2, is_on], positions[:2, ~is_on]


def _cell_across(
    section: CrossSection, axes: Mapping[str, np.ndarray], axis: str, position: float
) -> float:
    """Return the size in m of cells across a section at a position.

    Where the section is all that is stored, cells are taken to be as wide as they are along it.
    """
    across = axes.get(axis, np.empty(0))
    if across.size > 1:
        cell = int(np.clip(np.searchsorted(across, position), 1, across.size - 1))
        return float(across[cell] - across[cell - 1])
    return max(float(np.ptp(axes[name][:2])) for name in (section.horizontal, section.vertical))


def _thinned(positions: np.ndarray, most: int) -> np.ndarray:
    """Keep every so many of places (2, n), as many at both ends left out."""
    step = max(1, -(-positions.shape[1] // most))
    return positions[:, (positions.shape[1] - 1) % step // 2 :: step]


def _within(
    positions: np.ndarray, section: CrossSection, axes: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return which places (2, n) lie on the axes, or less than a point beyond a decimated axis."""
    across, along = positions
    x = axes[section.horizontal]
    rows = axes[section.vertical]
    step = np.ptp(x[:2]) or np.ptp(rows[:2])
    within = (x[0] - step < across) & (across < x[-1] + step)
    # Rows that follow the ground begin and end elsewhere in each column.
    first, last = rows[[0, -1]]
    if section.is_curved:
        first, last = (np.interp(across, x, z) for z in section.z(axes)[[0, -1]])
    height = np.ptp(rows[:2]) or step
    within &= (first - height < along) & (along < last + height)
    return within


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
