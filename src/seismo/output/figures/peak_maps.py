"""Maps of largest values: a panel for each quantity, each with its own scale from zero.

Largest values on a line, such as along the ground of a 2-D run, are a curve for each quantity.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from seismo.output.figures.choice import (
    Names,
    Percentile,
    UnusedOptionError,
    components,
    map_set,
    refuse_empty,
    shot_index,
    shot_words,
    volumes,
)
from seismo.output.figures.earth_model import draw_geometry, hollow_words
from seismo.output.figures.section import (
    CrossSection,
    chosen_section,
    draw_image,
    frame_section,
    source_position,
    surface_of,
)
from seismo.output.figures.style import (
    SEQUENTIAL,
    SOURCE_COLOUR,
    WIDTH,
    amplitude_label,
    clip_level,
    entitle,
    length_unit,
    outer_labels,
    panels,
    side_bar,
    styled,
)
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import MapSet
from seismo.output.store.layout import symbol

_ENGINEERING = {"m": (1e2, "cm"), "m/s": (1e2, "cm/s"), "m/s^2": (1 / 9.80665, "g")}
_HEIGHT = 1.9  # inches of a panel
_WIDTH = 2.6  # inches of a panel whose line goes down
_TALL = 4.5
_CLIP = 97.0  # percent
_RANGE = 1e3  # of a logarithmic scale at most
_LEAST_RANGE = 5.0
_LOG_BAR = {"extend": "min", "ticks": LogLocator(subs=(1.0, 2.0, 5.0)), "format": "%g"}


def labelled(name: str, unit: str, level: float, units: str) -> tuple[float, str]:
    """Return the factor to the unit that values are shown in, and their label."""
    if units == "engineering" and unit in _ENGINEERING:
        factor, shown = _ENGINEERING[unit]
        return factor, f"{symbol(name)} ({shown})"
    return amplitude_label(name, unit, level)


def draw_lines(
    results: RunResults, maps: MapSet, names: list[str], number: int, units: str, scale: str
) -> Figure:
    """Draw largest values on a line over its coordinate, or beside it where the line goes down.

    Args:
        results: the results file.
        maps: a set of maps with a single axis.
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


@styled
def peaks(
    results: RunResults,
    *,
    maps: str | None = None,
    shot: str | int | None = None,
    quantities: Names | None = None,
    section: str | None = None,
    clip: Percentile = _CLIP,
    units: Literal["si", "engineering"] = "si",
    scale: Literal["linear", "log"] = "linear",
    coast: bool | None = None,
) -> Figure:
    """Draw maps of largest values, or curves on a line, each with the largest of all that it shows.

    Args:
        results: the results file.
        maps: name of the set of maps (default: the first).
        shot: name or number of the shot (default: the first).
        quantities: which ones (default: all of the set).
        section: the axis to cut a volume across, and where if not at the source: ``z:500``. By
            default y; of a volume under a free surface z, which is cut there.
        clip: percentile of the points at which the colours saturate: the source outshines all.
        units: ``si``, or ``engineering``: cm, cm/s and g.
        scale: ``linear`` from 0, or ``log`` from the smallest value, at most three decades below
            the largest, without clip.
        coast: whether a map seen from above has coast lines and borders (of Natural Earth, by
            cartopy); by default where these are installed.

    Raises:
        ScenarioError: the file lacks the data, or curves have no such option.
    """
    map_group = map_set(results, maps)
    names = components(map_group, quantities)
    number = shot_index(map_group, shot)
    refuse_empty(results, map_group, names, number)
    fired = map_group.shots[number] if len(map_group.shots) > 1 else None
    if len(map_group.axes) == 1:
        _refuse_options(
            map_group, section=section is not None, clip=clip != _CLIP, coast=bool(coast)
        )
        figure = draw_lines(results, map_group, names, number, units, scale)
        entitle(figure, results, shot_words(results, fired), *map_group.described_plane)
        return figure
    plane = _plane_of(results, map_group, fired, section)
    figure, grid = _panels_for(len(names), plane.shape_ratio(map_group.axes))
    length_scale, unit = length_unit(*map_group.axes.values())
    for panel, name in zip(grid.flat, names, strict=False):
        _draw_map(
            panel, map_group, plane, name, number, clip=clip, units=units,
            is_logarithmic=scale == "log",
        )  # fmt: skip
        marks = draw_geometry(
            panel, plane, results, map_group.axes, length_scale, fired, coast,
            map_group.plane or None,
        )  # fmt: skip
        frame_section(panel, plane, map_group.axes, length_scale, unit)
    outer_labels(grid, len(names))
    words = dict.fromkeys((plane.title(), *map_group.described_plane, hollow_words(marks)))
    entitle(figure, results, shot_words(results, fired), *words)
    return figure


