"""Largest values on a line, such as along the ground of a 2-D run: a curve for each quantity."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from seismo.output.figures.sections.section import source_position
from seismo.output.figures.style import (
    SOURCE_COLOUR,
    WIDTH,
    amplitude_label,
    length_unit,
    panels,
)
from seismo.output.results import Results
from seismo.output.store.array_sets import MapSet
from seismo.output.store.quantities import symbol

_ENGINEERING = {"m": (1e2, "cm"), "m/s": (1e2, "cm/s"), "m/s^2": (1 / 9.80665, "g")}
_HEIGHT = 1.9  # inches of a panel
_WIDTH = 2.6  # inches of one whose line goes down
_TALL = 4.5


def labelled(name: str, unit: str, level: float, units: str) -> tuple[float, str]:
    """Return the factor to the unit that values are shown in, and their label."""
    if units == "engineering" and unit in _ENGINEERING:
        factor, shown = _ENGINEERING[unit]
        return factor, f"{symbol(name)} ({shown})"
    return amplitude_label(name, unit, level)


def draw_lines(
    results: Results, maps: MapSet, names: list[str], number: int, units: str, scale: str
) -> Figure:
    """Draw largest values on a line over its coordinate, or beside it where the line goes down.

    Args:
        results: the results file.
        maps: a set of maps with one axis.
        names: quantities.
        number: of the shot.
        units: see `peaks`.
        scale: see `peaks`.
    """
    ((axis, coordinate),) = maps.axes.items()
    # Over topography the axis z counts rows; points have a z of their own.
    if axis == "z" and maps.z_true is not None:
        coordinate = maps.z_true
    goes_down = axis == "z"
    shape = (1, len(names)) if goes_down else (len(names), 1)
    height = _TALL if goes_down else _HEIGHT * len(names) + 0.8
    width = min(WIDTH, _WIDTH * len(names) + 0.8) if goes_down else WIDTH
    figure, grid = panels(*shape, height, width=width)
    length_scale, unit = length_unit(coordinate)
    shot = maps.shots[number]
    source = source_position(results, shot).get(axis)
    for panel, name in zip(grid.flat, names, strict=True):
        line = maps.values_of(name, (number,))
        largest = float(np.nanmax(line, initial=0.0))
        factor, label = labelled(name, maps.unit(name), largest, units)
        along = coordinate * length_scale
        curve = (line * factor, along) if goes_down else (along, line * factor)
        panel.plot(*curve, color="black", linewidth=1.0)
        if goes_down:
            panel.invert_yaxis()
            panel.set(xscale=scale, xlabel=label, ylabel=f"{axis} ({unit})")
        else:
            panel.set(yscale=scale, ylabel=label, xlabel=f"{axis} ({unit})")
        if scale == "linear":
            panel.set(**{"xlim" if goes_down else "ylim": (0.0, None)})
        if source is not None:
            mark = panel.axhline if goes_down else panel.axvline
            source_label = "source" if len(results.sources_of(shot)) == 1 else "first source"
            source_line = mark(
                source * length_scale, color=SOURCE_COLOUR, zorder=0, label=source_label
            )
        panel.set_title(f"at most {largest * factor:.3g}", loc="left")
        panel.grid(alpha=0.3)
    if source is not None:
        figure.legend(handles=[source_line], loc="outside lower center")
    return figure
