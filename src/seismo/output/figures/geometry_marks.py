"""Marks of sources and receivers on a section."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from seismo.output.figures.map_marks import draw_map_marks
from seismo.output.figures.section import CrossSection
from seismo.output.figures.style import RECEIVER_COLOUR, SOURCE_COLOUR
from seismo.output.results import Results

_MOST_MARKERS = 40  # of a set of receivers
_MOST_DOTS = 2000  # the same on a map


def draw_geometry(
    panel: Axes,
    section: CrossSection,
    results: Results,
    axes: Mapping[str, np.ndarray],
    scale: float,
    shot: str | None,
    coast: bool | None = None,
) -> list[Line2D]:
    """Mark the sources (stars) and receivers (triangles) within `axes`, projected on the section.

    Marks on an edge are drawn whole, so that nothing clips those which lie beyond. A map seen
    from above has marks of its own (`map_marks`), among which is the `coast`.
    """
    marks = []
    if section.vertical == "x":
        draw_map_marks(panel, results, axes, scale, shot, coast)
    positions, many = _receiver_positions(results, section, axes, shot)
    if many.size:
        marks += panel.plot(
            *(many * scale), ".", color=RECEIVER_COLOUR, markeredgecolor="black", markersize=3,
            markeredgewidth=0.4, clip_on=False, label="receivers", zorder=6,
        )  # fmt: skip
    if positions.size:
        size = 5 if positions.shape[1] < 20 else 3
        marks += panel.plot(
            *(positions * scale), "v", color=RECEIVER_COLOUR, markeredgecolor="black",
            clip_on=False, markersize=size, markeredgewidth=0.6, label="receivers",
            zorder=7 if section.vertical == "x" else 2,  # above beach balls and degrees of a map
        )  # fmt: skip
    sources = results.sources_of(shot)
    positions = np.array(
        [
            [s[section.horizontal], s[section.vertical]]
            for s in sources
            if section.horizontal in s and section.vertical in s
        ]
    ).T.reshape(2, -1)
    positions = positions[:, _within(positions, section, axes)]
    if positions.size:
        marks += panel.plot(
            *(positions * scale), "*", color=SOURCE_COLOUR, markeredgecolor="black", clip_on=False,
            markersize=11, markeredgewidth=0.7,
            label="source" if positions.shape[1] == 1 else "sources",
        )  # fmt: skip
    return marks


def _receiver_positions(
    results: Results, section: CrossSection, axes: Mapping[str, np.ndarray], shot: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return where receivers are marked (2, n), and where sets of many have dots on a map (2, n).

    Sets are thinned one by one: a line of many hides no station.
    """
    shown = [np.empty((2, 0))]
    dotted = [np.empty((2, 0))]
    for traces in results.traces.values():
        positions = traces.recorded_at(section.horizontal + section.vertical, shot)
        if positions is not None:
            inside = positions[:, _within(positions, section, axes)]
            if section.vertical == "x" and inside.shape[1] > _MOST_MARKERS:
                dotted.append(_thinned(inside, _MOST_DOTS))
            else:
                shown.append(_thinned(inside, _MOST_MARKERS))
    return np.concatenate(shown, axis=1), np.concatenate(dotted, axis=1)


def _thinned(positions: np.ndarray, most: int) -> np.ndarray:
    """Keep every so many of places (2, n), as many at both ends left out."""
    step = max(1, -(-positions.shape[1] // most))
    return positions[:, (positions.shape[1] - 1) % step // 2 :: step]


def _within(
    positions: np.ndarray, section: CrossSection, axes: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return which places (2, n) lie on the axes, or less than a point beyond a decimated one."""
    across, along = positions
    x = axes[section.horizontal]
    rows = axes[section.vertical]
    step = np.ptp(x[:2])
    within = (x[0] - step < across) & (across < x[-1] + step)
    # Rows that follow the ground begin and end elsewhere in each column.
    first, last = rows[[0, -1]]
    if section.is_curved:
        first, last = (np.interp(across, x, z) for z in section.z(axes)[[0, -1]])
    height = np.ptp(rows[:2]) or step
    within &= (first - height < along) & (along < last + height)
    return within