def _plane_of(
    results: RunResults, maps: MapSet, fired: str | None, section: str | None
) -> CrossSection:
    """Return the plane of maps that is drawn: through the source or, under a free surface, there.

    Raises:
        ScenarioError: the section is not understood.
    """
    surface = surface_of(results, maps.axes)
    section = section or ("z" if surface and len(maps.axes) == 3 else None)
    return chosen_section(
        maps.axes, source_position(results, fired) | surface, section,
        volumes("maps", results.maps), maps.ground_of_plane,
    )  # fmt: skip


def _refuse_options(maps: MapSet, **is_set: bool) -> None:
    """Raise where options of coloured maps are set for maps on a line.

    Raises:
        UnusedOptionError: an unused option is set.
    """
    if unused := [option for option, value in is_set.items() if value]:
        raise UnusedOptionError(
            f"{', '.join(unused)}: maps {maps.name} lie on a line along {next(iter(maps.axes))} "
            "and are curves, to which maps, shot, quantities, units and scale apply; leave it out"
        )


def _draw_map(
    panel: Axes, maps: MapSet, plane: CrossSection, name: str, number: int, *, clip: float,
    units: str, is_logarithmic: bool,
) -> None:  # fmt: skip
    """Draw quantity `name` of shot `number` and its colour bar; `clip` is of linear ones."""
    axes = maps.axes
    map_values = plane.oriented(maps.values_of(name, (number, *plane.index(axes))), axes)
    largest = float(np.nanmax(map_values, initial=0.0))
    level = largest if is_logarithmic else clip_level(map_values, clip)
    factor, label = labelled(name, maps.unit(name), level, units)
    colours = {"vmin": 0.0, "vmax": level * factor}
    if is_logarithmic and largest > 0.0:
        colours, map_values = _logarithmic(map_values, largest, factor)
    length_scale, _ = length_unit(*axes.values())
    image = draw_image(
        panel, plane, map_values * factor, axes, length_scale, cmap=SEQUENTIAL, **colours
    )
    panel.set_title(f"{label}, at most {largest * factor:.3g}")
    side_bar(panel, image, **(_LOG_BAR if "norm" in colours else {"extend": "max"}))


def _panels_for(count: int, ratio: float) -> tuple[Figure, np.ndarray]:
    """Return a figure and its axes for so many maps, whose height over width is given."""
    columns = min(count, 2)
    row_count = -(-count // columns)
    height = row_count * ((WIDTH / columns - 1.3) * ratio + 0.7) + 0.8
    return panels(row_count, columns, float(np.clip(height, 2.2, 11.0)))


def _logarithmic(
    map_values: np.ndarray, largest: float, factor: float
) -> tuple[dict[str, Any], np.ndarray]:
    """Return a colour scale down to the smallest values, and values not below it."""
    shown = map_values[map_values > largest / _RANGE]
    least = min(float(np.percentile(shown, 1.0)), largest / _LEAST_RANGE)
    return {"norm": LogNorm(least * factor, largest * factor, clip=True)}, np.fmax(
        map_values, least
    )
