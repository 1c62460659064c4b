"""Arrays on plane sections as images, framed to scale; over topography where points stand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.path import Path

from seismo.output.figures.sections.section import CrossSection, edges

_FINER = 3  # rows of an image to the lowest cell of a section whose rows follow the ground
_MOST_ROWS = 2000


def draw_image(
    panel: Axes,
    section: CrossSection,
    array: np.ndarray,
    axes: Mapping[str, np.ndarray],
    scale: float,
    **options: Any,
) -> AxesImage:
    """Draw values (vertical, horizontal), one cell around each grid point, in units `scale`."""
    x_first, x_last = edges(axes[section.horizontal], scale)
    low, high = edges(axes[section.vertical], scale)
    if section.is_curved:
        x, z = section.corners(axes)
        x_first, x_last = (float(end) * scale for end in x[0, [0, -1]])
        low, high = (float(end) * scale for end in (z.min(), z.max()))
        is_smooth = "interpolation" in options
        array = on_even_rows(section, array, axes, is_smooth)
        if isinstance(options.get("alpha"), np.ndarray):
            options["alpha"] = on_even_rows(section, options["alpha"], axes, is_smooth)
    extent = (x_first, x_last, low, high)
    image = panel.imshow(array, extent=extent, origin="lower", **options)
    if section.is_curved:
        # Nothing is drawn above the first cells, and below the last.
        outline = [np.stack([x[0], z[0]], axis=1), np.stack([x[-1], z[-1]], axis=1)[::-1]]
        image.set_clip_path(Path(np.concatenate(outline) * scale), panel.transData)
    return image


def on_even_rows(
    section: CrossSection, array: np.ndarray, axes: Mapping[str, np.ndarray], is_smooth: bool = True
) -> np.ndarray:
    """Return values (vertical, horizontal) on rows of an image, where those follow the ground.

    They are those of the points at the nearest z, or linear between, in each column.
    """
    if not section.is_curved:
        return array
    above, share = _image_rows(section, axes)
    if not is_smooth:
        return np.take_along_axis(array, np.rint(above + share).astype(int), axis=0)
    below = np.minimum(above + 1, len(array) - 1)
    values_above, values_below = (np.take_along_axis(array, n, axis=0) for n in (above, below))
    mixed: np.ndarray = (1.0 - share) * values_above + share * values_below
    return mixed


def _image_rows(
    section: CrossSection, axes: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows above the points (row, column) of the image, and how far these are below.

    That is in rows. They are kept: each frame of a movie asks for them.
    """
    key = b"".join(axes[name].tobytes() for name in (section.vertical, section.horizontal))
    if key in section.row_cache:
        return section.row_cache[key]
    z = section.z(axes)
    _, corners = section.corners(axes)
    lowest_cell = float(np.diff(corners, axis=0).min())
    ends = corners.min(), corners.max()
    count = min(_MOST_ROWS, math.ceil(_FINER * (ends[1] - ends[0]) / lowest_cell))
    even = ends[0] + (np.arange(count) + 0.5) * (ends[1] - ends[0]) / count
    # Number of the row at each place of the image.
    numbers = np.arange(len(z), dtype=float)
    rows = np.stack([np.interp(even, column, numbers) for column in z.T], axis=1)
    above = np.minimum(rows.astype(int), len(z) - 1)
    section.row_cache[key] = (above, rows - above)
    return section.row_cache[key]


def frame_section(
    panel: Axes, section: CrossSection, axes: Mapping[str, np.ndarray], scale: float, unit: str
) -> None:
    """Set limits, labels and directions: z down the page, everything to scale."""
    panel.set_aspect("equal")
    x_first, x_last = edges(axes[section.horizontal], scale)
    low, high = edges(axes[section.vertical], scale)
    if section.ground is not None and section.is_curved:
        x, z = (corners * scale for corners in section.corners(axes))
        x_first, x_last = x[0, [0, -1]]
        step = float(np.ptp(axes["z"][:2])) or section.ground.spacing
        low = float(z.min()) - step * scale
        high = float(z.max())
        if section.ground.is_on({"z": axes["z"][0]}):
            panel.plot(x[0], z[0], color="black", linewidth=0.8, zorder=3)
    panel.set_xlim(x_first, x_last)
    panel.set_ylim((high, low) if section.vertical == "z" else (low, high))
    panel.set_xlabel(f"{section.horizontal} ({unit})")
    panel.set_ylabel(f"{section.vertical} ({unit})")
    panel.locator_params(nbins=5, steps=[1, 2, 5, 10])
