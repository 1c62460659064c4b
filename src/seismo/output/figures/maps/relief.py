"""The relief of the ground on a map: contour lines of height, and shade on slopes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource, ListedColormap
from matplotlib.ticker import MaxNLocator

from seismo.output.store.ground import GroundRecord

_LINES = 7  # contour lines at most
_STEEP = 0.5  # tangent of a slope that is in full light or shade
_DARKEST = 0.35  # opacity of the deepest shade, and of the brightest light
_SUN = (315.0, 45.0)  # azimuth and height in degrees: from the upper left, as maps have it


def draw_relief(
    panel: Axes, ground: GroundRecord, axes: Mapping[str, np.ndarray], scale: float
) -> None:
    """Draw it over the colours of a map whose axes are y, to the right, and x, up the page.

    Args:
        panel: of the map.
        ground: whose heights are drawn.
        axes: coordinates in m of the map.
        scale: of the panel per m.
    """
    heights = ground.datum - ground.z.T
    if min(heights.shape) < 2 or np.ptp(heights) == 0.0:
        return
    y = ground.y
    x = ground.x
    # Shade: slopes of one steepness look alike on maps of any size.
    steepest = float(np.percentile(np.hypot(*np.gradient(heights, x, y)), 99.0))
    exaggeration = _STEEP / max(steepest, 1e-9)
    light = LightSource(*_SUN).hillshade(
        heights[::-1], vert_exag=exaggeration, dx=float(y[1] - y[0]), dy=float(x[1] - x[0])
    )[::-1]
    level = float(LightSource(*_SUN).hillshade(np.zeros((2, 2)))[0, 0])
    shade = np.clip((light - level) / max(level, 1.0 - level), -1.0, 1.0)
    half = 0.5 * float(y[1] - y[0]), 0.5 * float(x[1] - x[0])
    panel.imshow(
        shade > 0.0, cmap=ListedColormap(["black", "white"]), vmin=0, vmax=1,
        alpha=_DARKEST * np.abs(shade), origin="lower", interpolation="nearest", zorder=1.5,
        extent=(
            (y[0] - half[0]) * scale, (y[-1] + half[0]) * scale,
            (x[0] - half[1]) * scale, (x[-1] + half[1]) * scale,
        ),
    )  # fmt: skip
    levels = MaxNLocator(_LINES, steps=[1, 2, 2.5, 5, 10]).tick_values(heights.min(), heights.max())
    inner = levels[(levels > heights.min()) & (levels < heights.max())]
    lines = panel.contour(
        y * scale, x * scale, heights, levels=inner, colors="black", linewidths=0.4, alpha=0.6,
        zorder=1.6, negative_linestyles="solid",
    )  # fmt: skip
    panel.clabel(lines, fmt="%g", fontsize=5)
    panel.set_xlim(float(axes["y"][0]) * scale, float(axes["y"][-1]) * scale)
