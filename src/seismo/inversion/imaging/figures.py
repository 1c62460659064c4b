"""Figures of images and kernels, on a section of the model with sources and receivers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from seismo.equations.framework.registry import PARAMETERS
from seismo.inversion.imaging.results import ArrayResults
from seismo.inversion.survey.section_figure import (
    Drawing,
    entitle,
    mark_geometry,
    middle_section,
)
from seismo.output.figures.section import draw_image, frame_section
from seismo.output.figures.style import (
    DIVERGING,
    SEQUENTIAL,
    WIDTH,
    amplitude_label,
    length_unit,
    panels,
    side_bar,
    styled,
)
from seismo.output.store.layout import axis_label, pretty_unit

_CLIP = 99.5  # percentile of amplitudes at which colours end
_GREY = "gray"
_CONTOURS = 6


def _drawn(
    results: ArrayResults,
    names: Sequence[str],
    colours: str,
    signed: bool = True,
    is_on_model: bool = False,
) -> Figure:
    """Draw the background and arrays, one below the other."""
    plane = middle_section(results)
    scale, unit = length_unit(*results.axes.values())
    count = 1 + len(names)
    height = count * ((WIDTH - 1.6) * plane.shape_ratio(results.axes) + 0.7) + 0.4
    figure, axes = panels(count, 1, float(np.clip(height, 3.0, 12.0)))
    index = plane.index(results.axes)
    first = results.background[0]
    model = plane.oriented(results.background_of(first)[index], results.axes)

    def draw(number: int, array: np.ndarray, title: str, **options: object) -> None:
        panel = axes[number, 0]
        cut = plane.oriented(array[index], results.axes)
        image = draw_image(panel, plane, cut, results.axes, scale, **options)
        frame_section(panel, plane, results.axes, scale, unit)
        panel.set_title(title)
        mark_geometry(panel, results, plane, scale)
        if number and is_on_model and np.ptp(model) > 0.0:
            along = [results.axes[a] * scale for a in (plane.horizontal, plane.vertical)]
            panel.contour(*along, model, _CONTOURS, colors="black", linewidths=0.3, alpha=0.5)
        side_bar(panel, image)

    label = axis_label(first, pretty_unit(PARAMETERS[first].unit))
    draw(0, results.background_of(first), f"{label}, background", cmap=SEQUENTIAL)
    for number, name in enumerate(names, 1):
        array = results.array(name)
        largest = float(np.percentile(np.abs(array), _CLIP)) or float(np.abs(array).max()) or 1.0
        factor, text = amplitude_label(name, results.unit(name), largest)
        ends = {"vmin": -largest * factor if signed else 0.0, "vmax": largest * factor}
        draw(number, array * factor, text, cmap=colours, **ends)
    entitle(figure, results)
    return figure


@styled
def image(results: ArrayResults) -> Figure:
    """Draw the background and the images."""
    raw = [name for name in results.names if name.startswith("unnormalised_")]
    return _drawn(results, [name.removeprefix("unnormalised_") for name in raw], _GREY)


@styled
def illumination(results: ArrayResults) -> Figure:
    """Draw the background and the energy of the waves of all sources."""
    return _drawn(results, ["illumination"], SEQUENTIAL, signed=False)


KINDS_OF_IMAGES: dict[str, Drawing] = {"image": image, "illumination": illumination}


@styled
def kernel(results: ArrayResults) -> Figure:
    """Draw the background, and the kernels with its contours."""
    return _drawn(results, results.names, DIVERGING, is_on_model=True)


KINDS_OF_KERNELS: dict[str, Drawing] = {"kernel": kernel}
